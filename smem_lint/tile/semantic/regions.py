"""Operations that carry a function in a region: reductions, scans, element-wise maps (``core.py`` and ``semantic.py``, 3.8.0).

A combine function is a jit function of the linted code, or a Python function ``(ctx, *handles)`` that stands for one of Triton's
standard library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smem_lint.tile import dtypes
from smem_lint.tile.dtypes import BlockType, DType
from smem_lint.tile.ir import Block, Op
from smem_lint.tile.semantic.context import Context, emit, fail, ir_type
from smem_lint.tile.semantic.promotion import broadcast_all, broadcast_to_shape, expand_dims
from smem_lint.tile.semantic.shapes import arange, expand_many, reshape, wrap_axis
from smem_lint.tile.values import FunctionRef, Handle

Combine = FunctionRef | Callable[..., Any]


def call_combine(ctx: Context, function: Any, args: list[Handle]) -> list[Handle]:
    """The results of a combine function on scalars."""
    own = callable(function) and not isinstance(function, FunctionRef)
    made = function(ctx, *args) if own else ctx.call_function(function, [*args], {})
    results = [made] if isinstance(made, Handle) else list(made) if isinstance(made, tuple) else [made]
    if not all(isinstance(result, Handle) for result in results):
        raise fail(ctx, f"the combine function returns {made!r}")
    return results


def _fill(ctx: Context, op: Op, types: list[DType], function: Any, terminator: str) -> None:
    block = op.regions[0].add_block([ir_type(ctx, type_) for type_ in types])
    builder = ctx.builder
    place = (builder.block, builder.before)
    builder.at_end(block)
    results = call_combine(ctx, function, [Handle(arg, type_) for arg, type_ in zip(block.args, types, strict=True)])
    builder.op(terminator, [result.value for result in results])
    builder.block, builder.before = place


def reduce(ctx: Context, inputs: list[Handle], axis: int | None, function: Any, keep_dims: bool = False) -> list[Handle]:
    """``tl.reduce`` over one axis, or over all elements (``axis`` None: the tile is flattened first)."""
    rank = len(inputs[0].shape)
    if axis is not None:
        axis = wrap_axis(ctx, axis, rank)
    if any(not each.type.block or each.shape != inputs[0].shape for each in inputs):
        raise fail(ctx, "all reduction inputs must be tiles of the same shape")
    flat, along = inputs, axis
    if along is None:
        flat, along = [reshape(ctx, each, (each.type.numel,), True) for each in inputs], 0
    shape = tuple(size for dim, size in enumerate(flat[0].shape) if dim != along)
    types = [BlockType(each.dtype, shape) if shape else each.dtype for each in flat]
    op = ctx.builder.op("tt.reduce", [each.value for each in flat], [ir_type(ctx, type_) for type_ in types], {"axis": along}, regions=1)
    _fill(ctx, op, [each.dtype for each in flat] * 2, function, "tt.reduce.return")
    results = [Handle(value, type_) for value, type_ in zip(op.results, types, strict=True)]
    if keep_dims:
        for index in range(len(results)):
            for _ in range(1 if axis is not None else rank):
                results[index] = expand_dims(ctx, results[index], axis or 0)
    return results


def reduce_with_indices(ctx: Context, value: Handle, axis: int, function: Any, keep_dims: bool) -> list[Handle]:
    """Reduces a tile together with the indices along ``axis``."""
    if axis is None:
        raise fail(ctx, "a reduction with indices needs an axis")
    rank = len(value.shape)
    axis = wrap_axis(ctx, axis, rank)
    index = arange(ctx, 0, value.shape[axis])
    if rank > 1:
        index = expand_many(ctx, index, [dim for dim in range(rank) if dim != axis])
        index = broadcast_to_shape(ctx, index, value.shape)
    return reduce(ctx, [value, index], axis, function, keep_dims)


def scan(ctx: Context, inputs: list[Handle], axis: int, function: Any, reverse: bool) -> list[Handle]:
    """``tl.associative_scan``."""
    axis = wrap_axis(ctx, axis, len(inputs[0].shape))
    if any(each.shape != inputs[0].shape for each in inputs):
        raise fail(ctx, "all scan inputs must have the same shape")
    attrs = {"axis": axis, "reverse": bool(reverse)}
    op = ctx.builder.op("tt.scan", [each.value for each in inputs], [ir_type(ctx, each.type) for each in inputs], attrs, regions=1)
    _fill(ctx, op, [each.dtype for each in inputs] * 2, function, "tt.scan.return")
    return [Handle(value, each.type) for value, each in zip(op.results, inputs, strict=True)]


def map_elementwise(ctx: Context, function: Any, inputs: list[Handle], pack: int) -> tuple[list[Handle], bool]:
    """The results of ``tl.map_elementwise``, and whether the function gives a single value rather than a tuple."""
    scalars = [each.dtype for each in inputs for _ in range(pack)]
    block = Block([ir_type(ctx, type_) for type_ in scalars])
    builder = ctx.builder
    place = (builder.block, builder.before)
    builder.at_end(block)
    made = ctx.call_function(function, [Handle(arg, type_) for arg, type_ in zip(block.args, scalars, strict=True)], {})
    results = [made] if isinstance(made, Handle) else list(made)
    builder.op("tt.map_elementwise.return", [result.value for result in results])
    builder.block, builder.before = place
    inputs = broadcast_all(ctx, inputs)
    types = [inputs[0].type.with_element(result.type) for result in results[::pack]]
    op = builder.op("tt.map_elementwise", [each.value for each in inputs], [ir_type(ctx, t) for t in types], {"pack": pack}, regions=1)
    block.region = op.regions[0]
    op.regions[0].blocks.append(block)
    return [Handle(value, type_) for value, type_ in zip(op.results, types, strict=True)], isinstance(made, Handle)


def gather(ctx: Context, source: Handle, index: Handle, axis: int) -> Handle:
    if not index.dtype.integer:
        raise fail(ctx, "index must be an integer tensor")
    rank = len(source.shape)
    axis = wrap_axis(ctx, axis, rank)
    if len(index.shape) != rank or any(a != b for dim, (a, b) in enumerate(zip(index.shape, source.shape, strict=True)) if dim != axis):
        raise fail(ctx, f"source {list(source.shape)} and index {list(index.shape)} do not fit along axis {axis}")
    return emit(ctx, "tt.gather", [source.value, index.value], BlockType(source.dtype, index.shape), {"axis": axis})


def histogram(ctx: Context, value: Handle, bins: int, mask: Handle | None) -> Handle:
    if len(value.shape) != 1 or not value.dtype.integer:
        raise fail(ctx, "histogram only supports 1D integer input")
    operands = [value.value]
    if mask is not None:
        mask = broadcast_to_shape(ctx, mask, value.shape)
        if mask.dtype is not dtypes.INT1:
            raise fail(ctx, "mask must have boolean scalar type")
        operands.append(mask.value)
    return emit(ctx, "tt.histogram", operands, BlockType(dtypes.INT32, (bins,)))
