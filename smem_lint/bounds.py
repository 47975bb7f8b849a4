"""Bounds for what the model does not cover: wide, and always true."""

from __future__ import annotations

from smem_lint.engines import Estimate, unanswered
from smem_lint.specialization import Specialization
from smem_lint.tile.ir import Module, Op
from smem_lint.tile.types import Tensor, bits_of

NAME = "model"
_PIPELINED = ("tt.load", "tt.descriptor_load", "tt.descriptor_gather")
_PLACED = (
    "tt.dot", "tt.dot_scaled", "tt.reduce", "tt.scan", "tt.store", "tt.descriptor_store", "tt.trans", "tt.reshape", "tt.join", "tt.split",
    "tt.gather", "tt.histogram", "tt.atomic_rmw", "tt.atomic_cas", "tt.cat",
)  # fmt: skip


def bounded(module: Module | None, specialization: Specialization, reason: str, seconds: float = 0.0) -> Estimate:
    """An estimate that is not exact: between nothing and every tile that the compiler could place at once.

    The guess in between is what pipelined dot operands take (``num_stages - 1`` copies). Without a tile program nothing is known.
    """
    if module is None:
        return unanswered(NAME, reason, seconds)
    upper = _upper(module, specialization.num_stages)
    guess = min(_operands(module, specialization.num_stages), upper)
    return Estimate(guess, 0, upper, False, NAME, reasons=(reason,), seconds=seconds)


def _bytes(type_: object) -> int:
    return type_.numel * bits_of(type_.element) // 8 if isinstance(type_, Tensor) else 8


def _upper(module: Module, num_stages: int) -> int:
    """Each load staged as deep as may be, each tile that another operation reads converted through a buffer of its own."""
    total = 0
    for op in module.walk():
        if op.name in _PIPELINED:
            total += (max(num_stages, _loop_stages(op)) + 1) * _bytes(op.results[0].type) + 16
        elif op.name in _PLACED:
            total += sum(_bytes(value.type) for value in (*op.operands, *op.results))
        total += 128
    largest = max((_bytes(result.type) for op in module.walk() for result in op.results), default=0)
    return total + 8 * largest


def _loop_stages(op: Op) -> int:
    stages, at = 1, op.parent
    while at is not None:
        stages = max(stages, at.attrs.get("tt.num_stages", 1))
        at = at.parent
    return stages


def _operands(module: Module, num_stages: int) -> int:
    dots = [op for op in module.walk() if op.name in ("tt.dot", "tt.dot_scaled")]
    return sum(max(1, num_stages - 1) * _bytes(value.type) for op in dots for value in op.operands[:2])
