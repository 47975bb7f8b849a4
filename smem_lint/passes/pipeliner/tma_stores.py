"""Stores through descriptors in a loop become bulk copies that run while the loop goes on.

The tile is copied to shared memory and from there to global memory; before that shared memory is written again, the copy must have
read it. Stores of one shape and element type share one buffer.

Facts: lib/Dialect/TritonGPU/Transforms/Pipeliner/TMAStoresPipeline.cpp and ``lowerTMADescriptors`` in PipeliningUtility.cpp,
Triton 3.8.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from smem_lint.passes.pipeliner.building import StageBuilder, add_iter_args, integer, next_slot
from smem_lint.passes.pipeliner.loads import descriptor_encoding
from smem_lint.passes.pipeliner.lower_tma import wide_indices
from smem_lint.passes.pipeliner.schedule import Schedule
from smem_lint.passes.tma_descriptors import DESCRIPTOR_ALIGNMENT, DESCRIPTOR_BYTES, create_descriptor
from smem_lint.tile.ir import Block, Builder, Op, Value
from smem_lint.tile.types import I8, I32, MemDesc, Pointer
from smem_lint.tile.unsupported import Unsupported

_COPIES = {
    "tt.descriptor_store": "ttng.async_tma_copy_local_to_global",
    "tt.descriptor_reduce": "ttng.async_tma_reduce",
    "tt.descriptor_scatter": "ttng.async_tma_scatter",
}  # fmt: skip
_STORE_STAGES = 2  # descriptors built in the loop are kept twice


def pipeline_stores(loop: Op) -> None:
    """Rewrite the stores of ``loop`` (not those of loops within); none if an atomic operation there orders memory."""
    stores = [op for op in _outside_inner_loops(loop) if op.name in _COPIES]
    if not stores or _orders_memory(loop):
        return
    buffers: dict[Any, Value] = {}
    for store in stores:
        tile = _stored(store).type
        key = (tile.shape, tile.element)
        if key not in buffers:
            type_ = MemDesc(tile.shape, tile.element, descriptor_encoding(store, tile), mutable=True)
            builder = Builder(before=loop)
            builder.line = store.line
            buffers[key] = builder.value("ttg.local_alloc", (), type_)
    on_device = any(not _comes_from_host(store.operands[0]) for store in stores)
    used = []
    for store in stores:
        tile = _stored(store).type
        used.append(buffers[tile.shape, tile.element])
        _replace(store, used[-1])
    builder = Builder().after(loop)
    builder.op("ttng.async_tma_store_wait", (), (), {"pendings": 0})
    for buffer in used:
        builder.op("ttg.local_dealloc", (buffer,))
    if on_device:
        multi_buffer_descriptors(loop, Schedule(_STORE_STAGES + 1))


def _outside_inner_loops(loop: Op) -> Iterator[Op]:
    pending = [iter(loop.body)]
    while pending:
        op = next(pending[-1], None)
        if op is None:
            pending.pop()
            continue
        yield op
        if op.name != "scf.for":
            pending += [iter(block) for region in reversed(op.regions) for block in reversed(region.blocks)]


def _stored(store: Op) -> Value:
    return store.operands[-1 if store.name == "tt.descriptor_scatter" else 1]


def _orders_memory(loop: Op) -> bool:
    return any(op.name in ("tt.atomic_rmw", "tt.atomic_cas") and op.attrs.get("sem") != "relaxed" for op in loop.walk())


def _comes_from_host(descriptor: Value) -> bool:
    """Whether a descriptor is an argument of the kernel."""
    if descriptor.op is not None or descriptor.block is None:
        return False
    function = descriptor.block.parent_op
    return function is not None and function.name == "tt.func" and function.attrs.get("visibility") == "public"


def _replace(store: Op, buffer: Value) -> None:
    tile = _stored(store)
    descriptor, *indices = (value for value in store.operands if value is not tile)
    builder = Builder(before=store)
    builder.op("ttng.async_tma_store_wait", (), (), {"pendings": 0, "read_only": True})
    builder.op("ttg.local_store", (tile, buffer))
    builder.op("ttng.fence_async_shared", (), (), {"bCluster": False})
    if store.name == "tt.descriptor_scatter":
        indices[0] = wide_indices(builder, indices[0])
    attrs = {"kind": store.attrs["kind"]} if "kind" in store.attrs else {}
    builder.op(_COPIES[store.name], (descriptor, *indices, buffer), (), attrs)
    store.erase()


# Descriptors made in the loop -------------------------------------------------------------------------------------------------


def multi_buffer_descriptors(loop: Op, schedule: Schedule) -> Op:
    """Build descriptors of the loop in a ring, so that copies can still read an old one. Returns the loop (maybe another)."""
    makes = [op for op in loop.walk_post() if op.name == "tt.make_tensor_descriptor"]
    if not makes:
        return loop
    slots = schedule.num_stages - 1 + any(op.name == "ttng.warp_group_dot" for op in loop.body)
    builder = Builder(before=loop)
    attrs = {"nbytes": slots * DESCRIPTOR_BYTES, "alignment": DESCRIPTOR_ALIGNMENT}
    rings = [builder.value("ttg.global_scratch_alloc", (), Pointer(I8), **attrs) for _ in makes]
    zero, one = integer(builder, 0), integer(builder, 1)
    first = len(loop.body.args)
    loop = add_iter_args(loop, [zero] * len(makes))
    counters = loop.body.args[first:]
    size = integer(Builder(before=loop), slots)
    for make, ring, counter in zip(makes, rings, counters, strict=True):
        builder = StageBuilder(schedule, make, schedule.slots.get(make))
        pointer = _build(builder, make, ring, counter)
        made = builder.value("ttng.reinterpret_tensor_descriptor", (pointer,), make.results[0].type)
        make.results[0].replace_all_uses(made)
        following, _ = next_slot(builder, counter, size, zero, one)
        assert make.block is not None
        following = _carry_out(counter, following, make.block)
        loop.body.terminator.set_operand(counter.index - 1, following)
        make.erase()
    return loop


def _build(builder: Builder, make: Op, ring: Value, counter: Value) -> Value:
    size = integer(builder, DESCRIPTOR_BYTES)
    offset = builder.value("arith.muli", (size, counter), I32)
    pointer = builder.value("tt.addptr", (ring, offset), ring.type)
    create_descriptor(builder, pointer, make)
    builder.op("ttng.tensormap_fenceproxy_acquire", (pointer,))
    return pointer


def _carry_out(before: Value, after: Value, block: Block) -> Value:
    """``after``, made in ``block``, as a value of the block of ``before``; ``before`` itself where ``block`` does not run."""
    while block is not before.parent_block:
        holder = block.parent_op
        assert holder is not None
        if holder.name == "scf.for":
            new = add_iter_args(holder, [before])
            new.body.terminator.set_operand(len(new.results) - 1, after)
        elif holder.name == "scf.if":
            new = _add_result(holder, block, before, after)
        else:
            raise Unsupported(f"a tensor descriptor made within {holder.name}", holder.line)
        after = new.results[-1]
        assert new.block is not None
        block = new.block
    return after


def _add_result(branch: Op, taken: Block, otherwise: Value, value: Value) -> Op:
    """A branch in place of another that also gives ``value`` where ``taken`` runs."""
    types = [result.type for result in branch.results]
    new = Op("scf.if", branch.operands, [*types, value.type], dict(branch.attrs), 0, branch.line)
    assert branch.block is not None
    branch.block.insert_before(branch, new)
    new.regions, branch.regions = branch.regions, ()
    for region in new.regions:
        region.op = new
        if not region.blocks:
            region.add_block().append(Op("scf.yield"))
        terminator = region.blocks[0].terminator
        terminator.set_operands([*terminator.operands, value if region.blocks[0] is taken else otherwise])
    for old, result in zip(branch.results, new.results, strict=False):
        old.replace_all_uses(result)
    branch.erase()
    return new
