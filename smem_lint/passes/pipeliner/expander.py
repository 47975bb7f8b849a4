"""Unroll a scheduled loop: a prologue that starts the first iterations, and a kernel that runs parts of several at once.

Stage s of iteration i runs in round i + s. The prologue holds the rounds before the last stage has anything to do, the kernel is a
loop over the others; it runs its early stages a few times too often, which a predicate for each stage keeps harmless. Values that
cross a stage are carried by the kernel, one argument for each round that they must live.

Example, three stages::

    round        0    1    2    3    4
    iteration 0  s0   s1   s2
    iteration 1       s0   s1   s2              rounds 0 and 1: prologue
    iteration 2            s0   s1   s2         rounds 2 …: kernel

Facts: lib/Dialect/TritonGPU/Transforms/Pipeliner/PipelineExpander.cpp, Triton 3.8.0 (no epilogue is peeled).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from smem_lint.passes.pipeliner.loops import body_operations, definition_and_distance, outer_operands
from smem_lint.passes.pipeliner.schedule import Schedule
from smem_lint.tile.ir import Builder, Op, Value
from smem_lint.tile.types import I1

Guard = Callable[[Op, Value], None]  # told of an operation that must only take effect where a value is true


def expand(loop: Op, schedule: Schedule, guard: Guard) -> Op | None:
    """Replace ``loop`` by its prologue and kernel; returns the kernel, or None where the schedule cannot be followed."""
    order = [(op, slot.stage) for op, slot in schedule.in_order(loop)]
    if not order or not _can_follow(loop, order):
        return None
    return _Expansion(loop, order, guard).run()


def _can_follow(loop: Op, order: list[tuple[Op, int]]) -> bool:
    """Whether everything is scheduled, after what it needs, and needs nothing from before the previous iteration."""
    length = len(order)
    cycles = {op: cycle + stage * length for cycle, (op, stage) in enumerate(order)}
    for op in body_operations(loop):
        cycle = cycles.get(op)
        if cycle is None:
            return False
        for value in outer_operands(op):
            definition, distance = definition_and_distance(loop, value)
            if definition is not None and (distance > 1 or cycle < cycles.get(definition, cycle) - length * distance):
                return False
    return True


class _Expansion:
    def __init__(self, loop: Op, order: list[tuple[Op, int]], guard: Guard) -> None:
        self.loop, self.order, self.guard = loop, order, guard
        self.stages = dict(order)
        self.last = max(stage for _, stage in order)
        self.lower, self.upper, self.step = loop.operands[:3]
        self.induction, *self.carried = loop.body.args
        self.yielded = loop.body.terminator.operands
        # Versions of each value of the loop: the one that round i of the prologue makes, as seen from its own stage.
        self.versions: dict[Value, list[Value | None]] = {}
        self.builder = Builder(before=loop)

    def run(self) -> Op:
        self._prologue()
        crossing = self._crossing_values()
        kernel, arguments = self._kernel_loop(crossing)
        self._kernel(kernel, crossing, arguments)
        for old, new in zip(self.loop.results, kernel.results, strict=False):
            new.name = old.name
            old.replace_all_uses(new)
        self.loop.erase()
        return kernel

    def _set_version(self, value: Value, index: int, version: Value) -> None:
        known = self.versions.get(value)
        if known is None:
            known = self.versions[value] = [None] * (self.last + 1)
        known[index] = version

    def _number(self, value: int) -> Value:
        return self.builder.constant(self.step.type, value)

    # The prologue

    def _prologue(self) -> None:
        inside = self._is_inside
        for argument, initial, value in zip(self.carried, self.loop.operands[3:], self.yielded, strict=True):
            self._set_version(argument, 0, initial)
            if not inside(value):
                for index in range(1, self.last):
                    self._set_version(argument, index, value)
        feeds: dict[Value, list[int]] = {}
        for index, value in enumerate(self.yielded):
            feeds.setdefault(value, []).append(index)
        predicates: list[Value] = []
        build = self.builder.value
        for current in range(self.last):
            offset = build("arith.muli", (self.step, self._number(current)), self.step.type)
            induction = build("arith.addi", (self.lower, offset), self.lower.type)
            self._set_version(self.induction, current, induction)
            predicates.append(build("arith.cmpi", (induction, self.upper), I1, predicate="slt"))
            for op, stage in self.order:
                if stage <= current:
                    self._prologue_operation(op, current - stage, predicates[current - stage], feeds)

    def _is_inside(self, value: Value) -> bool:
        holder = value.parent_block.parent_op
        return holder is not None and self.loop.is_ancestor(holder)

    def _prologue_operation(self, op: Op, index: int, predicate: Value, feeds: dict[Value, list[int]]) -> None:
        new = self._clone_version(op, index)
        self.builder.insert(new)
        self.guard(new, predicate)
        for old_result, result in zip(op.results, new.results, strict=True):
            source = result
            for number in feeds.get(old_result, ()):
                argument = self.carried[number]
                if self.loop.results[number].uses:
                    previous = self.versions[argument][index]
                    assert previous is not None
                    source = self.builder.value("arith.select", (predicate, source, previous), source.type)
                self._set_version(argument, index + 1, source)
            self._set_version(old_result, index, result)

    def _clone_version(self, op: Op, index: int) -> Op:
        versions = self.versions
        mapping: dict[Value, Value] = {}
        for value in outer_operands(op):
            known = versions.get(value)
            if known is not None:
                version = known[index]
                assert version is not None
                mapping[value] = version
        return op.clone(mapping)

    # The kernel

    def _crossing_values(self) -> dict[Value, tuple[int, int]]:
        """Values used in a later stage than they are made in: (stage of definition, last stage of use)."""
        found: dict[Value, tuple[int, int]] = {}
        for op, stage in self.order:
            for value in _operands_and_captures(op):
                definition, distance = definition_and_distance(self.loop, value)
                made = self.stages.get(definition) if definition is not None else None
                if made is None or made in (stage, stage + distance):
                    continue
                known = found.get(value)
                found[value] = (made, stage if known is None else max(stage, known[1]))
        return found

    def _kernel_loop(self, crossing: dict[Value, tuple[int, int]]) -> tuple[Op, dict[tuple[Value, int], int]]:
        """The empty kernel, and which of its carried values is which version of a crossing value."""
        initial: list[Value] = []
        for number, value in enumerate(self.yielded):
            made = self.stages.get(value.op) if value.op is not None else None
            version = self.loop.operands[3 + number] if made is None else self.versions[self.carried[number]][self.last - made]
            assert version is not None
            initial.append(version)
        arguments: dict[tuple[Value, int], int] = {}
        for value, (made, used) in crossing.items():
            for age in range(used - made):
                version = self.versions[value][self.last - used + age]
                assert version is not None
                arguments[value, used - made - age] = len(initial)
                initial.append(version)
        types = [value.type for value in initial]
        kernel = Op("scf.for", (self.lower, self.upper, self.step, *initial), types, dict(self.loop.attrs), 1, self.loop.line)
        self.builder.insert(kernel)
        kernel.regions[0].add_block([self.induction.type, *types])
        return kernel, arguments

    def _kernel(self, kernel: Op, crossing: dict[Value, tuple[int, int]], arguments: dict[tuple[Value, int], int]) -> None:
        induction, *carried = kernel.body.args
        mapping: dict[Value, Value] = dict(zip((self.induction, *self.carried), kernel.body.args, strict=False))
        self.builder = build = Builder(kernel.body)
        build.line = kernel.line
        predicates = [self._still_runs(induction, stage) for stage in range(self.last)]
        for op, stage in self.order:
            new = self._kernel_operation(op, stage, mapping, induction, carried, arguments)
            if stage < self.last:
                self.guard(new, predicates[stage])
        results = [self._kernel_yield(number, mapping, predicates, carried) for number in range(len(self.yielded))]
        for value, (made, used) in crossing.items():
            results += carried[len(results) + 1 : len(results) + used - made]
            results.append(mapping.get(value, value))
        build.op("scf.yield", results)

    def _still_runs(self, induction: Value, stage: int) -> Value:
        build = self.builder.value
        ahead = build("arith.muli", (self.step, self._number(self.last - stage)), self.step.type)
        end = build("arith.subi", (self.upper, ahead), self.upper.type)
        return build("arith.cmpi", (induction, end), I1, predicate="slt")

    def _kernel_operation(
        self, op: Op, stage: int, mapping: dict[Value, Value], induction: Value, carried: list[Value],
        arguments: dict[tuple[Value, int], int],
    ) -> Op:  # fmt: skip
        uses = [op] if not op.regions else op.walk_post()
        if op.regions:
            new = op.clone(mapping)
            twins: Iterable[Op] = new.walk_post()
        else:
            new = Op(op.name, [mapping.get(v, v) for v in op.operands], [r.type for r in op.results], dict(op.attrs), 0, op.line)
            for old_result, result in zip(op.results, new.results, strict=True):
                result.name = old_result.name
                mapping[old_result] = result
            twins = (new,)
        changes: list[tuple[Op, int, Value | None]] = []
        for old, twin in zip(uses, twins, strict=True):
            for index, value in enumerate(old.operands):
                if value is self.induction:
                    changes.append((twin, index, None))
                    continue
                remapped = self._remapped(value, stage, mapping, carried, arguments)
                if remapped is not None:
                    changes.append((twin, index, remapped))
        for twin, index, remapped in changes:
            twin.set_operand(index, self._ahead(induction, stage) if remapped is None else remapped)
        return self.builder.insert(new)

    def _ahead(self, induction: Value, stage: int) -> Value:
        """The induction variable of the iteration that is in ``stage``."""
        build = self.builder.value
        offset = build("arith.muli", (self.step, self._number(self.last - stage)), self.step.type)
        return build("arith.addi", (induction, offset), induction.type)

    def _remapped(
        self, value: Value, stage: int, mapping: dict[Value, Value], carried: list[Value], arguments: dict[tuple[Value, int], int]
    ) -> Value | None:
        """What the kernel reads for an operand in ``stage``; None where the plain copy is right."""
        source = value
        if value.op is None and value.block is self.loop.body:
            source = self.yielded[value.index - 1]
            if not self._is_inside(source):
                return source if stage != self.last else None
            made = self.stages.get(source.op) if source.op is not None else None
            if made is None or made == stage:
                return None
            if made == stage + 1:
                return mapping.get(source, source)
        made = self.stages.get(source.op) if source.op is not None else None
        if made is None or made == stage:
            return None
        return carried[arguments[value, stage - made]]

    def _kernel_yield(self, number: int, mapping: dict[Value, Value], predicates: list[Value], carried: list[Value]) -> Value:
        """What the kernel yields for a carried value: when it is used after the loop, not what a superfluous round makes of it."""
        value = self.yielded[number]
        source = mapping.get(value, value)
        if self.loop.results[number].uses:
            definition, _ = definition_and_distance(self.loop, value)
            made = self.stages.get(definition) if definition is not None else None
            if made is not None and made < self.last:
                operands = (predicates[made], source, carried[number])
                source = self.builder.value("arith.select", operands, source.type)
        return source


def _operands_and_captures(op: Op) -> Iterable[Value]:
    """The operands of ``op``, then what its regions read from outside it."""
    return dict.fromkeys((*op.operands, *outer_operands(op))) if op.regions else op.operands
