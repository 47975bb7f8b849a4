"""Which launches take the entries of a tuned file.

They are looked for in the modules beside the folder of the file, or in what those import: a site whose kernel has every name of
the entry among its constexprs, in a function that takes the entry, or binds it to a local name, as ``config``. A module that
spells the file's element type (``int8_w8a8``) goes before one that does not.
"""

from __future__ import annotations

import ast
import fnmatch
from collections.abc import Iterator, Mapping
from pathlib import Path

from smem_lint.host.kernel_facts import facts_of
from smem_lint.host.launches import Site, kernel_of, launch_sites
from smem_lint.host.program import Program
from smem_lint.source.bindings import FunctionEntry
from smem_lint.source.modules import Definition, SourceModule
from smem_lint.source.reading import mentions_triton

NAMES = ("config", "cfg", "tuned_config")
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
            found = [site for site in self._near(folder, kernel) if self._takes(site, names, kernel)]
            unique = list({id(site.node): site for site in found}.values())
            self._known[key] = sorted(unique, key=lambda site: not (dtype and dtype in site.module.text))
        return self._known[key]

    def _takes(self, site: Site, names: frozenset[str], kernel: str) -> bool:
        launched = kernel_of(self.program, site)
        if launched is None or site.function is None:
            return False
        if kernel:
            file, _, name = kernel.partition("::")
            return launched.name == name and (not file or launched.module.file.endswith(file))
        return bool(names) and names <= facts_of(launched).constexprs and _takes_config(site.function)

    def _near(self, folder: Path, kernel: str) -> list[Site]:
        """Launches in the nearest folder above that has one in its modules, or else in what those import."""
        above = [*folder.parents][:_LEVELS]
        roots = self.program.repository.roots
        if kernel:
            paths = [path for root in roots for path in (root / kernel.partition("::")[0],) if path.is_file()]
            sites = [site for path in paths for site in self._sites_at(path)]
            if sites:
                return sites
        for near in above:
            modules = [module for path in sorted(near.glob("*.py")) if (module := self._reader(path)) is not None]
            found = [site for module in modules for site in launch_sites(module) if _plausible(site)]
            found = found or [site for module in modules for site in self._imported(module) if _plausible(site)]
            if found or near in roots:
                return found
        return []

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


def kernel_named(folder: Path, roots: tuple[Path, ...], mapped: Mapping[str, str]) -> str:
    """The kernel that the settings name for a folder; empty where they name none."""
    for root in roots:
        if folder.is_relative_to(root):
            relative = folder.relative_to(root).as_posix()
            for pattern, kernel in mapped.items():
                if fnmatch.fnmatch(relative, pattern.rstrip("/")):
                    return kernel
    return ""


def _plausible(site: Site) -> bool:
    return site.function is not None and _takes_config(site.function)


def parameters_of(entry: FunctionEntry) -> list[str]:
    """The names of a function's parameters."""
    arguments = entry.node.args
    return [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _takes_config(entry: FunctionEntry) -> bool:
    if any(name in NAMES for name in parameters_of(entry)):
        return True
    return any(isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in NAMES for node in ast.walk(entry.node))
