"""Who calls a function: found by name in the bytes of the repository, then by its calls."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

from smem_lint.source.bindings import FunctionEntry
from smem_lint.source.modules import Repository, SourceModule, jit_kind

_MAX_BYTES = 160_000_000
_MAX_FILES = 24
_SKIPPED = frozenset({".git", "__pycache__", "node_modules", ".venv", "venv", "build", "dist", ".tox", ".mypy_cache"})


class Callers:
    """The functions of a repository that call one of a given name. Files are read once, when they are first asked about."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._sources: list[tuple[Path, bytes]] | None = None
        self._found: dict[tuple[str, str], list[tuple[SourceModule, FunctionEntry]]] = {}

    def of(self, module: SourceModule, entry: FunctionEntry) -> list[tuple[SourceModule, FunctionEntry]]:
        """Host functions that call a function, its own module's first."""
        name = entry.node.name
        if name == "__init__" or name == "forward":
            return []
        key = (module.file, entry.qualified_name)
        if key not in self._found:
            self._found[key] = list(self._search(module, entry, name))
        return self._found[key]

    def _search(self, module: SourceModule, entry: FunctionEntry, name: str) -> Iterator[tuple[SourceModule, FunctionEntry]]:
        pattern = re.compile(rb"\b" + re.escape(name.encode()) + rb"\b")
        paths = [path for path, source in self._files() if name.encode() in source and pattern.search(source)]
        paths.sort(key=lambda path: (path != module.path, path.parent != module.path.parent))
        for path in paths[:_MAX_FILES]:
            other = self.repository.module_at(path)
            if other is None:
                continue
            for caller in other.functions:
                if caller.node is entry.node or (caller.node.decorator_list and jit_kind(caller.node, other, self.repository)):
                    continue
                if _calls(caller.node, name) and self._means(other, name, module, entry):
                    yield other, caller

    def _means(self, other: SourceModule, name: str, module: SourceModule, entry: FunctionEntry) -> bool:
        """Whether the name can mean that function there: for a plain function it is bound to it, for a method anything goes."""
        if entry.owners or other.file == module.file:
            return True
        bindings = other.bindings.get(name)
        return bindings is None or any(binding.kind == "import" for binding in bindings)

    def _files(self) -> list[tuple[Path, bytes]]:
        if self._sources is None:
            self._sources = []
            held = 0
            for root in self.repository.roots:
                for folder, folders, files in os.walk(root):
                    folders[:] = sorted(name for name in folders if name not in _SKIPPED)
                    for file in sorted(files):
                        if not file.endswith(".py") or held > _MAX_BYTES:
                            continue
                        path = Path(folder, file)
                        try:
                            source = path.read_bytes() if path.stat().st_size < 4_000_000 else b""
                        except OSError:
                            continue
                        held += len(source)
                        self._sources.append((path, source))
        return self._sources


def _calls(function: ast.AST, name: str) -> bool:
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            called = node.func
            if (isinstance(called, ast.Name) and called.id == name) or (isinstance(called, ast.Attribute) and called.attr == name):
                return True
            for argument in node.args:
                if isinstance(argument, ast.Name) and argument.id == name:
                    return True
    return False
