"""Schedule pipelined loops: from the latencies of operations to a stage and a cluster for every operation of the body.

Operations that a load with latency n feeds run n iterations after it. What they need comes along, what they need from the
previous iteration goes one stage later, branches move to the ends of the body, and all else runs in the last stage.

Facts: lib/Dialect/TritonGPU/Transforms/Pipeliner/ScheduleLoops.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from smem_lint.passes.pipeliner.loops import (
    LOADS,
    ancestor_in,
    body_operations,
    for_loops,
    has_inner_loop,
    outer_operands,
    yields_an_argument,
)
from smem_lint.passes.pipeliner.schedule import Cluster, Schedule
from smem_lint.tile.ir import Module, Op
from smem_lint.tile.versions import decisions

_BARRIERS = frozenset(("ttg.barrier", "gpu.barrier"))
_UNSAFE = _BARRIERS | {"tt.assert", "tt.print"}

_SLOW = LOADS | frozenset((
    "ttg.local_store", "ttg.local_load", "ttng.tmem_load", "ttng.tmem_store", "ttg.async_copy_global_to_local", "ttng.tc_gen5_mma",
    "ttng.tc_gen5_mma_scaled", "ttng.wait_barrier", "ttng.arrive_barrier", "ttng.async_tma_copy_global_to_local",
    "ttng.async_tma_copy_local_to_global", "ttng.async_tma_reduce", "ttng.async_tma_gather", "ttng.async_tma_scatter",
))  # fmt: skip


def run(module: Module) -> None:
    """Replace ``tt.latency`` by ``loop.stage`` and ``loop.cluster`` in every loop that can be pipelined."""
    latencies = {op: op.attrs.pop("tt.latency") for op in module.walk() if "tt.latency" in op.attrs}
    unsafe = _UNSAFE if decisions(module.version).output_stops_pipelining else _BARRIERS
    for loop in for_loops(module):
        if _is_safe(loop, unsafe):
            _schedule(loop, latencies)


def _is_safe(loop: Op, unsafe: frozenset[str]) -> bool:
    return not (yields_an_argument(loop) or has_inner_loop(loop) or any(op.name in unsafe for op in loop.walk()))


def _schedule(loop: Op, latencies: dict[Op, int]) -> None:
    slow = [op for op in body_operations(loop) if op in latencies]
    schedule = _schedule_key_operations(loop, slow, latencies) if slow else _shortened(loop)
    if schedule is None or not schedule.slots:
        return
    after_prologue = _schedule_branches(loop, schedule)
    schedule.schedule_dependencies(loop)
    _schedule_carried(loop, schedule)
    _schedule_remaining(loop, schedule, after_prologue)
    schedule.write(loop)


def _schedule_key_operations(loop: Op, slow: list[Op], latencies: dict[Op, int]) -> Schedule:
    """The operations with latencies and all that they feed, by the longest way that still lies before them."""
    distances = _distances(loop, slow, latencies)
    longest = max(distances[op] for op in slow)
    stages = {op: longest - distance for op, distance in distances.items()}
    last = max(stages.values())
    schedule = Schedule(last + 1)
    clusters = [schedule.clusters.new_at_back() for _ in range(last + 1)]
    for op, stage in stages.items():
        schedule.insert(op, stage, clusters[last - stage])
    epilogue = schedule.clusters.new_at_back()
    for op, stage in stages.items():
        if op.name == "scf.if" and op not in latencies and not _feeds_any(op, stages):
            schedule.insert(op, stage, epilogue)
    return schedule


def _shortened(loop: Op) -> Schedule | None:
    """The schedule that a loop marked for warp specialization already has, without stages that have nothing slow to wait for."""
    schedule = Schedule.read(loop) if "tt.warp_specialize" in loop.attrs else None
    if schedule is None:
        return None
    stages = {schedule[op].stage for op in body_operations(loop) if op in schedule and op.name in _SLOW}
    if len(stages) < 2:
        flat = Schedule(1)
        cluster = flat.clusters.new_at_front()
        for op in body_operations(loop):
            flat.insert(op, 0, cluster)
        return flat
    schedule.close_up()
    return schedule


def _distances(loop: Op, slow: list[Op], latencies: dict[Op, int]) -> dict[Op, int]:
    """For each operation that a slow one feeds: the greatest sum of latencies on a way from it to the end of the body."""
    body, end = loop.body, loop.body.terminator
    users: dict[Op, list[Op]] = {}
    pending = list(slow)
    while pending:
        op = pending.pop()
        if op not in users:
            found = dict.fromkeys(ancestor_in(body, use.owner) for result in op.results for use in result.uses)
            users[op] = [user for user in found if user is not None and user is not end]
            pending += users[op]
    distances: dict[Op, int] = {}
    for op in reversed(body):
        if op in users:
            distances[op] = latencies.get(op, 0) + max((distances[user] for user in users[op]), default=0)
    return distances


def _feeds_any(op: Op, scheduled: dict[Op, int]) -> bool:
    """Whether an operation within or after ``op`` that depends on it is scheduled (``op`` itself does not count)."""
    seen, pending = {op}, [op]
    while pending:
        at = pending.pop()
        inner = [child for region in at.regions for block in region.blocks for child in block]
        for other in [*inner, *(use.owner for result in at.results for use in result.uses)]:
            if other not in seen:
                if other in scheduled:
                    return True
                seen.add(other)
                pending.append(other)
    return False


def _schedule_branches(loop: Op, schedule: Schedule) -> Cluster:
    """Branches that scheduled operations need go to the front of the body, others to its end.

    Returns the cluster that was first before this.
    """
    after_prologue = schedule.clusters[0]
    needed = _needed_branches(loop, schedule)
    if needed:
        prologue = schedule.clusters.new_at_front()
        for op, stage in needed.items():
            schedule.insert_if_absent(op, stage, prologue)
    last = schedule.num_stages - 1
    epilogue = schedule.clusters.new_at_back()
    for op in body_operations(loop):
        if op.name == "scf.if" and op not in needed:
            schedule.insert_if_absent(op, last, epilogue)
    return after_prologue


def _needed_branches(loop: Op, schedule: Schedule) -> dict[Op, int]:
    """Each ``scf.if`` that scheduled operations depend on, also outside the loop, with the first stage that needs it."""
    needed: dict[Op, int] = {}
    expanded: set[Op] = set()
    order = schedule.in_order(loop)
    for stage in range(schedule.num_stages):
        pending = [op for op, slot in order if slot.stage == stage and op not in expanded]
        while pending:
            op = pending.pop()
            if op in expanded:
                continue
            expanded.add(op)
            for value in outer_operands(op):
                if value.op is not None:
                    if value.op.name == "scf.if":
                        needed.setdefault(value.op, stage)
                    pending.append(value.op)
    return needed


def _schedule_carried(loop: Op, schedule: Schedule) -> None:
    """What a scheduled operation needs from the previous iteration runs one stage later, just before it; loads beside it."""
    body, last = loop.body, schedule.num_stages - 1
    before: dict[Cluster, Cluster] = {}
    for op in body_operations(loop):
        slot = schedule.slots.get(op)
        if slot is None or slot.stage == last:
            continue
        for operand in outer_operands(op):
            if operand.op is not None or operand.block is not body or operand.index == 0:
                continue
            definition = body.terminator.operands[operand.index - 1].op
            if definition is None or definition in schedule:
                continue
            stage, cluster = slot
            if definition.name != "tt.load":
                stage += 1
                if cluster not in before:
                    before[cluster] = schedule.clusters.new_before(cluster)
                cluster = before[cluster]
            schedule.insert_if_absent(definition, stage, cluster)
            schedule.insert_dependencies(definition, stage, cluster, through_arguments=True, if_earlier=True)


def _schedule_remaining(loop: Op, schedule: Schedule, after_prologue: Cluster) -> None:
    """All other operations go to the last stage, in a cluster no earlier than those of their operands."""
    last = schedule.num_stages - 1
    remaining = {op: after_prologue for op in body_operations(loop) if op not in schedule}
    pending = [op for op, slot in schedule.in_order(loop) if slot.stage == last]
    while pending:
        op = pending.pop()
        cluster = schedule[op].cluster if op in schedule else remaining[op]
        for result in op.results:
            for user in result.users:
                if user in remaining and remaining[user].id < cluster.id:
                    remaining[user] = cluster
                    pending.append(user)
    for op, cluster in remaining.items():
        schedule.insert(op, last, cluster)
