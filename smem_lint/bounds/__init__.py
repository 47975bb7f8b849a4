"""Bounds for what the model does not cover: wide, and always true."""

from __future__ import annotations

from math import prod

from smem_lint.bounds.held import DOTS, LOOPS, Facts, bytes_of, copies, held, lasting, parents
from smem_lint.bounds.passing import Passing, scratch
from smem_lint.engines import Estimate, unanswered
from smem_lint.specialization import Specialization
from smem_lint.tile.ir import Module, Op

__all__ = ["bounded", "upper_bound"]

NAME = "model"


def bounded(module: Module | None, specialization: Specialization, reason: str, seconds: float = 0.0, enough: int = 0) -> Estimate:
    """An estimate that is not exact: between nothing and every tile that the compiler could place at once.

    The guess in between is what pipelined dot operands take (``num_stages - 1`` copies). Without a tile program nothing is known.
    ``enough``: as of ``upper_bound``.
    """
    if module is None:
        return unanswered(NAME, reason, seconds)
    upper = upper_bound(module, specialization, enough)
    guess = min(_operands(module, specialization.num_stages), upper)
    return Estimate(guess, 0, upper, False, NAME, reasons=(reason,), seconds=seconds)


def upper_bound(module: Module, specialization: Specialization, enough: int = 0) -> int:
    """Bytes that no allocation of the front end's program exceeds; no closer bound is looked for where one is within ``enough`` bytes."""
    return sum(_of_function(function, specialization, enough) for function in module.functions)


def _of_function(function: Op, specialization: Specialization, enough: int) -> int:
    """Buffers that outlive an operation (``held``) are added up. The scratch of one operation (a conversion, a reduction) is gone before
    the next one needs its own (``passing``), so only the largest counts, beside what is held where it is needed."""
    ops = list(function.walk())
    facts = Facts.of(ops, specialization.num_stages, specialization.num_warps, specialization.capability)
    if (facts.near_dots and _in_tensor_memory(specialization.capability)) or any("tt.warp_specialize" in op.attrs for op in ops):
        # Partitions run at the same time, each with its scratch, and what tensor memory takes in passes through shared memory.
        return sum(scratch(op) + sum(lasting(op, facts)) for op in ops) * prod(map(copies, ops)) + facts.alignment
    kept = held(function, facts)
    widest = kept.together + max(map(scratch, ops), default=0) + facts.alignment
    if widest <= enough or kept.together > enough > 0:
        return widest
    passing = Passing(ops, facts)
    if kept.outside:
        return kept.together + max(map(passing.of, ops), default=0) + facts.alignment
    around = {loop: _outermost(loop) for loop in kept.within}
    loops = [size + max(map(passing.of, around[loop].walk()), default=0) for loop, size in kept.within.items()]
    inside = {op for loop in set(around.values()) for op in loop.walk()}
    return max([*loops, *(passing.of(op) for op in ops if op not in inside)], default=0) + facts.alignment


def _outermost(loop: Op) -> Op:
    """The outermost loop that a loop is in: nested loops may be made one."""
    return next((one for one in reversed(list(parents(loop))) if one.name in LOOPS), loop)


def _in_tensor_memory(capability: int) -> bool:
    return 100 <= capability < 120


def _operands(module: Module, num_stages: int) -> int:
    dots = [op for op in module.walk() if op.name in DOTS]
    return sum(max(1, num_stages - 1) * bytes_of(value.type) for op in dots for value in op.operands[:2])
