"""Arithmetic, bits and comparisons on handles and Python numbers (``semantic.py``, 3.8.0).

``x`` and ``y`` are handles or Python numbers, at least one of them a handle unless said.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smem_lint.tile import dtypes
from smem_lint.tile.semantic import casts
from smem_lint.tile.semantic.casts import bitcast, cast
from smem_lint.tile.semantic.context import Context, constant, emit, fail, ir_type, literal
from smem_lint.tile.semantic.promotion import broadcast_pair, check_binary, promote_integers
from smem_lint.tile.values import Handle

Binary = Callable[[Context, Any, Any], Handle]


def _check_overflow(ctx: Context, x: Handle, y: Handle, name: str) -> None:
    """What Triton computes beside a 32-bit operation to assert that it does not overflow (``sanitize_overflow``)."""
    type_ = x.type.scalar
    if not (ctx.options.overflow_checks or ctx.options.debug) or type_.int_bitwidth >= 64:
        return
    wide_x, wide_y = cast(ctx, x, dtypes.INT64), cast(ctx, y, dtypes.INT64)
    wide = emit(ctx, name, [wide_x.value, wide_y.value], wide_x.type)
    high, low = constant(ctx, type_.max_value, dtypes.INT64), constant(ctx, type_.min_value, dtypes.INT64)
    fits = and_(ctx, less_equal(ctx, wide, high), greater_equal(ctx, wide, low))
    if ctx.options.debug:
        ctx.builder.op("tt.assert", [fits.value], (), {"message": f"int{type_.int_bitwidth} overflow detected"})


def add(ctx: Context, x: Any, y: Any, sanitize_overflow: bool = True) -> Handle:
    """``x + y``; a pointer on either side makes it ``tt.addptr``."""
    a, b = check_binary(ctx, x, y, True, True)
    if b.type.scalar.pointer:
        if a.type.scalar.pointer:
            raise fail(ctx, "cannot add pointers together")
        a, b = b, a
    kind = a.type.scalar
    if kind.pointer:
        offset = b.type.scalar
        if offset.integer and not offset.signed and offset.int_bitwidth < 64:
            b = casts.int_cast(ctx, b, dtypes.INT64, False)
        return emit(ctx, "tt.addptr", [a.value, b.value], a.type)
    if kind.floating:
        return emit(ctx, "arith.addf", [a.value, b.value], a.type)
    if sanitize_overflow:
        _check_overflow(ctx, a, b, "arith.addi")
    return emit(ctx, "arith.addi", [a.value, b.value], a.type)


def sub(ctx: Context, x: Any, y: Any, sanitize_overflow: bool = True) -> Handle:
    a, b = check_binary(ctx, x, y, True, False)
    kind = a.type.scalar
    if kind.pointer:
        return add(ctx, a, minus(ctx, b), False)
    if kind.floating:
        return emit(ctx, "arith.subf", [a.value, b.value], a.type)
    if sanitize_overflow:
        _check_overflow(ctx, a, b, "arith.subi")
    return emit(ctx, "arith.subi", [a.value, b.value], a.type)


def mul(ctx: Context, x: Any, y: Any, sanitize_overflow: bool = True) -> Handle:
    a, b = check_binary(ctx, x, y)
    if a.type.scalar.floating:
        return emit(ctx, "arith.mulf", [a.value, b.value], a.type)
    if sanitize_overflow:
        _check_overflow(ctx, a, b, "arith.muli")
    return emit(ctx, "arith.muli", [a.value, b.value], a.type)


def truediv(ctx: Context, x: Any, y: Any) -> Handle:
    """``x / y``: two integers are divided as fp32, a narrow float as fp32."""
    a, b = check_binary(ctx, x, y, division=True)
    left, right = a.type.scalar, b.type.scalar
    if left.floating and right.integer:
        b = cast(ctx, b, left)
    elif left.integer and right.floating:
        a = cast(ctx, a, right)
    elif left.integer:
        a, b = cast(ctx, a, dtypes.FP32), cast(ctx, b, dtypes.FP32)
    elif left.fp_mantissa_width > right.fp_mantissa_width:
        b = cast(ctx, b, left)
    else:
        a = cast(ctx, a, right)
    return emit(ctx, "arith.divf", [a.value, b.value], a.type)


def floordiv(ctx: Context, x: Any, y: Any) -> Handle:
    a, b = check_binary(ctx, x, y, division=True)
    left, right = a.type.scalar, b.type.scalar
    if not (left.integer and right.integer):
        raise fail(ctx, f"unexpected type {left}")
    type_ = promote_integers(left, right)
    a, b = cast(ctx, a, type_), cast(ctx, b, type_)
    return emit(ctx, "arith.divsi" if type_.signed else "arith.divui", [a.value, b.value], a.type)


def fdiv(ctx: Context, x: Handle, y: Handle, ieee_rounding: bool) -> Handle:
    if not x.type.scalar.floating or not y.type.scalar.floating:
        raise fail(ctx, "both operands of fdiv must have floating scalar type")
    a, b = check_binary(ctx, x, y, arithmetic=False, division=True)
    return emit(ctx, "tt.precise_divf" if ieee_rounding else "arith.divf", [a.value, b.value], a.type)


def mod(ctx: Context, x: Any, y: Any) -> Handle:
    a, b = check_binary(ctx, x, y, division=True)
    type_ = a.type.scalar
    if type_.floating:
        return emit(ctx, "arith.remf", [a.value, b.value], a.type)
    if type_.signed != b.type.scalar.signed:
        raise fail(ctx, f"cannot take {type_} modulo {b.type.scalar}: they have different signedness")
    return emit(ctx, "arith.remsi" if type_.signed else "arith.remui", [a.value, b.value], a.type)


def _extremum(ctx: Context, x: Any, y: Any, propagate_nan: str, side: str) -> Handle:
    a, b = check_binary(ctx, x, y)
    type_ = a.type.scalar
    if type_.floating:
        name = f"arith.{side}imumf" if propagate_nan == "all" else f"arith.{side}numf"
    elif type_.integer:
        name = f"arith.{side}{'si' if type_.signed else 'ui'}"
    else:
        raise fail(ctx, f"unexpected type {type_}")
    return emit(ctx, name, [a.value, b.value], a.type)


def minimum(ctx: Context, x: Any, y: Any, propagate_nan: str = "none") -> Handle:
    return _extremum(ctx, x, y, propagate_nan, "min")


def maximum(ctx: Context, x: Any, y: Any, propagate_nan: str = "none") -> Handle:
    return _extremum(ctx, x, y, propagate_nan, "max")


def clamp(ctx: Context, x: Handle, low: Handle, high: Handle, propagate_nan: str = "none") -> Handle:
    low, high = check_binary(ctx, low, high)
    x, low = check_binary(ctx, x, low)
    x, high = check_binary(ctx, x, high)
    if not x.type.scalar.floating:
        raise fail(ctx, f"only floating point clamp is supported, not {x.type.scalar}")
    return emit(ctx, "tt.clampf", [x.value, low.value, high.value], x.type, {"propagateNan": propagate_nan})


def _check_bits(ctx: Context, x: Any, y: Any) -> tuple[Handle, Handle]:
    a, b = check_binary(ctx, x, y)
    left, right = a.type.scalar, b.type.scalar
    if not (left.integer and right.integer):
        raise fail(ctx, f"invalid operands of type {left} and {right}")
    type_ = promote_integers(left, right)
    return cast(ctx, a, type_), cast(ctx, b, type_)


def _bits(name: str) -> Binary:
    def apply(ctx: Context, x: Any, y: Any) -> Handle:
        a, b = _check_bits(ctx, x, y)
        return emit(ctx, name, [a.value, b.value], a.type)

    return apply


and_, or_, xor = _bits("arith.andi"), _bits("arith.ori"), _bits("arith.xori")
shl, lshr, ashr = _bits("arith.shli"), _bits("arith.shrui"), _bits("arith.shrsi")


def shift_right(ctx: Context, x: Any, y: Any, receiver: Handle) -> Handle:
    """``x >> y``: arithmetic if the operand whose method is called (``receiver``) is signed."""
    return (ashr if receiver.type.scalar.signed else lshr)(ctx, x, y)


def _as_bool(ctx: Context, x: Handle) -> Handle:
    return x if x.type is dtypes.INT1 else bitcast(ctx, x, dtypes.INT1)


def logical_and(ctx: Context, x: Handle, y: Handle) -> Handle:
    return and_(ctx, _as_bool(ctx, x), _as_bool(ctx, y))


def logical_or(ctx: Context, x: Handle, y: Handle) -> Handle:
    return or_(ctx, _as_bool(ctx, x), _as_bool(ctx, y))


def not_(ctx: Context, x: Handle) -> Handle:
    return invert(ctx, _as_bool(ctx, x))


def minus(ctx: Context, x: Handle) -> Handle:
    type_ = x.type.scalar
    if type_.pointer:
        raise fail(ctx, f"wrong type argument to unary minus ({type_})")
    if type_.floating and not ctx.options.decisions.negation_subtracts:
        return emit(ctx, "arith.negf", [x.value], x.type)
    zero = Handle(ctx.builder.constant(ir_type(ctx, type_), literal(0, type_.ir)), type_)
    return sub(ctx, zero, x, True)


def invert(ctx: Context, x: Handle) -> Handle:
    type_ = x.type.scalar
    if not type_.integer:
        raise fail(ctx, f"wrong type argument to unary invert ({type_})")
    ones = Handle(ctx.builder.constant(type_.ir, literal(-1, type_.ir)), type_)
    return xor(ctx, x, ones)


def _compare(signed: str, unsigned: str, floating: str) -> Binary:
    def apply(ctx: Context, x: Any, y: Any) -> Handle:
        a, b = check_binary(ctx, x, y)
        type_ = a.type.scalar
        result = a.type.with_element(dtypes.INT1)
        if type_.floating:
            return emit(ctx, "arith.cmpf", [a.value, b.value], result, {"predicate": floating})
        if not type_.integer:
            raise fail(ctx, f"unexpected type {type_}")
        return emit(ctx, "arith.cmpi", [a.value, b.value], result, {"predicate": signed if type_.signed else unsigned})

    return apply


greater_than, greater_equal = _compare("sgt", "ugt", "ogt"), _compare("sge", "uge", "oge")
less_than, less_equal = _compare("slt", "ult", "olt"), _compare("sle", "ule", "ole")
equal, not_equal = _compare("eq", "eq", "oeq"), _compare("ne", "ne", "une")


def where(ctx: Context, condition: Handle, x: Any, y: Any) -> Handle:
    """``tl.where``: types and shapes of ``x`` and ``y`` meet first, then those of the condition."""
    condition = cast(ctx, condition, dtypes.INT1)
    a, b = check_binary(ctx, x, y, True, True)
    if condition.type.block:
        condition, a = broadcast_pair(ctx, condition, a)
        a, b = broadcast_pair(ctx, a, b)
    else:
        condition, _ = broadcast_pair(ctx, condition, a)
    return emit(ctx, "arith.select", [condition.value, a.value, b.value], a.type)
