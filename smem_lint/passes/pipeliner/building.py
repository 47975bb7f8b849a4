"""Building operations for a pipelined loop: scheduled as they are made, one slot of a ring of buffers, loops with more arguments.

Facts: ``OpBuilderForStage`` in include/triton/Dialect/TritonGPU/Transforms/Schedule.h, PipeliningUtility.cpp and Utility.cpp in
lib/Dialect/TritonGPU/Transforms, Triton 3.8.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from smem_lint.passes.pipeliner.loops import VIEWS
from smem_lint.passes.pipeliner.schedule import Schedule, Slot
from smem_lint.tile.ir import Builder, Op, Value
from smem_lint.tile.types import ASYNC_TOKEN, I1, I32, MemDesc


class StageBuilder(Builder):
    """A builder that puts what it makes into ``slot`` of a schedule (into none while ``slot`` is None)."""

    __slots__ = ("schedule", "slot")

    def __init__(self, schedule: Schedule, before: Op, slot: Slot | None = None) -> None:
        super().__init__(before=before)
        self.schedule, self.slot = schedule, slot

    def insert(self, op: Op) -> Op:
        super().insert(op)
        if self.slot is not None:
            self.schedule.insert(op, *self.slot)
        return op


def integer(builder: Builder, value: int) -> Value:
    return builder.constant(I32, value)


def true(builder: Builder) -> Value:
    return builder.constant(I1, True)


def buffer_view(builder: Builder, ring: Value, index: Value) -> Value:
    """One slot of a ring of buffers."""
    type_ = ring.type
    slot = MemDesc(type_.shape[1:], type_.element, type_.encoding, type_.space, type_.mutable)
    return builder.value("ttg.memdesc_index", (ring, index), slot)


def ring_of(before: Op, shape: Sequence[int], element: Any, encoding: Any, slots: int, line: int | None = None) -> Value:
    """Allocate ``slots`` buffers of ``shape`` before an operation, for what ``line`` says, and free them right after it."""
    type_ = MemDesc((slots, *shape), element, encoding, mutable=True)
    builder = Builder(before=before)
    builder.line = before.line if line is None else line
    ring = builder.value("ttg.local_alloc", (), type_)
    Builder().after(before).op("ttg.local_dealloc", (ring,))
    return ring


def next_slot(builder: Builder, counter: Value, slots: Value, zero: Value, one: Value) -> tuple[Value, Value]:
    """``counter`` + 1, or 0 where that is ``slots``; and whether it wrapped around."""
    following = builder.value("arith.addi", (counter, one), counter.type)
    wraps = builder.value("arith.cmpi", (following, slots), I1, predicate="sge")
    return builder.value("arith.select", (wraps, zero, following), counter.type), wraps


def add_iter_args(loop: Op, initial: Sequence[Value]) -> Op:
    """A loop in place of ``loop`` that carries more values, yielded as they were given for now; its body is the same block."""
    new = Op(loop.name, [*loop.operands, *initial], [value.type for value in loop.operands[3:]] + [v.type for v in initial])
    new.attrs, new.line = dict(loop.attrs), loop.line
    assert loop.block is not None
    loop.block.insert_before(loop, new)
    new.regions, loop.regions = loop.regions, ()
    new.regions[0].op = new
    body = new.body
    for value in initial:
        body.add_arg(value.type)
    terminator = body.terminator
    terminator.set_operands([*terminator.operands, *initial])
    for old, result in zip(loop.results, new.results, strict=False):
        result.name = old.name
        old.replace_all_uses(result)
    loop.erase()
    return new


def replace_with_local_load(builder: Builder, old: Value, view: Value, token: Value | None = None) -> Op | None:
    """Let the users of a loaded tensor read ``view`` instead.

    Copies of the tensor to shared memory of the same encoding are taken out, the others read it through one ``local_load``,
    which is returned.
    """
    allocs = [
        user for user in old.users
        if user.name == "ttg.local_alloc" and user.result.type.encoding is view.type.encoding
    ]  # fmt: skip
    for alloc in allocs:
        replace_memory(builder, alloc, view)
    load: Op | None = None
    if len(old.uses) > len(allocs):
        operands = (view,) if token is None else (view, token)
        load = builder.op("ttg.local_load", operands, (old.type,))
        old.replace_all_uses(load.result)
    for alloc in allocs:
        alloc.erase()
    return load


def replace_memory(builder: Builder, old: Op, memory: Value) -> None:
    """Let the users of buffer ``old`` use ``memory``; views of it are made anew, since they take over its mutability."""
    block, before = builder.block, builder.before
    views: list[Op] = []
    plain = []
    for use in reversed(tuple(old.result.uses)):
        user = use.owner
        if user.name not in VIEWS:
            plain.append(use)
            continue
        type_ = user.result.type
        source = memory.type
        alloc_shape = type_.alloc_shape
        if user.name == "ttg.memdesc_index":
            alloc_shape = type_.shape
        elif user.name in ("ttg.memdesc_reshape", "ttg.memdesc_trans"):
            outer = source.alloc_shape[: len(source.alloc_shape) - len(source.shape)]
            alloc_shape = (*outer, *type_.shape)
        builder.at(user)
        new = MemDesc(type_.shape, type_.element, type_.encoding, type_.space, source.mutable, alloc_shape)
        view = builder.op(user.name, (memory, *user.operands[1:]), (new,), dict(user.attrs))
        replace_memory(builder, user, view.result)
        views.append(user)
    for use in plain:
        if use.owner.name == "ttng.warp_group_dot_wait":
            use.owner.results[use.index].retype(memory.type)
        use.set(memory)
    for user in views:
        user.erase()
    builder.block, builder.before = block, before


def token(builder: Builder, name: str, operands: Sequence[Value], attrs: dict[str, Any] | None = None) -> Value:
    """An operation that returns a token of asynchronous work."""
    return builder.op(name, operands, (ASYNC_TOKEN,), attrs).result
