"""Who calls a function: found by name in the bytes of the repository, then by its calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from smem_lint.source.bindings import FunctionEntry
from smem_lint.source.modules import Repository, SourceModule, jit_kind

_MAX_FILES = 24


class Callers:
    """The functions of a repository that call one of a given name."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._names: dict[tuple[str, str, int], frozenset[str]] = {}
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
        paths = list(self.repository.python_files_that_call(name))
        paths.sort(key=lambda path: (path != module.path, path.parent != module.path.parent))
        for path in paths[:_MAX_FILES]:
            other = self.repository.module_at(path)
            if other is None:
                continue
            for caller in other.functions:
                if caller.node is entry.node or (caller.node.decorator_list and jit_kind(caller.node, other, self.repository)):
                    continue
                if name in self._called(other, caller) and self._means(other, name, module, entry):
                    yield other, caller

    def _called(self, module: SourceModule, entry: FunctionEntry) -> frozenset[str]:
        key = (module.file, entry.qualified_name, entry.node.lineno)
        if key not in self._names:
            self._names[key] = called_names(entry.node)
        return self._names[key]

    def _means(self, other: SourceModule, name: str, module: SourceModule, entry: FunctionEntry) -> bool:
        """Whether the name can mean that function there: for a plain function it is bound to it, for a method anything goes."""
        if entry.owners or other.file == module.file:
            return True
        bindings = other.bindings.get(name)
        return bindings is None or any(binding.kind == "import" for binding in bindings)


def called_names(function: ast.AST) -> frozenset[str]:
    """The names that a function calls, or hands to a call as they are."""
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name):
                found.add(called.id)
            elif isinstance(called, ast.Attribute):
                found.add(called.attr)
            found.update(argument.id for argument in node.args if isinstance(argument, ast.Name))
    return frozenset(found)
