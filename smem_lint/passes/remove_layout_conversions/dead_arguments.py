"""Loop arguments that nothing needs: their uses read the initial value instead, so that the clean-up can drop them.

An argument is needed if it reaches an operation that touches memory, a return, or a branch that is needed. An argument that only
feeds itself, in however many steps, is not.

Facts: ``runDeadIterArgElimination`` in lib/Dialect/TritonGPU/Transforms/Utility.cpp, Triton 3.8.0, and ``LivenessAnalysis`` of
mlir/lib/Analysis/DataFlow/LivenessAnalysis.cpp.
"""

from __future__ import annotations

from smem_lint.passes.region_flow import BRANCHES, sources
from smem_lint.tile.cleanup.regions import predecessors, successor_operands
from smem_lint.tile.effects import is_memory_effect_free
from smem_lint.tile.ir import Op, Value

_FORWARDING = frozenset({"scf.yield", "scf.condition", "ttg.warp_yield", "cf.br", "cf.cond_br"})
_ENDS = frozenset({"tt.return", "tt.reduce.return", "tt.scan.return", "tt.map_elementwise.return", "ttg.warp_return"})


def replace_dead_arguments(function: Op) -> None:
    loops = [op for op in function.walk_post() if op.name in ("scf.for", "scf.while")]
    if not loops:
        return
    alive = _alive(function)
    for loop in loops:
        arguments, initial = (loop.body.args[1:], 3) if loop.name == "scf.for" else (loop.body.args, 0)
        for index, argument in enumerate(arguments, initial):
            if argument not in alive:
                argument.replace_all_uses(loop.operands[index])


def _alive(function: Op) -> set[Value]:
    alive: set[Value] = set()
    stack: list[Value] = []

    def mark(values: list[Value]) -> None:
        for value in values:
            if value not in alive:
                alive.add(value)
                stack.append(value)

    for op in function.walk():
        mark(_needed_operands(op))
    while stack:
        mark(_sources(stack.pop()))
    return alive


def _needed_operands(op: Op) -> list[Value]:
    """Operands that are needed whatever becomes of the results."""
    name = op.name
    if name in BRANCHES or name == "tt.func":
        effects = any(not is_memory_effect_free(inner) for region in op.regions for block in region.blocks for inner in block)
        return _conditions(op) if effects else []
    if name in _FORWARDING:
        return op.operands[:1] if name in ("scf.condition", "cf.cond_br") else []
    if name in _ENDS or not is_memory_effect_free(op):
        return op.operands
    return []


def _conditions(op: Op) -> list[Value]:
    """Operands that decide how a branch goes."""
    if op.name == "scf.for":
        return op.operands[:3]
    return op.operands if op.name == "scf.if" else []


def _sources(value: Value) -> list[Value]:
    """What ``value`` is computed from."""
    op = value.op
    if op is not None and op.name not in BRANCHES:
        return op.operands
    uses = sources(value)
    found = [] if uses is None else [use.value for use in uses]
    if op is not None:
        return found + _conditions(op)
    block = value.block
    if uses is None and block is not None and block.parent_op is not None and block.parent_op.name == "tt.func":
        found += [successor_operands(terminator, index)[value.index] for terminator, index in predecessors(block)]
    return found
