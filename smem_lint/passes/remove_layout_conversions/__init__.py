"""RemoveLayoutConversions: settle on one layout for each value and be rid of as many conversions as pays off.

Layouts spread from the operations that chose theirs (``propagation``, ``rewriting``). For each conversion that is left, what leads
up to it is computed again in the other layout if that is cheaper (``sweep``), over and over as long as one goes. The rest move to
where they cost less (``hoist``). In between and at the end, conversions are folded into what produces or consumes their values.

Facts: lib/Dialect/TritonGPU/Transforms/RemoveLayoutConversions.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from smem_lint.passes.convert_canonicalization import PATTERNS
from smem_lint.passes.remove_layout_conversions.dead_arguments import replace_dead_arguments
from smem_lint.passes.remove_layout_conversions.early import hoist_early, rematerialize_early
from smem_lint.passes.remove_layout_conversions.hoist import hoist_conversions
from smem_lint.passes.remove_layout_conversions.propagation import propagate_layouts
from smem_lint.passes.remove_layout_conversions.rewriting import apply_layouts
from smem_lint.passes.remove_layout_conversions.sweep import operations, rematerialize
from smem_lint.tile.cleanup import patterns_if, patterns_region
from smem_lint.tile.cleanup.rewriter import Rewriter, merged, rewrite
from smem_lint.tile.ir import Module, Op
from smem_lint.tile.unsupported import Unsupported
from smem_lint.tile.versions import Decisions, decisions

__all__ = ["run"]

_CONTROL_FLOW = {
    name: patterns for name, patterns in merged(patterns_if.PATTERNS, patterns_region.PATTERNS).items() if name in ("scf.for", "scf.if")
}


def run(module: Module) -> None:
    for function in module.functions:
        if function.regions[0].blocks:
            _run(function, module.num_warps, decisions(module.version))


def _run(function: Op, num_warps: int, version: Decisions) -> None:
    if not version.counts_growth and any(op.name == "tt.cat" for op in function.walk()):
        raise Unsupported("tl.cat before Triton 3.8")
    apply_layouts(function, propagate_layouts(function, num_warps, version.reordered_views_keep_layouts))
    rewrite(function, PATTERNS)
    remove = rematerialize if version.counts_growth else rematerialize_early
    while remove(function, num_warps):
        rewrite(function, PATTERNS)
    hoisted = hoist_conversions(function, num_warps) if version.counts_growth else hoist_early(function, num_warps, version)
    if replace_dead_arguments(function) or hoisted:
        rewrite(function, PATTERNS)
    _simplify_control_flow(function)


def _simplify_control_flow(function: Op) -> None:
    """Nothing else is left to do, so the first look is at loops and conditionals alone."""
    branches = [op for op in operations(function) if op.name in _CONTROL_FLOW]
    if branches and Rewriter(function, _CONTROL_FLOW).settle(branches):
        rewrite(function, _CONTROL_FLOW)
