"""``value.name`` for every kind of value."""

from __future__ import annotations

from typing import Any

from smem_lint.tile import dtypes, language
from smem_lint.tile.frontend import constants, names
from smem_lint.tile.unsupported import KernelError, Unsupported
from smem_lint.tile.values import Builtin, Composite, FunctionRef, Handle, Namespace


def get_attribute(visitor: Any, value: Any, name: str) -> Any:
    """The attribute; raises KernelError where there is none, Unsupported where it is not modelled."""
    if isinstance(value, Handle | Composite | dtypes.DType | dtypes.DescriptorType):
        return language.attribute(visitor, value, name)
    if isinstance(value, Namespace):
        return names.member(visitor.session, value, name)
    if isinstance(value, FunctionRef):
        if name == "__name__":
            return value.name
        if name in ("value", "fn"):
            return value
        raise KernelError(f"a function has no attribute {name!r}")
    if isinstance(value, Builtin):
        if name == "value":
            return value
        raise Unsupported(f"attribute {name} of {value.name}")
    return constants.attribute(value, name)
