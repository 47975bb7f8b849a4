"""What a module-level name is worth to a kernel that reads it, on a given target."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from smem_lint.source.modules import Definition, External, Repository, SourceModule, dotted_name

_WIDTHS = {"int": (1, 8, 16, 32, 64), "uint": (8, 16, 32, 64), "float": (16, 32, 64)}
_FLOATS = ("bfloat16", "float8e5", "float8e5b16", "float8e4nv", "float8e4b8", "float8e4b15", "void")
_TL_TYPES = frozenset([*_FLOATS, *(f"{kind}{width}" for kind, widths in _WIDTHS.items() for width in widths)])
_MAX_BITS = 4096


class _Unknown:
    """A value that could not be determined."""

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __bool__(self) -> bool:
        raise TypeError("an unknown value is neither true nor false")


UNKNOWN: Final = _Unknown()


@dataclass(frozen=True, slots=True)
class DType:
    """A Triton scalar type by the name it has in ``triton.language``: ``float16``, ``int32`` …"""

    name: str


def global_value(repository: Repository, module: SourceModule, name: str, capability: int) -> Any:
    """The value of a module-level (dotted) name: an int, float, str, bool, None, tuple or ``DType``; else ``UNKNOWN``.

    ``tl.constexpr(X)`` counts as ``X``. ``capability`` is the target's, times ten.
    """
    return _Reader(repository, capability).name(module, name, 0)


class _Reader:
    def __init__(self, repository: Repository, capability: int) -> None:
        self.repository = repository
        self.capability = capability

    def name(self, module: SourceModule, dotted: str, depth: int) -> Any:
        if depth > 32:
            return UNKNOWN
        meanings = self.repository.resolve_all(module, dotted)
        if not meanings:
            return UNKNOWN
        meaning = meanings[0]
        if isinstance(meaning, External):
            last = meaning.dotted.rpartition(".")[2]
            return DType(last) if meaning.dotted.startswith("triton.language.") and last in _TL_TYPES else UNKNOWN
        if not isinstance(meaning, Definition) or len([m for m in meanings if isinstance(m, Definition)]) > 1:
            return UNKNOWN
        binding = meaning.binding
        if binding.value is None or isinstance(binding.node, ast.AugAssign) or any(g.kind in ("for", "while") for g in binding.guards):
            return UNKNOWN
        value = self.expression(meaning.module, binding.value, depth + 1)
        for place in binding.index:
            if not isinstance(value, tuple) or place >= len(value):
                return UNKNOWN
            value = value[place]
        return value

    def expression(self, module: SourceModule, node: ast.expr, depth: int) -> Any:
        if depth > 64:
            return UNKNOWN
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, (ast.Name, ast.Attribute)):
            dotted = dotted_name(node)
            return self.name(module, dotted, depth) if dotted else UNKNOWN
        if isinstance(node, (ast.Tuple, ast.List)):
            values = tuple(self.expression(module, element, depth + 1) for element in node.elts)
            return UNKNOWN if UNKNOWN in values else values
        if isinstance(node, ast.UnaryOp):
            return _apply(_UNARY.get(type(node.op)), self.expression(module, node.operand, depth + 1))
        if isinstance(node, ast.BinOp):
            left, right = self.expression(module, node.left, depth + 1), self.expression(module, node.right, depth + 1)
            return _apply(_BINARY.get(type(node.op)), left, right)
        if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
            meaning = self.repository.resolve_expression(module, node.func)
            if isinstance(meaning, External) and meaning.dotted in ("triton.language.constexpr", "triton.language.core.constexpr"):
                return self.expression(module, node.args[0], depth + 1)
        return UNKNOWN


def _apply(function: Callable[..., Any] | None, *operands: Any) -> Any:
    if function is None or any(operand is UNKNOWN or not isinstance(operand, (int, float)) for operand in operands):
        return UNKNOWN
    if function in (operator.lshift, operator.pow) and (operands[1] < 0 or operands[1] > _MAX_BITS or abs(operands[0]) > 1 << 64):
        return UNKNOWN
    try:
        return function(*operands)
    except (ArithmeticError, TypeError, ValueError):
        return UNKNOWN


_UNARY: dict[type[ast.unaryop], Callable[..., Any]] = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_}
_BINARY: dict[type[ast.operator], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
    ast.BitOr: operator.or_, ast.BitAnd: operator.and_, ast.BitXor: operator.xor,
}  # fmt: skip
