"""Zero-initialised accumulators of asynchronous dots become a flag of the dot.

Facts: ``lib/Dialect/TritonGPU/Transforms/OptimizeAccumulatorInit.cpp``, 3.8.0. Only dots that take such a flag are touched:
``ttng.warp_group_dot`` (sm_90) and ``ttng.tc_gen5_mma`` (sm_100); a ``tt.dot`` on the tensor cores of sm_120 has none. The pass ends
in a greedy rewrite, which folds and cleans up whatever there is.
"""

from __future__ import annotations

from smem_lint.tile.cleanup.rewriter import rewrite
from smem_lint.tile.ir import Module
from smem_lint.tile.unsupported import Unsupported

_WITH_FLAG = frozenset({"ttng.warp_group_dot", "ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled"})


def run(module: Module) -> None:
    for function in module.functions:
        for op in function.walk():
            if op.name in _WITH_FLAG and op.parent is not None and op.parent.name == "scf.for":
                raise Unsupported(f"{op.name} with a flag for its accumulator", op.line)
        rewrite(function, {})
