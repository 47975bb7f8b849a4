"""Making tiles and giving them other shapes (``semantic.py`` and the wrappers in ``core.py``, 3.8.0)."""

from __future__ import annotations

from typing import Any

from smem_lint.tile import dtypes
from smem_lint.tile.dtypes import BlockType, DType
from smem_lint.tile.semantic.casts import cast
from smem_lint.tile.semantic.context import Context, constant, emit, fail, splat
from smem_lint.tile.semantic.promotion import broadcast_pair, expand_dims
from smem_lint.tile.values import Handle


def arange(ctx: Context, start: Any, end: Any) -> Handle:
    """``start`` … ``end - 1`` as int32; the length is a power of two."""
    if not isinstance(start, int) or not isinstance(end, int):
        raise fail(ctx, "arange's arguments must be of type tl.constexpr")
    start, end = int(start), int(end)
    if start >> 32 or end >> 32:
        raise fail(ctx, "arange must fit in int32")
    size = end - start
    if size <= 0 or size & (size - 1):
        raise fail(ctx, f"arange's range must be a power of 2, got {size}")
    return emit(ctx, "tt.make_range", [], BlockType(dtypes.INT32, (size,)), {"start": start, "end": end})


def make_scalar(ctx: Context, value: Any, type_: DType) -> Handle:
    """A handle of one element cast to ``type_``, or a Python number of that type."""
    if isinstance(value, Handle):
        if value.type.block and value.type.numel != 1:
            raise fail(ctx, "only accepts size-1 tensor")
        return cast(ctx, value, type_)
    return constant(ctx, value, type_)


def full(ctx: Context, shape: tuple[int, ...], value: Any, type_: DType) -> Handle:
    return splat(ctx, make_scalar(ctx, value, type_), shape)


def unsplat(ctx: Context, value: Handle) -> Handle:
    """A tile of one element as a scalar."""
    if not value.type.block:
        return value
    if value.type.numel != 1:
        raise fail(ctx, "can only unsplat single-element tensors")
    return emit(ctx, "tt.unsplat", [value.value], value.type.scalar)


def reshape(ctx: Context, value: Handle, shape: tuple[int, ...], can_reorder: bool = False) -> Handle:
    type_ = BlockType(value.type.scalar, shape)
    if not value.type.block or value.type.numel != type_.numel:
        raise fail(ctx, f"reshape cannot change the number of elements: {list(value.shape)} to {list(shape)}")
    return emit(ctx, "tt.reshape", [value.value], type_, {"allow_reorder": True} if can_reorder else None)


def wrap_axis(ctx: Context, axis: Any, rank: int) -> int:
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise fail(ctx, f"invalid axis {axis}: expected {-rank} <= axis < {rank}")
    return axis + rank if axis < 0 else axis


def expand_many(ctx: Context, value: Handle, axis: Any) -> Handle:
    """``tl.expand_dims``: one axis or several, with respect to the result."""
    axes = list(axis) if isinstance(axis, tuple | list) else [axis]
    rank = len(value.shape) + len(axes)
    wrapped = [wrap_axis(ctx, each, rank) for each in axes]
    if len(set(wrapped)) != len(wrapped):
        raise fail(ctx, f"expand_dims received duplicate axes {wrapped}")
    for each in sorted(wrapped):
        value = expand_dims(ctx, value, each)
    return value


def permute(ctx: Context, value: Handle, dims: tuple[int, ...]) -> Handle:
    rank = len(value.shape)
    if sorted(dims) != list(range(rank)):
        raise fail(ctx, f"permute dims must be a permutation of {rank} dimensions, got {list(dims)}")
    type_ = BlockType(value.type.scalar, tuple(value.shape[dim] for dim in dims))
    return emit(ctx, "tt.trans", [value.value], type_, {"order": tuple(dims)})


def transpose(ctx: Context, value: Handle, dims: tuple[int, ...]) -> Handle:
    """``tl.trans``: without ``dims`` the last two change places."""
    if not dims:
        rank = len(value.shape)
        if rank < 2:
            raise fail(ctx, "tl.trans invoked with a 0- or 1-dimensional tensor")
        dims = (*range(rank - 2), rank - 1, rank - 2)
    return permute(ctx, value, tuple(dims))


def join(ctx: Context, a: Handle, b: Handle) -> Handle:
    """A new last dimension of size 2; two scalars give a tile of two."""
    a, b = broadcast_pair(ctx, a, b)
    scalars = not a.type.block
    if scalars:
        a, b = expand_dims(ctx, a, 0), expand_dims(ctx, b, 0)
    if a.type is not b.type:
        raise fail(ctx, f"cannot join {a.type} and {b.type}")
    result = emit(ctx, "tt.join", [a.value, b.value], BlockType(a.type.scalar, (*a.shape, 2)))
    return reshape(ctx, result, (2,)) if scalars else result


def split(ctx: Context, value: Handle) -> tuple[Handle, Handle]:
    """The halves of a last dimension of size 2; a tile of two gives two scalars."""
    if not value.shape or value.shape[-1] != 2:
        raise fail(ctx, f"split requires a tile whose last dimension is 2, got {list(value.shape)}")
    single = len(value.shape) == 1
    if single:
        value = expand_dims(ctx, value, 0)
    type_ = BlockType(value.type.scalar, value.shape[:-1])
    op = ctx.builder.op("tt.split", [value.value], (type_.ir, type_.ir))
    left, right = Handle(op.results[0], type_), Handle(op.results[1], type_)
    return (unsplat(ctx, left), unsplat(ctx, right)) if single else (left, right)


def cat(ctx: Context, a: Handle, b: Handle, can_reorder: bool, dim: int) -> Handle:
    """``tl.cat``: one operation if the order may change, else join, permute and reshape."""
    if can_reorder:
        if len(a.shape) != 1 or len(b.shape) != 1:
            raise fail(ctx, "expected 1D input for cat")
        return emit(ctx, "tt.cat", [a.value, b.value], BlockType(a.type.scalar, (a.shape[0] + b.shape[0],)))
    rank = len(a.shape)
    if rank != len(b.shape):
        raise fail(ctx, f"tensors must have the same rank, got {rank} and {len(b.shape)}")
    dim = wrap_axis(ctx, dim, rank)
    joined = join(ctx, a, b)
    order = list(range(rank))
    order.insert(dim, rank)
    shape = list(a.shape)
    shape[dim] += b.shape[dim]
    return reshape(ctx, permute(ctx, joined, tuple(order)), tuple(shape))


def index(ctx: Context, value: Handle, slices: Any) -> Handle:
    """``x[:, None]``: only new axes and whole dimensions."""
    for dim, each in enumerate(slices if isinstance(slices, tuple | list) else (slices,)):
        if each is None:
            value = expand_dims(ctx, value, dim)
        elif not (isinstance(each, slice) and (each.start, each.stop, each.step) == (None, None, None)):
            raise fail(ctx, f"unsupported tensor index: {each!r}")
    return value
