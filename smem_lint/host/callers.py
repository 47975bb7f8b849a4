"""Who calls a function: found by name in the bytes of the repository, then by its calls."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterator

from smem_lint.source.bindings import FunctionEntry
from smem_lint.source.mentions import lines_of
from smem_lint.source.modules import Definition, Repository, SourceModule, jit_kind

_MAX_FILES = 24

Decorated = tuple[SourceModule, FunctionEntry, FunctionEntry]
"""A module, a function in it, and the decorator's own function."""


class Callers:
    """The functions of a repository that call one of a given name."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._names: dict[tuple[str, str, int], frozenset[str]] = {}
        self._found: dict[tuple[str, str], list[tuple[SourceModule, FunctionEntry]]] = {}
        self._imported: dict[str, frozenset[str]] = {}
        self._decorated: dict[tuple[str, str], list[Decorated]] = {}

    def of(self, module: SourceModule, entry: FunctionEntry) -> list[tuple[SourceModule, FunctionEntry]]:
        """Host functions that call a function, its own module's first."""
        name = entry.node.name
        if name == "__init__" or name == "forward":
            return []
        key = (module.file, entry.qualified_name)
        if key not in self._found:
            self._found[key] = list(self._search(module, entry, name))
        return self._found[key]

    def near(self, module: SourceModule, entry: FunctionEntry) -> list[tuple[SourceModule, FunctionEntry]]:
        """Those of the callers of a method that lie in its module, in one that imports from it, or in one that it imports from.

        Methods of other classes go by the same name: what has nothing to do with the module hardly calls this one.
        """
        if not entry.owners or not isinstance(entry.owners[-1], ast.ClassDef):
            return self.of(module, entry)
        return [(other, caller) for other, caller in self.of(module, entry)
                if other.file == module.file or self._imports(other, module) or self._imports(module, other)]  # fmt: skip

    def _imports(self, module: SourceModule, other: SourceModule) -> bool:
        found = self._imported.get(module.file)
        if found is None:
            nodes = {id(one.node): one.node for bound in module.bindings.values() for one in bound if isinstance(one.node, ast.ImportFrom)}
            sources = (self.repository.module_for_import(module, node.module, node.level) for node in nodes.values())
            found = self._imported[module.file] = frozenset(source.file for source in sources if source is not None)
        return other.file in found

    def decorated(self, module: SourceModule, entry: FunctionEntry) -> list[Decorated]:
        """Host functions that are replaced by a function, or by an object whose ``__call__``, this is: by a decorator that makes it.

        What makes it is the function around it, or one that calls its class.
        """
        key = (module.file, entry.qualified_name)
        if key not in self._decorated:
            makers = [(module, self._outer(module, entry))] if _is_nested(entry) else []
            if entry.node.name == "__call__" and entry.owners and isinstance(entry.owners[-1], ast.ClassDef):
                makers = [(other, self._outer(other, maker)) for other, maker in self._search(module, entry, entry.owners[-1].name)]
            unique = {id(maker.node): (other, maker) for other, maker in makers if not maker.owners}
            self._decorated[key] = [found for _, maker in unique.values() for found in self._decorated_by(maker)]
        return self._decorated[key]

    def _outer(self, module: SourceModule, entry: FunctionEntry) -> FunctionEntry:
        outer = next((owner for owner in entry.owners if isinstance(owner, (ast.FunctionDef, ast.AsyncFunctionDef))), None)
        return entry if outer is None else next((one for one in module.functions if one.node is outer), entry)

    def _decorated_by(self, maker: FunctionEntry) -> Iterator[Decorated]:
        name = maker.node.name
        for path in self.repository.python_files_that_call(name):
            other = self.repository.module_at(path)
            for function in other.functions if other is not None else ():
                if other is None or not any(self._is(other, one, maker) for one in function.node.decorator_list):
                    continue
                if not jit_kind(function.node, other, self.repository):
                    yield other, function, maker

    def _is(self, module: SourceModule, decorator: ast.expr, maker: FunctionEntry) -> bool:
        while isinstance(decorator, ast.Call):
            decorator = decorator.func
        meaning = self.repository.resolve_expression(module, decorator)
        return isinstance(meaning, Definition) and meaning.node is maker.node

    def _search(self, module: SourceModule, entry: FunctionEntry, name: str) -> Iterator[tuple[SourceModule, FunctionEntry]]:
        paths = list(self.repository.python_files_that_call(name))
        paths.sort(key=lambda path: (path != module.path, path.parent != module.path.parent))
        for path in paths[:_MAX_FILES]:
            other = self.repository.module_at(path)
            if other is None:
                continue
            mentions = lines_of(other.source, name.encode())
            for caller in other.functions:
                if mentions is not None and not _within(mentions, caller):
                    continue
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


def _within(lines: list[int], function: FunctionEntry) -> bool:
    place = bisect_left(lines, function.node.lineno)
    return place < len(lines) and lines[place] <= (function.node.end_lineno or function.node.lineno)


def _is_nested(entry: FunctionEntry) -> bool:
    return bool(entry.owners) and isinstance(entry.owners[-1], (ast.FunctionDef, ast.AsyncFunctionDef))


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
