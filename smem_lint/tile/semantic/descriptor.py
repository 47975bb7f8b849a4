"""Tensor descriptors: a tensor in global memory, from which the hardware copies blocks (``semantic.py`` and ``core.py``, 3.8.0)."""

from __future__ import annotations

from typing import Any

from smem_lint.tile import dtypes
from smem_lint.tile.dtypes import BlockType, DescriptorType
from smem_lint.tile.ir import Value
from smem_lint.tile.semantic.casts import cast
from smem_lint.tile.semantic.context import Context, emit, fail, ir_type
from smem_lint.tile.semantic.memory import access_attributes
from smem_lint.tile.semantic.shapes import make_scalar
from smem_lint.tile.values import Composite, Handle

_REDUCE_TYPES = {
    "add": ("uint32", "int32", "uint64", "fp32", "fp16", "bf16"),
    "min": ("uint32", "int32", "uint64", "int64", "fp16", "bf16"),
    "max": ("uint32", "int32", "uint64", "int64", "fp16", "bf16"),
    "and": ("uint32", "int32", "uint64", "int64"),
    "or": ("uint32", "int32", "uint64", "int64"),
    "xor": ("uint32", "int32", "uint64", "int64"),
}


class Descriptor(Composite):
    """``handle`` is the descriptor; ``sizes`` and ``strides`` those of the tensor, as scalars of int32 and int64."""

    __slots__ = ("handle", "block_type", "sizes", "strides")

    def __init__(self, handle: Value, block_type: BlockType, sizes: tuple[Any, ...], strides: tuple[Any, ...]) -> None:
        self.handle, self.block_type, self.sizes, self.strides = handle, block_type, sizes, strides

    @property
    def parts(self) -> tuple[Any, ...]:
        return (Handle(self.handle, DescriptorType(self.block_type)), *self.sizes, *self.strides)

    def with_parts(self, parts: tuple[Any, ...]) -> Descriptor:
        count = len(self.sizes)
        return Descriptor(parts[0].value, self.block_type, parts[1 : 1 + count], parts[1 + count :])


