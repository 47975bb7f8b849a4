"""Interleaves accesses of tensor memory with arithmetic: nothing to do without tensor memory.

Facts: lib/Dialect/TritonNvidiaGPU/Transforms/InterleaveTMem.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from smem_lint.tile.ir import Module
from smem_lint.tile.unsupported import Unsupported


def run(module: Module) -> None:
    """Change nothing; raises Unsupported where loads from tensor memory could be moved."""
    for op in module.walk():
        if op.name == "ttng.tmem_load":
            raise Unsupported("order of loads from tensor memory", op.line)
