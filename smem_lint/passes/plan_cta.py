"""How the blocks of a cluster share the tiles of a dot: nothing to decide for one block.

Facts: lib/Dialect/TritonNvidiaGPU/Transforms/PlanCTA.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from smem_lint.tile.ir import Module
from smem_lint.tile.unsupported import Unsupported


def run(module: Module) -> None:
    """Change nothing; raises Unsupported for clusters of several blocks."""
    if module.num_ctas != 1:
        raise Unsupported(f"num_ctas={module.num_ctas}")
