"""Python's operators on run-time values, by the names of their methods (class ``tensor`` in ``core.py``, 3.8.0)."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from smem_lint.tile.semantic import arithmetic
from smem_lint.tile.semantic.context import Context, fail, to_tensor
from smem_lint.tile.values import Handle

_PLAIN: dict[str, Callable[[Context, Any, Any], Handle]] = {
    "add": arithmetic.add, "sub": arithmetic.sub, "mul": arithmetic.mul, "truediv": arithmetic.truediv,
    "floordiv": arithmetic.floordiv, "mod": arithmetic.mod, "and": arithmetic.and_, "or": arithmetic.or_, "xor": arithmetic.xor,
    "lshift": arithmetic.shl,
}  # fmt: skip

_OF_TENSORS: dict[str, Callable[[Context, Any, Any], Handle]] = {
    "gt": arithmetic.greater_than, "ge": arithmetic.greater_equal, "lt": arithmetic.less_than, "le": arithmetic.less_equal,
    "eq": arithmetic.equal, "ne": arithmetic.not_equal,
    "logical_and": arithmetic.logical_and, "logical_or": arithmetic.logical_or,
}  # fmt: skip
"""Here a Python number takes a type of its own before the operands meet."""

_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv, "floordiv": operator.floordiv,
    "mod": operator.mod, "and": operator.and_, "or": operator.or_, "xor": operator.xor, "lshift": operator.lshift,
    "rshift": operator.rshift, "pow": operator.pow,
    "gt": operator.gt, "ge": operator.ge, "lt": operator.lt, "le": operator.le, "eq": operator.eq, "ne": operator.ne,
}  # fmt: skip


def binary(ctx: Context, name: str, left: Any, right: Any) -> Any:
    """``left <name> right``; of two numbers the number that Python gives."""
    receiver = left if isinstance(left, Handle) else right
    if not isinstance(receiver, Handle):
        return _PYTHON[name](left, right)
    other = right if receiver is left else left
    if not isinstance(other, Handle | int | float):
        raise fail(ctx, f"operator {name!r} does not go with {other!r}")
    if name in _PLAIN:
        return _PLAIN[name](ctx, left, right)
    if name == "rshift":
        return arithmetic.shift_right(ctx, left, right, receiver)
    if name in _OF_TENSORS:
        other = to_tensor(ctx, other)
        pair = (receiver, other) if receiver is left else (other, receiver)
        return _OF_TENSORS[name](ctx, *pair)
    raise fail(ctx, f"operator {name!r} is not supported on tensors")


def unary(ctx: Context, name: str, operand: Handle) -> Handle:
    """``-x``, ``~x``, ``not x``, ``+x``."""
    if name == "neg":
        return arithmetic.minus(ctx, operand)
    if name == "invert":
        return arithmetic.invert(ctx, operand)
    if name == "not":
        return arithmetic.not_(ctx, operand)
    raise fail(ctx, f"operator {name!r} is not supported on tensors")
