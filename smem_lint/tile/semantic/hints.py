"""Hints, assertions and prints (``semantic.py``, 3.8.0)."""

from __future__ import annotations

from typing import Any

from smem_lint.tile import dtypes
from smem_lint.tile.ir import Value
from smem_lint.tile.semantic import arithmetic
from smem_lint.tile.semantic.context import Context, fail, to_tensor
from smem_lint.tile.values import Handle, flatten


def hint(ctx: Context, name: str, value: Handle, numbers: Any) -> Handle:
    """``multiple_of`` (``tt.divisibility``), ``max_contiguous`` (``tt.contiguity``), ``max_constancy`` (``tt.constancy``).

    Triton sets an attribute on the operation that made the value, or on the loop whose variable it is. A hint on an argument of
    the function at hand, or on what a called function returned, is lost: it lands on a function or a call that inlining removes.
    """
    if not isinstance(value, Handle):
        raise fail(ctx, f"{name}: {value!r} is not a tensor")
    values = tuple(numbers) if isinstance(numbers, tuple | list) else (numbers,)
    if any(type(each) is not int for each in values):
        raise fail(ctx, f"{name}: values must be constexpr integers, got {numbers!r}")
    rank = len(value.shape)
    if len(values) != (max(1, rank) if name == "tt.divisibility" else rank):
        raise fail(ctx, f"{name}: {len(values)} values for a tile of rank {rank}")
    held: Any = values[0] if len(set(values)) == 1 else values
    set_hint(ctx, name, value.value, held)
    return value


def set_hint(ctx: Context, name: str, made: Value, held: Any) -> None:
    """Note ``name`` = ``held`` for a value, where Triton keeps it."""
    if made in ctx.foreign:
        return
    if made.op is not None:
        made.op.attrs[name] = held
    elif made.block is not None and made.block.parent_op is not None and made.block.parent_op.name != "tt.func":
        region = made.block.region
        if region is not None and region.blocks[0] is made.block:
            made.block.parent_op.attrs[f"{name}_arg{made.index}"] = held


def mark_foreign(ctx: Context, result: Any) -> Any:
    """Note that ``result`` comes out of a function of Triton's own library, for ``hint``."""
    ctx.foreign.update(flatten(result))
    return result


def assume(ctx: Context, condition: Any) -> None:
    ctx.builder.op("llvm.intr.assume", [to_tensor(ctx, condition).value])


def barrier(ctx: Context) -> None:
    """``tl.debug_barrier``."""
    ctx.builder.op("ttg.barrier", (), (), {"address_space": "all"})


def device_print(ctx: Context, prefix: Any, args: tuple[Any, ...], hexadecimal: bool) -> None:
    if not isinstance(prefix, str) or not prefix.isascii():
        raise fail(ctx, f"the prefix of device_print must be an ascii string, got {prefix!r}")
    handles = [to_tensor(ctx, each) for each in args]
    if handles:
        prefix = prefix if prefix.endswith(" ") else f"{prefix} "
        prefix = prefix if prefix.endswith(": ") else f"{prefix[:-1]}: "
    if len(prefix) > 2 and not prefix.startswith(" "):
        prefix = f" {prefix}"
    signed = tuple(int(each.dtype.signed) for each in handles)
    ctx.builder.op("tt.print", [each.value for each in handles], (), {"text": prefix, "hex": bool(hexadecimal), "isSigned": signed})


def device_assert(ctx: Context, condition: Any, message: Any, mask: Any) -> None:
    """Only compiled in debug mode."""
    masked = None if mask is None else to_tensor(ctx, mask)
    handle = to_tensor(ctx, condition)
    if not ctx.options.debug:
        return
    if masked is not None:
        handle = arithmetic.or_(ctx, handle, arithmetic.not_(ctx, masked))
    if handle.dtype is not dtypes.INT1:
        raise fail(ctx, "device_assert needs a boolean condition")
    ctx.builder.op("tt.assert", [handle.value], (), {"text": str(message)})
