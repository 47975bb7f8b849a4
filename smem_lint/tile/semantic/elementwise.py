"""Element-wise functions: mathematics, libraries, inline assembly (``math.py`` and ``core.py``, 3.8.0)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from smem_lint.tile import dtypes
from smem_lint.tile.dtypes import DType
from smem_lint.tile.semantic.context import Context, emit, fail, ir_type, to_tensor
from smem_lint.tile.semantic.promotion import check_binary
from smem_lint.tile.values import Handle

UNARY = {
    "exp": "math.exp", "exp2": "math.exp2", "log": "math.log", "log2": "math.log2", "cos": "math.cos", "sin": "math.sin",
    "sqrt": "math.sqrt", "rsqrt": "math.rsqrt", "erf": "math.erf", "floor": "math.floor", "ceil": "math.ceil",
    "sqrt_rn": "tt.precise_sqrt",
}  # fmt: skip
"""Functions of one fp32 or fp64 operand (``sqrt_rn``: fp32 only), and the operation of each."""


def unary(ctx: Context, name: str, x: Any) -> Handle:
    allowed = (dtypes.FP32,) if name == "sqrt_rn" else (dtypes.FP32, dtypes.FP64)
    if isinstance(x, Handle) and x.dtype not in allowed:
        raise fail(ctx, f"{name}: expected dtype {[str(each) for each in allowed]} but got {x.dtype}")
    value = to_tensor(ctx, x)
    return emit(ctx, UNARY[name], [value.value], value.type)


def absolute(ctx: Context, x: Any) -> Handle:
    value = to_tensor(ctx, x)
    type_ = value.dtype
    if type_ is dtypes.FP8E4B15:
        from smem_lint.tile.semantic.shapes import full

        mask = full(ctx, value.shape, 0x7F, dtypes.INT8)
        return emit(ctx, "arith.andi", [value.value, mask.value], value.type)
    if type_.floating:
        return emit(ctx, "math.absf", [value.value], value.type)
    if type_.signed:
        return emit(ctx, "math.absi", [value.value], value.type)
    if type_.integer:
        return value
    raise fail(ctx, f"unexpected dtype {type_}")


def umulhi(ctx: Context, x: Any, y: Any) -> Handle:
    """The high half of the product of two 32- or 64-bit integers."""
    for each in (x, y):
        if isinstance(each, Handle) and not (each.dtype.integer and each.dtype.int_bitwidth >= 32):
            raise fail(ctx, f"umulhi: unexpected dtype {each.dtype}")
    a, b = check_binary(ctx, to_tensor(ctx, x), to_tensor(ctx, y))
    return emit(ctx, "tt.mulhiui", [a.value, b.value], a.type)


def div_rn(ctx: Context, x: Any, y: Any) -> Handle:
    for each in (x, y):
        if isinstance(each, Handle) and each.dtype is not dtypes.FP32:
            raise fail(ctx, f"div_rn: expected dtype fp32 but got {each.dtype}")
    a, b = check_binary(ctx, to_tensor(ctx, x), to_tensor(ctx, y))
    return emit(ctx, "tt.precise_divf", [a.value, b.value], a.type)


def fma(ctx: Context, x: Any, y: Any, z: Any) -> Handle:
    a, b, c = to_tensor(ctx, x), to_tensor(ctx, y), to_tensor(ctx, z)
    a, b = check_binary(ctx, a, b)
    c, a = check_binary(ctx, c, a)
    c, b = check_binary(ctx, c, b)
    return emit(ctx, "math.fma", [a.value, b.value, c.value], a.type)


def _meet(ctx: Context, args: list[Handle], pointers: bool) -> tuple[list[Handle], Handle]:
    """All arguments at one shape; Triton finds the shape first and broadcasts each argument after."""
    shaped = args[0]
    for each in args:
        _, shaped = check_binary(ctx, each, shaped, pointers, pointers, arithmetic=False)
    if shaped.type.block or not pointers:
        args = [check_binary(ctx, each, shaped, pointers, pointers, arithmetic=False)[0] for each in args]
    return args, shaped


def extern(
    ctx: Context, args: Sequence[Any], symbols: Mapping[tuple[DType, ...], tuple[str, DType]], pure: bool = True,
    library: str = "", path: str = "",
) -> Handle:  # fmt: skip
    """``extern_elementwise``: the library function for the types of the arguments, which must match one of ``symbols``."""
    handles = [to_tensor(ctx, each) for each in args]
    types = tuple(each.dtype for each in handles)
    if types not in symbols:
        raise fail(ctx, f"no library function for {[str(each) for each in types]}")
    symbol, result = symbols[types]
    handles, shaped = _meet(ctx, handles, False)
    type_ = shaped.type.with_element(result) if any(each.type.block for each in handles) else result
    attrs = {"libname": library, "libpath": path, "pure": bool(pure), "symbol": symbol}
    return emit(ctx, "tt.extern_elementwise", [each.value for each in handles], type_, attrs)


def inline_asm(
    ctx: Context, text: str, constraints: str, args: Sequence[Any], types: Sequence[DType], pure: Any, pack: int
) -> list[Handle]:
    """``inline_asm_elementwise``: one result for each of ``types``."""
    handles = [to_tensor(ctx, each) for each in args]
    results: list[DType] = list(types)
    if handles:
        handles, shaped = _meet(ctx, handles, True)
        if shaped.type.block:
            results = [shaped.type.with_element(each) for each in results]
    attrs = {"text": text, "constraints": constraints, "packed_element": pack, "pure": bool(pure)}
    ir_types = [ir_type(ctx, each) for each in results]
    op = ctx.builder.op("tt.elementwise_inline_asm", [each.value for each in handles], ir_types, attrs)
    return [Handle(value, type_) for value, type_ in zip(op.results, results, strict=True)]
