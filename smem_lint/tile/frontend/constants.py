"""Arithmetic on what is known at compile time, with the limits that linted code is given.

Triton computes a ``constexpr`` expression as Python does (``triton/language/core.py``, class ``constexpr``, 3.8.0).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from smem_lint.tile.unsupported import KernelError, Unsupported
from smem_lint.tile.values import Named

MAX_BITS = 4096
MAX_LENGTH = 65_536

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv, "floordiv": operator.floordiv,
    "mod": operator.mod, "pow": operator.pow, "lshift": operator.lshift, "rshift": operator.rshift,
    "and": operator.and_, "or": operator.or_, "xor": operator.xor,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq, "ne": operator.ne,
    "logical_and": lambda a, b: a and b, "logical_or": lambda a, b: a or b,
}  # fmt: skip
UNARY: dict[str, Callable[[Any], Any]] = {"neg": operator.neg, "pos": operator.pos, "invert": operator.invert, "not": operator.not_}

_NUMBERS = (int, float)


def binary(op: str, left: Any, right: Any) -> Any:
    """``left op right`` of two compile-time values; raises KernelError where Python raises, Unsupported beyond the limits."""
    if not isinstance(left, _NUMBERS) or not isinstance(right, _NUMBERS):
        return _binary_of_objects(op, left, right)
    if op == "pow" or op == "lshift":
        _check_size(op, left, right)
    try:
        result = BINARY[op](left, right)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise KernelError(str(error)) from None
    if isinstance(result, int) and result.bit_length() > MAX_BITS:
        raise Unsupported("an integer constant beyond all bounds")
    return result


def _check_size(op: str, left: Any, right: Any) -> None:
    if op == "lshift":
        too_large = isinstance(right, int) and right > MAX_BITS
    else:
        too_large = isinstance(left, int) and isinstance(right, int) and abs(left) > 1 and left.bit_length() * right > MAX_BITS
    if too_large:
        raise Unsupported("an integer constant beyond all bounds")


def _binary_of_objects(op: str, left: Any, right: Any) -> Any:
    if op in ("eq", "ne"):
        equal = bool(left == right)
        return equal if op == "eq" else not equal
    if op in ("logical_and", "logical_or"):
        return BINARY[op](left, right)
    if isinstance(left, tuple) and not isinstance(left, str):
        if op == "add" and isinstance(right, tuple):
            result = tuple(left) + tuple(right)
        elif op == "mul" and isinstance(right, int) and len(left) * right <= MAX_LENGTH:
            result = tuple(left) * right
        else:
            raise KernelError(f"a tuple has no operator {op!r} for this operand")
        if len(result) > MAX_LENGTH:
            raise Unsupported("a tuple beyond all bounds")
        return result
    if isinstance(left, str) and isinstance(right, str) and (op == "add" or op in ("lt", "le", "gt", "ge")):
        if len(left) + len(right) > MAX_LENGTH:
            raise Unsupported("a string beyond all bounds")
        return BINARY[op](left, right)
    raise KernelError(f"operator {op!r} does not go with {_kind(left)} and {_kind(right)}")


def unary(op: str, operand: Any) -> Any:
    """``op operand`` of a compile-time value; raises KernelError where Python raises."""
    try:
        return UNARY[op](operand)
    except TypeError:
        raise KernelError(f"operator {op!r} does not go with {_kind(operand)}") from None


def _kind(value: Any) -> str:
    return type(value).__name__


_TEXT_METHODS = frozenset({"startswith", "endswith", "upper", "lower", "strip", "split", "removeprefix", "removesuffix", "find", "isdigit"})


def attribute(value: Any, name: str) -> Any:
    """An attribute of a compile-time Python value: the few that a kernel can sensibly ask for; raises KernelError else."""
    if name == "value" and not isinstance(value, Named):
        return value
    if isinstance(value, Named) and name in value.fields:
        return value[value.fields.index(name)]
    if isinstance(value, str) and name in _TEXT_METHODS:
        return getattr(value, name)
    if isinstance(value, int) and name in ("bit_length", "bit_count"):
        return getattr(value, name)
    if isinstance(value, float) and name == "is_integer":
        return value.is_integer
    raise KernelError(f"{_kind(value)!r} object has no attribute {name!r}")
