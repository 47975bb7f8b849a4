"""``triton.language.core`` and ``math``: parameters, defaults, and the work that the wrappers do themselves (3.8.0)."""

from __future__ import annotations

from typing import Any

from smem_lint.tile import dtypes
from smem_lint.tile.language.registry import constant, register
from smem_lint.tile.language.standard import maximum, minimum, promote_bfloat16
from smem_lint.tile.semantic import (
    arithmetic,
    block_pointer,
    casts,
    descriptor,
    elementwise,
    hints,
    linear_algebra,
    memory,
    operators,
    regions,
    shapes,
)
from smem_lint.tile.semantic.block_pointer import BlockPointer
from smem_lint.tile.semantic.context import Context, fail, to_tensor
from smem_lint.tile.semantic.promotion import broadcast_pair, broadcast_to_shape
from smem_lint.tile.values import Handle

_ABSENT: Any = object()


def _dims(dims: tuple[Any, ...]) -> tuple[Any, ...]:
    """``f(x, 1, 2)`` and ``f(x, (1, 2))`` are the same."""
    return tuple(dims[0]) if len(dims) == 1 and isinstance(dims[0], tuple | list) else dims


def _optional(ctx: Context, value: Any) -> Handle | None:
    return None if value is None else to_tensor(ctx, value)


def _number(ctx: Context, what: str, number: int) -> int:
    if number not in (0, 1, 2):
        raise fail(ctx, f"{what} axis must be 0, 1, or 2 but got {number!r}")
    return number


def program_id(ctx: Context, axis: int) -> Handle:
    name = "xyz"[_number(ctx, "program_id", axis)]
    return Handle(ctx.builder.value("tt.get_program_id", (), dtypes.INT32.ir, axis=name), dtypes.INT32)


def num_programs(ctx: Context, axis: int) -> Handle:
    name = "xyz"[_number(ctx, "num_programs", axis)]
    return Handle(ctx.builder.value("tt.get_num_programs", (), dtypes.INT32.ir, axis=name), dtypes.INT32)


def full(ctx: Context, shape: Any, value: Any, dtype: Any) -> Handle:
    shape = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    dtypes.check_shape(shape)
    return shapes.full(ctx, shape, value, dtype)


def broadcast(ctx: Context, input: Handle, other: Handle) -> tuple[Handle, Handle]:
    return broadcast_pair(ctx, input, other)


def broadcast_to(ctx: Context, input: Handle, *shape: Any) -> Handle:
    return broadcast_to_shape(ctx, input, _dims(shape))


def trans(ctx: Context, input: Handle, *dims: Any) -> Handle:
    return shapes.transpose(ctx, input, _dims(dims))


def permute(ctx: Context, input: Handle, *dims: Any) -> Handle:
    return shapes.permute(ctx, input, _dims(dims))


def cat(ctx: Context, input: Handle, other: Handle, can_reorder: bool = False, dim: int = 0) -> Handle:
    return shapes.cat(ctx, input, other, bool(can_reorder), dim)


def reshape(ctx: Context, input: Handle, *shape: Any, can_reorder: bool = False) -> Handle:
    dims = _dims(shape)
    return shapes.reshape(ctx, input, dims, bool(can_reorder)) if dims else shapes.unsplat(ctx, input)


def view(ctx: Context, input: Handle, *shape: Any) -> Handle:
    return shapes.reshape(ctx, input, _dims(shape), True)


def expand_dims(ctx: Context, input: Any, axis: Any) -> Handle:
    return shapes.expand_many(ctx, to_tensor(ctx, input), axis)


def cast(ctx: Context, input: Any, dtype: Any, fp_downcast_rounding: str | None = None, bitcast: bool = False) -> Handle:
    value = to_tensor(ctx, input)
    if not isinstance(dtype, dtypes.DType):
        raise fail(ctx, f"cannot cast to {dtype!r}")
    return casts.bitcast(ctx, value, dtype) if bitcast else casts.cast(ctx, value, dtype, fp_downcast_rounding)


