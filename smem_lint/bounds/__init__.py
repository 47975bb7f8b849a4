"""Bounds for what the model does not cover: wide, and always true."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from smem_lint.bounds.held import Facts, Held, bytes_of, held, lasting, owned
from smem_lint.bounds.loops import LOOPS, copies, parents
from smem_lint.bounds.passing import Passing, scratch
from smem_lint.bounds.staging import DOTS
from smem_lint.bounds.stretches import Places
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
    owners = owned(function, facts)
    kept = held(function, facts, owners)
    widest = kept.together + max(map(scratch, ops), default=0) + facts.alignment
    if widest <= enough:
        return widest
    places = Places(function, owners)
    if places.most() > enough > 0:
        return widest
    passing = Passing(ops, facts)
    closest = _of_loops(kept, ops, passing) + facts.alignment
    if closest <= enough:
        return closest
    return min(closest, _of_stretches(places, passing) + facts.alignment)


def _of_loops(kept: Held, ops: Sequence[Op], passing: Passing) -> int:
    if kept.outside:
        return kept.together + max(map(passing.of, ops), default=0)
    around = {loop: _outermost(loop) for loop in kept.within}
    loops = [size + max(map(passing.of, around[loop].walk()), default=0) for loop, size in kept.within.items()]
    inside = {op for loop in set(around.values()) for op in loop.walk()}
    return max([*loops, *(passing.of(op) for op in ops if op not in inside)], default=0)


def _of_stretches(places: Places, passing: Passing) -> int:
    needed = [max(map(passing.of, op.walk())) for op in places.ops]
    free, sizes = 0, []
    for one in places.stretches(passing.settled.coordinates):
        sizes += [max(needed[free : one.start], default=0), one.bytes + max(needed[one.start : one.end + 1])]
        free = one.end + 1
    return max([*sizes, *needed[free:]], default=0)


def _outermost(loop: Op) -> Op:
    """The outermost loop that a loop is in: nested loops may be made one."""
    return next((one for one in reversed(list(parents(loop))) if one.name in LOOPS), loop)


def _in_tensor_memory(capability: int) -> bool:
    return 100 <= capability < 120


def _operands(module: Module, num_stages: int) -> int:
    dots = [op for op in module.walk() if op.name in DOTS]
    return sum(max(1, num_stages - 1) * bytes_of(value.type) for op in dots for value in op.operands[:2])
