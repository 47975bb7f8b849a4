"""``tl.dot`` and ``tl.dot_scaled`` (``semantic.py`` and ``core.py``; smallest shapes from ``backends/nvidia/compiler.py``, 3.8.0)."""

from __future__ import annotations

from typing import Any

from smem_lint.tile import dtypes
from smem_lint.tile.dtypes import BlockType, DType
from smem_lint.tile.semantic.casts import bitcast, cast
from smem_lint.tile.semantic.context import Context, emit, fail, literal
from smem_lint.tile.semantic.shapes import reshape
from smem_lint.tile.values import Handle

PRECISIONS = {"tf32": "tf32", "tf32x3": "tf32x3", "ieee": None, "bf16x3": "bf16x3", "bf16x6": "bf16x6"}
"""Input precisions, as the IR prints them (``ieee`` is the default and is not printed)."""

_SMALLEST_K = {8: 32, 16: 16, 32: 8, 64: 4}
_OPERANDS = (dtypes.INT8, dtypes.UINT8, dtypes.FP16, dtypes.BF16, dtypes.FP32, dtypes.FP64)
_SCALED_FORMATS = {"e5m2": dtypes.FP8E5, "e4m3": dtypes.FP8E4NV, "bf16": dtypes.BF16, "fp16": dtypes.FP16, "e2m1": None}


def _check_operands(ctx: Context, a: Handle, b: Handle) -> None:
    if not (isinstance(a, Handle) and isinstance(b, Handle) and a.type.block and b.type.block):
        raise fail(ctx, "dot operands must be tiles")
    left, right = a.dtype, b.dtype
    if not (left.fp8 and right.fp8) and (left not in _OPERANDS or left is not right):
        raise fail(ctx, f"unsupported operands of dot: {left} and {right}")
    rank = len(a.shape)
    if rank < 2 or len(b.shape) != rank or a.shape[:-2] != b.shape[:-2] or a.shape[-1] != b.shape[-2]:
        raise fail(ctx, f"shapes do not fit a dot: {list(a.shape)} and {list(b.shape)}")


def _check_smallest(ctx: Context, a: Handle, b: Handle) -> None:
    bits: int = a.dtype.primitive_bitwidth
    smallest = _SMALLEST_K[min(bits, 16) if ctx.options.decisions.wide_dots_only else bits]
    if a.shape[-1] < smallest:
        raise fail(ctx, f"input shapes should have M >= 1, N >= 1 and K >= {smallest}, got K = {a.shape[-1]}")


def _result_type(ctx: Context, operand: DType, out: DType) -> DType:
    if operand.integer:
        if operand is not dtypes.INT8:
            raise fail(ctx, "only int8 supported")
        return dtypes.INT32
    if out is dtypes.BF16:
        raise fail(ctx, "out_dtype=bfloat16 is unsupported")
    if operand in (dtypes.FP32, dtypes.BF16):
        return dtypes.FP32
    return dtypes.FP64 if operand is dtypes.FP64 else out


def _dot(ctx: Context, a: Handle, b: Handle, acc: Handle | None, precision: str, imprecise: int | None, out: DType | None) -> Handle:
    if dtypes.FP8E4B15 in (a.dtype, b.dtype):
        a, b = cast(ctx, a, dtypes.FP16), cast(ctx, b, dtypes.FP16)
    if out is None:
        out = dtypes.FP32 if acc is None or ctx.options.decisions.dots_make_floats else acc.dtype
    _check_smallest(ctx, a, b)
    element = _result_type(ctx, a.dtype, out)
    type_ = BlockType(element, (*a.shape[:-1], b.shape[-1]))
    both_fp8 = a.dtype.fp8 and b.dtype.fp8
    if acc is None:
        accumulator = ctx.builder.constant(type_.ir, literal(0, type_.element_ty.ir))
    else:
        if acc.shape != type_.shape or acc.dtype is not out:
            raise fail(ctx, f"expected an accumulator of shape {list(type_.shape)} and type {out}, got {acc.type}")
        accumulator = acc.value
    if imprecise is None:
        imprecise = ctx.options.max_num_imprecise_acc if both_fp8 else 0
    elif both_fp8 and imprecise > a.shape[-1]:
        raise fail(ctx, f"max_num_imprecise_acc ({imprecise}) must be <= K ({a.shape[-1]})")
    attrs: dict[str, Any] = {}
    if PRECISIONS[precision]:
        attrs["inputPrecision"] = PRECISIONS[precision]
    if imprecise:
        attrs["maxNumImpreciseAcc"] = imprecise
    return emit(ctx, "tt.dot", [a.value, b.value, accumulator], type_, attrs)


