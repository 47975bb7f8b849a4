"""What a function returns when its ``return`` statements do not agree (``decide_return_type``, ``cast_to`` of Triton 3.8.0)."""

from __future__ import annotations

from typing import Any

from smem_lint.tile.frontend.visitor import Visitor
from smem_lint.tile.semantic.context import constant, number_type
from smem_lint.tile.values import Composite, Handle, Named, type_of


def _is_constant_type(type_: Any) -> bool:
    return isinstance(type_, tuple) and len(type_) == 3 and type_[0] == "constexpr"


def _scalar_type(v: Visitor, type_: Any) -> Any:
    """The run-time type of a compile-time number."""
    if not _is_constant_type(type_):
        return type_
    if not isinstance(type_[2], int | float):
        v.refuse(f"a function returns {type_[2]!r} in one place and something else in another")
    return number_type(v, type_[2])


def _common(v: Visitor, a: Any, b: Any) -> Any:
    if a == b:
        return a
    if _is_constant_type(a) or _is_constant_type(b):
        a, b = _scalar_type(v, a), _scalar_type(v, b)
    elif isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return tuple(_common(v, x, y) for x, y in zip(a, b, strict=True))
    if a != b:
        v.refuse(f"a function returns {a} in one place and {b} in another")
    return a


def return_type(v: Visitor) -> Any:
    """The type that all returned values of the function take."""
    types = [type_of(value) for value, _ in v.returns]
    if not types:
        return type_of(None)
    common = types[0]
    for type_ in types[1:]:
        common = _common(v, common, type_)
    return common


def cast_to(v: Visitor, value: Any, type_: Any) -> Any:
    """``value`` as that type: only a compile-time number ever needs to change, into a run-time one."""
    if type_of(value) == type_ or isinstance(value, Handle | Composite):
        return value
    if isinstance(value, tuple):
        items = tuple(cast_to(v, item, inner) for item, inner in zip(value, type_, strict=True))
        return Named(items, value.fields) if isinstance(value, Named) else items
    return constant(v, value, type_)
