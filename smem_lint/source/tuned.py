"""Tuned files: JSON tables of kernel configs that a benchmark wrote for one device, ``E=8,N=1024,device_name=….json``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smem_lint.source.reading import Problem, Unreadable, read

_FIELD = re.compile(r"([A-Za-z_]\w*)=((?:\[[^\]]*\]|[^,\[])*)")
_KEY = re.compile(rb'^\s*"([^"]+)"\s*:\s*\{', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TunedEntry:
    """One config of a tuned file. ``key`` is the size it was tuned for (often a number of tokens), ``line`` where it stands."""

    key: str
    line: int
    config: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TunedFile:
    """A tuned file: the facts in its name (``device_name``, ``dtype``, ``block_shape``, sizes) and its entries in order."""

    file: str
    path: Path
    facts: Mapping[str, Any]
    entries: tuple[TunedEntry, ...]

    @property
    def device_name(self) -> str:
        """The device that the file is named for, with spaces; empty where the name says none."""
        return str(self.facts.get("device_name", "")).replace("_", " ")


def device_name(name: str) -> str:
    """The device that a file's name names, with spaces; empty where it names none."""
    return str(facts_of_name(name.removesuffix(".json")).get("device_name", "")).replace("_", " ")


def facts_of_name(stem: str) -> dict[str, Any]:
    """``E=8,N=512,block_shape=[128, 128]`` as a table; numbers and lists of numbers are read as such."""
    facts: dict[str, Any] = {}
    for match in _FIELD.finditer(stem):
        text = match.group(2)
        numbers = re.findall(r"\d+", text)
        if text.startswith("["):
            facts[match.group(1)] = [int(number) for number in numbers]
        else:
            facts[match.group(1)] = int(text) if text.isdigit() and len(text) < 12 else text
    return facts


def is_tuned_name(name: str) -> bool:
    """Whether a file's name is that of a tuned file."""
    return name.endswith(".json") and "device_name=" in name


def tuned_file(file: str, path: Path) -> TunedFile:
    """Read a tuned file; raises ``Unreadable`` where it is no JSON table of configs."""
    source = read(file, path)
    try:
        table = json.loads(source)
    except (ValueError, RecursionError) as error:
        what = getattr(error, "msg", "nested too deeply")
        raise Unreadable(Problem(file, getattr(error, "lineno", 0), f"not valid JSON: {what}")) from None
    if not isinstance(table, dict):
        raise Unreadable(Problem(file, 1, "not a table of configs"))
    lines = {match.group(1).decode("utf8", "replace"): source.count(b"\n", 0, match.start(1)) + 1 for match in _KEY.finditer(source)}
    entries = tuple(TunedEntry(key, lines.get(key, 1), config) for key, config in table.items() if isinstance(config, dict))
    return TunedFile(file, path, facts_of_name(path.name.removesuffix(".json")), entries)


def tuned_paths(folder: Path) -> Iterator[Path]:
    """The tuned files under a folder, in order."""
    yield from sorted(path for path in folder.rglob("*.json") if is_tuned_name(path.name))
