"""Numbers as MLIR's attributes hold them: integers of a width, floats of a format, and poison.

An integer constant is kept as a signed Python int (a bool for ``i1``), a float as a Python float that its format can hold.
"""

from __future__ import annotations

import math
import struct
from typing import Any

from smem_lint.tile.ir import Value
from smem_lint.tile.types import Type, element_of


class _Poison:
    """The value of ``ub.poison``: a constant that may be taken for any."""

    def __repr__(self) -> str:
        return "poison"


POISON = _Poison()


class Const:
    """A constant that a fold asks for, of the type of the result that it replaces."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def constant_of(value: Value) -> Any:
    """The number of a constant (of its splat; a tuple for other dense values), POISON, or None."""
    op = value.op
    if op is None:
        return None
    if op.name == "arith.constant":
        return op.attrs["value"]
    return POISON if op.name == "ub.poison" else None


def int_of(value: Value) -> Any:
    """The number of an integer constant or splat, else None."""
    op = value.op
    if op is None or op.name != "arith.constant":
        return None
    number = op.attrs["value"]
    return number if isinstance(number, int) else None


def scalar_int_of(value: Value) -> Any:
    """As ``int_of``, for scalars alone (MLIR's patterns that ask for an ``IntegerAttr``)."""
    return None if value.type.is_tensor else int_of(value)


def wrap(number: int, bits: int) -> Any:
    """``number`` modulo ``2**bits``, signed (a bool for one bit)."""
    if bits == 1:
        return bool(number & 1)
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def unsigned(number: int, bits: int) -> int:
    return int(number) & ((1 << bits) - 1)


def signed(number: int, bits: int) -> int:
    """As a signed number; a set ``i1`` is -1."""
    return -int(number) if bits == 1 else int(number)


def width_of(type_: Type) -> int:
    return int(element_of(type_).bits)


def is_all_ones(number: Any, bits: int) -> bool:
    return number is not None and unsigned(number, bits) == (1 << bits) - 1


_MANTISSA = {"f8E4M3FN": (3, 4), "f8E5M2": (2, 5), "f8E4M3FNUZ": (3, 4), "f8E5M2FNUZ": (2, 5), "f8E4M3B11FNUZ": (3, 4)}


def round_float(number: float, format_: str) -> float | None:
    """``number`` rounded to nearest, ties to even, in ``format_``; None where the format is not modelled for it (8 bits)."""
    if format_ == "f64" or math.isnan(number) or math.isinf(number):
        return None if format_ in _MANTISSA and not _is_exact_8bit(number, format_) else number
    if format_ == "f32":
        try:
            return float(struct.unpack("<f", struct.pack("<f", number))[0])
        except OverflowError:
            return math.copysign(math.inf, number)
    if format_ == "f16":
        try:
            return float(struct.unpack("<e", struct.pack("<e", number))[0])
        except OverflowError:
            return math.copysign(math.inf, number)
    if format_ == "bf16":
        return _round_bf16(number)
    return number if _is_exact_8bit(number, format_) else None


def _round_bf16(number: float) -> float:
    single = round_float(number, "f32")
    assert single is not None
    if math.isinf(single):
        return single
    bits = int(struct.unpack("<I", struct.pack("<f", single))[0])
    bits = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000) & 0xFFFFFFFF
    return float(struct.unpack("<f", struct.pack("<I", bits))[0])


def _is_exact_8bit(number: float, format_: str) -> bool:
    """Whether an 8-bit format surely holds ``number``; only zeros and short normal numbers are said to be."""
    if number == 0:
        return True
    if math.isnan(number) or math.isinf(number):
        return False
    mantissa_bits, exponent_bits = _MANTISSA[format_]
    mantissa, exponent = math.frexp(abs(number))
    bias = (1 << (exponent_bits - 1)) - 1
    return (mantissa * (1 << (mantissa_bits + 1))).is_integer() and 1 - bias <= exponent - 1 < bias


def exact_in(number: float, format_: str) -> bool:
    """Whether ``format_`` holds ``number`` without loss (a NaN is taken to survive)."""
    if math.isnan(number):
        return format_ not in _MANTISSA or format_ == "f8E5M2"
    rounded = round_float(number, format_)
    return rounded is not None and rounded == number


def float_bits(number: float, format_: str) -> int | None:
    """The bit pattern of a float, None for formats that are not modelled."""
    if format_ == "f32":
        return int(struct.unpack("<I", struct.pack("<f", number))[0])
    if format_ == "f64":
        return int(struct.unpack("<Q", struct.pack("<d", number))[0])
    if format_ == "f16":
        return int(struct.unpack("<H", struct.pack("<e", number))[0])
    return int(struct.unpack("<I", struct.pack("<f", number))[0]) >> 16 if format_ == "bf16" else None


def float_of_bits(bits: int, format_: str) -> float | None:
    """The float of a bit pattern, None for formats that are not modelled."""
    if format_ == "f32":
        return float(struct.unpack("<f", struct.pack("<I", bits))[0])
    if format_ == "f64":
        return float(struct.unpack("<d", struct.pack("<Q", bits))[0])
    if format_ == "f16":
        return float(struct.unpack("<e", struct.pack("<H", bits))[0])
    return float(struct.unpack("<f", struct.pack("<I", bits << 16))[0]) if format_ == "bf16" else None


def constant_key(type_: Type, value: Any) -> Any:
    """What two equal constants share; tells zeros of either sign apart and takes every NaN for the same."""
    if isinstance(value, float):
        return (type_, "nan" if math.isnan(value) else value.hex())
    return (type_, value)
