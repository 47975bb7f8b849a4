"""Merging of identical blocks, whose differing operands become block arguments, and removal of arguments that are always the same.

Facts: ``mlir/lib/Transforms/Utils/RegionUtils.cpp`` (``mergeIdenticalBlocks``, ``dropRedundantArguments``), as linked into Triton 3.8.0.
"""

from __future__ import annotations

from smem_lint.tile.cleanup.regions import drop_block, predecessors, set_successor_operands, successor_operands
from smem_lint.tile.ir import Block, Op, Region, Value

_Place = tuple[int, int]


class _Cluster:
    """Blocks that are the same but for operands from outside of them."""

    def __init__(self, leader: Block) -> None:
        self.leader = leader
        self.others: list[Block] = []
        self.differing: set[_Place] = set()

    def add(self, block: Block) -> bool:
        found = _differences(self.leader, block)
        if found is None:
            return False
        self.differing |= found
        self.others.append(block)
        return True

    def merge(self) -> bool:
        if not self.others:
            return False
        if self.differing:
            self._add_arguments()
        for block in self.others:
            for terminator, index in predecessors(block):
                terminator.set_successor(index, self.leader)
            drop_block(block)
        return True

    def _add_arguments(self) -> None:
        places = sorted(self.differing)
        cluster = [self.leader, *self.others]
        given: list[list[Value]] = []
        for block in cluster:
            ops = list(block)
            given.append([ops[op].operands[operand] for op, operand in places])
        keep = _first_of_equal_columns(given)
        leader_ops = list(self.leader)
        args: dict[int, Value] = {}
        for column, (op, operand) in enumerate(places):
            kept = keep[column]
            if kept not in args:
                args[kept] = self.leader.add_arg(given[0][kept].type)
            leader_ops[op].set_operand(operand, args[kept])
        columns = list(args)
        for block, values in zip(cluster, given, strict=True):
            for terminator, index in predecessors(block):
                before = successor_operands(terminator, index)
                set_successor_operands(terminator, index, [*before, *(values[column] for column in columns)])


def _first_of_equal_columns(rows: list[list[Value]]) -> list[int]:
    """For each column the first one that holds the same values in every row."""
    seen: dict[tuple[Value, ...], int] = {}
    return [seen.setdefault(tuple(row[column] for row in rows), column) for column in range(len(rows[0]))]


def _order(block: Block) -> dict[Value, int]:
    values = [*block.args, *(result for op in block for result in op.results)]
    return {value: index for index, value in enumerate(values)}


def _used_outside(op: Op, block: Block) -> bool:
    return any(use.owner.block is not block for result in op.results for use in result.uses)


def _alike(a: Op, b: Op) -> bool:
    return (
        a.name == b.name
        and len(a.operands) == len(b.operands)
        and a.attrs == b.attrs
        and a.successors == b.successors
        and [r.type for r in a.results] == [r.type for r in b.results]
    )


def _differences(leader: Block, block: Block) -> set[_Place] | None:
    """The operands, by operation and number, in which two blocks differ; None when they cannot be merged."""
    if [arg.type for arg in leader.args] != [arg.type for arg in block.args]:
        return None
    mine, theirs = list(leader), list(block)
    if len(mine) != len(theirs):
        return None
    my_order, their_order = _order(leader), _order(block)
    found: set[_Place] = set()
    for number, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        if not _alike(a, b):
            return None
        for index, (x, y) in enumerate(zip(a.operands, b.operands, strict=True)):
            if x is y:
                continue
            if x.type is not y.type or (x in my_order) != (y in their_order):
                return None
            if x not in my_order:
                found.add((number, index))
            elif my_order[x] != their_order[y]:
                return None
        if _used_outside(a, leader) or _used_outside(b, block):
            return None
    return found


def merge_identical_blocks(region: Region) -> bool:
    """Merge blocks other than the entry that go to the same successors and do the same; whether any was."""
    groups: dict[tuple[Block, ...], list[Block]] = {}
    for block in region.blocks[1:]:
        groups.setdefault(block.last.successors if block.last is not None else (), []).append(block)
    merged = False
    for blocks in groups.values():
        clusters: list[_Cluster] = []
        for block in blocks if len(blocks) > 1 else ():
            if any(inner.blocks for op in block for inner in op.regions):
                continue
            if any(use.owner.block is not block for arg in block.args for use in arg.uses):
                continue
            if not any(cluster.add(block) for cluster in clusters):
                clusters.append(_Cluster(block))
        for cluster in clusters:
            merged |= cluster.merge()
    return merged


def drop_redundant_arguments(region: Region) -> bool:
    """Replace block arguments for which every branch gives the same value; whether there was one."""
    changed = False
    for block in region.blocks[1:]:
        branches = predecessors(block)
        for arg in reversed(list(block.args)):
            given = {successor_operands(terminator, index)[arg.index] for terminator, index in branches}
            if len(given) != 1 or arg in given:
                continue
            arg.replace_all_uses(given.pop())
            for terminator, index in branches:
                values = successor_operands(terminator, index)
                set_successor_operands(terminator, index, values[: arg.index] + values[arg.index + 1 :])
            block.erase_arg(arg.index)
            changed = True
    return changed