def make(ctx: Context, base: Handle, sizes: Any, strides: Any, block: tuple[int, ...], padding: Any) -> Descriptor:
    """``tl.make_tensor_descriptor``."""
    rank = len(sizes)
    if not 1 <= rank <= 5 or len(strides) != rank or len(block) != rank:
        raise fail(ctx, f"shape, strides and block_shape must have the same length of 1 to 5: {rank}, {len(strides)}, {len(block)}")
    if not isinstance(base, Handle) or not base.type.pointer:
        raise fail(ctx, f"base must be a pointer, got {base!r}")
    element = base.type.element_ty
    row = block[-1] * (element.primitive_bitwidth // 8)
    if row < 16:
        raise fail(ctx, f"descriptor block must have at least 16 bytes in the last dimension, got {row}")
    if isinstance(strides[-1], Handle) or strides[-1] != 1:
        raise fail(ctx, f"the last stride of a tensor descriptor must be 1, got {strides[-1]!r}")
    shape_handles = tuple(make_scalar(ctx, size, dtypes.INT32) for size in sizes)
    stride_handles = tuple(make_scalar(ctx, stride, dtypes.INT64) for stride in strides)
    if padding not in (None, "", "zero", "nan") or (padding == "nan" and element.integer):
        raise fail(ctx, f"padding option {padding!r} not supported")
    type_ = BlockType(element, block)
    described = DescriptorType(type_)
    attrs: dict[str, Any] = {"segments": (1, rank, rank)}
    if padding == "nan":
        attrs["padding"] = "nan"
    operands = [base.value, *(each.value for each in (*shape_handles, *stride_handles))]
    ir_type(ctx, type_)
    op = ctx.builder.op("tt.make_tensor_descriptor", operands, (described.ir,), attrs)
    return Descriptor(op.results[0], type_, shape_handles, stride_handles)


def offsets(ctx: Context, values: Any) -> list[Value]:
    """Offsets as 32-bit scalars (``_convert_to_ir_values``)."""
    return [_offset(ctx, each) for each in (values if isinstance(values, tuple | list) else (values,))]


def _offset(ctx: Context, value: Any) -> Value:
    if isinstance(value, bool):
        return ctx.builder.constant(dtypes.INT1.ir, value)
    if isinstance(value, int):
        if not -(2**31) <= value < 2**31:
            raise fail(ctx, f"offset {value} does not fit 32 bits")
        return ctx.builder.constant(dtypes.INT32.ir, value)
    if not isinstance(value, Handle) or not value.dtype.integer or (value.type.block and value.type.numel != 1):
        raise fail(ctx, f"expected an integer scalar as offset, got {value!r}")
    if value.dtype is dtypes.INT64:
        raise fail(ctx, "offsets must have 32 bits")
    return value.value


def _check(ctx: Context, desc: Any, rank: int | None, value: Handle | None = None) -> None:
    if not isinstance(desc, Descriptor):
        raise fail(ctx, f"expected a tensor descriptor, got {desc!r}")
    if rank is not None and rank != len(desc.block_type.shape):
        raise fail(ctx, f"expected {len(desc.block_type.shape)} offsets, got {rank}")
    if value is not None and value.shape != desc.block_type.shape:
        raise fail(ctx, f"expected a value of shape {list(desc.block_type.shape)}, got {list(value.shape)}")


def load(ctx: Context, desc: Descriptor, at: Any, cache: str = "", eviction: str = "") -> Handle:
    _check(ctx, desc, len(at))
    attrs = access_attributes(ctx, cache, eviction)
    return emit(ctx, "tt.descriptor_load", [desc.handle, *offsets(ctx, at)], desc.block_type, attrs)


def store(ctx: Context, desc: Descriptor, value: Handle, at: Any) -> None:
    _check(ctx, desc, len(at), value)
    value = cast(ctx, value, desc.block_type.element_ty)
    ctx.builder.op("tt.descriptor_store", [desc.handle, value.value, *offsets(ctx, at)])


def reduce(ctx: Context, kind: str, desc: Descriptor, value: Handle, at: Any) -> None:
    """``desc.atomic_add`` and its like."""
    _check(ctx, desc, len(at), value)
    if desc.block_type.element_ty.name not in _REDUCE_TYPES[kind]:
        raise fail(ctx, f"descriptor atomic {kind} does not support {desc.block_type.element_ty}")
    ctx.builder.op("tt.descriptor_reduce", [desc.handle, value.value, *offsets(ctx, at)], (), {"kind": kind})


def _check_rows(ctx: Context, desc: Descriptor, x: Any) -> None:
    _check(ctx, desc, None)
    shape, element = desc.block_type.shape, desc.block_type.element_ty
    if len(shape) != 2 or shape[0] != 1:
        raise fail(ctx, f"descriptor must be 2D with blocks of 1 row, got {list(shape)}")
    if not isinstance(x, Handle) or len(x.shape) != 1 or x.dtype not in (dtypes.INT16, dtypes.INT32) or x.shape[0] < 8:
        raise fail(ctx, f"row offsets must be at least 8 of int16 or int32, got {x!r}")
    if shape[1] < 32 // element.primitive_bitwidth * 8:
        raise fail(ctx, f"blocks of {element} must have at least {32 // element.primitive_bitwidth * 8} columns, got {shape[1]}")


def gather(ctx: Context, desc: Descriptor, x: Handle, y: Any) -> Handle:
    """Rows ``x`` of the tensor, from column ``y`` on."""
    _check_rows(ctx, desc, x)
    type_ = BlockType(desc.block_type.element_ty, (x.shape[0], desc.block_type.shape[1]))
    return emit(ctx, "tt.descriptor_gather", [desc.handle, x.value, *offsets(ctx, y)], type_)


def scatter(ctx: Context, desc: Descriptor, value: Handle, x: Handle, y: Any) -> None:
    _check_rows(ctx, desc, x)
    ctx.builder.op("tt.descriptor_scatter", [desc.handle, x.value, *offsets(ctx, y), value.value])