def dot(
    ctx: Context, input: Handle, other: Handle, acc: Any = None, input_precision: Any = _ABSENT, allow_tf32: Any = _ABSENT,
    max_num_imprecise_acc: Any = None, out_dtype: Any = None,
) -> Handle:  # fmt: skip
    """A constexpr of None is not None to Triton's wrapper: ``allow_tf32=None`` means IEEE, ``input_precision=None`` the default."""
    if input_precision is not _ABSENT and allow_tf32 is not _ABSENT:
        raise fail(ctx, "only one of input_precision and allow_tf32 can be specified")
    if input_precision is _ABSENT:
        input_precision = "tf32" if allow_tf32 is _ABSENT or allow_tf32 else "ieee"
    elif input_precision is None:
        input_precision = ctx.options.default_dot_input_precision
    return linear_algebra.dot(ctx, input, other, acc, input_precision, max_num_imprecise_acc, out_dtype)


def dot_scaled(
    ctx: Context, lhs: Handle, lhs_scale: Any, lhs_format: str, rhs: Handle, rhs_scale: Any, rhs_format: str, acc: Any = None,
    fast_math: bool = False, lhs_k_pack: bool = True, rhs_k_pack: bool = True, out_dtype: Any = dtypes.FP32,
) -> Handle:  # fmt: skip
    if out_dtype is not dtypes.FP32:
        raise fail(ctx, "only float32 is supported for out_dtype at the moment")
    return linear_algebra.dot_scaled(
        ctx, lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, acc, bool(fast_math), bool(lhs_k_pack), bool(rhs_k_pack)
    )


def load(
    ctx: Context, pointer: Any, mask: Any = None, other: Any = None, boundary_check: Any = (), padding_option: Any = "",
    cache_modifier: Any = "", eviction_policy: Any = "", volatile: Any = False,
) -> Handle:  # fmt: skip
    if isinstance(pointer, BlockPointer):
        if mask is not None or other is not None:
            raise fail(ctx, "`mask` and `other` arguments cannot be specified for loading block pointers")
        return block_pointer.load(ctx, pointer, boundary_check, padding_option, cache_modifier, eviction_policy, volatile)
    if padding_option or boundary_check:
        raise fail(ctx, "`padding_option` or `boundary_check` argument is not supported for loading a tensor of pointers")
    return memory.load(ctx, pointer, _optional(ctx, mask), _optional(ctx, other), cache_modifier, eviction_policy, volatile)


def store(
    ctx: Context, pointer: Any, value: Any, mask: Any = None, boundary_check: Any = (), cache_modifier: Any = "",
    eviction_policy: Any = "",
) -> None:  # fmt: skip
    if isinstance(pointer, BlockPointer):
        if mask is not None:
            raise fail(ctx, "`mask` argument cannot be specified for storing block pointers")
        return block_pointer.store(ctx, pointer, value, boundary_check, cache_modifier, eviction_policy)
    if boundary_check:
        raise fail(ctx, "`boundary_check` argument is not supported for storing a tensor of pointers")
    return memory.store(ctx, pointer, to_tensor(ctx, value), _optional(ctx, mask), cache_modifier, eviction_policy)


def make_block_ptr(ctx: Context, base: Handle, shape: Any, strides: Any, offsets: Any, block_shape: Any, order: Any) -> BlockPointer:
    return block_pointer.make(ctx, base, shape, strides, offsets, block_shape, order)


def advance(ctx: Context, base: Any, offsets: Any) -> BlockPointer:
    if not isinstance(base, BlockPointer):
        raise fail(ctx, "`tl.advance` only supports block pointers created by `tl.make_block_ptr`")
    return block_pointer.advance(ctx, base, offsets)


def make_tensor_descriptor(
    ctx: Context, base: Handle, shape: Any, strides: Any, block_shape: Any, padding_option: Any = "zero"
) -> descriptor.Descriptor:
    return descriptor.make(ctx, base, tuple(shape), tuple(strides), tuple(block_shape), padding_option)


