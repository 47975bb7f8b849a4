"""``torch.finfo`` and ``torch.iinfo``: the ends of a type's range, as kernels take them for constexprs."""

from __future__ import annotations

from dataclasses import dataclass

from smem_lint.host.values import DType

_LARGEST = {
    "float8e4nv": 448.0, "float8e5": 57_344.0, "float8e4b8": 240.0, "float8e5b16": 57_344.0, "float16": 65_504.0,
    "bfloat16": (2 - 2**-7) * 2.0**127, "float32": (2 - 2**-23) * 2.0**127, "float64": (2 - 2**-52) * 2.0**1023,
}  # fmt: skip
_EPSILON = {
    "float8e4nv": 2**-3, "float8e5": 2**-2, "float8e4b8": 2**-3, "float8e5b16": 2**-3, "float16": 2**-10, "bfloat16": 2**-7,
    "float32": 2**-23, "float64": 2**-52,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TypeInfo:
    """The range of a type; ``eps`` is 0 for integers."""

    min: float
    max: float
    bits: int
    eps: float = 0.0


def type_info(dtype: DType) -> TypeInfo | None:
    """The range of a type of floating point or of integers; None for others."""
    digits = "".join(character for character in dtype.name if character.isdigit())
    if dtype.name in _LARGEST:
        bits = 8 if dtype.name.startswith("float8") else int(digits)
        return TypeInfo(-_LARGEST[dtype.name], _LARGEST[dtype.name], bits, _EPSILON[dtype.name])
    if dtype.name.startswith(("int", "uint")) and int(digits) >= 8:
        bits, signed = int(digits), dtype.name.startswith("int")
        return TypeInfo(-(1 << bits - 1) if signed else 0, (1 << bits - signed) - 1, bits)
    return None
