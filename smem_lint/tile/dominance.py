"""Which blocks and operations come before others on every way through a function.

Facts: ``mlir/lib/IR/Dominance.cpp``, as linked into Triton 3.8.0.
"""

from __future__ import annotations

from smem_lint.tile.ir import Block, Op, Region


def ancestor_in(region: Region | None, op: Op) -> Op | None:
    """The operation of ``region`` that is or holds ``op``."""
    at: Op | None = op
    while at is not None and (at.block is None or at.block.region is not region):
        at = at.parent
    return at


def dominates(a: Op, b: Op) -> bool:
    """Whether ``a`` is ``b``, holds it, or has run whenever ``b`` runs."""
    assert a.block is not None
    around = ancestor_in(a.block.region, b)
    if around is None:
        return False
    if around is a:
        return True
    if around.block is a.block:
        return a.is_before(around)
    assert a.block.region is not None and around.block is not None
    tree = dominator_tree(a.block.region)
    stack = [a.block]
    while stack:
        block = stack.pop()
        if block is around.block:
            return True
        stack += tree.get(block, [])
    return False


def dominator_tree(region: Region) -> dict[Block, list[Block]]:
    """For each reachable block of a region the blocks that it immediately dominates."""
    order = _reverse_postorder(region)
    number = {block: index for index, block in enumerate(order)}
    incoming: dict[Block, list[Block]] = {block: [] for block in order}
    for block in order:
        for successor in block.terminator.successors:
            incoming[successor].append(block)
    above: dict[Block, Block] = {order[0]: order[0]}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            known = [other for other in incoming[block] if other in above]
            found = known[0]
            for other in known[1:]:
                found = _common(found, other, above, number)
            if above.get(block) is not found:
                above[block] = found
                changed = True
    tree: dict[Block, list[Block]] = {block: [] for block in order}
    for block in order[1:]:
        tree[above[block]].append(block)
    return tree


def _common(a: Block, b: Block, above: dict[Block, Block], number: dict[Block, int]) -> Block:
    while a is not b:
        while number[a] > number[b]:
            a = above[a]
        while number[b] > number[a]:
            b = above[b]
    return a


def _reverse_postorder(region: Region) -> list[Block]:
    order: list[Block] = []
    seen = {region.blocks[0]}
    stack = [(region.blocks[0], iter(region.blocks[0].terminator.successors))]
    while stack:
        block, successors = stack[-1]
        for successor in successors:
            if successor not in seen:
                seen.add(successor)
                stack.append((successor, iter(successor.terminator.successors)))
                break
        else:
            order.append(block)
            stack.pop()
    return order[::-1]
