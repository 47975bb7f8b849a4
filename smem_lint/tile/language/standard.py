"""Triton's standard library of jit functions (``triton/language/standard.py``, 3.8.0), as the operations that they leave inlined.

Each function takes the context and then what its counterpart takes. An assignment in a jit function makes a number a run-time
value, and so does ``to_tensor`` here.
"""

from __future__ import annotations

from typing import Any

from smem_lint.tile import dtypes
from smem_lint.tile.dtypes import DType
from smem_lint.tile.semantic import arithmetic, elementwise, regions, shapes
from smem_lint.tile.semantic.casts import cast
from smem_lint.tile.semantic.context import Context, fail, to_tensor
from smem_lint.tile.semantic.operators import binary
from smem_lint.tile.values import Handle


def promote_bfloat16(ctx: Context, value: Handle) -> Handle:
    """bf16 as fp32, which is how maxima, minima and comparisons are computed."""
    return cast(ctx, value, dtypes.FP32) if value.dtype is dtypes.BF16 else value


def minimum(ctx: Context, x: Any, y: Any, propagate_nan: str = "none") -> Handle:
    a, b = to_tensor(ctx, x), to_tensor(ctx, y)
    return arithmetic.minimum(ctx, promote_bfloat16(ctx, a), promote_bfloat16(ctx, b), propagate_nan)


def maximum(ctx: Context, x: Any, y: Any, propagate_nan: str = "none") -> Handle:
    a, b = to_tensor(ctx, x), to_tensor(ctx, y)
    return arithmetic.maximum(ctx, promote_bfloat16(ctx, a), promote_bfloat16(ctx, b), propagate_nan)


# combine functions


def sum_combine(ctx: Context, a: Handle, b: Handle) -> Handle:
    return arithmetic.add(ctx, a, b)


def prod_combine(ctx: Context, a: Handle, b: Handle) -> Handle:
    return arithmetic.mul(ctx, a, b)


def xor_combine(ctx: Context, a: Handle, b: Handle) -> Handle:
    return arithmetic.xor(ctx, a, b)


def or_combine(ctx: Context, a: Handle, b: Handle) -> Handle:
    return arithmetic.or_(ctx, a, b)


def elementwise_max(ctx: Context, a: Handle, b: Handle) -> Handle:
    return maximum(ctx, a, b)


def elementwise_min(ctx: Context, a: Handle, b: Handle) -> Handle:
    return minimum(ctx, a, b)


def _with_index(ctx: Context, op: str, pairs: tuple[Handle, Handle, Handle, Handle], left: bool) -> tuple[Handle, Handle]:
    value1, index1, value2, index2 = pairs
    if left:
        tie = arithmetic.logical_and(ctx, arithmetic.equal(ctx, value1, value2), arithmetic.less_than(ctx, index1, index2))
    else:
        tie = to_tensor(ctx, False)
    first = arithmetic.logical_or(ctx, binary(ctx, op, value1, value2), tie)
    return arithmetic.where(ctx, first, value1, value2), arithmetic.where(ctx, first, index1, index2)


def argmax_combine(ctx: Context, value1: Handle, index1: Handle, value2: Handle, index2: Handle, tie_break_left: bool) -> Any:
    return _with_index(ctx, "gt", (value1, index1, value2, index2), tie_break_left)


def argmin_combine(ctx: Context, value1: Handle, index1: Handle, value2: Handle, index2: Handle, tie_break_left: bool) -> Any:
    return _with_index(ctx, "lt", (value1, index1, value2, index2), tie_break_left)


def argmax_left(ctx: Context, a: Handle, i: Handle, b: Handle, j: Handle) -> Any:
    return argmax_combine(ctx, a, i, b, j, True)


def argmax_fast(ctx: Context, a: Handle, i: Handle, b: Handle, j: Handle) -> Any:
    return argmax_combine(ctx, a, i, b, j, False)


def argmin_left(ctx: Context, a: Handle, i: Handle, b: Handle, j: Handle) -> Any:
    return argmin_combine(ctx, a, i, b, j, True)


def argmin_fast(ctx: Context, a: Handle, i: Handle, b: Handle, j: Handle) -> Any:
    return argmin_combine(ctx, a, i, b, j, False)


# reductions


def _extremum(ctx: Context, value: Handle, axis: Any, combine: Any, keep_dims: bool) -> Handle:
    if value.dtype.primitive_bitwidth < 32:
        value = cast(ctx, value, dtypes.FP32 if value.dtype.floating else dtypes.INT32)
    return regions.reduce(ctx, [value], axis, combine, keep_dims)[0]


def max_(
    ctx: Context, input: Handle, axis: Any = None, return_indices: bool = False, return_indices_tie_break_left: bool = True,
    keep_dims: bool = False,
) -> Any:  # fmt: skip
    value = promote_bfloat16(ctx, input)
    if return_indices:
        combine = argmax_left if return_indices_tie_break_left else argmax_fast
        return tuple(regions.reduce_with_indices(ctx, value, axis, combine, keep_dims))
    return _extremum(ctx, value, axis, elementwise_max, keep_dims)


def min_(
    ctx: Context, input: Handle, axis: Any = None, return_indices: bool = False, return_indices_tie_break_left: bool = True,
    keep_dims: bool = False,
) -> Any:  # fmt: skip
    value = promote_bfloat16(ctx, input)
    if return_indices:
        combine = argmin_left if return_indices_tie_break_left else argmin_fast
        return tuple(regions.reduce_with_indices(ctx, value, axis, combine, keep_dims))
    return _extremum(ctx, value, axis, elementwise_min, keep_dims)


