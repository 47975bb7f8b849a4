"""Allocations of tensor memory leave loops; on GPUs without it only the loops are tidied up.

The pass ends with a greedy rewrite with the patterns of ``scf.for``: carried values that never change, that repeat another one or
that nothing needs go.

Facts: lib/Dialect/TritonGPU/Transforms/HoistTMEMAlloc.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from smem_lint.tile.cleanup import patterns_region
from smem_lint.tile.cleanup.rewriter import rewrite
from smem_lint.tile.ir import Module
from smem_lint.tile.unsupported import Unsupported

_PATTERNS = {"scf.for": patterns_region.PATTERNS["scf.for"]}


def run(module: Module) -> None:
    """Tidy up loops. Raises Unsupported for tensor memory."""
    for op in module.walk():
        if op.name.startswith("ttng.tmem_"):
            raise Unsupported("tensor memory", op.line)
    for function in module.functions:
        rewrite(function, _PATTERNS)
