"""What an operation needs of its surroundings, and the few ways in which operations are made."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

from smem_lint.tile import dtypes
from smem_lint.tile import types as ir
from smem_lint.tile.dtypes import DType
from smem_lint.tile.ir import Builder, Value, constant_value
from smem_lint.tile.unsupported import KernelError
from smem_lint.tile.values import Handle
from smem_lint.tile.versions import Decisions


@dataclass(frozen=True, slots=True)
class Options:
    """Launch options and target, as far as the front end looks at them (``CUDAOptions``, ``backends/nvidia/compiler.py``).

    ``overflow_checks``: whether to emit the arithmetic that Triton adds after each 32-bit operation to detect overflow. It is
    dead unless ``debug`` is on (its assertion is never emitted), and canonicalization removes it before anything reads it.
    """

    capability: int = 120
    num_warps: int = 4
    num_ctas: int = 1
    debug: bool = False
    overflow_checks: bool = False
    default_dot_input_precision: str = "tf32"
    decisions: Decisions = field(default_factory=Decisions)

    @property
    def fp8_types(self) -> tuple[DType, ...]:
        known = (dtypes.FP8E5, dtypes.FP8E4B15)
        return (*known, dtypes.FP8E4NV) if self.capability >= 89 else known

    @property
    def max_num_imprecise_acc(self) -> int:
        return 2**30 if self.capability == 90 else 0


class Context(Protocol):
    """The visitor, as operations see it."""

    @property
    def builder(self) -> Builder: ...

    @property
    def options(self) -> Options: ...

    @property
    def foreign(self) -> set[Value]:
        """Values that the function at hand did not make itself: its arguments, and what functions it called returned."""

    def call_function(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call a jit function of the linted code at the builder's place, as Triton inlines it."""


def fail(ctx: Context, message: str) -> KernelError:
    """The error with which Triton refuses; to be raised."""
    return KernelError(message, ctx.builder.line)


def ir_type(ctx: Context, type_: Any) -> Any:
    """The IR type; raises KernelError for an fp8 type that the target does not know, as ``dtype.to_ir`` does."""
    element = type_.scalar
    while element.pointer:
        element = element.element_ty
    if element.fp8 and element not in ctx.options.fp8_types:
        names = ", ".join(str(known) for known in ctx.options.fp8_types)
        raise fail(ctx, f"type {element} is not supported on sm_{ctx.options.capability}; supported are {names}")
    return type_.ir


def emit(ctx: Context, name: str, operands: list[Value], type_: Any, attrs: Mapping[str, Any] | None = None) -> Handle:
    """One operation with one result of front-end type ``type_``."""
    op = ctx.builder.op(name, operands, (ir_type(ctx, type_),), dict(attrs) if attrs else None)
    return Handle(op.results[0], type_)


@lru_cache(maxsize=4096)
def _rounded(value: float, name: str) -> float:
    """``value`` as a number of that float type (round to nearest even; f8 types are left as they are)."""
    if math.isnan(value) or math.isinf(value):
        return value
    try:
        if name == "f32":
            return float(struct.unpack("<f", struct.pack("<f", value))[0])
        if name == "f16":
            return float(struct.unpack("<e", struct.pack("<e", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)
    if name == "bf16":  # Triton's builder goes through text with six decimals
        bits = struct.unpack("<I", struct.pack("<f", float(f"{_rounded(value, 'f32'):.6f}")))[0]
        bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
        return float(struct.unpack("<f", struct.pack("<I", bits))[0])
    return value


def literal(value: int | float | bool, element: Any) -> int | float | bool:
    """``value`` as ``arith.constant`` of that IR element type holds it: integers wrapped to signed, floats rounded."""
    if isinstance(element, ir.Scalar) and element.is_float:
        return _rounded(float(value), element.name)
    if element is ir.I1:
        return bool(value)
    bits: int = element.bits
    wrapped = int(value) & ((1 << bits) - 1)
    return wrapped - (1 << bits) if wrapped >> (bits - 1) else wrapped


def constant(ctx: Context, value: int | float | bool, type_: DType) -> Handle:
    """``scalar_constant``: a Python number as a scalar of ``type_``."""
    target = ir_type(ctx, type_)
    if type_.pointer:
        raise fail(ctx, f"cannot make a {type_} of {value!r}")
    if value == 0:
        return Handle(ctx.builder.constant(target, literal(0, target)), type_)
    if type_.fp8:
        wide = ctx.builder.constant(ir.F32, literal(value, ir.F32))
        return emit(ctx, "arith.truncf", [wide], type_)
    if type_.integer and isinstance(value, float):
        raise fail(ctx, f"cannot make an {type_} of the float {value!r}")
    return Handle(ctx.builder.constant(target, literal(value, target)), type_)


def number_type(ctx: Context, value: int | float | bool) -> DType:
    """The type that a Python number takes by itself (``to_tensor_type``)."""
    if isinstance(value, bool):
        return dtypes.INT1
    if isinstance(value, int):
        for type_ in (dtypes.INT32, dtypes.UINT32, dtypes.INT64, dtypes.UINT64):
            if type_.min_value <= value <= type_.max_value:
                return type_
        raise fail(ctx, f"no integer type holds {value}")
    size = abs(value)
    fits = size == math.inf or size == 0.0 or value != value or 2.0**-126 <= size <= (2 - 2**-23) * 2.0**127
    return dtypes.FP32 if fits else dtypes.FP64


def to_tensor(ctx: Context, value: Any) -> Handle:
    """A handle for ``value``, a handle already or a Python number; raises KernelError for anything else."""
    if isinstance(value, Handle):
        return value
    if isinstance(value, int | float):
        return constant(ctx, value, number_type(ctx, value))
    raise fail(ctx, f"cannot convert {value!r} of type {type(value).__name__} to tensor")


def splat(ctx: Context, value: Handle, shape: tuple[int, ...]) -> Handle:
    """A scalar spread over a tile; a constant becomes a constant at once, as ``createOrFold<SplatOp>`` makes it."""
    if value.type.block:
        raise fail(ctx, "cannot splat a block tensor")
    if not shape:
        return value
    type_ = dtypes.BlockType(value.type, tuple(shape))
    known = constant_value(value.value)
    if known is not None:
        return Handle(ctx.builder.constant(type_.ir, known), type_)
    return emit(ctx, "tt.splat", [value.value], type_)
