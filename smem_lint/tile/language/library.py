"""Triton's library of jit functions, the types and iterators of the language, and ``extra.cuda`` by name (3.8.0)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smem_lint.tile import dtypes, loops
from smem_lint.tile.dtypes import DType
from smem_lint.tile.language import random, sorting, standard
from smem_lint.tile.language.registry import TABLE, builtin, constant, register
from smem_lint.tile.semantic import casts, elementwise
from smem_lint.tile.semantic.context import Context, fail
from smem_lint.tile.values import Handle, Named

_JIT: dict[str, Callable[..., Any]] = {
    "max": standard.max_, "min": standard.min_, "sum": standard.sum_, "argmax": standard.argmax, "argmin": standard.argmin,
    "xor_sum": standard.xor_sum, "reduce_or": standard.reduce_or, "cumsum": standard.cumsum, "cumprod": standard.cumprod,
    "cdiv": standard.cdiv, "sigmoid": standard.sigmoid, "softmax": standard.softmax, "ravel": standard.ravel,
    "swizzle2d": standard.swizzle2d, "zeros": standard.zeros, "zeros_like": standard.zeros_like, "interleave": standard.interleave,
    "squeeze": standard.squeeze, "unsqueeze": standard.unsqueeze,
    "sort": sorting.sort, "sort_impl": sorting.sort_impl, "topk": sorting.topk, "bitonic_merge": sorting.bitonic_merge,
    "flip": sorting.flip,
    "_sum_combine": standard.sum_combine, "_prod_combine": standard.prod_combine, "_xor_combine": standard.xor_combine,
    "_or_combine": standard.or_combine, "_elementwise_max": standard.elementwise_max, "_elementwise_min": standard.elementwise_min,
    "_argmax_combine": standard.argmax_combine, "_argmin_combine": standard.argmin_combine,
    "_argmax_combine_tie_break_left": standard.argmax_left, "_argmax_combine_tie_break_fast": standard.argmax_fast,
    "_argmin_combine_tie_break_left": standard.argmin_left, "_argmin_combine_tie_break_fast": standard.argmin_fast,
    "_indicator": sorting.indicator, "_compare_and_swap": sorting.compare_and_swap, "_bitonic_merge_hypercube": sorting.merge,
    "rand": random.rand, "rand4x": random.rand4x, "randint": random.randint, "randint4x": random.randint4x, "randn": random.randn,
    "randn4x": random.randn4x, "philox": random.philox, "philox_impl": random.philox_impl,
    "pair_uniform_to_normal": random.pair_uniform_to_normal, "uint_to_uniform_float": random.uint_to_uniform_float,
}  # fmt: skip
for _name, _function in _JIT.items():
    register(_name, _function, jit=True)
constant("N_ROUNDS_DEFAULT", random.ROUNDS)


# types and iterators, as functions of constants


def _constexpr(ctx: Context, value: Any) -> Any:
    """A run-time value is wrapped and, when assigned, unwrapped again: nothing comes of it."""
    return value


def _dtype(ctx: Context, name: str) -> DType:
    if not isinstance(name, str):
        raise fail(ctx, f"tl.dtype of {name!r}")
    return DType(name)


def _pointer_type(ctx: Context, element_ty: DType, address_space: int = 1, const: bool = False) -> DType:
    if not isinstance(element_ty, DType):
        raise fail(ctx, f"element_ty has type {type(element_ty).__name__}; expected dtype")
    return dtypes.PointerType(element_ty, address_space, const)


def _block_type(ctx: Context, element_ty: DType, shape: Any) -> DType:
    return dtypes.BlockType(element_ty, tuple(shape))


def _is_power_of_two(ctx: Context, i: int) -> bool:
    return (i & (i - 1)) == 0 and i != 0


def _not_a_value(name: str) -> Any:
    def call(ctx: Context, *args: Any, **kwargs: Any) -> Any:
        raise fail(ctx, f"tl.{name} cannot be called in a kernel")

    return call


register("constexpr", _constexpr)
register("dtype", _dtype)
register("pointer_type", _pointer_type)
register("block_type", _block_type)
register("get_int_dtype", lambda ctx, bitwidth, signed: dtypes.int_type(bitwidth, bool(signed)))
register("_get_int_dtype", lambda ctx, bitwidth, signed: dtypes.int_type(bitwidth, bool(signed)))
register("_log2", lambda ctx, i: sorting.log2(i))
register("_is_power_of_two", _is_power_of_two)
register("_unwrap_if_constexpr", lambda ctx, o: o)
register("tuple", lambda ctx, args: tuple(args))
register("range", loops.make_range)
register("static_range", loops.make_static_range)
register("condition", loops.make_condition)
for _name in ("tensor", "const", "constexpr_type", "slice", "tensor_descriptor", "tensor_descriptor_type", "tuple_type"):
    register(_name, _not_a_value(_name))
register("tensor_descriptor_base", _not_a_value("tensor_descriptor_base"))


# triton itself, and its target


def _next_power_of_2(ctx: Context, n: int) -> int:
    """As Triton computes it: 0 for 0."""
    n -= 1
    for shift in (1, 2, 4, 8, 16, 32):
        n |= n >> shift
    return n + 1


def _cdiv(ctx: Context, x: int, y: int) -> int:
    return (x + y - 1) // y


def _numbers_only(name: str, function: Any) -> Any:
    def call(ctx: Context, *args: Any, **kwargs: Any) -> Any:
        if any(isinstance(each, Handle) for each in (*args, *kwargs.values())):
            raise fail(ctx, f"triton.{name} of a run-time value")
        return function(ctx, *args, **kwargs)

    return call


TABLE["triton.cdiv"] = builtin("triton.cdiv", _numbers_only("cdiv", _cdiv))
TABLE["triton.next_power_of_2"] = builtin("triton.next_power_of_2", _numbers_only("next_power_of_2", _next_power_of_2))
register("target_info.current_target", lambda ctx: Named(("cuda", ctx.options.capability, 32), ("backend", "arch", "warp_size")))
register("target_info.is_cuda", lambda ctx: True)
register("target_info.is_hip", lambda ctx: False)
register("target_info.is_hip_cdna3", lambda ctx: False)
register("target_info.is_hip_cdna4", lambda ctx: False)
register("target_info.is_hip_gfx1250", lambda ctx: False)
register("target_info.cuda_capability_geq", lambda ctx, major, minor=0: ctx.options.capability >= major * 10 + minor)


# extra.cuda


def _asm(text: str, constraints: str, type_: DType, pure: bool, keep: bool = True) -> Any:
    def call(ctx: Context) -> Handle | None:
        result = elementwise.inline_asm(ctx, text, constraints, (), (type_,), pure, 1)[0]
        return result if keep else None

    return call


register("extra.cuda.globaltimer", _asm("mov.u64 $0, %globaltimer;", "=l", dtypes.INT64, False))
register("extra.cuda.smid", _asm("mov.u32 $0, %smid;", "=r", dtypes.INT32, True))
register("extra.cuda.gdc_wait", _asm("griddepcontrol.wait; // dummy $0", "=r", dtypes.INT32, False, False))
register("extra.cuda.gdc_launch_dependents", _asm("griddepcontrol.launch_dependents; // dummy $0", "=r", dtypes.INT32, False, False))
register("extra.cuda.num_threads", lambda ctx: ctx.options.num_warps * 32)
register("extra.cuda.num_warps", lambda ctx: ctx.options.num_warps)
for _name in ("gdc_wait", "gdc_launch_dependents"):
    TABLE[f"triton.language.extra.cuda.gdc.{_name}"] = TABLE[f"triton.language.extra.cuda.{_name}"]
for _name in ("convert_custom_float8_sm70", "convert_custom_float8_sm80"):
    register(f"extra.cuda.{_name}", lambda ctx, arg, dst_ty, fp_downcast_rounding=None: casts.cast(ctx, arg, dst_ty))
for _name in ("globaltimer", "smid", "num_threads", "num_warps"):
    TABLE[f"triton.language.extra.cuda.utils.{_name}"] = TABLE[f"triton.language.extra.cuda.{_name}"]
