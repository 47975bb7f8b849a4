"""Entries of tuned files to configs: each goes through the code that launches, so that what it clamps or drops is seen.

The launch is looked for beside the folder of the file: a site whose kernel has every name of the entry among its constexprs,
in a function that takes the entry as a parameter, or that binds it to a local name, called ``config``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from smem_lint.host.config import Config, Missing
from smem_lint.host.kernel_facts import facts_of
from smem_lint.host.launches import Site, follow, kernel_of, launch_sites
from smem_lint.host.profile import Profile
from smem_lint.host.program import Program
from smem_lint.host.values import DType, Tensor
from smem_lint.source.bindings import FunctionEntry
from smem_lint.source.reading import mentions_triton
from smem_lint.source.tuned import TunedEntry, TunedFile

_OPTIONS = frozenset({"num_warps", "num_stages", "num_ctas", "maxnreg", "waves_per_eu", "matrix_instr_nonkdim", "kpack", "SPLIT_K"})
_NAMES = ("config", "cfg", "tuned_config")
_LEFT = frozenset({"A", "a", "x", "input", "q_input", "inputs"})
_RIGHT = frozenset({"B", "b", "w", "weight"})
_RIGHT_SCALES = frozenset({"b_scale", "bs", "w_scale", "weight_scale"})
_SCALES = _RIGHT_SCALES | {"a_scale", "as", "x_scale", "input_scale"}
_OPERANDS = {
    "fp8_w8a8": ("float8e4nv", "float8e4nv"),
    "int8_w8a8": ("int8", "int8"),
    "int8_w8a16": ("bfloat16", "int8"),
    "int4_w4a16": ("bfloat16", "uint8"),
    "fp8": ("float8e4nv", "float8e4nv"),
    "": ("bfloat16", "bfloat16"),
}
_VARIANTS = 3


class TunedConfigs:
    """Configs of tuned files; what one entry gives is kept for the equal entries of other files."""

    def __init__(self, program: Program, profile: Profile) -> None:
        self.program, self.profile = program, profile
        self._sites: dict[tuple[Path, frozenset[str]], list[Site]] = {}
        self._kept: dict[str, list[Config]] = {}

    def configs(self, tuned: TunedFile) -> Iterator[Config]:
        """The configs of a file, entry by entry."""
        for index, entry in enumerate(tuned.entries):
            yield from self._entry(tuned, entry, index)

    def _entry(self, tuned: TunedFile, entry: TunedEntry, index: int) -> Iterator[Config]:
        names = frozenset(entry.config) - _OPTIONS
        sites = self._launches(tuned.path.parent, names)
        common = {"file": tuned.file, "line": entry.line, "column": 1, "origin": "tuned-json", "index": index, "of": len(tuned.entries),
                  "tuned": dict(entry.config), "device_name": tuned.device_name}  # fmt: skip
        if not sites:
            missing = Missing("kernel", f"no launch beside this folder takes {', '.join(sorted(names))[:80]}", entry.line)
            yield Config(kernel="", kernel_file="", kernel_line=0, unresolved=(missing,), **common)  # type: ignore[arg-type]
            return
        found = next((configs for site in sites if (configs := self._through(site, entry.config, tuned.facts))), [])
        if not found:
            missing = Missing("launch", f"no path to {sites[0].name} takes this entry", entry.line)
            yield Config(kernel="", kernel_file="", kernel_line=0, unresolved=(missing,), **common)  # type: ignore[arg-type]
        for config in found:
            yield replace(config, when=(f"tuned for {entry.key}", *config.when), **common)  # type: ignore[arg-type]

    def _through(self, site: Site, entry: Mapping[str, Any], facts: Mapping[str, Any]) -> list[Config]:
        dtype, shape = str(facts.get("dtype", "")), facts.get("block_shape")
        key = repr((site.name, sorted(entry.items()), dtype, shape))
        if key not in self._kept:
            given = _given(site, entry, dtype, shape)
            limits = replace(self.program.limits, paths=12, site_steps=60_000)
            found = follow(self.program, site, self.profile, given=given, limits=limits)
            fitting = [config for config in found.configs if _comes_from(config, entry)] or found.configs
            fitting.sort(key=lambda config: len(config.unresolved))
            self._kept[key] = fitting[:_VARIANTS]
        return self._kept[key]

    def _launches(self, folder: Path, names: frozenset[str]) -> list[Site]:
        """Launch sites near a folder of tuned files whose kernel has all these constexprs."""
        key = (folder, names)
        if key not in self._sites:
            found: list[Site] = []
            for near in (folder.parent, folder.parent.parent, folder.parent.parent.parent):
                for path in sorted(near.glob("*.py")):
                    found.extend(self._in_file(path, names))
                if found or near in self.program.repository.roots:
                    break
            self._sites[key] = found
        return self._sites[key]

    def _in_file(self, path: Path, names: frozenset[str]) -> Iterator[Site]:
        try:
            source = path.read_bytes()
        except OSError:
            return
        module = self.program.repository.module_at(path) if mentions_triton(source) and b"config" in source else None
        for site in launch_sites(module) if module is not None else ():
            kernel = kernel_of(self.program, site)
            if kernel is not None and site.function is not None and names <= facts_of(kernel).constexprs and _takes_config(site.function):
                yield site


def _parameters(entry: FunctionEntry) -> list[str]:
    arguments = entry.node.args
    return [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _takes_config(entry: FunctionEntry) -> bool:
    if any(name in _NAMES for name in _parameters(entry)):
        return True
    return any(isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in _NAMES for node in ast.walk(entry.node))


def _given(site: Site, entry: Mapping[str, Any], dtype: str, shape: Any) -> dict[str, Any]:
    """What a tuned file's name and entry say about the arguments of the function that launches."""
    assert site.function is not None
    left, right = _OPERANDS.get(dtype, _OPERANDS[""])
    given: dict[str, Any] = {name: dict(entry) for name in _NAMES}
    for name in _parameters(site.function):
        if name.startswith("use_"):
            given[name] = name == f"use_{dtype}"
        elif name in ("per_channel_quant", "has_zp"):
            given[name] = False
        elif name in ("block_shape", "block_size"):
            given[name] = list(shape) if shape else None
        elif name in _LEFT or name in _RIGHT:
            given[name] = Tensor(name, DType(left if name in _LEFT else right))
        elif name.lower() in _SCALES:
            quantised = dtype.startswith(("fp8", "int8_w8a8")) or (bool(dtype) and name.lower() in _RIGHT_SCALES)
            given[name] = Tensor(name, DType("float32")) if quantised else None
        elif name == "sorted_token_ids":
            given[name] = Tensor(name, DType("int32"))
        elif name in ("B_bias", "bias", "b_bias", "B_zp"):
            given[name] = None
        elif name.endswith("dtype") or name == "compute_type":
            given[name] = DType("bfloat16")
    return given


def _comes_from(config: Config, entry: Mapping[str, Any]) -> bool:
    """Whether a config is that entry, as far as the options go: other paths may fall back on defaults."""
    return all(config.options.get(name) == entry[name] for name in ("num_warps", "num_stages") if name in entry)
