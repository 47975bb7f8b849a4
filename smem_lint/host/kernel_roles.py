"""What a kernel does with the values of its constexprs: how far a size that nobody knows has to be tried out.

A size that only goes into addresses changes no tile, so any value will do. One that a loop is unrolled over cannot be large: the
compiler writes the body out once for each turn. Only sizes of tiles, and those that the kernel tests, are worth a range.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from smem_lint.host.values import Function, words
from smem_lint.source.modules import Definition, SourceModule, dotted_name

TILE, TURNS, TESTED = "tile", "turns", "tested"
_CALLEES = 4
_KEPT = 1024
_SHAPING = words(
    "arange zeros zeros_like full reshape view broadcast_to make_block_ptr make_tensor_descriptor advance multiple_of max_contiguous "
    "gather histogram interleave inline_asm_elementwise"
)
_LANGUAGE = ("tl.", "triton.language.", "gl.", "triton.", "libdevice.", "math.")
_PLAIN = frozenset({"range", "min", "max", "abs", "int", "float", "bool", "len", "print", "device_print", "device_assert", "static_print",
                    "static_assert"})  # fmt: skip

_known: dict[tuple[ast.FunctionDef, int], dict[str, frozenset[str]]] = {}


def roles(node: ast.FunctionDef, module: SourceModule, depth: int = 0) -> dict[str, frozenset[str]]:
    """For each parameter some of ``TILE``, ``TURNS`` and ``TESTED``; nothing for one that is only calculated with."""
    found = _known.get((node, depth))
    if found is None:
        if len(_known) >= _KEPT:
            _known.clear()
        found = _known[node, depth] = _Uses(node, module, depth).roles()
    return found


def names_asked(heuristics: Iterable[Any], names: Sequence[str]) -> frozenset[str]:
    """The arguments that heuristics can look at: those that they write as text; all, where one cannot be read or calls another."""
    found: set[str] = set()
    for function in heuristics:
        if not isinstance(function, Function) or any(isinstance(item, ast.Starred) for item in ast.walk(function.node)):
            return frozenset(names)
        given = {parameter.arg for parameter in function.node.args.args}
        for item in ast.walk(function.node):
            if isinstance(item, ast.Constant) and isinstance(item.value, str):
                found.add(item.value)
            elif isinstance(item, ast.Call) and any(isinstance(part, ast.Name) and part.id in given for part in item.args):
                return frozenset(names)
    return frozenset(found.intersection(names))


class _Uses:
    def __init__(self, node: ast.FunctionDef, module: SourceModule, depth: int) -> None:
        self.node, self.module, self.depth = node, module, depth
        names = [parameter.arg for parameter in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        self.origins: dict[str, set[str]] = {name: {name} for name in names}
        self.found: dict[str, set[str]] = {name: set() for name in names}

    def roles(self) -> dict[str, frozenset[str]]:
        items = list(ast.walk(self.node))
        self._follow(items)
        for item in items:
            if isinstance(item, ast.Call):
                self._call(item)
            elif isinstance(item, (ast.If, ast.IfExp, ast.While, ast.Assert)):
                self._mark(item.test, TESTED)
        return {name: frozenset(uses) for name, uses in self.found.items()}

    def _follow(self, items: list[ast.AST]) -> None:
        """Which parameters each local name is worked out from; loops may use a name before its last assignment."""
        assignments = [(target, item.value) for item in items if isinstance(item, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and item.value
                       for target in (item.targets if isinstance(item, ast.Assign) else [item.target])]  # fmt: skip
        for _ in range(2):
            for target, value in assignments:
                origins = {origin for name in _names(value) for origin in self.origins.get(name, ())}
                for name in _names(target) if origins else ():
                    self.origins.setdefault(name, set()).update(origins)

    def _call(self, call: ast.Call) -> None:
        dotted = dotted_name(call.func) or ""
        last = dotted.rpartition(".")[2] or (call.func.attr if isinstance(call.func, ast.Attribute) else "")
        arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
        if last == "static_range":
            for argument in arguments:
                self._mark(argument, TURNS)
        elif last in _SHAPING:
            for argument in arguments:
                self._mark(argument, TILE)
        elif dotted.startswith(_LANGUAGE) or last in _PLAIN or not dotted:
            for argument in arguments:
                if isinstance(argument, (ast.List, ast.Tuple)):
                    self._mark(argument, TILE)
        else:
            self._called(call, dotted)

    def _called(self, call: ast.Call, dotted: str) -> None:
        """A call of another function of the repository; what is handed to one that is not seen may be anything."""
        meaning = self.module.repository.resolve(self.module, dotted) if self.depth < _CALLEES else None
        callee = meaning.node if isinstance(meaning, Definition) else None
        if not isinstance(meaning, Definition) or not isinstance(callee, ast.FunctionDef):
            if not isinstance(call.func, ast.Attribute):
                for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
                    self._mark(argument, TILE)
            return
        inner = roles(callee, meaning.module, self.depth + 1) if callee is not self.node else {}
        for parameter, argument in zip((*callee.args.posonlyargs, *callee.args.args), call.args, strict=False):
            for role in inner.get(parameter.arg, ()):
                self._mark(argument, role)
        for keyword in call.keywords:
            for role in inner.get(keyword.arg or "", ()):
                self._mark(keyword.value, role)

    def _mark(self, expression: ast.expr, role: str) -> None:
        for name in _names(expression):
            for origin in self.origins.get(name, ()):
                self.found[origin].add(role)


def _names(expression: ast.AST) -> Iterator[str]:
    """The names in an expression, but for those that only say where something is loaded from."""
    stack = [expression]
    while stack:
        item = stack.pop()
        if isinstance(item, ast.Name):
            yield item.id
        elif not (isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute) and item.func.attr == "load"):
            stack.extend(ast.iter_child_nodes(item))
