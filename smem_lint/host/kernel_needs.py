"""Which parameters a kernel makes addresses of: Triton compiles no ``None + offset``, so a launch gives them.

Triton 3.8.0, ``compiler/code_generator.py``: only branches of an ``if`` on a constexpr are left out; the bodies of loops are compiled.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_KEPT = 4096
_ACCESSES = ("load", "store", "make_block_ptr")
_known: dict[tuple[ast.FunctionDef, tuple[bool | None, ...]], frozenset[str]] = {}
_tested: dict[ast.FunctionDef, tuple[str, ...]] = {}


def needed(node: ast.FunctionDef, constexprs: Mapping[str, Any]) -> frozenset[str]:
    """Parameters that are added to, loaded from or stored to on every way through the kernel that these constexprs leave.

    Branches on a flag (``if FLAG``, ``if not FLAG``) are followed where it is known; others count for nothing, and neither does what
    comes after one that returns.
    """
    if len(_known) >= _KEPT:
        _known.clear()
        _tested.clear()
    flags = _tested.get(node)
    if flags is None:
        flags = _tested[node] = tuple(dict.fromkeys(_flag(item.test)[0] for item in ast.walk(node) if isinstance(item, ast.If)))
    key = (node, tuple(_truth(constexprs, flag) for flag in flags))
    found = _known.get(key)
    if found is None:
        names = {parameter.arg for parameter in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
        found = _known[key] = frozenset(_Needs(node, dict(zip(flags, key[1], strict=True))).of(node.body)) & names
    return found


def _truth(constexprs: Mapping[str, Any], flag: str) -> bool | None:
    value = constexprs.get(flag, _NOT_GIVEN)
    return bool(value) if isinstance(value, (bool, int, type(None))) else None


_NOT_GIVEN = object()


def _flag(test: ast.expr) -> tuple[str, bool]:
    """The name that a condition asks, and whether it asks for its being true; an empty name for any other condition."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        name, wanted = _flag(test.operand)
        return name, not wanted
    return (test.id, True) if isinstance(test, ast.Name) else ("", True)


class _Needs:
    def __init__(self, node: ast.FunctionDef, flags: Mapping[str, bool | None]) -> None:
        self.flags = flags
        self.returned = False
        self.assigned = {item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)}
        """What such a name holds is no longer the argument alone."""

    def of(self, body: Sequence[ast.stmt]) -> Iterator[str]:
        for statement in body:
            if self.returned:
                return
            if isinstance(statement, ast.If):
                yield from self._if(statement)
            elif isinstance(statement, (ast.For, ast.While, ast.With)):
                if not isinstance(statement, ast.For) or not _may_have_no_turn(statement.iter):
                    yield from self.of(statement.body)
            else:
                self.returned = isinstance(statement, ast.Return)
                yield from self._addresses(statement)

    def _if(self, statement: ast.If) -> Iterator[str]:
        name, wanted = _flag(statement.test)
        holds = self.flags.get(name) if name and name not in self.assigned else None
        if holds is not None:
            yield from self.of(statement.body if holds is wanted else statement.orelse)
        else:
            self.returned = any(isinstance(item, ast.Return) for item in ast.walk(statement))

    def _addresses(self, statement: ast.stmt) -> Iterator[str]:
        stack: list[ast.AST] = [statement]
        while stack:
            item = stack.pop()
            if isinstance(item, (ast.IfExp, ast.BoolOp, ast.Lambda)):
                continue
            sides: list[ast.expr] = []
            if isinstance(item, ast.BinOp) and isinstance(item.op, (ast.Add, ast.Sub)):
                sides = [item.left, item.right]
            elif isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute) and item.func.attr in _ACCESSES:
                sides = item.args[:1]
            yield from (side.id for side in sides if isinstance(side, ast.Name) and side.id not in self.assigned)
            stack.extend(ast.iter_child_nodes(item))


def _may_have_no_turn(iterable: ast.expr) -> bool:
    """Whether a loop is unrolled: without turns its body is not compiled."""
    function = iterable.func if isinstance(iterable, ast.Call) else None
    return isinstance(function, ast.Attribute) and function.attr == "static_range"
