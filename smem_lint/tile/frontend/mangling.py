"""Names of the functions that Triton makes of callees (``mangle_fn`` in ``triton/compiler/code_generator.py``, 3.8.0)."""

from __future__ import annotations

from typing import Any

from smem_lint.tile import dtypes
from smem_lint.tile.values import Composite, Handle


def mangled(name: str, values: list[Any]) -> str:
    """The name of ``name`` (dotted, with its module) for arguments of the types of ``values``."""
    text = "_".join(_value(value) for value in values)
    return f"{name}__{text}".replace("'", "_sq_").replace("[", "_").replace("]", "_")


def _value(value: Any) -> str:
    if isinstance(value, Handle):
        return _type(value.type)
    if isinstance(value, tuple):
        return f"T{'_'.join(_value(item) for item in value)}T"
    if isinstance(value, Composite):
        return "_".join(_value(part) for part in value.parts)
    if isinstance(value, dtypes.DType):
        return f"c{_type(value)}"
    return f"c{value!r}"


def _type(type_: Any) -> str:
    if isinstance(type_, dtypes.DescriptorType):
        return f"TD{_type(type_.block_type)}"
    if type_.pointer:
        return f"P{_type(type_.element_ty)}"
    if type_.block:
        return f"{_type(type_.scalar)}S{'_'.join(map(str, type_.shape))}S"
    if type_.integer:
        return f"{'i' if type_.signed else 'u'}{type_.int_bitwidth}"
    return str(type_.name)
