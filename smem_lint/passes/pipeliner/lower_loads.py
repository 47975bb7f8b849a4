"""Turn the scheduled loads of a loop into asynchronous copies to rings of buffers.

A load whose first user runs n stages later is copied n iterations ahead into a ring of n buffers. Loads of the same n share the
two counters that walk around their rings: one says where to copy to, one where to read from.

Facts: lib/Dialect/TritonGPU/Transforms/Pipeliner/LowerLoops.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from typing import Any

from smem_lint.layout.distributed import default_blocked
from smem_lint.layout.encodings import SwizzledShared
from smem_lint.passes.axis_info import ModuleAxisInfo
from smem_lint.passes.pipeliner import loads
from smem_lint.passes.pipeliner.building import (
    StageBuilder,
    add_iter_args,
    buffer_view,
    integer,
    next_slot,
    replace_with_local_load,
    ring_of,
    token,
)
from smem_lint.passes.pipeliner.loops import DESCRIPTOR_LOADS, LOADS, body_operations, top_level_users
from smem_lint.passes.pipeliner.lower_tma import create_barriers, create_copy
from smem_lint.passes.pipeliner.rings import AsyncLoad, Counters, first_use
from smem_lint.passes.pipeliner.schedule import Schedule
from smem_lint.tile.ir import Builder, Module, Op, Value
from smem_lint.tile.types import Tensor, element_of


def lower_loads(module: Module, loop: Op, schedule: Schedule, axis_info: ModuleAxisInfo) -> Op:
    """Rewrite the loads of ``loop`` and schedule what replaces them. Returns the loop, which may be another operation now."""
    copies = _async_loads(loop, schedule, axis_info)
    for op in copies:
        if not isinstance(op.results[0].type, Tensor):
            _make_tensor_load(module, op, loop, schedule)
    if not copies:
        return loop
    for op, copy in copies.items():
        type_ = op.results[0].type
        copy.ring = ring_of(loop, type_.shape, type_.element, copy.encoding, copy.slots, op.line)
        copy.ring.name = op.results[0].name
    loop, counters = _add_counters(loop, copies)
    create_barriers(loop, copies, counters, schedule)
    for op, copy in copies.items():
        if op.name == "tt.load":
            _create_async_copy(loop, op, copy, counters[copy.slots], schedule)
        else:
            create_copy(loop, op, copy, counters[copy.slots], schedule)
    _yield_counters(loop, counters)
    schedule.schedule_dependencies(loop)
    if any(copy.is_cp_async for copy in copies.values()):
        token(Builder().after(loop), "ttg.async_wait", (), {"num": 0})
    return loop


# Which loads, and how many buffers ------------------------------------------------------------------------------------------


def _async_loads(loop: Op, schedule: Schedule, axis_info: ModuleAxisInfo) -> dict[Op, AsyncLoad]:
    found: dict[Op, AsyncLoad] = {}
    for op in body_operations(loop):
        if op.name in LOADS:
            distance = _use_distance(op, loop, schedule)
            copy = _async_load(op, distance, axis_info) if distance else None
            if copy is not None:
                copy.slots += loads.feeds_warp_group_dot(op)
                found[op] = copy
    return found


def _async_load(op: Op, slots: int, axis_info: ModuleAxisInfo) -> AsyncLoad | None:
    """How to copy what ``op`` loads; None when it cannot be copied asynchronously and stays a load into registers."""
    type_ = op.results[0].type
    if op.name in DESCRIPTOR_LOADS:
        return AsyncLoad(slots, loads.shared_encoding(op), is_cp_async=False)
    if not isinstance(type_, Tensor):
        return AsyncLoad(slots, SwizzledShared(1, 1, 1, (0,))) if type_.bits >= loads.SMALLEST_COPY_BITS else None
    encoding = loads.shared_encoding(op)
    if not loads.wide_enough(op, axis_info) or 8 * loads.copy_bytes(type_, encoding) < loads.SMALLEST_COPY_BITS:
        return None
    return AsyncLoad(slots, encoding, loads.vector_of(op, axis_info))


def _use_distance(op: Op, loop: Op, schedule: Schedule) -> int:
    """Stages from the load to its first use, which also waits for the end of the load's cluster."""
    users = top_level_users(op, loop)
    for user in list(users):
        if user.name == "ttg.local_alloc":
            users.update(top_level_users(user, loop))
    if not users:
        return 0
    at = schedule[op]
    uses = [(user, schedule[user]) for user in users]
    first = min(slot.stage + (slot.cluster.id > at.cluster.id) for _, slot in uses)
    waits = [slot.stage for user, slot in uses if user.name == "ttng.wait_barrier"]
    return max([first, *waits]) - at.stage


