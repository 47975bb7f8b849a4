"""The fixed point of the facts over one function: program order first, then whatever depends on a fact that got weaker.

Facts: lib/Analysis/AxisInfo.cpp, Triton 3.8.0, over MLIR's sparse forward data-flow analysis: a value starts without any facts
and every visit joins what it finds to what is already there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from math import gcd
from typing import Any

from smem_lint.passes.axis_info.earlier import transfers, unready
from smem_lint.passes.axis_info.lattice import AxisInfo, join, made, unknown
from smem_lint.tile.ir import Op, Value, constant_value
from smem_lint.tile.types import Tensor
from smem_lint.tile.versions import Decisions

_HINTS = ("tt.contiguity", "tt.divisibility", "tt.constancy")


def rank_of(value: Value) -> int:
    type_ = value.type
    if isinstance(type_, Tensor):
        return len(type_.shape)
    pointee = getattr(type_, "pointee", None)
    return len(pointee.shape) if isinstance(pointee, Tensor) else 1


def hinted(info: AxisInfo, attrs: dict[str, Any]) -> AxisInfo:
    """The facts with those that the program states (``tl.multiple_of`` …) in their place."""
    rank = len(info.contiguity)
    facts = []
    for name, known in zip(_HINTS, info[:3], strict=True):
        hint = attrs.get(name)
        facts.append(known if hint is None else (hint,) * rank if isinstance(hint, int) else tuple(hint))
    contiguity, divisibility, constancy = facts
    return made(contiguity, divisibility, constancy, info.constant)


def static_trip_count(loop: Op) -> int | None:
    """How often a loop runs, if its bounds say so (``ForOp::getStaticTripCount``)."""
    if loop.operands[0] is loop.operands[1]:
        return 0
    lower, upper, step = (constant_value(value) for value in loop.operands[:3])
    if lower is None or upper is None:
        return None
    if upper <= lower:
        return 0
    return None if not step else int(-((lower - upper) // step))


class Solver:
    """``facts`` holds what is known of each value of ``function`` after ``run``."""

    def __init__(self, function: Op, version: Decisions) -> None:
        self.function, self.transfers, self.assumes = function, transfers(version), version.assumes_best_of_branches
        self.facts: dict[Value, AxisInfo] = {}
        self.queue: deque[Op] = deque()
        self.draining = False

    def run(self) -> None:
        entry = self.function.body
        for arg, attrs in zip(entry.args, self.function.attrs["arg_attrs"], strict=True):
            info = unknown(rank_of(arg))
            self.facts[arg] = hinted(info, attrs) if attrs else info
        for op in self.function.walk():
            if op is not self.function:
                self.visit(op)
        self.draining = True
        while self.queue:
            self.visit(self.queue.popleft())

    def visit(self, op: Op) -> None:
        transfer = self.transfers.get(op.name)
        if transfer is not None:
            facts = self.facts
            operands = [facts.get(value) for value in op.operands]
            if None in operands and self.assumes:
                operands = [self.assumed(value) for value in op.operands]
            if None in operands:
                self.queue.append(op) if not self.draining else None
                return
            info = transfer(op, operands)  # type: ignore[arg-type]
            if info is None:
                info = unknown(rank_of(op.results[0]))
            attrs = op.attrs
            if "tt.divisibility" in attrs or "tt.contiguity" in attrs or "tt.constancy" in attrs:
                info = hinted(info, attrs)
            self.learn(op.results[0], info)
        else:
            _OTHERS.get(op.name, Solver.opaque)(self, op)

    def learn(self, value: Value, info: AxisInfo) -> None:
        old = self.facts.get(value)
        if old is None:
            self.facts[value] = info
            if not self.draining:
                return
        else:
            info = join(old, info)
            if info == old:
                return
            self.facts[value] = info
        self.queue.extend(value.users)

    def assumed(self, value: Value) -> AxisInfo:
        info = self.facts.get(value)
        if info is None:
            info = self.facts[value] = unready(value, rank_of(value))
        return info

    def flow(self, sources: Iterable[Value], targets: Iterable[Value]) -> None:
        for source, target in zip(sources, targets, strict=True):
            info = self.facts.get(source)
            if info is not None:
                self.learn(target, info)

    def opaque(self, op: Op) -> None:
        for result in op.results:
            info = unknown(rank_of(result))
            self.learn(result, hinted(info, op.attrs) if any(name in op.attrs for name in _HINTS) else info)
        for region in op.regions:
            for arg in region.blocks[0].args if region.blocks else ():
                self.learn(arg, unknown(rank_of(arg)))

    def loop(self, op: Op) -> None:
        """A loop that is known to run does not hand its start values on, and one that is known not to run only those."""
        trips = static_trip_count(op)
        if trips is None or trips == 0:
            self.flow(op.operands[3:], op.results)
        if trips == 0:
            return
        lower, step = self.facts.get(op.operands[0]), self.facts.get(op.operands[2])
        body = op.body
        if lower is not None and step is not None:
            self.learn(body.args[0], AxisInfo((1,), (gcd(lower.divisibility[0], step.divisibility[0]),), (1,)))
        self.flow(op.operands[3:], body.args[1:])

    def while_(self, op: Op) -> None:
        self.flow(op.operands, op.body.args)

    def condition(self, op: Op) -> None:
        loop = op.parent
        assert loop is not None
        self.flow(op.operands[1:], loop.regions[1].blocks[0].args)
        self.flow(op.operands[1:], loop.results)

    def yield_(self, op: Op) -> None:
        parent = op.parent
        assert parent is not None
        if parent.name == "scf.while":
            self.flow(op.operands, parent.body.args)
            return
        if parent.name == "scf.if" and self.assumes and not self.draining:
            self.queue.append(op)
            return
        trips = static_trip_count(parent) if parent.name == "scf.for" else 1
        if trips != 1:
            self.flow(op.operands, parent.body.args[1:])
        if trips != 0:
            self.flow(op.operands, parent.results)

    def branch(self, op: Op) -> None:
        start = 0
        segments = op.attrs.get("segments", (len(op.operands),))
        if op.name == "cf.cond_br":
            start, segments = 1, segments[1:]
        for block, count in zip(op.successors, segments, strict=True):
            self.flow(op.operands[start : start + count], block.args)
            start += count

    def nothing(self, op: Op) -> None:
        pass


_OTHERS = {
    "scf.for": Solver.loop, "scf.if": Solver.nothing, "scf.while": Solver.while_, "scf.condition": Solver.condition,
    "scf.yield": Solver.yield_, "cf.br": Solver.branch, "cf.cond_br": Solver.branch,
}  # fmt: skip
