"""Sorting networks and flips of Triton's standard library (``triton/language/standard.py``, 3.8.0).

A tile is folded into dimensions of size 2; exchanging the halves of one is an xor with the xor over it.
"""

from __future__ import annotations

from typing import Any

from smem_lint.tile import dtypes
from smem_lint.tile.language.standard import max_, min_, xor_sum
from smem_lint.tile.semantic import arithmetic, shapes
from smem_lint.tile.semantic.casts import bitcast
from smem_lint.tile.semantic.context import Context, fail, to_tensor
from smem_lint.tile.semantic.operators import binary
from smem_lint.tile.values import Handle


def log2(number: int) -> int:
    return max(number.bit_length() - 1, 0)


def _bits(ctx: Context, x: Handle) -> Handle:
    return bitcast(ctx, x, dtypes.int_type(x.dtype.primitive_bitwidth, True))


def indicator(ctx: Context, rank: int, bit: int) -> Handle:
    """0 and 1 along the ``bit``-th dimension from the last."""
    return shapes.reshape(ctx, shapes.arange(ctx, 0, 2), (*[1] * (rank - bit - 1), 2, *[1] * bit))


def compare_and_swap(ctx: Context, x: Handle, flip: Any, bit: int) -> Handle:
    rank = log2(x.type.numel)
    bits = _bits(ctx, x)
    other = bitcast(ctx, arithmetic.xor(ctx, bits, xor_sum(ctx, bits, rank - 1 - bit, True)), x.dtype)
    is_right = indicator(ctx, rank, bit)
    swap = arithmetic.not_equal(ctx, arithmetic.greater_than(ctx, x, other), binary(ctx, "xor", flip, is_right))
    return arithmetic.where(ctx, swap, other, x)


def merge(ctx: Context, x: Handle, stage: int, order: Any) -> Handle:
    """One stage of the network: ascending (0), descending (1) or alternating (2)."""
    flip = indicator(ctx, log2(x.type.numel), stage) if order == 2 else to_tensor(ctx, order)
    for step in range(stage):
        x = compare_and_swap(ctx, x, flip, stage - 1 - step)
    return x


def _check_last(ctx: Context, x: Handle, dim: int | None) -> None:
    if dim is not None and dim != len(x.shape) - 1:
        raise fail(ctx, "only minor dimension is currently supported")


def _cube(ctx: Context, x: Handle) -> Handle:
    return shapes.reshape(ctx, x, (2,) * log2(x.type.numel) or (1,))


def sort_impl(ctx: Context, x: Handle, k: int | None = None, dim: int | None = None, descending: Any = 0) -> Handle:
    """The ``k`` first (all, if None) of the sorted last dimension."""
    _check_last(ctx, x, dim)
    size = log2(x.shape[-1])
    kept = size if k is None else log2(k)
    cube = _cube(ctx, x)
    for stage in range(1, kept + 1):
        cube = merge(ctx, cube, stage, 2 if stage < size else descending)
    for stage in range(kept + 1, size + 1):
        axis = log2(cube.type.numel) - 1 - kept
        cube = max_(ctx, cube, axis) if descending else min_(ctx, cube, axis)
        cube = merge(ctx, cube, kept, 2 if stage < size else descending)
    return shapes.reshape(ctx, cube, (*x.shape[:-1], 2**kept))


def sort(ctx: Context, x: Handle, dim: int | None = None, descending: Any = 0) -> Handle:
    return sort_impl(ctx, x, None, dim, descending)


def topk(ctx: Context, x: Handle, k: int, dim: int | None = None, descending: Any = True) -> Handle:
    return sort_impl(ctx, x, k, dim, descending)


def bitonic_merge(ctx: Context, x: Handle, dim: int | None = None, descending: Any = 0) -> Handle:
    _check_last(ctx, x, dim)
    cube = shapes.reshape(ctx, x, (2,) * log2(x.type.numel))
    return shapes.reshape(ctx, merge(ctx, cube, log2(x.shape[-1]), descending), x.shape)


def flip(ctx: Context, x: Handle, dim: int | None = None) -> Handle:
    """The tile backwards along ``dim``."""
    rank = len(x.shape)
    if dim is None or not -rank <= dim < rank:
        raise fail(ctx, f"flip: dimension {dim} of a tile of rank {rank}")
    dim %= rank
    steps = log2(x.shape[dim])
    y = shapes.reshape(ctx, _bits(ctx, x), (*x.shape[:dim], *[2] * steps, *x.shape[dim + 1 :]))
    for step in range(steps):
        y = arithmetic.xor(ctx, y, xor_sum(ctx, y, dim + step, True))
    return bitcast(ctx, shapes.reshape(ctx, y, x.shape), x.dtype)
