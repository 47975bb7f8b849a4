"""Whether a value is there for an operation to read, and whether an operation is sure to run after another.

Facts: ``DominanceInfo`` and ``PostDominanceInfo``, mlir/lib/IR/Dominance.cpp as of Triton 3.8.0.
"""

from __future__ import annotations

from smem_lint.tile.ir import Block, Op, Region, Value


def value_dominates(value: Value, op: Op) -> bool:
    """Whether ``value`` is defined on every way to ``op``; the operation that defines it must not hold ``op``."""
    definition = value.op
    if definition is None:
        assert value.block is not None
        return _block_reaches(value.block, op.block)
    if definition.block is None:
        return False
    around = _ancestor_in(definition.block.region, op)
    if around is None or around is definition:
        return False
    if around.block is definition.block:
        return definition.is_before(around)
    assert around.block is not None
    return definition.block in _dominators(around.block)


def runs_after(op: Op, first: Op) -> bool:
    """Whether ``op`` is executed whenever ``first`` is, later (or is the same)."""
    assert op.block is not None
    around = _ancestor_in(op.block.region, first)
    if around is None:
        return False
    if around is op:
        return True
    if around.block is op.block:
        return around.is_before(op)
    return _is_on_all_ways_out(op.block, around.block)


def _ancestor_in(region: Region | None, op: Op) -> Op | None:
    """The operation of ``region`` that is or holds ``op``."""
    at: Op | None = op
    while at is not None and at.block is not None:
        if at.block.region is region:
            return at
        at = at.parent
    return None


def _block_reaches(block: Block, other: Block | None) -> bool:
    while other is not None:
        if other is block:
            return True
        if other.region is block.region:
            return block in _dominators(other)
        parent = other.parent_op
        other = parent.block if parent is not None else None
    return False


def _dominators(block: Block) -> set[Block]:
    """The other blocks without which ``block`` cannot be reached from the entry of its region."""
    region = block.region
    assert region is not None
    if len(region.blocks) == 1:
        return set()
    return {other for other in region.blocks if other is not block and block not in _reachable(region.blocks[0], other)}


def _is_on_all_ways_out(block: Block, start: Block | None) -> bool:
    """Whether every way from ``start`` out of the region passes ``block``."""
    assert start is not None
    return all(other.terminator.successors for other in _reachable(start, block))


def _reachable(start: Block, without: Block) -> set[Block]:
    if start is without:
        return set()
    seen, stack = {start}, [start]
    while stack:
        for successor in stack.pop().terminator.successors:
            if successor is not without and successor not in seen:
                seen.add(successor)
                stack.append(successor)
    return seen
