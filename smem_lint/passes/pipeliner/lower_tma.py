"""Bulk copies (TMA) of a pipelined loop: barriers, copies, and the waits before their first use.

Facts: ``createTMABarrierAndWait`` and ``createTMAAsyncCopy`` in lib/Dialect/TritonGPU/Transforms/Pipeliner/LowerLoops.cpp,
``createBarrierAlloc`` in PipeliningUtility.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from math import prod

from smem_lint.layout.encodings import SwizzledShared
from smem_lint.passes.pipeliner.building import StageBuilder, buffer_view, integer, replace_with_local_load, ring_of, true
from smem_lint.passes.pipeliner.loads import must_load_to_registers
from smem_lint.passes.pipeliner.loops import DESCRIPTOR_LOADS, ancestor_in
from smem_lint.passes.pipeliner.rings import AsyncLoad, Counters, first_use
from smem_lint.passes.pipeliner.schedule import Schedule
from smem_lint.tile.ir import Builder, Op, Value
from smem_lint.tile.types import I16, I32, I64

_BARRIER = SwizzledShared(1, 1, 1, (0,))


def create_barriers(loop: Op, copies: dict[Op, AsyncLoad], counters: dict[int, Counters], schedule: Schedule) -> None:
    """One ring of barriers for each group of loads; loads are told their barrier and the wait for it."""
    for group in _groups(copies, schedule):
        slots = copies[group[0]].slots
        counter = counters[slots]
        assert counter.phase is not None
        barriers = barrier_ring(loop, slots)
        builder = StageBuilder(schedule, group[0], schedule[group[0]])
        barrier = buffer_view(builder, barriers, counter.insert)
        size = sum(prod(op.results[0].type.shape) * int(op.results[0].type.element.bits) // 8 for op in group)
        builder.op("ttng.barrier_expect", (barrier, true(builder)), (), {"size": size})
        builder.after(group[-1])
        builder.slot = schedule[first_use(group, loop, schedule)]
        view = buffer_view(builder, barriers, counter.extract)
        wait = builder.op("ttng.wait_barrier", (view, counter.phase))
        for op in group:
            copies[op].barrier, copies[op].wait = barrier, wait


def barrier_ring(loop: Op, slots: int) -> Value:
    """Barriers, initialised before the loop and invalidated after it."""
    ring = ring_of(loop, (1,), I64, _BARRIER, slots)
    builder = Builder(before=loop)
    for slot in range(slots):
        builder.op("ttng.init_barrier", (buffer_view(builder, ring, integer(builder, slot)),), (), {"count": 1})
    builder.after(loop)
    for slot in range(slots):
        builder.op("ttng.inval_barrier", (buffer_view(builder, ring, integer(builder, slot)),))
    return ring


def _groups(copies: dict[Op, AsyncLoad], schedule: Schedule) -> list[list[Op]]:
    """Loads that follow one another in one slot and with rings of one size, with no use of any of them in between."""
    groups: list[list[Op]] = []
    seen: set[Op] = set()
    for op, copy in copies.items():
        if op in seen or op.name not in DESCRIPTOR_LOADS:
            continue
        group, users = [op], _users_in_block(op)
        seen.add(op)
        at = op.next
        while at is not None and at not in users and at not in seen:
            other = copies.get(at) if at.name in DESCRIPTOR_LOADS else None
            if other is not None:
                if other.slots != copy.slots:
                    break
                if schedule[op] == schedule[at]:
                    group.append(at)
                    seen.add(at)
                    users |= _users_in_block(at)
            at = at.next
        groups.append(group)
    return groups


def _users_in_block(load: Op) -> set[Op]:
    """The operations of the load's block that use it; of a copy to shared memory that will go away, its users."""
    block, found = load.block, set[Op]()
    assert block is not None
    for user in load.results[0].users:
        if user.block is block and not must_load_to_registers(load):
            found.update(user.result.users)
            continue
        at = ancestor_in(block, user)
        if at is not None:
            found.add(at)
    return found


def create_copy(loop: Op, load: Op, copy: AsyncLoad, counters: Counters, schedule: Schedule) -> None:
    """Replace a load through a descriptor by a bulk copy, and let its users read the buffer after the wait."""
    user = first_use((load,), loop, schedule)
    builder = StageBuilder(schedule, load, schedule[load])
    view = buffer_view(builder, copy.ring, counters.insert)
    arrives = true(builder)
    descriptor, *indices = load.operands
    if load.name == "tt.descriptor_gather":
        indices[0] = wide_indices(builder, indices[0])
        name = "ttng.async_tma_gather"
    else:
        name = "ttng.async_tma_copy_global_to_local"
    builder.op(name, (descriptor, *indices, view, copy.barrier, arrives))
    builder.after(copy.wait)
    builder.slot = schedule[user]
    replace_with_local_load(builder, load.results[0], buffer_view(builder, copy.ring, counters.extract))
    del schedule.slots[load]
    load.erase()


def wide_indices(builder: Builder, indices: Value) -> Value:
    """Row numbers as 32-bit integers."""
    if indices.type.element is not I16:
        return indices
    return builder.value("arith.extsi", (indices,), indices.type.with_element(I32))
