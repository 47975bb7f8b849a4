"""How values pass through structured control flow: from operands to the arguments and results that receive them, and back.

A loop whose trip count is known runs its body at least once (or never), so values do not flow past it (or into it).

Facts: ``RegionBranchOpInterface`` (mlir/lib/Interfaces/ControlFlowInterfaces.cpp) and mlir/lib/Dialect/SCF/IR/SCF.cpp as of
Triton 3.8.0.
"""

from __future__ import annotations

from smem_lint.tile.cleanup.patterns_region import trip_count
from smem_lint.tile.ir import Op, Use, Value

BRANCHES = frozenset({"scf.for", "scf.if", "scf.while"})
_ENDS = frozenset({"scf.yield", "scf.condition"})


def targets(use: Use) -> list[Value] | None:
    """The block arguments and results that receive what ``use`` reads; None if the value stays in its operation."""
    op, index = use.owner, use.index
    if op.name == "scf.for":
        return _for_targets(op, index - 3, entering=True) if index >= 3 else None
    if op.name == "scf.while":
        return [op.regions[0].blocks[0].args[index]]
    if op.name not in _ENDS:
        return None
    parent = op.parent
    if parent is None:
        return None
    if parent.name == "scf.for":
        return _for_targets(parent, index, entering=False)
    if parent.name == "scf.if":
        return [parent.results[index]]
    if parent.name == "scf.while":
        if op.name == "scf.yield":
            return [parent.regions[0].blocks[0].args[index]]
        return [parent.regions[1].blocks[0].args[index - 1], parent.results[index - 1]] if index >= 1 else None
    return None


def _for_targets(loop: Op, index: int, entering: bool) -> list[Value]:
    argument, result = loop.body.args[index + 1], loop.results[index]
    trips = trip_count(loop)
    if trips is not None and entering:
        return [argument] if trips else [result]
    if trips == 1 and not entering:
        return [result]
    return [argument, result]


def sources(value: Value) -> list[Use] | None:
    """The operands whose values ``value``, an argument or result of structured control flow, can have; None for other values."""
    op = value.op
    if op is not None:
        if op.name == "scf.if":
            return [region.blocks[0].terminator.operand_uses[value.index] for region in op.regions if region.blocks]
        if op.name == "scf.for":
            return _for_sources(op, value.index, into_body=False)
        if op.name == "scf.while":
            return [op.regions[0].blocks[0].terminator.operand_uses[value.index + 1]]
        return None
    block = value.block
    parent = block.parent_op if block is not None else None
    if parent is None:
        return None
    if parent.name == "scf.for":
        return _for_sources(parent, value.index - 1, into_body=True) if value.index >= 1 else None
    if parent.name == "scf.while":
        before, after = parent.regions[0].blocks[0], parent.regions[1].blocks[0]
        if block is before:
            return [parent.operand_uses[value.index], after.terminator.operand_uses[value.index]]
        return [before.terminator.operand_uses[value.index + 1]]
    return None


def _for_sources(loop: Op, index: int, into_body: bool) -> list[Use]:
    initial, yielded = loop.operand_uses[index + 3], loop.body.terminator.operand_uses[index]
    trips = trip_count(loop)
    if trips is None:
        return [initial, yielded]
    if into_body:
        return [] if trips == 0 else [initial] if trips == 1 else [initial, yielded]
    return [initial] if trips == 0 else [yielded]
