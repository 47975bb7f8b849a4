"""What the names of a module are bound to, and every function of it, without evaluating anything."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

BindingKind = Literal["function", "class", "assign", "import"]
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Guard:
    """One condition a statement stands under. ``test`` is the expression of an ``if``/``while``; ``taken`` is False in its ``else``.

    ``kind`` is ``if``, ``while``, ``for``, ``with``, ``try`` (the guarded body) or ``except`` (a handler).
    """

    kind: str
    test: ast.expr | None
    taken: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Binding:
    """One binding of a module-level name.

    ``node`` is the ``FunctionDef``, ``ClassDef``, ``Import``, ``ImportFrom``, or the statement that assigns; ``alias``
    is the import's part, ``value`` the expression assigned and ``index`` the place in it where a tuple is unpacked.
    """

    name: str
    kind: BindingKind
    node: ast.stmt
    guards: tuple[Guard, ...] = ()
    alias: ast.alias | None = None
    value: ast.expr | None = None
    index: tuple[int, ...] = ()

    @property
    def fallback(self) -> bool:
        """Whether this binding stands in a handler or an ``else``: what a name means when something is missing."""
        return any(guard.kind == "except" or not guard.taken for guard in self.guards)


@dataclass(frozen=True, slots=True, eq=False)
class FunctionEntry:
    """A function anywhere in a module. ``owners`` are the functions and classes around it, outermost first."""

    qualified_name: str
    node: FunctionNode
    owners: tuple[ast.stmt, ...]
    guards: tuple[Guard, ...]


def bindings_of(body: Sequence[ast.stmt]) -> dict[str, list[Binding]]:
    """Every binding that a module's (or a class's, or a function's) own statements make, in order; ``*`` holds star imports."""
    table: dict[str, list[Binding]] = {}
    for statement, guards in statements(body):
        for binding in _bindings(statement, guards):
            table.setdefault(binding.name, []).append(binding)
    return table


def statements(body: Sequence[ast.stmt], guards: tuple[Guard, ...] = ()) -> Iterator[tuple[ast.stmt, tuple[Guard, ...]]]:
    """Each statement with its guards, in order, entering branches and blocks but neither functions nor classes."""
    for statement in body:
        yield statement, guards
        for inner, guard in blocks(statement):
            yield from statements(inner, (*guards, guard))


def blocks(statement: ast.stmt) -> Iterator[tuple[Sequence[ast.stmt], Guard]]:
    """The statement lists inside a compound statement that is neither a function nor a class."""
    if isinstance(statement, ast.If):
        yield statement.body, Guard("if", statement.test)
        yield statement.orelse, Guard("if", statement.test, taken=False)
    elif isinstance(statement, ast.While):
        yield statement.body, Guard("while", statement.test)
        yield statement.orelse, Guard("while", statement.test, taken=False)
    elif isinstance(statement, (ast.For, ast.AsyncFor)):
        yield statement.body, Guard("for", None)
        yield statement.orelse, Guard("for", None)
    elif isinstance(statement, (ast.With, ast.AsyncWith)):
        yield statement.body, Guard("with", None)
    elif isinstance(statement, ast.Try) or type(statement).__name__ == "TryStar":
        assert isinstance(statement, ast.Try)
        yield statement.body, Guard("try", None)
        for handler in statement.handlers:
            yield handler.body, Guard("except", handler.type)
        yield statement.orelse, Guard("try", None)
        yield statement.finalbody, Guard("try", None)
    elif isinstance(statement, ast.Match):
        for case in statement.cases:
            yield case.body, Guard("match", case.guard)


def functions_of(tree: ast.Module) -> list[FunctionEntry]:
    """Every function of a module, nested ones included, in the order of the text."""
    found: list[FunctionEntry] = []
    _collect(tree.body, (), "", (), found)
    return found


def _collect(
    body: Sequence[ast.stmt], owners: tuple[ast.stmt, ...], prefix: str, guards: tuple[Guard, ...], found: list[FunctionEntry]
) -> None:
    for statement, inside in statements(body, guards):
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.append(FunctionEntry(prefix + statement.name, statement, owners, inside))
            _collect(statement.body, (*owners, statement), f"{prefix}{statement.name}.<locals>.", inside, found)
        elif isinstance(statement, ast.ClassDef):
            _collect(statement.body, (*owners, statement), f"{prefix}{statement.name}.", inside, found)


def _bindings(statement: ast.stmt, guards: tuple[Guard, ...]) -> Iterator[Binding]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield Binding(statement.name, "function", statement, guards)
    elif isinstance(statement, ast.ClassDef):
        yield Binding(statement.name, "class", statement, guards)
    elif isinstance(statement, ast.Import):
        for alias in statement.names:
            yield Binding(alias.asname or alias.name.partition(".")[0], "import", statement, guards, alias=alias)
    elif isinstance(statement, ast.ImportFrom):
        for alias in statement.names:
            yield Binding(alias.asname or alias.name, "import", statement, guards, alias=alias)
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from _targets(target, statement, statement.value, guards)
    elif (isinstance(statement, ast.AnnAssign) and statement.value is not None) or isinstance(statement, ast.AugAssign):
        yield from _targets(statement.target, statement, statement.value, guards)
    elif isinstance(statement, (ast.For, ast.AsyncFor)):
        yield from _targets(statement.target, statement, None, guards)
    elif isinstance(statement, (ast.With, ast.AsyncWith)):
        for item in statement.items:
            if item.optional_vars is not None:
                yield from _targets(item.optional_vars, statement, None, guards)


def _targets(
    target: ast.expr, statement: ast.stmt, value: ast.expr | None, guards: tuple[Guard, ...], index: tuple[int, ...] = ()
) -> Iterator[Binding]:
    if isinstance(target, ast.Name):
        yield Binding(target.id, "assign", statement, guards, value=value, index=index)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for place, element in enumerate(target.elts):
            yield from _targets(element, statement, value, guards, (*index, place))
    elif isinstance(target, ast.Starred):
        yield from _targets(target.value, statement, value, guards, index)
