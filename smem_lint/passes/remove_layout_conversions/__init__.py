"""RemoveLayoutConversions: settle on one layout for each value and be rid of as many conversions as pays off.

Layouts spread from the operations that chose theirs (``propagation``, ``rewriting``). For each conversion that is left, what leads
up to it is computed again in the other layout if that is cheaper (``sweep``), over and over as long as one goes. The rest move to
where they cost less (``hoist``). In between and at the end, conversions are folded into what produces or consumes their values.

Facts: lib/Dialect/TritonGPU/Transforms/RemoveLayoutConversions.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from smem_lint.passes.convert_canonicalization import PATTERNS
from smem_lint.passes.remove_layout_conversions.dead_arguments import replace_dead_arguments
from smem_lint.passes.remove_layout_conversions.hoist import hoist_conversions
from smem_lint.passes.remove_layout_conversions.propagation import propagate_layouts
from smem_lint.passes.remove_layout_conversions.rewriting import apply_layouts
from smem_lint.passes.remove_layout_conversions.sweep import rematerialize
from smem_lint.tile.cleanup import patterns_if, patterns_region
from smem_lint.tile.cleanup.rewriter import merged, rewrite
from smem_lint.tile.ir import Module

__all__ = ["run"]

_CONTROL_FLOW = {
    name: patterns
    for name, patterns in merged(patterns_if.PATTERNS, patterns_region.PATTERNS).items()
    if name in ("scf.for", "scf.if")
}


def run(module: Module) -> None:
    for function in module.functions:
        if not function.regions[0].blocks:
            continue
        warps = module.num_warps
        apply_layouts(function, propagate_layouts(function, warps))
        rewrite(function, PATTERNS)
        changed = True
        while changed:
            changed = rematerialize(function, warps)
            rewrite(function, PATTERNS)
        hoist_conversions(function, warps)
        replace_dead_arguments(function)
        rewrite(function, PATTERNS)
        rewrite(function, _CONTROL_FLOW)
