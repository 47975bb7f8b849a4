"""Which lines of a text belong to a launch, to a kernel, and to the entries of an autotune list."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

Lines = range
"""Lines counted from 1."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _lines(node: ast.AST) -> Lines:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class TunedList:
    """An autotune decorator: its own ``lines``, those of each entry where the list is written out, and those of what makes the list."""

    lines: Lines
    entries: tuple[Lines, ...] = ()
    makers: tuple[Lines, ...] = field(default=())

    def entry(self, line: int) -> int | None:
        """The entry that stands on a line."""
        return next((index for index, lines in enumerate(self.entries) if line in lines), None)

    def holds(self, line: int) -> bool:
        return any(line in lines for lines in (self.lines, *self.makers))


class Spans:
    """Of a text that cannot be parsed nothing is known."""

    def __init__(self, text: str) -> None:
        self._nodes: list[ast.AST] = []
        try:
            self._nodes = list(ast.walk(ast.parse(text)))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return

    @cached_property
    def _calls(self) -> dict[tuple[int, int], Lines]:
        found: dict[tuple[int, int], Lines] = {}
        for node in self._nodes:
            if isinstance(node, ast.Call):
                place = (node.lineno, node.col_offset + 1)
                found[place] = max(found.get(place, range(0)), _lines(node), key=len)
        return found

    def call(self, line: int, column: int) -> Lines:
        """The lines of the call that begins at a line and column, both counted from 1, the column in bytes."""
        return self._calls.get((line, column), range(line, line + 1))

    @cached_property
    def _functions(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        return [node for node in self._nodes if isinstance(node, _FUNCTIONS)]

    def heading(self, line: int) -> Lines:
        """From the first decorator of the function that is defined on a line to the end of its parameters."""
        for node in self._functions:
            if line in (node.lineno, *(one.lineno for one in node.decorator_list)):
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                return range(first, node.body[0].lineno)
        return range(line, line + 1)

    def tuned(self, line: int) -> TunedList:
        """The autotune list whose decorator begins on a line."""
        for node in self._functions:
            for one in node.decorator_list:
                if isinstance(one, ast.Call) and one.lineno == line:
                    return self._tuned(one)
        return TunedList(range(line, line + 1))

    def _tuned(self, call: ast.Call) -> TunedList:
        given = next((one.value for one in call.keywords if one.arg == "configs"), call.args[0] if call.args else None)
        if given is None:
            return TunedList(_lines(call))
        makers = list(self._made(given, set()))
        literals = [one for one in (given, *makers) if isinstance(one, (ast.List, ast.Tuple))]
        written = literals[0] if len(literals) == 1 else None
        entries: tuple[Lines, ...] = ()
        if written is not None and not any(isinstance(one, ast.Starred) for one in written.elts):
            entries = tuple(map(_lines, written.elts))
        return TunedList(_lines(call), entries, tuple(map(_lines, makers)))

    def _made(self, node: ast.AST, seen: set[str]) -> Iterator[ast.AST]:
        """What the names in an expression stand for in this text: assigned values and functions."""
        for name in sorted({one.id for one in ast.walk(node) if isinstance(one, ast.Name)} - seen):
            seen.add(name)
            for one in self._nodes:
                if isinstance(one, _FUNCTIONS) and one.name == name:
                    yield one
                    yield from (returned.value for returned in ast.walk(one) if isinstance(returned, ast.Return) and returned.value)
                elif isinstance(one, ast.Assign) and any(isinstance(to, ast.Name) and to.id == name for to in one.targets):
                    yield one.value
                    yield from self._made(one.value, seen)
