"""Warp specialization for sm_90, which nothing but loops marked for it can notice. It is not modelled.

Facts: third_party/nvidia/hopper/lib/Transforms/WarpSpecialization.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from smem_lint.passes.pipeliner.loops import for_loops
from smem_lint.tile.ir import Module
from smem_lint.tile.unsupported import Unsupported


def run(module: Module) -> None:
    """Raises Unsupported for a marked loop."""
    for loop in for_loops(module):
        if "tt.warp_specialize" in loop.attrs:
            raise Unsupported("warp specialization", loop.line)
