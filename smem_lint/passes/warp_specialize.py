"""Automatic warp specialization: nothing but its clean-up for loops that it does not split.

The passes that split marked loops run on every program: constants are propagated and common subexpressions merged, marked loops
scheduled again, loops and branches simplified. A marked loop is split if it loads or stores through descriptors.

Facts: lib/Dialect/TritonGPU/Transforms/WarpSpecialization/AutomaticWarpSpecialization.cpp and PartitionScheduling.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from smem_lint.passes import schedule_loops
from smem_lint.passes.pipeliner.loops import DESCRIPTOR_LOADS, for_loops
from smem_lint.tile.cleanup import cse, patterns_if, patterns_region, sccp
from smem_lint.tile.cleanup.rewriter import merged, rewrite
from smem_lint.tile.ir import Module
from smem_lint.tile.unsupported import Unsupported

_ALL = merged(patterns_region.PATTERNS, patterns_if.PATTERNS)
_PATTERNS = {name: _ALL[name] for name in ("scf.for", "scf.if")}
_SPLITTING = DESCRIPTOR_LOADS | {"tt.descriptor_store", "tt.descriptor_reduce", "tt.descriptor_scatter", "tt.make_tensor_descriptor"}


def run(module: Module) -> None:
    """Clean up. Raises Unsupported for marked loops that are split."""
    marked = [loop for loop in for_loops(module) if "tt.warp_specialize" in loop.attrs]
    for loop in marked:
        if any(op.name in _SPLITTING or op.name.startswith("ttng.tmem_") for op in loop.walk()):
            raise Unsupported("warp specialization", loop.line)
    sccp.run(module)
    cse.run(module)
    if marked:
        schedule_loops.run(module)
    for function in module.functions:
        rewrite(function, _PATTERNS)
    if marked:
        schedule_loops.run(module)
