"""Conversions between element types (``cast`` and ``bitcast`` of ``semantic.py``, 3.8.0)."""

from __future__ import annotations

from smem_lint.tile import dtypes
from smem_lint.tile.dtypes import DType
from smem_lint.tile.semantic.context import Context, emit, fail, ir_type, literal, splat
from smem_lint.tile.values import Handle


def bitcast(ctx: Context, value: Handle, target: DType) -> Handle:
    """The same bits as another type of the same width."""
    source = value.type.scalar
    type_ = value.type.with_element(target.scalar)
    if type_ is value.type:
        return value
    if source.pointer or type_.scalar.pointer:
        return cast(ctx, value, type_)
    if source.primitive_bitwidth != type_.scalar.primitive_bitwidth:
        raise fail(ctx, f"cannot bitcast {source} to {type_.scalar}")
    return emit(ctx, "tt.bitcast", [value.value], type_)


def int_cast(ctx: Context, value: Handle, target: DType, signed: bool) -> Handle:
    """``create_int_cast``: by the widths, also where nothing changes."""
    type_ = value.type.with_element(target.scalar)
    have, want = value.type.scalar.ir.bits, type_.scalar.ir.bits
    if have == want:
        name = "arith.bitcast"
    elif have > want:
        name = "arith.trunci"
    else:
        name = "arith.extsi" if signed else "arith.extui"
    return emit(ctx, name, [value.value], type_)


def cast(ctx: Context, value: Handle, target: DType, rounding: str | None = None) -> Handle:
    """The value as ``target``'s element type; ``rounding`` (``rtne``, ``rtz``) only where a float gets narrower."""
    source, want = value.type.scalar, target.scalar
    if source is want:
        return value
    type_ = value.type.with_element(want)
    if rounding not in (None, "rtne", "rtz"):
        raise fail(ctx, f"invalid rounding mode: {rounding}")
    if source.floating and want.floating:
        return _float_to_float(ctx, value, type_, rounding)
    if rounding is not None:
        raise fail(ctx, f"fp_downcast_rounding is for truncating float conversions, not {source} to {want}")
    if source in (dtypes.FP16, dtypes.BF16):
        return cast(ctx, cast(ctx, value, dtypes.FP32), want)
    if source.integer and want.integer:
        if want is dtypes.INT1:
            return _is_not_zero(ctx, value)
        return int_cast(ctx, value, want, source.signed)
    if source.standard_floating and want.integer:
        if want is dtypes.INT1:
            return _is_not_zero(ctx, value)
        return emit(ctx, "arith.fptosi" if want.signed else "arith.fptoui", [value.value], type_)
    if source.integer and want.standard_floating:
        return emit(ctx, "arith.sitofp" if source.signed else "arith.uitofp", [value.value], type_)
    return _pointers(ctx, value, type_)


def _float_to_float(ctx: Context, value: Handle, type_: DType, rounding: str | None) -> Handle:
    source, want = value.type.scalar, type_.scalar
    have, bits = source.primitive_bitwidth, want.primitive_bitwidth
    custom = False
    if bits < have:
        custom = rounding == "rtz"
        rounding = rounding or "rtne"
    elif rounding is not None:
        raise fail(ctx, f"fp_downcast_rounding is for truncating float conversions, not {source} to {want}")
    if dtypes.FP8E4B15 in (source, want):
        return _custom_fp8(ctx, value, type_)
    if source.fp8 or want.fp8 or custom:
        return emit(ctx, "tt.fp_to_fp", [value.value], type_, {"rounding": rounding} if rounding else None)
    if source in (dtypes.FP16, dtypes.BF16) and want is not dtypes.FP32:
        return cast(ctx, cast(ctx, value, dtypes.FP32), want)
    return emit(ctx, "arith.truncf" if bits < have else "arith.extf", [value.value], type_)


def _custom_fp8(ctx: Context, value: Handle, type_: DType) -> Handle:
    """fp8e4b15 goes by inline assembly through fp16, four elements at a time (``extra/cuda/utils.py``)."""
    attrs = {"packed_element": 4, "pure": True}
    if value.type.scalar is dtypes.FP8E4B15:
        half = value.type.with_element(dtypes.FP16)
        wide = emit(ctx, "tt.elementwise_inline_asm", [value.value], half, {**attrs, "constraints": "=r,=r,r"})
        return cast(ctx, wide, dtypes.FP32) if type_.scalar is dtypes.FP32 else wide
    if value.type.scalar not in (dtypes.FP16, dtypes.FP32):
        raise fail(ctx, f"no conversion from {value.type.scalar} to fp8e4b15")
    if value.type.scalar is dtypes.FP32:
        value = cast(ctx, value, dtypes.FP16, "rtz")
    return emit(ctx, "tt.elementwise_inline_asm", [value.value], type_, {**attrs, "constraints": "=r,r,r"})


def _is_not_zero(ctx: Context, value: Handle) -> Handle:
    source = value.type.scalar
    zero = Handle(ctx.builder.constant(ir_type(ctx, source), literal(0, source.ir)), source)
    name, predicate = ("arith.cmpf", "une") if source.floating else ("arith.cmpi", "ne")
    operands = [value.value, splat(ctx, zero, value.shape).value]
    return emit(ctx, name, operands, value.type.with_element(dtypes.INT1), {"predicate": predicate})


def _pointers(ctx: Context, value: Handle, type_: DType) -> Handle:
    source, want = value.type.scalar, type_.scalar
    if source.pointer and want.integer:
        if want.int_bitwidth == 64:
            return emit(ctx, "tt.ptr_to_int", [value.value], type_)
        if want is dtypes.INT1:
            return _is_not_zero(ctx, cast(ctx, value, dtypes.INT64))
    if source.integer and want.pointer:
        if source.int_bitwidth != 64:
            raise fail(ctx, f"a pointer is made of a 64-bit integer, not of {source}")
        return emit(ctx, "tt.int_to_ptr", [value.value], type_)
    if source.pointer and want.pointer:
        return emit(ctx, "tt.bitcast", [value.value], type_)
    raise fail(ctx, f"cannot cast {value.type} to {type_}")
