"""Automatic warp specialization: nothing but its clean-up for loops that do not ask for it.

The passes that split marked loops run on every program: constants are propagated and common subexpressions merged, then loops and
branches simplified.

Facts: lib/Dialect/TritonGPU/Transforms/WarpSpecialization/AutomaticWarpSpecialization.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from smem_lint.tile.cleanup import cse, patterns_if, patterns_region, sccp
from smem_lint.tile.cleanup.rewriter import merged, rewrite
from smem_lint.tile.ir import Module
from smem_lint.tile.unsupported import Unsupported

_ALL = merged(patterns_region.PATTERNS, patterns_if.PATTERNS)
_PATTERNS = {name: _ALL[name] for name in ("scf.for", "scf.if")}


def run(module: Module) -> None:
    """Clean up. Raises Unsupported for loops marked for warp specialization."""
    for op in module.walk():
        if op.attrs.get("tt.warp_specialize"):
            raise Unsupported("warp specialization", op.line)
    sccp.run(module)
    cse.run(module)
    for function in module.functions:
        rewrite(function, _PATTERNS)
