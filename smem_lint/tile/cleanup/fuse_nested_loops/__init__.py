"""Fusion of a loop marked ``flatten`` with the one loop in it into a single loop, which can then be pipelined as a whole.

Facts: ``lib/Dialect/TritonGPU/Transforms/FuseNestedLoops.cpp``, 3.8.0. Only a nest of two loops is fused, whose inner bounds can be
computed before the outer loop; a branch keeps the nest without its inner loop for when that loop is empty.
"""

from __future__ import annotations

from smem_lint.tile.cleanup.fuse_nested_loops.fusion import Fusion
from smem_lint.tile.cleanup.fuse_nested_loops.nests import nests, sink_to_epilogue, speculate
from smem_lint.tile.cleanup.licm import hoist_invariant
from smem_lint.tile.ir import Module, Op

_FLATTEN, _STAGES, _SPECIALIZE = "tt.flatten", "tt.num_stages", "tt.warp_specialize"


def fuse(outer: Op, inner: Op) -> Op:
    """Fuse one nest; the fused loop."""
    fused = Fusion(outer, inner).fuse()
    stages = max(1, outer.attrs.get(_STAGES, 1), inner.attrs.get(_STAGES, 1))
    if _SPECIALIZE in outer.attrs or _SPECIALIZE in inner.attrs:
        fused.attrs[_SPECIALIZE] = True
    if outer.attrs.get("tt.disallow_acc_multi_buffer") or inner.attrs.get("tt.disallow_acc_multi_buffer"):
        fused.attrs["tt.disallow_acc_multi_buffer"] = True
    if stages > 1:
        fused.attrs[_STAGES] = stages
    inner.drop()
    outer.drop()
    return fused


def run(module: Module) -> None:
    for function in module.functions:
        for outer, inside in nests(function.regions[0]):
            if len(inside) != 1 or _FLATTEN not in outer.attrs:
                continue
            inner = inside[0]
            hoist_invariant(outer)
            sink_to_epilogue(outer, inner)
            if speculate(outer, inner):
                fuse(outer, inner)