def dot(
    ctx: Context, a: Handle, b: Handle, acc: Handle | None, precision: str, imprecise: int | None, out: DType | None
) -> Handle:
    """``tl.dot``; more than one batch dimension is folded into one and unfolded after."""
    if not isinstance(precision, str) or precision.lower() not in PRECISIONS:
        raise fail(ctx, f"input_precision must be one of {sorted(PRECISIONS)}, got {precision!r}")
    _check_operands(ctx, a, b)
    shape = (*a.shape[:-1], b.shape[-1])
    if acc is not None and (not isinstance(acc, Handle) or acc.shape != shape):
        raise fail(ctx, f"accumulator {acc!r} does not have shape {list(shape)}")
    batch = len(shape) >= 4
    if batch:
        count = 1
        for size in shape[:-2]:
            count *= size
        a = reshape(ctx, a, (count, *a.shape[-2:]))
        b = reshape(ctx, b, (count, *b.shape[-2:]))
        acc = reshape(ctx, acc, (count, *shape[-2:])) if acc is not None else None
    result = _dot(ctx, a, b, acc, precision.lower(), imprecise, out)
    return reshape(ctx, result, shape) if batch else result


def _as_format(ctx: Context, value: Handle, name: str) -> Handle:
    """The operand as the type that its format names; fp4 stays packed in uint8."""
    if name not in _SCALED_FORMATS:
        raise fail(ctx, f"invalid float format: {name}")
    want = _SCALED_FORMATS[name]
    if want is None:
        if value.dtype is not dtypes.UINT8:
            raise fail(ctx, f"e2m1 format must be packed as uint8, got {value.dtype}")
        return value
    if value.dtype is want:
        return value
    if value.dtype is not dtypes.int_type(want.primitive_bitwidth, False):
        raise fail(ctx, f"unexpected dtype for {name}: {value.dtype}")
    return bitcast(ctx, value, want)


def _scale_factor(ctx: Context, k: int, *scales: Handle | None) -> int:
    factors = {k // scale.shape[-1] for scale in scales if scale is not None and scale.type.block and scale.type.numel != 1}
    if len(factors) > 1 or not factors <= {16, 32}:
        raise fail(ctx, f"scale factors must be 16 or 32 and the same, got {sorted(factors)}")
    return factors.pop() if factors else 32


def dot_scaled(
    ctx: Context, a: Handle, a_scale: Handle | None, a_format: str, b: Handle, b_scale: Handle | None, b_format: str,
    acc: Handle | None, fast_math: bool, a_k_pack: bool, b_k_pack: bool,
) -> Handle:  # fmt: skip
    """``tl.dot_scaled``: operands in microscaling formats with scales for groups of 16 or 32 along K."""
    if not (isinstance(a, Handle) and isinstance(b, Handle) and a.type.block and b.type.block):
        raise fail(ctx, "dot_scaled operands must be tiles")
    a, b = _as_format(ctx, a, a_format), _as_format(ctx, b, b_format)
    if not ((a_k_pack or a_format == "e2m1") and (b_k_pack or b_format == "e2m1")):
        raise fail(ctx, "only mxfp4 inputs can be packed along a dimension different than K")
    pack_a, pack_b = (2 if name == "e2m1" else 1 for name in (a_format, b_format))
    (m, k_a), (k_b, n) = a.shape[-2:], b.shape[-2:]
    k = k_a * pack_a if a_k_pack else k_a
    if k != (k_b * pack_b if b_k_pack else k_b):
        raise fail(ctx, f"reduction dimension should pack the same number of elements: {list(a.shape)} and {list(b.shape)}")
    m, n = (m if a_k_pack else m * pack_a), (n if b_k_pack else n * pack_b)
    type_ = BlockType(dtypes.FP32, (*a.shape[:-2], m, n))
    if acc is None:
        accumulator = ctx.builder.constant(type_.ir, 0.0)
    else:
        if acc.type is not type_:
            raise fail(ctx, f"expected an accumulator of type {type_}, got {acc.type}")
        accumulator = acc.value
    factor = _scale_factor(ctx, k, a_scale, b_scale)
    for scale, size in ((a_scale, m), (b_scale, n)):
        if scale is not None and scale.shape[-2:] != (size, k // factor):
            raise fail(ctx, f"scale must have shape [..., {size}, {k // factor}], got {list(scale.shape)}")
    attrs: dict[str, Any] = {
        "lhs": a_format, "rhs": b_format, "fastMath": bool(fast_math),
        "segments": (1, 1, 1, int(a_scale is not None), int(b_scale is not None)),
    }  # fmt: skip
    if not a_k_pack:
        attrs["lhs_k_pack"] = False
    if not b_k_pack:
        attrs["rhs_k_pack"] = False
    scales = [scale.value for scale in (a_scale, b_scale) if scale is not None]
    return emit(ctx, "tt.dot_scaled", [a.value, b.value, accumulator, *scales], type_, attrs)
