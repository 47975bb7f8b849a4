"""What is left of descriptors outside of pipelines: bulk copies to and from a buffer of their own, each with its barrier.

Facts: lib/Dialect/TritonNvidiaGPU/Transforms/TMALowering.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from math import prod

from smem_lint.layout.encodings import SwizzledShared
from smem_lint.passes.pipeliner.building import replace_with_local_load, true
from smem_lint.passes.pipeliner.loads import descriptor_encoding
from smem_lint.passes.pipeliner.lower_tma import wide_indices
from smem_lint.passes.tma_descriptors import DESCRIPTOR_ALIGNMENT, DESCRIPTOR_BYTES, create_descriptor
from smem_lint.tile.cleanup.rewriter import Rewriter, rewrite
from smem_lint.tile.ir import Builder, Module, Op
from smem_lint.tile.types import I8, I32, I64, MemDesc, Pointer, Tensor

_STORES = {
    "tt.descriptor_store": "ttng.async_tma_copy_local_to_global",
    "tt.descriptor_reduce": "ttng.async_tma_reduce",
    "tt.descriptor_scatter": "ttng.async_tma_scatter",
}  # fmt: skip
_BARRIER = MemDesc((1,), I64, SwizzledShared(1, 1, 1, (0,)), mutable=True)


def run(module: Module) -> None:
    """Lower loads, stores and the making of descriptors (targets from sm_90 on; no other has descriptors left)."""
    for function in module.functions:
        rewrite(function, _PATTERNS)


def _load(op: Op, rewriter: Rewriter) -> bool:
    """A buffer, a barrier that expects its bytes, the copy, and the wait for it; users read the buffer."""
    build, type_ = Builder(before=op), op.results[0].type
    descriptor, *indices = op.operands
    name = "ttng.async_tma_copy_global_to_local"
    if op.name == "tt.descriptor_gather":
        indices[0] = wide_indices(build, indices[0])
        name = "ttng.async_tma_gather"
    buffer = build.value("ttg.local_alloc", (), MemDesc(type_.shape, type_.element, descriptor_encoding(op, type_), mutable=True))
    barrier = build.value("ttg.local_alloc", (), _BARRIER)
    build.op("ttng.init_barrier", (barrier,), (), {"count": 1})
    arrives = true(build)
    build.op("ttng.barrier_expect", (barrier, arrives), (), {"size": prod(type_.shape) * type_.element.bits // 8})
    build.op(name, (descriptor, *indices, buffer, barrier, arrives))
    build.op("ttng.wait_barrier", (barrier, build.constant(I32, 0)))
    build.op("ttng.inval_barrier", (barrier,))
    replace_with_local_load(build, op.results[0], buffer)
    rewriter.erase(op)
    return True


def _store(op: Op, rewriter: Rewriter) -> bool:
    """The tile goes to a buffer, from there to memory, and the thread waits until it has been read."""
    tile = [value for value in op.operands if isinstance(value.type, Tensor)][-1]
    descriptor, *indices = (value for value in op.operands if value is not tile)
    build, type_ = Builder(before=op), tile.type
    if op.name == "tt.descriptor_scatter":
        indices[0] = wide_indices(build, indices[0])
    buffer = build.value("ttg.local_alloc", (tile,), MemDesc(type_.shape, type_.element, descriptor_encoding(op, type_)))
    build.op("ttng.fence_async_shared", (), (), {"bCluster": False})
    build.op(_STORES[op.name], (descriptor, *indices, buffer), (), {"kind": op.attrs["kind"]} if "kind" in op.attrs else {})
    build.op("ttng.async_tma_store_wait", (), (), {"pendings": 0})
    rewriter.erase(op)
    return True


def _make(op: Op, rewriter: Rewriter) -> bool:
    """The descriptor is written to scratch in global memory and read back from there."""
    build = Builder(before=op)
    attrs = {"nbytes": DESCRIPTOR_BYTES, "alignment": DESCRIPTOR_ALIGNMENT}
    pointer = build.value("ttg.global_scratch_alloc", (), Pointer(I8), **attrs)
    create_descriptor(build, pointer, op)
    build.op("ttng.tensormap_fenceproxy_acquire", (pointer,))
    rewriter.replace(op, (build.value("ttng.reinterpret_tensor_descriptor", (pointer,), op.results[0].type),))
    return True


_PATTERNS = {
    **dict.fromkeys(("tt.descriptor_load", "tt.descriptor_gather"), (_load,)),
    **dict.fromkeys(_STORES, (_store,)),
    "tt.make_tensor_descriptor": (_make,),
}
