"""The fused loop of a nest of two.

Facts: ``lib/Dialect/TritonGPU/Transforms/FuseNestedLoops.cpp``, 3.8.0. The fused loop counts iterations ``t`` of the inner loop:
what stands before the inner loop runs when ``t`` is 0, what stands behind it at the last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from smem_lint.tile.cleanup.fuse_nested_loops.nests import iterations
from smem_lint.tile.dominance import ancestor_in
from smem_lint.tile.ir import Block, Builder, Op, Region, Value
from smem_lint.tile.types import I1, Scalar, Tensor, Type, element_of


def _undefined(builder: Builder, type_: Type) -> Value:
    """A zero where the type has one, else poison: what is never read before it is set."""
    element = element_of(type_)
    if not isinstance(element, Scalar) or not (isinstance(type_, Tensor) or type_ is element):
        return builder.value("ub.poison", (), type_)
    zero: Any = 0.0 if element.is_float else (False if element.bits == 1 else 0)
    return builder.constant(type_, zero)


class _Logue:
    """The operations before or behind the inner loop, and what of theirs is read later."""

    def __init__(self, ops: Sequence[Op]) -> None:
        self.ops = list(ops)
        inside = set(self.ops)
        self.outputs = [
            result for op in self.ops for result in op.results if any(not self._holds(inside, user) for user in result.users)
        ]

    @staticmethod
    def _holds(inside: set[Op], user: Op) -> bool:
        at: Op | None = user
        while at is not None:
            if at in inside:
                return True
            at = at.parent
        return False

    def move_into(self, block: Block) -> None:
        for op in self.ops:
            assert op.block is not None
            op.block.remove(op)
            block.append(op)

    def replace_outputs(self, values: Sequence[Value], region: Region) -> None:
        for output, value in zip(self.outputs, values, strict=True):
            output.replace_all_uses(value, unless=lambda use: ancestor_in(region, use.owner) is not None)


class Fusion:
    """The fused loop of ``outer`` and ``inner``, whose bounds do not depend on the outer loop and which is known to run."""

    def __init__(self, outer: Op, inner: Op) -> None:
        self.outer, self.inner = outer, inner
        bits = max(element_of(loop.operands[0].type).bits for loop in (outer, inner))
        self.type = Scalar(f"i{bits}")
        self.builder = Builder(before=outer)
        body = list(outer.body)
        at = body.index(inner)
        self.prologue, self.epilogue = _Logue(body[:at]), _Logue(body[at + 1 : -1])
        self.outer_yield = outer.body.terminator

    def number(self, value: int) -> Value:
        return self.builder.constant(self.type, value)

    def make(self, name: str, a: Value, b: Value, type_: Type | None = None, **attrs: Any) -> Value:
        return self.builder.value(name, (a, b), a.type if type_ is None else type_, **attrs)

    def cast(self, value: Value) -> Value:
        if value.type is self.type:
            return value
        name = "arith.trunci" if element_of(value.type).bits > self.type.bits else "arith.extsi"
        return self.builder.value(name, (value,), self.type)

    def fuse(self) -> Op:
        outer, inner, builder = self.outer, self.inner, self.builder
        outer_length = iterations(builder, outer)
        inner_length = self.cast(iterations(builder, inner))
        at_least_once = self.make("arith.maxsi", self.number(1), inner_length)
        period = self.make("arith.subi", self.make("arith.addi", self.number(0), at_least_once), self.number(0))
        total = self._total(self.make("arith.muli", self.cast(outer_length), period))
        first = self.make("arith.subi", outer.operands[0], outer.operands[2])
        carried = len(outer.results)
        inits = [self.number(0), first, *outer.operands[3:], inner_length, period]
        inits.append(_undefined(builder, inner.body.args[0].type))
        outs_at = len(inits)
        inits += [_undefined(builder, result.type) for result in inner.results]
        inits += [_undefined(builder, value.type) for value in self.prologue.outputs]
        fused = builder.op("scf.for", (self.number(0), total, self.number(1), *inits), [value.type for value in inits], regions=1)
        body = fused.regions[0].add_block([self.type, *(value.type for value in inits)])
        args = body.args[1:]
        for arg, new in zip(outer.body.args[1:], args[2 : 2 + carried], strict=True):
            arg.replace_all_uses(new)
        builder.at_end(body)
        self._fill(fused, args, carried, period, outs_at)
        return fused

    def _total(self, total: Value) -> Value:
        """The sum over the outer loop of what varies with it, which is nothing here; the compiler makes the loop all the same."""
        loop = self.builder.op("scf.for", (*self.outer.operands[:3], total), (total.type,), regions=1)
        body = loop.regions[0].add_block([self.outer.operands[0].type, total.type])
        body.append(Op("scf.yield", (body.args[1],)))
        return loop.results[0]

    def _fill(self, fused: Op, args: list[Value], carried: int, period: Value, outs_at: int) -> None:
        builder, inner = self.builder, self.inner
        time, outer_index, length = args[0], args[1], args[2 + carried]
        last_index, last_outs = args[outs_at - 1], args[outs_at : outs_at + len(inner.results)]
        last_prologue = args[outs_at + len(inner.results) :]
        start = self.make("arith.subi", self.number(0), self.number(0))
        begins = self.make("arith.cmpi", time, start, I1, predicate="eq")
        head = self._prologue(begins, outer_index, length, period, last_index, last_outs, last_prologue)
        counts = len(self.prologue.outputs)
        index, inits = head.results[0], head.results[1 + counts : 1 + counts + len(inner.results)]
        outer_now, length_now, period_now = head.results[-3:]
        inner.body.args[0].replace_all_uses(index)
        self.prologue.replace_outputs(head.results[1 : 1 + counts], head.regions[0])
        for init, arg in zip(inits, inner.body.args[1:], strict=True):
            arg.replace_all_uses(init)
        self.outer.body.args[0].replace_all_uses(outer_now)
        core = self._body(time, start, length_now, index, last_outs)
        tail = self._epilogue(time, period_now, args[2 : 2 + carried])
        ahead = self.make("arith.addi", time, self.number(1))
        wraps = self.make("arith.cmpi", time, self.make("arith.subi", period_now, self.number(1)), I1, predicate="eq")
        following = builder.value("arith.select", (wraps, self.number(0), ahead), self.type)
        yielded = [following, outer_now, *self.outer_yield.operands, length_now, period_now, core.results[0]]
        yielded += [*core.results[1:], *head.results[1 : 1 + counts]]
        terminator = builder.op("scf.yield", yielded)
        for old, new in zip(self.outer.results, fused.results[2 : 2 + carried], strict=True):
            old.replace_all_uses(new)
        self._start_early(fused, head, core, tail, terminator, outs_at)

    def _prologue(
        self, begins: Value, outer_index: Value, length: Value, period: Value, last_index: Value, last_outs: Sequence[Value],
        last_prologue: Sequence[Value],
    ) -> Op:  # fmt: skip
        builder, inner = self.builder, self.inner
        types = [last_index.type, *(v.type for v in self.prologue.outputs), *(result.type for result in inner.results)]
        types += [outer_index.type, self.type, period.type]
        branch = builder.op("scf.if", (begins,), types, regions=2)
        then = branch.regions[0].add_block()
        self.prologue.move_into(then)
        following = Op("arith.addi", (outer_index, self.outer.operands[2]), (outer_index.type,))
        then.prepend(following)
        now = following.results[0]
        induction = self.outer.body.args[0]
        induction.replace_all_uses(now, unless=lambda use: ancestor_in(branch.regions[0], use.owner) is None)
        then.append(Op("scf.yield", (inner.operands[0], *self.prologue.outputs, *inner.operands[3:], now, length, period)))
        other = branch.regions[1].add_block()
        other.append(Op("scf.yield", (last_index, *last_prologue, *last_outs, outer_index, length, period)))
        return branch

    def _body(self, time: Value, start: Value, length: Value, index: Value, last_outs: Sequence[Value]) -> Op:
        builder, inner = self.builder, self.inner
        end = self.make("arith.addi", start, self.cast(length))
        begun = self.make("arith.cmpi", time, start, I1, predicate="sge")
        unfinished = self.make("arith.cmpi", time, end, I1, predicate="slt")
        self.make("arith.andi", begun, unfinished)
        always = builder.constant(I1, True)
        core = builder.op("scf.if", (always,), [index.type, *(result.type for result in inner.results)], regions=2)
        core.regions[0].blocks, inner.regions[0].blocks = inner.regions[0].blocks, []
        block = core.regions[0].blocks[0]
        block.region, block.args = core.regions[0], []
        terminator = block.terminator
        following = Op("arith.addi", (index, inner.operands[2]), (index.type,))
        block.insert_before(terminator, following)
        terminator.set_operands([following.results[0], *terminator.operands])
        core.regions[1].add_block().append(Op("scf.yield", (index, *last_outs)))
        for old, new in zip(inner.results, core.results[1:], strict=True):
            old.replace_all_uses(new)
        return core

    def _epilogue(self, time: Value, period: Value, carried: Sequence[Value]) -> Op:
        builder = self.builder
        kept = [
            carried[use.index] for output in self.epilogue.outputs for use in reversed(tuple(output.uses)) if use.owner is self.outer_yield
        ]
        last = self.make("arith.subi", period, self.number(1))
        ends = self.make("arith.cmpi", time, last, I1, predicate="eq")
        branch = builder.op("scf.if", (ends,), [value.type for value in self.epilogue.outputs], regions=2)
        then = branch.regions[0].add_block()
        self.epilogue.move_into(then)
        then.append(Op("scf.yield", self.epilogue.outputs))
        branch.regions[1].add_block().append(Op("scf.yield", kept))
        self.epilogue.replace_outputs(branch.results, branch.regions[0])
        return branch

    def _start_early(self, fused: Op, head: Op, core: Op, tail: Op, terminator: Op, outs_at: int) -> None:
        """Initial values of the inner loop from outside start the fused loop, and the epilogue resets them."""
        inner, skip = self.inner, 1 + len(self.prologue.outputs)
        early = [i for i, value in enumerate(inner.operands[3:]) if value.parent_block is not fused.body and not self._within(value, fused)]
        for i in early:
            fused.set_operand(3 + outs_at + i, inner.operands[3 + i])
        replaced = {skip + i: fused.body.args[1 + outs_at + i] for i in early}
        _without_results(head, replaced)
        if not early:
            return
        resets, forwarded = [inner.operands[3 + i] for i in early], [core.results[1 + i] for i in early]
        for region, values in zip(tail.regions, (resets, forwarded), strict=True):
            last = region.blocks[0].terminator
            last.set_operands([*last.operands, *values])
        count = len(tail.results)
        for i in early:
            tail.results.append(Value(inner.results[i].type, tail, None, len(tail.results)))
        for position, i in enumerate(early):
            terminator.set_operand(outs_at + i, tail.results[count + position])

    @staticmethod
    def _within(value: Value, fused: Op) -> bool:
        return value.op is not None and value.op.block is fused.body


def _without_results(branch: Op, replaced: dict[int, Value]) -> None:
    """Take results out of an ``scf.if`` and read other values for them."""
    for index, value in replaced.items():
        branch.results[index].replace_all_uses(value)
    for region in branch.regions:
        terminator = region.blocks[0].terminator
        terminator.set_operands([value for index, value in enumerate(terminator.operands) if index not in replaced])
    branch.results = [result for index, result in enumerate(branch.results) if index not in replaced]
    for index, result in enumerate(branch.results):
        result.index = index
