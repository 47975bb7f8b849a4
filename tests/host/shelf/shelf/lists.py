"""Lists of configs from data files, read once."""

import copy
import json
import os
import re
from functools import lru_cache
from pathlib import Path

import torch
import triton
import yaml

from .makers import find


def version_of(text):
    match = re.match(r"(\d+)\.(\d+)", text)
    return [int(part) for part in match.groups()] if match else [0, 0]


class Lists(object):  # noqa: UP004
    _one = None

    def __new__(cls, *args, **kwargs):
        if cls._one is None:
            cls._one = super(Lists, cls).__new__(cls)  # noqa: UP008
        return cls._one

    def __init__(self):
        if not hasattr(self, "ready"):
            self.ready = True
            about = find.by_tool() if find.by_package() is None else None
            self.maker = about.name
            self.backend = find.torch_backend(self.maker)
            self.options = {"num_stages": 2, "num_warps": 4, "num_ctas": 1}
            folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "makers", "_" + self.maker)
            with open(os.path.join(folder, "lists.yaml"), "r") as file:  # noqa: UP015
                self.raw = yaml.safe_load(file)
            if not hasattr(find.chosen, "GENERATIONS") or str(self.backend.get_device_properties(0).major) in find.chosen.GENERATIONS:
                self.raw.pop("copy")
            self.made = {}
            for name in self.raw:
                self.made[name] = self.get(name)

    def get(self, name):
        if name in self.made:
            return self.made[name]
        found = []
        for entry in self.raw[name]:
            if "spread" in entry:
                found += self.spread(entry)
                continue
            options = copy.deepcopy(self.options)
            options.update({key: entry[key] for key in options if key in entry})
            found.append(triton.Config(entry["META"], **options))
        return found

    def spread(self, entry):
        waiting, found = [({}, copy.deepcopy({"META": {}, **self.options}), ["tiles", "depth", "warps"])], []
        while waiting:
            _, config, left = waiting.pop()
            if not left:
                meta = config.pop("META")
                found.append(triton.Config(meta, **config))
                continue
            for value in entry[left[0]]:
                new = copy.deepcopy(config)
                if left[0] == "warps":
                    new["num_warps"] = value
                else:
                    new["META"][left[0].upper()] = value
                waiting.append(({}, new, left[1:]))
        return found


lists = Lists()


@lru_cache(maxsize=1)
def properties():
    return find.torch_backend(lists.maker).get_device_properties(0)


def from_json(name):
    path = Path(__file__).parent / "makers" / f"_{lists.maker}" / f"{name}.json"
    entries = json.loads(path.read_text()) if path.exists() else []
    warps = 4 if getattr(properties(), "max_shared_memory_per_multiprocessor", None) is None else 8
    if version_of(torch.__version__) < [2, 0]:
        entries = []
    return [triton.Config({"BLOCK": entry["BLOCK"]}, num_warps=min(warps, entry["num_warps"])) for entry in entries]
