"""Tidying the blocks of a function: those that nothing reaches go away, and straight runs become one block.

Triton's front end leaves such blocks behind each ``return``; its first canonicalization removes them.
"""

from __future__ import annotations

from smem_lint.tile.ir import Block, Region


def discard(blocks: list[Block]) -> None:
    """Drop the operations of blocks that nothing reaches."""
    for block in blocks:
        for op in reversed(block):
            op.drop()


def tidy(region: Region) -> None:
    """Remove unreachable blocks and merge each block into its only predecessor where that has no other successor."""
    if len(region.blocks) < 2:
        return
    _remove_unreachable(region)
    merged = True
    while merged:
        merged = any(_merge_next(region, block) for block in region.blocks)


def _remove_unreachable(region: Region) -> None:
    reached = {region.blocks[0]}
    todo = [region.blocks[0]]
    while todo:
        last = todo.pop().last
        for successor in last.successors if last is not None else ():
            if successor not in reached:
                reached.add(successor)
                todo.append(successor)
    discard([block for block in region.blocks if block not in reached])
    region.blocks[:] = [block for block in region.blocks if block in reached]


def _merge_next(region: Region, block: Block) -> bool:
    end = block.last
    if end is None or end.name != "cf.br":
        return False
    following = end.successors[0]
    if following is block or _predecessors(region, following) != 1:
        return False
    for arg, value in zip(following.args, list(end.operands), strict=True):
        arg.replace_all_uses(value)
    end.drop()
    for op in following:
        following.remove(op)
        block.append(op)
    region.blocks.remove(following)
    return True


def _predecessors(region: Region, block: Block) -> int:
    return sum(1 for other in region.blocks if other.last is not None for target in other.last.successors if target is block)
