"""Folds of Triton's own operations on tiles and memory descriptors.

Facts: ``lib/Dialect/Triton/IR/Ops.cpp`` and ``lib/Dialect/TritonGPU/IR/Ops.cpp``, 3.8.0.
"""

from __future__ import annotations

from typing import Any

from smem_lint.tile.cleanup.fold_integers import IN_PLACE, defined_by, fold_of
from smem_lint.tile.cleanup.numbers import POISON, Const, constant_of, int_of
from smem_lint.tile.ir import Op
from smem_lint.tile.types import MemDesc, Tensor


def _splat(op: Op) -> Any:
    """The number of the first operand's splat, as a constant for the result."""
    known = constant_of(op.operands[0])
    return [Const(known)] if isinstance(known, (int, float)) else None


def is_iota(order: Any) -> bool:
    return all(position == index for index, position in enumerate(order))


def _through_trans(op: Op) -> Any:
    inner = defined_by(op.operands[0], op.name)
    if inner is None:
        return None
    outer = op.attrs["order"]
    op.attrs["order"] = tuple(inner.attrs["order"][position] for position in outer)
    op.set_operand(0, inner.operands[0])
    return IN_PLACE


@fold_of("tt.trans")
def _trans(op: Op) -> Any:
    if is_iota(op.attrs["order"]) and op.operands[0].type is op.results[0].type:
        return [op.operands[0]]
    return _through_trans(op) or _splat(op)


@fold_of("ttg.memdesc_trans")
def _memdesc_trans(op: Op) -> Any:
    return [op.operands[0]] if is_iota(op.attrs["order"]) else _through_trans(op)


@fold_of("tt.make_range")
def _make_range(op: Op) -> Any:
    start = op.attrs["start"]
    return [Const(start)] if start + 1 == op.attrs["end"] else None


@fold_of("tt.splat", "tt.expand_dims")
def _spread(op: Op) -> Any:
    return _splat(op)


@fold_of("tt.broadcast")
def _broadcast(op: Op) -> Any:
    return [op.operands[0]] if op.operands[0].type is op.results[0].type else _splat(op)


@fold_of("tt.reshape")
def _reshape(op: Op) -> Any:
    if op.operands[0].type is op.results[0].type and not op.attrs.get("allow_reorder"):
        return [op.operands[0]]
    known = constant_of(op.operands[0])
    return [Const(known)] if known is not None and known is not POISON else None


@fold_of("tt.bitcast", "ttg.memdesc_reinterpret")
def _same_type(op: Op) -> Any:
    return [op.operands[0]] if op.operands[0].type is op.results[0].type else None


@fold_of("tt.fp_to_fp")
def _fp_to_fp(op: Op) -> Any:
    if op.operands[0].type is op.results[0].type:
        return [op.operands[0]]
    known = constant_of(op.operands[0])
    return [Const(known)] if isinstance(known, float) and known == 0 else None


@fold_of("tt.addptr")
def _addptr(op: Op) -> Any:
    known = int_of(op.operands[1])
    return [op.operands[0]] if known is not None and known == 0 else None


@fold_of("ttg.local_alloc")
def _local_alloc(op: Op) -> Any:
    type_ = op.results[0].type
    if type_.mutable or not op.operands or not isinstance(op.operands[0].type, Tensor):
        return None
    load = defined_by(op.operands[0], "ttg.local_load")
    return [load.operands[0]] if load is not None and load.operands[0].type is type_ else None


@fold_of("ttg.memdesc_subslice")
def _memdesc_subslice(op: Op) -> Any:
    inner = defined_by(op.operands[0], op.name)
    if inner is None or not isinstance(inner.operands[0].type, MemDesc):
        return None
    if "offsets" in op.attrs and "offsets" in inner.attrs:
        op.attrs["offsets"] = tuple(a + b for a, b in zip(inner.attrs["offsets"], op.attrs["offsets"], strict=True))
    op.set_operand(0, inner.operands[0])
    return IN_PLACE