def argmax(ctx: Context, input: Handle, axis: Any, tie_break_left: bool = True, keep_dims: bool = False) -> Any:
    return max_(ctx, input, axis, True, tie_break_left, keep_dims)[1]


def argmin(ctx: Context, input: Handle, axis: Any, tie_break_left: bool = True, keep_dims: bool = False) -> Any:
    return min_(ctx, input, axis, True, tie_break_left, keep_dims)[1]


def _for_sum(ctx: Context, value: Handle, dtype: DType | None) -> Handle:
    """The operand of a sum: integers narrower than 32 bits are widened, unless a type was asked for."""
    have = value.dtype
    if dtype is None and have.integer and have.int_bitwidth < 32:
        dtype = dtypes.INT32 if have.signed else dtypes.UINT32
    return value if dtype is None else cast(ctx, value, dtype)


def sum_(ctx: Context, input: Handle, axis: Any = None, keep_dims: bool = False, dtype: DType | None = None) -> Handle:
    return regions.reduce(ctx, [_for_sum(ctx, input, dtype)], axis, sum_combine, keep_dims)[0]


def _integers_only(ctx: Context, name: str, value: Handle) -> None:
    if not value.dtype.integer:
        raise fail(ctx, f"{name} only supported for integers")


def xor_sum(ctx: Context, input: Handle, axis: Any = None, keep_dims: bool = False) -> Handle:
    _integers_only(ctx, "xor_sum", input)
    return regions.reduce(ctx, [input], axis, xor_combine, keep_dims)[0]


def reduce_or(ctx: Context, input: Handle, axis: Any, keep_dims: bool = False) -> Handle:
    _integers_only(ctx, "reduce_or", input)
    return regions.reduce(ctx, [input], axis, or_combine, keep_dims)[0]


def cumsum(ctx: Context, input: Handle, axis: int = 0, reverse: bool = False, dtype: DType | None = None) -> Handle:
    value = _for_sum(ctx, promote_bfloat16(ctx, input), dtype)
    return regions.scan(ctx, [value], axis, sum_combine, reverse)[0]


def cumprod(ctx: Context, input: Handle, axis: int = 0, reverse: bool = False) -> Handle:
    return regions.scan(ctx, [promote_bfloat16(ctx, input)], axis, prod_combine, reverse)[0]


# the rest


def cdiv(ctx: Context, x: Any, div: Any) -> Any:
    """Of two numbers a number."""
    return binary(ctx, "floordiv", binary(ctx, "add", x, binary(ctx, "sub", div, 1)), div)


def sigmoid(ctx: Context, x: Handle) -> Any:
    return binary(ctx, "truediv", 1, binary(ctx, "add", 1, elementwise.unary(ctx, "exp", arithmetic.minus(ctx, x))))


def softmax(ctx: Context, x: Handle, dim: int | None = None, keep_dims: bool = False, ieee_rounding: bool = False) -> Handle:
    axis = 0 if dim is None else dim
    shifted = arithmetic.sub(ctx, x, max_(ctx, x, axis, keep_dims=keep_dims))
    numerator = elementwise.unary(ctx, "exp", shifted)
    return arithmetic.fdiv(ctx, numerator, sum_(ctx, numerator, axis, keep_dims), ieee_rounding)


def ravel(ctx: Context, x: Handle, can_reorder: bool = False) -> Handle:
    return shapes.reshape(ctx, x, (x.type.numel,), can_reorder)


def swizzle2d(ctx: Context, i: Any, j: Any, size_i: Any, size_j: Any, size_g: Any) -> tuple[Any, Any]:
    ij = to_tensor(ctx, binary(ctx, "add", binary(ctx, "mul", i, size_j), j))
    size_gj = to_tensor(ctx, binary(ctx, "mul", size_g, size_j))
    group = arithmetic.floordiv(ctx, ij, size_gj)
    off_i = arithmetic.mul(ctx, group, size_g)
    size = minimum(ctx, arithmetic.sub(ctx, size_i, off_i), size_g)
    within = arithmetic.mod(ctx, ij, size_gj)
    return arithmetic.add(ctx, off_i, arithmetic.mod(ctx, within, size)), arithmetic.floordiv(ctx, within, size)


def zeros(ctx: Context, shape: tuple[int, ...], dtype: DType) -> Handle:
    return shapes.full(ctx, shape, 0, dtype)


def zeros_like(ctx: Context, input: Handle) -> Handle:
    return zeros(ctx, input.shape, input.dtype)


def interleave(ctx: Context, a: Handle, b: Handle) -> Handle:
    joined = shapes.join(ctx, a, b)
    if len(joined.shape) == 1:
        return joined
    return shapes.reshape(ctx, joined, (*joined.shape[:-2], 2 * joined.shape[-2]))


def squeeze(ctx: Context, x: Handle, dim: int) -> Handle:
    if x.shape[dim] != 1:
        raise fail(ctx, f"squeeze: dimension {dim} has size {x.shape[dim]}")
    return shapes.reshape(ctx, x, (*x.shape[:dim], *x.shape[dim + 1 :])) if len(x.shape) > 1 else shapes.unsplat(ctx, x)


def unsqueeze(ctx: Context, x: Handle, dim: int) -> Handle:
    return shapes.reshape(ctx, x, (*x.shape[:dim], 1, *x.shape[dim:]))
