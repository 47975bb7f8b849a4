"""The coarse schedule of a loop: for each operation of its body a stage (how many iterations later it runs) and a cluster.

Clusters order the operations of one iteration of the finished loop; within a cluster program order holds. Between the passes the
schedule stands on the operations as ``loop.stage`` and ``loop.cluster``, and on the loop as ``tt.scheduled_max_stage``.

Facts: lib/Dialect/TritonGPU/Transforms/Pipeliner/Schedule.cpp and include/triton/Dialect/TritonGPU/Transforms/Schedule.h, Triton 3.8.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from smem_lint.passes.pipeliner.loops import body_operations, outer_operands
from smem_lint.tile.ir import Op, Value

STAGE, CLUSTER, MAX_STAGE = "loop.stage", "loop.cluster", "tt.scheduled_max_stage"


class Cluster:
    """A group of operations; ``id`` is its place among the clusters of its schedule."""

    __slots__ = ("id",)

    def __init__(self) -> None:
        self.id = -1


class Clusters(list[Cluster]):
    """The clusters of a schedule, in order; every one knows its place."""

    def _insert(self, at: int) -> Cluster:
        cluster = Cluster()
        self.insert(at, cluster)
        for place in range(at, len(self)):
            self[place].id = place
        return cluster

    def new_at_back(self) -> Cluster:
        return self._insert(len(self))

    def new_at_front(self) -> Cluster:
        return self._insert(0)

    def new_before(self, cluster: Cluster) -> Cluster:
        return self._insert(cluster.id)


class Slot(NamedTuple):
    """When an operation runs."""

    stage: int
    cluster: Cluster


class Schedule:
    """A slot for each scheduled operation of one loop's body."""

    __slots__ = ("num_stages", "clusters", "slots")

    def __init__(self, num_stages: int = 0) -> None:
        self.num_stages = num_stages
        self.clusters = Clusters()
        self.slots: dict[Op, Slot] = {}

    def __contains__(self, op: Op) -> bool:
        return op in self.slots

    def __getitem__(self, op: Op) -> Slot:
        return self.slots[op]

    def insert(self, op: Op, stage: int, cluster: Cluster) -> None:
        self.num_stages = max(self.num_stages, stage + 1)
        self.slots[op] = Slot(stage, cluster)

    def insert_if_absent(self, op: Op, stage: int, cluster: Cluster) -> bool:
        if op in self.slots:
            return False
        self.insert(op, stage, cluster)
        return True

    def insert_minimum(self, op: Op, stage: int, cluster: Cluster) -> bool:
        """Schedule ``op`` unless it already runs as early; whether anything changed. Does not count as a new stage."""
        known = self.slots.get(op)
        if known is not None and (known.stage, known.cluster.id) <= (stage, cluster.id):
            return False
        self.slots[op] = Slot(stage, cluster)
        return True

    def close_up(self) -> None:
        """Let the first stage that is used be stage 0, and forget those after the last."""
        stages = [slot.stage for slot in self.slots.values()]
        first, last = min(stages), max(stages)
        self.slots = {op: Slot(slot.stage - first, slot.cluster) for op, slot in self.slots.items()}
        self.num_stages = last - first + 1

    def insert_dependencies(self, op: Op, stage: int, cluster: Cluster, through_arguments: bool, if_earlier: bool) -> None:
        """Put what ``op`` needs from its own block into a slot no later, and what that needs, and so on.

        ``through_arguments`` follows loop-carried values to what the previous iteration yields; ``if_earlier`` also moves
        operations that are scheduled later than needed.
        """
        insert = self.insert_minimum if if_earlier else self.insert_if_absent
        pending = [op]
        while pending:
            at = pending.pop()
            for operand in outer_operands(at):
                definition = _definition(operand, at) if through_arguments else operand.op
                if definition is not None and definition.block is at.block and insert(definition, stage, cluster):
                    pending.append(definition)

    def in_order(self, loop: Op) -> list[tuple[Op, Slot]]:
        """The scheduled operations by cluster, in program order within each."""
        groups: list[list[tuple[Op, Slot]]] = [[] for _ in self.clusters]
        for op in body_operations(loop):
            slot = self.slots.get(op)
            if slot is not None:
                groups[slot.cluster.id].append((op, slot))
        return [entry for group in groups for entry in group]

    def is_before(self, a: Op, b: Op) -> bool:
        """Whether ``a`` comes before ``b`` when iterations are laid end to end."""
        x, y = self.slots[a], self.slots[b]
        if (x.stage, x.cluster.id) != (y.stage, y.cluster.id):
            return (x.stage, x.cluster.id) < (y.stage, y.cluster.id)
        return a is not b and a.is_before(b)

    def schedule_dependencies(self, loop: Op) -> None:
        """Give every operation that a scheduled one needs within the iteration the slot of its earliest user."""
        order = self.in_order(loop)
        for stage in range(self.num_stages):
            for op, slot in order:
                if slot.stage == stage:
                    self.insert_dependencies(op, stage, slot.cluster, through_arguments=False, if_earlier=True)

    def write(self, loop: Op) -> None:
        """Leave the schedule on the operations; a deepest stage that the loop already names is kept."""
        for op, slot in self.in_order(loop):
            op.attrs[STAGE], op.attrs[CLUSTER] = slot.stage, slot.cluster.id
        loop.attrs[MAX_STAGE] = max(self.num_stages - 1, loop.attrs.get(MAX_STAGE, 0))

    @classmethod
    def read(cls, loop: Op) -> Schedule | None:
        """The schedule that an earlier pass left on the loop, None if there is none. Cluster numbers are made to start at 0."""
        if MAX_STAGE not in loop.attrs:
            return None
        schedule = cls(loop.attrs[MAX_STAGE] + 1)
        scheduled = [op for op in body_operations(loop) if STAGE in op.attrs]
        numbers = [op.attrs[CLUSTER] for op in scheduled]
        if numbers:
            first = min(numbers)
            clusters = [schedule.clusters.new_at_back() for _ in range(max(numbers) - first + 1)]
            for op in scheduled:
                schedule.insert(op, op.attrs[STAGE], clusters[op.attrs[CLUSTER] - first])
        return schedule


def _definition(value: Value, op: Op) -> Op | None:
    """What defines ``value`` as ``op`` reads it, in this or, for a loop-carried value, in an earlier iteration."""
    seen: set[Value] = set()
    while value.op is None and value.block is op.block and value.index > 0 and value not in seen:
        seen.add(value)
        assert value.block is not None
        value = value.block.terminator.operands[value.index - 1]
    return value.op


def clear(ops: Iterator[Op]) -> None:
    """Take the marks of a schedule off the operations."""
    for op in ops:
        if op.attrs:
            for name in (STAGE, CLUSTER, MAX_STAGE):
                op.attrs.pop(name, None)