# Rewriting --------------------------------------------------------------------------------------------------------------------


def _make_tensor_load(module: Module, op: Op, loop: Op, schedule: Schedule) -> None:
    """Load a scalar as a tensor of one element, since only tensors can be copied to shared memory."""
    scalar = op.results[0].type
    encoding = default_blocked((1,), module.num_warps)
    builder = StageBuilder(schedule, op, schedule[op])
    operands = [builder.value("tt.splat", (value,), Tensor((1,), value.type, encoding)) for value in op.operands]
    for index, operand in enumerate(operands):
        op.set_operand(index, operand)
    result = op.results[0]
    result.retype(Tensor((1,), scalar, encoding))
    builder.slot = schedule[first_use((op,), loop, schedule)]
    builder.after(op)
    unsplat = builder.op("tt.unsplat", (result,), (scalar,))
    result.replace_all_uses(unsplat.result, lambda use: use.owner is unsplat)


def _add_counters(loop: Op, copies: dict[Op, AsyncLoad]) -> tuple[Op, dict[int, Counters]]:
    """Let the loop carry the counters of each ring size, and advance them at the start of its body."""
    with_phase = {copy.slots: False for copy in copies.values()}
    for copy in copies.values():
        with_phase[copy.slots] |= not copy.is_cp_async
    builder = Builder(before=loop)
    minus_one, zero, one = (integer(builder, number) for number in (-1, 0, 1))
    initial: list[Value] = []
    for has_phase in with_phase.values():
        initial += [minus_one, minus_one, zero] if has_phase else [minus_one, minus_one]
    first = len(loop.body.args)
    loop = add_iter_args(loop, initial)
    arguments = iter(loop.body.args[first:])
    counters = {}
    for slots, has_phase in with_phase.items():
        insert, extract = next(arguments), next(arguments)
        builder = Builder().at_start(loop.body)
        size = integer(builder, slots)
        insert, _ = next_slot(builder, insert, size, zero, one)
        extract, wraps = next_slot(builder, extract, size, zero, one)
        phase = None
        if has_phase:
            phase = next(arguments)
            flipped = builder.value("arith.xori", (phase, one), phase.type)
            phase = builder.value("arith.select", (wraps, flipped, phase), phase.type)
        counters[slots] = Counters(insert, extract, phase)
    return loop, counters


def _yield_counters(loop: Op, counters: dict[int, Counters]) -> None:
    terminator = loop.body.terminator
    values = [value for group in counters.values() for value in group if value is not None]
    for index, value in enumerate(values, len(terminator.operands) - len(values)):
        terminator.set_operand(index, value)


def _create_async_copy(loop: Op, op: Op, copy: AsyncLoad, counters: Counters, schedule: Schedule) -> None:
    user = first_use((op,), loop, schedule)
    builder = StageBuilder(schedule, op, schedule[op])
    pointer, mask, other = loads.pointer_of(op), loads.mask_of(op), loads.other_of(op)
    view = buffer_view(builder, copy.ring, counters.insert)
    attrs: dict[str, Any] = {name: op.attrs[name] for name in ("cacheModifier", "evictionPolicy", "isVolatile") if name in op.attrs}
    attrs |= {"contiguity": copy.contiguity, "segments": (1, 1, int(mask is not None), int(other is not None))}
    copied = token(builder, "ttg.async_copy_global_to_local", [v for v in (pointer, view, mask, other) if v is not None], attrs)
    group = token(builder, "ttg.async_commit_group", (copied,))
    builder.slot = schedule[user]
    ready = token(builder, "ttg.async_wait", (group,), {"num": 0})
    view = buffer_view(builder, copy.ring, counters.extract)
    loaded = op.results[0]
    if other is None or loads.is_zero(other):
        replace_with_local_load(builder, loaded, view, ready)
    elif loaded.uses:
        shared = builder.value("ttg.local_load", (view, ready), loaded.type)
        assert mask is not None and element_of(mask.type).bits == 1
        loaded.replace_all_uses(builder.value("arith.select", (mask, shared, other), loaded.type))
    del schedule.slots[op]
    op.erase()
