"""How two operands come to one type and one shape (``binary_op_type_checking_impl`` and what it calls, ``semantic.py``, 3.8.0)."""

from __future__ import annotations

from typing import Any

from smem_lint.tile import dtypes
from smem_lint.tile.dtypes import DType
from smem_lint.tile.ir import constant_value
from smem_lint.tile.semantic import casts
from smem_lint.tile.semantic.context import Context, constant, emit, fail, splat, to_tensor
from smem_lint.tile.values import Handle


def promote_integers(a: DType, b: DType) -> DType:
    """The common integer type: the wider one, and the unsigned one of two that are equally wide."""
    if a.signed == b.signed:
        return a if a.int_bitwidth > b.int_bitwidth else b
    if b.signed:
        return a if a.int_bitwidth >= b.int_bitwidth else b
    return b if b.int_bitwidth >= a.int_bitwidth else a


def computation_type(ctx: Context, a: DType, a_is_number: bool, b: DType, b_is_number: bool, division: bool) -> DType:
    """The type in which ``a`` and ``b`` are combined; ``*_is_number`` marks a Python number, which yields to a tile of its kind."""
    if a_is_number != b_is_number:
        number, tile = (a, b) if a_is_number else (b, a)
        if number.kind <= tile.kind:
            return dtypes.FP32 if division and tile in (dtypes.FP16, dtypes.BF16) else tile
    both = (a, b)
    if dtypes.FP64 in both:
        return dtypes.FP64
    if dtypes.FP32 in both:
        return dtypes.FP32
    if dtypes.FP16 in both:
        return dtypes.FP32 if division else dtypes.FP16
    if a is dtypes.BF16 and b is dtypes.BF16:
        return dtypes.FP32 if division else dtypes.BF16
    if dtypes.BF16 in both:
        return dtypes.FP32
    if a.fp8 and b.fp8:
        return a if a is b else dtypes.FP16
    if not a.integer or not b.integer:
        raise fail(ctx, f"unexpected types {a} and {b}")
    if division and a.signed != b.signed:
        raise fail(ctx, f"cannot divide {a} and {b}: they have different signedness")
    return promote_integers(a, b)


def _check_pointer(ctx: Context, a: DType, b: DType, allowed: bool) -> None:
    if a.pointer and (not allowed or (b.pointer and a is not b) or b.floating):
        raise fail(ctx, f"invalid operands of type {a} and {b}")


def _check_number(ctx: Context, value: Any, type_: DType) -> None:
    if not type_.integer:
        return
    if value < 0 and not type_.signed:
        raise fail(ctx, "cannot combine an unsigned tensor and a negative number")
    if not type_.min_value <= value <= type_.max_value:
        raise fail(ctx, f"{value} is out of range for type {type_}")


def check_binary(
    ctx: Context, lhs: Any, rhs: Any, lhs_pointer: bool = False, rhs_pointer: bool = False, arithmetic: bool = True, division: bool = False
) -> tuple[Handle, Handle]:
    """Both operands as handles of one shape and, if ``arithmetic``, of one element type (pointers apart)."""
    lhs_number, rhs_number = isinstance(lhs, int | float), isinstance(rhs, int | float)
    a, b = to_tensor(ctx, lhs), to_tensor(ctx, rhs)
    a_type, b_type = a.type.scalar, b.type.scalar
    if a_type.pointer or b_type.pointer:
        _check_pointer(ctx, a_type, b_type, lhs_pointer)
        _check_pointer(ctx, b_type, a_type, rhs_pointer)
    elif arithmetic:
        type_ = computation_type(ctx, a_type, lhs_number, b_type, rhs_number, division)
        if lhs_number:
            _check_number(ctx, lhs, type_)
        if rhs_number:
            _check_number(ctx, rhs, type_)
        a = constant(ctx, lhs, type_) if lhs_number else casts.cast(ctx, a, type_)
        b = constant(ctx, rhs, type_) if rhs_number else casts.cast(ctx, b, type_)
    return broadcast_pair(ctx, a, b)


def broadcast_to_shape(ctx: Context, value: Handle, shape: tuple[int, ...]) -> Handle:
    """``broadcast_impl_shape``: a scalar is spread, dimensions of size 1 grow to ``shape``."""
    if not value.type.block:
        return splat(ctx, value, shape)
    have = value.shape
    if len(have) != len(shape) or any(a not in (b, 1) for a, b in zip(have, shape, strict=True)):
        raise fail(ctx, f"cannot broadcast {list(have)} to {list(shape)}")
    return _broadcast(ctx, value, shape)


def _broadcast(ctx: Context, value: Handle, shape: tuple[int, ...]) -> Handle:
    shape = tuple(shape)
    if value.shape == shape:
        return value
    type_ = dtypes.BlockType(value.type.scalar, shape)
    known = constant_value(value.value)
    if known is not None:
        return Handle(ctx.builder.constant(type_.ir, known), type_)
    return emit(ctx, "tt.broadcast", [value.value], type_)


def broadcast_pair(ctx: Context, lhs: Handle, rhs: Handle) -> tuple[Handle, Handle]:
    """``broadcast_impl_value``: leading dimensions are added to the operand of lower rank, dimensions of size 1 grow."""
    if lhs.type is rhs.type or not (lhs.type.block or rhs.type.block):
        return lhs, rhs
    if not rhs.type.block:
        return lhs, splat(ctx, rhs, lhs.shape)
    if not lhs.type.block:
        return splat(ctx, lhs, rhs.shape), rhs
    if lhs.shape == rhs.shape:
        return lhs, rhs
    while len(lhs.shape) < len(rhs.shape):
        lhs = expand_dims(ctx, lhs, 0)
    while len(rhs.shape) < len(lhs.shape):
        rhs = expand_dims(ctx, rhs, 0)
    shape = []
    for index, (left, right) in enumerate(zip(lhs.shape, rhs.shape, strict=True)):
        if left != 1 and right not in (1, left):
            raise fail(ctx, f"incompatible dimensions at index {index}: {left} and {right}")
        shape.append(right if left == 1 else left)
    return _broadcast(ctx, lhs, tuple(shape)), _broadcast(ctx, rhs, tuple(shape))


def broadcast_all(ctx: Context, values: list[Handle]) -> list[Handle]:
    """``broadcast_tensors``: all to one shape, the first one against each other one, then the others once more."""
    if not values:
        return []
    head, *tail = values
    for index in range(len(tail)):
        head, tail[index] = broadcast_pair(ctx, head, tail[index])
    for index in range(len(tail) - 1):
        head, tail[index] = broadcast_pair(ctx, head, tail[index])
    return [head, *tail]


def expand_dims(ctx: Context, value: Handle, axis: int) -> Handle:
    """A dimension of size 1 at ``axis`` (not negative); a scalar is spread to a tile of one element."""
    shape = (*value.shape[:axis], 1, *value.shape[axis:])
    if not value.type.block:
        return splat(ctx, value, shape)
    return emit(ctx, "tt.expand_dims", [value.value], dtypes.BlockType(value.type.scalar, shape), {"axis": axis})