def load_tensor_descriptor(ctx: Context, desc: Any, offsets: Any) -> Handle:
    return descriptor.load(ctx, desc, offsets)


def store_tensor_descriptor(ctx: Context, desc: Any, offsets: Any, value: Handle) -> None:
    descriptor.store(ctx, desc, value, offsets)


def atomic_cas(ctx: Context, pointer: Handle, cmp: Any, val: Any, sem: Any = None, scope: Any = None) -> Handle:
    return memory.atomic_cas(ctx, pointer, to_tensor(ctx, cmp), to_tensor(ctx, val), sem, scope)


def _atomic(name: str) -> Any:
    def call(ctx: Context, pointer: Handle, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> Handle:
        return memory.atomic(ctx, name, pointer, to_tensor(ctx, val), mask, sem, scope)

    return call


def where(ctx: Context, condition: Any, x: Any, y: Any) -> Handle:
    return arithmetic.where(ctx, to_tensor(ctx, condition), x, y)


def expect_zero(ctx: Context, x: Any, mask: Any) -> Any:
    to_tensor(ctx, mask)
    return x


def clamp(ctx: Context, x: Any, min: Any, max: Any, propagate_nan: str = "none") -> Handle:
    x, low, high = (to_tensor(ctx, each) for each in (x, min, max))
    x, low, high = (promote_bfloat16(ctx, each) for each in (x, low, high))
    return arithmetic.clamp(ctx, x, low, high, propagate_nan)


def reduce(ctx: Context, input: Any, axis: Any, combine_fn: Any, keep_dims: bool = False) -> Any:
    single = isinstance(input, Handle)
    results = regions.reduce(ctx, [input] if single else list(input), axis, combine_fn, bool(keep_dims))
    return results[0] if single else tuple(results)


def reduce_with_indices(ctx: Context, input: Handle, axis: Any, combine_fn: Any, keep_dims: bool = False) -> Any:
    return tuple(regions.reduce_with_indices(ctx, input, axis, combine_fn, bool(keep_dims)))


def associative_scan(ctx: Context, input: Any, axis: int, combine_fn: Any, reverse: bool = False) -> Any:
    single = isinstance(input, Handle)
    results = regions.scan(ctx, [input] if single else list(input), axis, combine_fn, bool(reverse))
    return results[0] if single else tuple(results)


def histogram(ctx: Context, input: Handle, num_bins: int, mask: Any = None) -> Handle:
    return regions.histogram(ctx, input, num_bins, _optional(ctx, mask))


def gather(ctx: Context, src: Handle, index: Handle, axis: int) -> Handle:
    return regions.gather(ctx, src, index, axis)


def map_elementwise(ctx: Context, scalar_fn: Any, *args: Handle, pack: int = 1) -> Any:
    results, single = regions.map_elementwise(ctx, scalar_fn, list(args), pack)
    return results[0] if single else tuple(results)


def multiple_of(ctx: Context, input: Handle, values: Any) -> Handle:
    return hints.hint(ctx, "tt.divisibility", input, values)


def max_contiguous(ctx: Context, input: Handle, values: Any) -> Handle:
    return hints.hint(ctx, "tt.contiguity", input, values)


def max_constancy(ctx: Context, input: Handle, values: Any) -> Handle:
    return hints.hint(ctx, "tt.constancy", input, values)


def device_print(ctx: Context, prefix: Any, *args: Any, hex: bool = False) -> None:
    hints.device_print(ctx, prefix, args, hex)


def device_assert(ctx: Context, cond: Any, msg: Any = "", mask: Any = None) -> None:
    hints.device_assert(ctx, cond, msg, mask)


def static_assert(ctx: Context, cond: Any, msg: Any = "") -> None:
    if not isinstance(cond, bool):
        raise fail(ctx, "the condition of static_assert is not known at compile time")
    if not cond:
        raise fail(ctx, f"static_assert: {msg}" if msg else "static_assert")


def static_print(ctx: Context, *values: Any, **kwargs: Any) -> None:
    """Nothing: what it prints while compiling decides nothing."""


def inline_asm_elementwise(ctx: Context, asm: str, constraints: str, args: Any, dtype: Any, is_pure: Any, pack: int) -> Any:
    several = isinstance(dtype, tuple | list)
    results = elementwise.inline_asm(ctx, asm, constraints, tuple(args), tuple(dtype) if several else (dtype,), is_pure, pack)
    return tuple(results) if several else results[0]


def extern_elementwise(ctx: Context, lib_name: str, lib_path: str, args: Any, arg_type_symbol_dict: Any, is_pure: Any) -> Handle:
    return elementwise.extern(ctx, list(args), arg_type_symbol_dict, is_pure, lib_name, lib_path)


def fdiv(ctx: Context, x: Any, y: Any, ieee_rounding: bool = False) -> Handle:
    return arithmetic.fdiv(ctx, to_tensor(ctx, x), to_tensor(ctx, y), bool(ieee_rounding))


def _unary(name: str) -> Any:
    def call(ctx: Context, x: Any) -> Handle:
        return elementwise.unary(ctx, name, x)

    return call


for _function in (
    program_id, num_programs, full, broadcast, broadcast_to, trans, permute, cat, reshape, view, expand_dims, cast, dot, dot_scaled, load,
    store, make_block_ptr, advance, make_tensor_descriptor, load_tensor_descriptor, store_tensor_descriptor, atomic_cas, where,
    expect_zero, clamp, reduce, associative_scan, histogram, gather, map_elementwise, multiple_of, max_contiguous, max_constancy,
    device_print, device_assert, static_assert, static_print, inline_asm_elementwise, extern_elementwise, fdiv, minimum, maximum,
):  # fmt: skip
    register(_function.__name__, _function)
register("arange", lambda ctx, start, end: shapes.arange(ctx, start, end))
register("join", lambda ctx, a, b: shapes.join(ctx, a, b))
register("split", lambda ctx, a: shapes.split(ctx, a))
register("item", lambda ctx, input: shapes.unsplat(ctx, input))
register("to_tensor", lambda ctx, x: to_tensor(ctx, x))
register("add", lambda ctx, x, y, sanitize_overflow=True: arithmetic.add(ctx, x, y, sanitize_overflow))
register("sub", lambda ctx, x, y, sanitize_overflow=True: arithmetic.sub(ctx, x, y, sanitize_overflow))
register("mul", lambda ctx, x, y, sanitize_overflow=True: arithmetic.mul(ctx, x, y, sanitize_overflow))
register("assume", lambda ctx, cond: hints.assume(ctx, cond))
register("debug_barrier", hints.barrier)
register("_promote_bfloat16_to_float32", lambda ctx, t: promote_bfloat16(ctx, t))
register("_reduce_with_indices", reduce_with_indices)
register("abs", lambda ctx, x: elementwise.absolute(ctx, x))
register("umulhi", lambda ctx, x, y: elementwise.umulhi(ctx, x, y))
register("div_rn", lambda ctx, x, y: elementwise.div_rn(ctx, x, y))
register("fma", lambda ctx, x, y, z: elementwise.fma(ctx, x, y, z))
for _name in ("logical_and", "logical_or"):
    register(f"tensor.{_name}", lambda ctx, input, other, name=_name: operators.binary(ctx, name, input, other))
for _name in elementwise.UNARY:
    register(_name, _unary(_name))
for _name in ("xchg", "add", "max", "min", "and", "or", "xor"):
    register(f"atomic_{_name}", _atomic(_name))

for _name, _type in dtypes.BY_LANGUAGE_NAME.items():
    constant(_name, _type)
constant("pi32_t", dtypes.PointerType(dtypes.INT32))
constant("TRITON_MAX_TENSOR_NUMEL", dtypes.MAX_TENSOR_NUMEL)
constant("CONSTEXPR_0", 0)
constant("PropagateNan.NONE", "none")
constant("PropagateNan.ALL", "all")
