"""Which launches take the entries of a tuned file.

They are looked for in the modules beside the folder of the file, or in what those import: a site whose kernel has every name of
the entry among its constexprs, in a function that takes the entry, or binds it to a local name, as ``config``, or that has a local
name for each name of the entry. A module that
spells the file's element type (``int8_w8a8``) goes before one that does not.
"""

from __future__ import annotations

import ast
import fnmatch
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from smem_lint.host.kernel_facts import facts_of
from smem_lint.host.launches import Site, kernel_of, launch_sites
from smem_lint.host.program import Program
from smem_lint.source.bindings import FunctionEntry
from smem_lint.source.modules import Definition, SourceModule
from smem_lint.source.reading import mentions_triton


@dataclass(frozen=True, slots=True)
class _Near:
    """Launches, and the modules through which they were found."""

    sites: list[Site]
    readers: list[SourceModule]


NAMES = ("config", "cfg", "tuned_config")
_CONFIG_NAMES = frozenset(NAMES)
_LEVELS = 4


class TunedLaunches:
    """Launch sites by the folder of a tuned file and the names of its entries.

    ``mapped`` are patterns of folders with the kernel, ``file.py::name``, that reads the tuned files there.
    """

    def __init__(self, program: Program, mapped: Mapping[str, str]) -> None:
        self.program, self.mapped = program, mapped
        self._known: dict[tuple[Path, frozenset[str], str], list[Site]] = {}

    def of(self, folder: Path, names: frozenset[str], dtype: str) -> list[Site]:
        """The sites that take entries of these names, likeliest first."""
        key = (folder, names, dtype)
        if key not in self._known:
            kernel = kernel_named(folder, self.program.repository.roots, self.mapped)
            near = self._near(folder, kernel, names)
            spelled = {name for name in names if any(f'"{name}"' in module.text for module in near.readers)}
            found = [site for site in near.sites if self._takes(site, names, spelled, kernel)]
            unique = list({id(site.node): site for site in found}.values())
            self._known[key] = sorted(unique, key=lambda site: not (dtype and dtype in site.module.text))
        return self._known[key]

    def _takes(self, site: Site, names: frozenset[str], spelled: set[str], kernel: str) -> bool:
        """Whether a site takes such entries. Names that are ``spelled`` in the code that reads them may end before the kernel."""
        launched = kernel_of(self.program, site)
        if site.function is None:
            return False
        if kernel:
            file, _, name = kernel.partition("::")
            return launched is not None and launched.name == name and (not file or launched.module.file.endswith(file))
        if launched is None:
            return any(keyword.arg is None for keyword in site.node.keywords)
        taken = names & facts_of(launched).constexprs
        if not takes_config(site.function):
            return bool(taken) and names <= locals_of(site.function)
        return bool(taken) and names - taken <= spelled

    def _near(self, folder: Path, kernel: str, names: frozenset[str]) -> _Near:
        """Launches in the nearest folder above that has one in its modules, or else in what those import."""
        above = [*folder.parents][:_LEVELS]
        roots = self.program.repository.roots
        if kernel:
            paths = [path for root in roots for path in (root / kernel.partition("::")[0],) if path.is_file()]
            sites = [site for path in paths for site in self._sites_at(path)]
            if sites:
                return _Near(sites, [])
        for near in above:
            modules = [module for path in sorted(near.glob("*.py")) if (module := self._reader(path)) is not None]
            found = [site for module in modules for site in launch_sites(module) if _plausible(site, names)]
            found = found or [site for module in modules for site in self._imported(module) if _plausible(site, names)]
            if found or near in roots:
                return _Near(found, modules)
        return _Near([], [])

    def _reader(self, path: Path) -> SourceModule | None:
        """A module that speaks of configs, and may launch."""
        try:
            source = path.read_bytes()
        except OSError:
            return None
        return self.program.repository.module_at(path) if mentions_triton(source) and b"config" in source else None

    def _sites_at(self, path: Path) -> list[Site]:
        module = self.program.repository.module_at(path)
        return launch_sites(module) if module is not None else []

    def _imported(self, module: SourceModule) -> Iterator[Site]:
        """Launches in functions that a module imports from others of the repository."""
        wanted: dict[Path, tuple[SourceModule, set[ast.AST]]] = {}
        for name, bindings in module.bindings.items():
            if not any(isinstance(binding.node, ast.ImportFrom) for binding in bindings):
                continue
            meaning = self.program.repository.resolve(module, name)
            if isinstance(meaning, Definition) and isinstance(meaning.node, ast.FunctionDef):
                wanted.setdefault(meaning.module.path, (meaning.module, set()))[1].add(meaning.node)
        for other, functions in wanted.values():
            for site in launch_sites(other):
                if site.function is not None and site.function.node in functions:
                    yield site


def is_mapped(path: Path, roots: tuple[Path, ...], mapped: Mapping[str, str]) -> bool:
    """Whether a file is a JSON file in a folder that the settings map to a kernel."""
    whole = path if path.is_absolute() else next((root / path for root in roots if (root / path).exists()), path)
    return path.suffix == ".json" and bool(kernel_named(whole.parent, roots, mapped))


def kernel_named(folder: Path, roots: tuple[Path, ...], mapped: Mapping[str, str]) -> str:
    """The kernel that the settings name for a folder; empty where they name none."""
    for root in roots:
        if folder.is_relative_to(root):
            relative = folder.relative_to(root).as_posix()
            for pattern, kernel in mapped.items():
                if fnmatch.fnmatch(relative, pattern.rstrip("/")):
                    return kernel
    return ""


def _plausible(site: Site, names: frozenset[str]) -> bool:
    """Whether a launch is in a function that has a config, or assigns each name of an entry to a local name."""
    return site.function is not None and (takes_config(site.function) or (bool(names) and names <= locals_of(site.function)))


def parameters_of(entry: FunctionEntry) -> list[str]:
    """The names of a function's parameters."""
    arguments = entry.node.args
    return [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def locals_of(entry: FunctionEntry) -> frozenset[str]:
    """The names that a function assigns."""
    return _stored(entry.node)


@lru_cache(maxsize=32)
def _stored(function: ast.AST) -> frozenset[str]:
    return frozenset(node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))


def takes_config(entry: FunctionEntry) -> bool:
    """Whether a function is given a config, or binds one to a local name."""
    return not _CONFIG_NAMES.isdisjoint((*parameters_of(entry), *locals_of(entry)))
