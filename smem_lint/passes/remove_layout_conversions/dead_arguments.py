"""Loop arguments that nothing needs: their uses read the initial value instead, so that the clean-up can drop them.

An argument is needed if it reaches an operation that touches memory, a return, or a branch that is needed. An argument that only
feeds itself, in however many steps, is not.

Facts: ``runDeadIterArgElimination`` in lib/Dialect/TritonGPU/Transforms/Utility.cpp, Triton 3.8.0, and ``LivenessAnalysis`` of
mlir/lib/Analysis/DataFlow/LivenessAnalysis.cpp.
"""

from __future__ import annotations

from smem_lint.passes.region_flow import BRANCHES, targets
from smem_lint.passes.remove_layout_conversions.sweep import operations
from smem_lint.tile.effects import is_memory_effect_free
from smem_lint.tile.ir import Op, Use, Value

_ENDS = frozenset({"tt.return", "tt.reduce.return", "tt.scan.return", "tt.map_elementwise.return", "ttg.warp_return", "ttg.warp_yield"})


def replace_dead_arguments(function: Op) -> bool:
    """Whether any argument lost a use."""
    needs, changed = _Needs(), False
    for loop in operations(function):
        if loop.name not in ("scf.for", "scf.while"):
            continue
        arguments, initial = (loop.body.args[1:], 3) if loop.name == "scf.for" else (loop.body.args, 0)
        for index, argument in enumerate(arguments, initial):
            if argument.uses and not needs.is_needed(argument):
                argument.replace_all_uses(loop.operands[index])
                changed = True
    return changed


class _Needs:
    """Remembers which values reach something that matters."""

    def __init__(self) -> None:
        self.known: dict[Value, bool] = {}
        self.effects: dict[Op, bool] = {}

    def is_needed(self, value: Value) -> bool:
        """Depth first from ``value`` along everything computed from it."""
        known = self.known.get(value)
        if known is not None:
            return known
        reached = {value: None}
        stack = [value]
        while stack:
            for use in stack.pop().uses:
                following = self.readers(use)
                if following is None or any(self.known.get(other) for other in following):
                    self.known[value] = True
                    return True
                for other in following:
                    if other not in reached and other not in self.known:
                        reached[other] = None
                        stack.append(other)
        self.known.update(dict.fromkeys(reached, False))
        return False

    def readers(self, use: Use) -> list[Value] | None:
        """The values that depend on what ``use`` reads; None if something that matters does."""
        op = use.owner
        name = op.name
        if name in BRANCHES or name in ("scf.yield", "scf.condition"):
            received = targets(use)
            if received is not None:
                return received
            branch = op if name in BRANCHES else op.parent
            return None if branch is None or self.has_effects(branch) else branch.results
        if name in ("cf.br", "cf.cond_br"):
            return self.branch_readers(op, use.index)
        if name in _ENDS or not is_memory_effect_free(op):
            return None
        return op.results

    def branch_readers(self, op: Op, index: int) -> list[Value] | None:
        segments = op.attrs.get("segments") or (len(op.operands),)
        index -= sum(segments) - sum(segments[len(segments) - len(op.successors) :])
        if index < 0:
            return None
        for successor in op.successors:
            if index < len(successor.args):
                return [successor.args[index]]
            index -= len(successor.args)
        return None

    def has_effects(self, op: Op) -> bool:
        known = self.effects.get(op)
        if known is None:
            known = self.effects[op] = not is_memory_effect_free(op)
        return known
