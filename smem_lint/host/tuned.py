"""Entries of tuned files to configs: each goes through the code that launches, so that what it clamps or drops is seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from smem_lint.devices import Device, UnknownTarget, device
from smem_lint.host.config import Config, Missing
from smem_lint.host.launches import Site, follow
from smem_lint.host.profile import Profile
from smem_lint.host.program import Program
from smem_lint.host.tuned_arguments import element_type, given
from smem_lint.host.tuned_launches import TunedLaunches
from smem_lint.source.tuned import TunedEntry, TunedFile, device_name, is_tuned_name

_OPTIONS = frozenset({"num_warps", "num_stages", "num_ctas", "maxnreg", "waves_per_eu", "matrix_instr_nonkdim", "kpack", "SPLIT_K"})
_VARIANTS = 3


def device_of(name: str) -> Device | None:
    """The device that a tuned file is named for; None where its name is not known."""
    try:
        return device(name)
    except UnknownTarget:
        return None


def by_device(paths: Iterable[Path]) -> dict[Device, list[Path]]:
    """The tuned files among the paths by the known devices that they are named for."""
    found: dict[Device, list[Path]] = {}
    for path in paths:
        if is_tuned_name(path.name) and (own := device_of(device_name(path.name))) is not None:
            found.setdefault(own, []).append(path)
    return found


def _of_another_maker(name: str) -> bool:
    """Whether a device's name is neither known nor that of one of NVIDIA's: no target here ever reads a file of that name."""
    return bool(name) and "nvidia" not in name.lower() and device_of(name) is None


class TunedConfigs:
    """Configs of tuned files; what one entry gives is kept for the equal entries of other files."""

    def __init__(self, program: Program, profile: Profile, mapped: Mapping[str, str] | None = None) -> None:
        self.program, self.profile = program, profile
        self._launches = TunedLaunches(program, mapped or {})
        self._kept: dict[str, list[Config]] = {}

    def configs(self, tuned: TunedFile) -> Iterator[Config]:
        """The configs of a file, entry by entry. A device that is not known is said; another maker's files are not evaluated."""
        name = tuned.device_name
        if name and device_of(name) is None:
            yield _gap(tuned, "device_name", f"{name} is no device that is known")
        if not _of_another_maker(name):
            for index, entry in enumerate(tuned.entries):
                yield from self._entry(tuned, entry, index)

    def _entry(self, tuned: TunedFile, entry: TunedEntry, index: int) -> Iterator[Config]:
        names = frozenset(entry.config) - _OPTIONS
        sites = self._launches.of(tuned.path.parent, names, element_type(tuned.facts))
        common = {"file": tuned.file, "line": entry.line, "column": 1, "origin": "tuned-json", "index": index, "of": len(tuned.entries),
                  "tuned": dict(entry.config), "device_name": tuned.device_name}  # fmt: skip
        if not sites:
            yield replace(_gap(tuned, "kernel", f"no launch beside this folder takes {', '.join(sorted(names))[:80]}"), **common)  # type: ignore[arg-type]
            return
        found = next((configs for site in sites if (configs := self._through(site, entry.config, tuned.facts))), [])
        if not found:
            yield replace(_gap(tuned, "launch", f"no path to {sites[0].name} takes this entry"), **common)  # type: ignore[arg-type]
        for config in found:
            yield replace(config, when=(f"tuned for {entry.key}", *config.when), **common)  # type: ignore[arg-type]

    def _through(self, site: Site, entry: Mapping[str, Any], facts: Mapping[str, Any]) -> list[Config]:
        told = {name: value for name, value in facts.items() if name != "device_name"}
        key = repr((site.name, sorted(entry.items()), sorted(told.items())))
        if key not in self._kept:
            entry = {name: value for name, value in entry.items() if value is not False}
            limits = replace(self.program.limits, paths=12, site_steps=60_000)
            found = follow(self.program, site, self.profile, given=given(site, entry, told), limits=limits)
            if not found.configs and element_type(told):
                found = follow(self.program, site, self.profile, given=given(site, entry, told, plain=True), limits=limits)
            fitting = [config for config in found.configs if _comes_from(config, entry)] or found.configs
            fitting.sort(key=lambda config: len(config.unresolved))
            self._kept[key] = fitting[:_VARIANTS]
        return self._kept[key]


def _gap(tuned: TunedFile, name: str, reason: str) -> Config:
    """A config that says what of a file is not known."""
    return Config(tuned.file, 1, 1, "", "", 0, "tuned-json", of=len(tuned.entries), unresolved=(Missing(name, reason, 1),),
                  device_name=tuned.device_name)  # fmt: skip


def _comes_from(config: Config, entry: Mapping[str, Any]) -> bool:
    """Whether a config is that entry, as far as the options go: other paths may fall back on defaults."""
    return all(config.options.get(name) == entry[name] for name in ("num_warps", "num_stages") if name in entry)
