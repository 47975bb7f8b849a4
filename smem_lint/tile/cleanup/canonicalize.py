"""The canonicalizer, for programs without layouts: folds, simplification of control flow, removal of what nothing uses.

Facts: ``mlir/lib/Transforms/Canonicalizer.cpp`` with the patterns of the dialects that Triton 3.8.0 loads. With layouts there are more
patterns: see ``smem_lint.passes.canonicalize``.
"""

from __future__ import annotations

from typing import Any

from smem_lint.tile.cleanup import patterns_arith, patterns_cf, patterns_if, patterns_region, patterns_tiles, patterns_while
from smem_lint.tile.cleanup.rewriter import Patterns, merged, rewrite
from smem_lint.tile.ir import Module, Op

PATTERNS = merged(
    patterns_arith.PATTERNS,
    patterns_tiles.PATTERNS,
    patterns_if.PATTERNS,
    patterns_while.PATTERNS,
    patterns_region.PATTERNS,
    patterns_cf.PATTERNS,
)


def canonicalize(function: Op, patterns: Patterns = PATTERNS, layouts: Any = None) -> bool:
    """Canonicalize one function in place; whether anything changed."""
    return rewrite(function, patterns, top_down=True, merge_blocks=False, layouts=layouts)


def run(module: Module) -> None:
    for function in module.functions:
        canonicalize(function)
