"""The inliner that runs once more just before shared memory is allocated; between its steps it simplifies control flow alone.

Facts: ``lib/Dialect/Gluon/Transforms/Inline.cpp`` and ``SimplifyControlFlow.cpp``, Triton 3.8.0. What it changes in a kernel without
calls: identical blocks (early returns …) become one, and arguments of blocks that always get the same value go.
"""

from __future__ import annotations

from smem_lint.tile.cleanup import patterns_cf, patterns_if, patterns_region, patterns_while
from smem_lint.tile.cleanup.inliner import inline
from smem_lint.tile.cleanup.rewriter import merged, rewrite
from smem_lint.tile.ir import Module, Op

PATTERNS = merged(patterns_if.PATTERNS, patterns_while.PATTERNS, patterns_region.PATTERNS, patterns_cf.PATTERNS)


def simplify(function: Op) -> bool:
    return rewrite(function, PATTERNS)


def run(module: Module) -> None:
    inline(module, simplify)
