"""Simplification of control flow between blocks: unreachable blocks, dead block arguments, identical blocks.

Facts: ``mlir/lib/Transforms/Utils/RegionUtils.cpp`` (``simplifyRegions``), as linked into Triton 3.8.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from smem_lint.tile.effects import TERMINATORS, would_be_trivially_dead
from smem_lint.tile.ir import Block, Op, Region, Value


def successor_operands(terminator: Op, index: int) -> list[Value]:
    """The values that ``terminator`` hands to the arguments of its successor ``index``."""
    start, count = _span(terminator, index)
    return terminator.operands[start : start + count]


def _span(terminator: Op, index: int) -> tuple[int, int]:
    segments: tuple[int, ...] = terminator.attrs.get("segments") or (len(terminator.operands),)
    at = index + (len(segments) - len(terminator.successors))
    return sum(segments[:at]), segments[at]


def set_successor_operands(terminator: Op, index: int, values: Sequence[Value]) -> None:
    start, count = _span(terminator, index)
    segments = list(terminator.attrs.get("segments") or (len(terminator.operands),))
    segments[index + (len(segments) - len(terminator.successors))] = len(values)
    terminator.set_operands([*terminator.operands[:start], *values, *terminator.operands[start + count :]])
    terminator.attrs["segments"] = tuple(segments)


def predecessors(block: Block) -> list[tuple[Op, int]]:
    """The branches into ``block``: terminators with the index of the successor, in the order of the region's blocks."""
    assert block.region is not None
    return [
        (other.last, index)
        for other in block.region.blocks
        if other.last is not None
        for index, successor in enumerate(other.last.successors)
        if successor is block
    ]


def reachable(region: Region) -> set[Block]:
    seen = {region.blocks[0]}
    stack = [region.blocks[0]]
    while stack:
        block = stack.pop()
        for successor in block.last.successors if block.last is not None else ():
            if successor not in seen:
                seen.add(successor)
                stack.append(successor)
    return seen


def drop_block(block: Block) -> None:
    """Take a block out of its region with all its operations, whatever uses them."""
    for op in reversed(list(block)):
        op.drop()
    assert block.region is not None
    block.region.blocks.remove(block)
    block.region = None


def _erase_unreachable(region: Region) -> bool:
    alive = reachable(region)
    dead = [block for block in region.blocks if block not in alive]
    for block in dead:
        drop_block(block)
    return bool(dead)


def _branches(region: Region) -> Iterator[tuple[Op, int, Block]]:
    for block in region.blocks:
        if block.last is not None:
            for index, successor in enumerate(block.last.successors):
                yield block.last, index, successor


def _live_values(region: Region) -> set[Any]:
    """Operations of the region's blocks and block arguments that something with an effect needs, through cycles of arguments too."""
    incoming: dict[Value, list[Value]] = {}
    for terminator, index, successor in _branches(region):
        for arg, value in zip(successor.args, successor_operands(terminator, index), strict=True):
            incoming.setdefault(arg, []).append(value)
    stack: list[Any] = [
        op for block in region.blocks for op in block if op.name in TERMINATORS or op.name == "tt.store" or not would_be_trivially_dead(op)
    ]
    alive: set[Any] = set(stack)
    while stack:
        item = stack.pop()
        for value in _read_by(item) if isinstance(item, Op) else incoming.get(item, ()):
            needed = value if value.op is None else value.op
            if needed not in alive:
                alive.add(needed)
                stack.append(needed)
    return alive


def _read_by(op: Op) -> list[Value]:
    """The values that an operation and those within it read, without what a branch hands on."""
    if op.successors:
        return op.operands[: _span(op, 0)[0]]
    if not op.regions:
        return op.operands
    return [value for inner in op.walk() for value in (_read_by(inner) if inner is not op and not inner.regions else inner.operands)]


def _erase_dead_arguments(region: Region) -> bool:
    """Erase block arguments that nothing needs, with what only computes them (the rewriter has erased what is dead otherwise)."""
    if not any(block.args for block in region.blocks[1:]):
        return False
    alive = _live_values(region)
    changed = False
    for terminator, index, successor in list(_branches(region)):
        kept = [v for arg, v in zip(successor.args, successor_operands(terminator, index), strict=True) if arg in alive]
        if len(kept) != len(successor.args):
            set_successor_operands(terminator, index, kept)
    for block in reversed(region.blocks):
        for op in reversed(list(block)):
            if op not in alive:
                op.drop()
                changed = True
    for block in region.blocks[1:]:
        for arg in reversed(list(block.args)):
            if arg not in alive:
                block.erase_arg(arg.index)
                changed = True
    return changed


def simplify_region(region: Region, merge_blocks: bool) -> bool:
    """Simplify the blocks of a region with several of them; whether anything changed."""
    changed = _erase_unreachable(region)
    if any(block.args for block in region.blocks[1:]):  # else the rewriter has erased all that is dead
        changed |= _erase_dead_arguments(region)
    if merge_blocks:
        from smem_lint.tile.cleanup.merge_blocks import drop_redundant_arguments, merge_identical_blocks

        while merge_identical_blocks(region):
            changed = True
        changed |= drop_redundant_arguments(region)
    return changed
