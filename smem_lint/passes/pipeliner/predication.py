"""Make operations of a pipelined loop harmless where their iteration does not exist.

Facts: ``predicateOp`` in lib/Dialect/TritonGPU/Transforms/Pipeliner/PipeliningUtility.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from smem_lint.tile.effects import is_memory_effect_free
from smem_lint.tile.ir import Builder, Op, Value
from smem_lint.tile.types import I1, Tensor, Type
from smem_lint.tile.unsupported import Unsupported

_HARMLESS = frozenset((
    "llvm.intr.assume", "ttng.fence_async_shared", "ttg.async_commit_group", "ttg.async_wait", "ttg.local_load", "ttg.local_store",
    "ttng.tmem_alloc", "ttng.tmem_load", "arith.constant",
))  # fmt: skip
_MASKED = frozenset(("tt.load", "tt.store", "ttg.async_copy_global_to_local"))
_PREDICATE_LAST = frozenset(("ttng.barrier_expect", "ttng.async_tma_copy_global_to_local", "ttng.async_tma_gather"))
_WRAPPED = frozenset((
    "ttng.async_tma_copy_local_to_global", "ttng.async_tma_reduce", "ttng.async_tma_scatter", "ttng.tma_store_token_wait",
))  # fmt: skip


def predicate(op: Op, condition: Value) -> None:
    """Let ``op`` take effect only where ``condition`` holds.

    Raises Unsupported for operations that the compiler cannot predicate (it stops there) or that are not modelled.
    """
    if op.name in _HARMLESS or is_memory_effect_free(op):
        return
    builder = Builder(before=op)
    if op.name == "scf.if":
        op.set_operand(0, combined(builder, I1, op.operands[0], condition))
    elif op.name in _MASKED:
        _mask(builder, op, condition)
    elif op.name in _PREDICATE_LAST:
        op.set_operand(len(op.operands) - 1, combined(builder, I1, op.operands[-1], condition))
    elif op.name in ("ttng.wait_barrier", "ttng.arrive_barrier"):
        _guard_barrier(builder, op, condition)
    elif op.name in _WRAPPED and not op.results:
        _wrap(builder, op, condition)
    else:
        raise Unsupported(f"{op.name} in an early stage of a pipelined loop", op.line)


def combined(builder: Builder, like: Type, mask: Value | None, condition: Value) -> Value:
    """A mask for operands of type ``like``: ``mask``, where ``condition`` holds."""
    found = condition
    if isinstance(like, Tensor):
        found = builder.value("tt.splat", (condition,), like.with_element(I1))
    return found if mask is None else builder.value("arith.andi", (found, mask), found.type)


def _mask(builder: Builder, op: Op, condition: Value) -> None:
    """The mask stands behind the pointers (and what is stored, or where it is copied to)."""
    at = 1 if op.name == "tt.load" else 2
    masked = len(op.operands) > at if op.name == "tt.store" else bool(op.attrs["segments"][at])
    mask = combined(builder, op.operands[0].type, op.operands[at] if masked else None, condition)
    if masked:
        op.set_operand(at, mask)
        return
    op.set_operands([*op.operands[:at], mask, *op.operands[at:]])
    if "segments" in op.attrs:
        segments = op.attrs["segments"]
        op.attrs["segments"] = (*segments[:at], 1, *segments[at + 1 :])


def _guard_barrier(builder: Builder, op: Op, condition: Value) -> None:
    plain = 2 if op.name == "ttng.wait_barrier" else 1
    if len(op.operands) > plain + 1:
        raise Unsupported(f"{op.name} with dependencies in an early stage of a pipelined loop", op.line)
    if len(op.operands) == plain:
        op.set_operands([*op.operands, combined(builder, I1, None, condition)])
    else:
        op.set_operand(plain, combined(builder, I1, op.operands[plain], condition))


def _wrap(builder: Builder, op: Op, condition: Value) -> None:
    """Operations without a predicate of their own go into a branch."""
    branch = builder.op("scf.if", (condition,), regions=2)
    branch.regions[0].add_block()
    inner = op.clone({})
    branch.body.append(inner)
    branch.body.append(Op("scf.yield"))
    op.erase()
