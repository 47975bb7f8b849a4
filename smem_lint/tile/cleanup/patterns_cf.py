"""Rewrite patterns of branches between blocks.

Facts: ``mlir/lib/Dialect/ControlFlow/IR/ControlFlowOps.cpp``, as linked into Triton 3.8.0.
"""

from __future__ import annotations

from smem_lint.tile.cleanup.numbers import POISON, constant_of
from smem_lint.tile.cleanup.regions import predecessors, set_successor_operands, successor_operands
from smem_lint.tile.cleanup.rewriter import Pattern, Rewriter, registrar
from smem_lint.tile.ir import Block, Op, Value

PATTERNS: dict[str, list[Pattern]] = {}
pattern = registrar(PATTERNS)


def _single_predecessor(block: Block) -> Op | None:
    """The only branch into a block (None also when one branch goes there twice)."""
    assert block.region is not None
    if block is block.region.blocks[0]:
        return None
    found = predecessors(block)
    return found[0][0] if len(found) == 1 else None


def _branch(op: Op, target: Block, values: list[Value], rewriter: Rewriter) -> bool:
    """Put an unconditional branch in the place of the terminator ``op``."""
    new = Op("cf.br", values, (), {"segments": (len(values),)})
    new.successors = (target,)
    rewriter.insert(op, new)
    rewriter.erase(op)
    return True


@pattern("cf.br")
def _merge_into_predecessor(op: Op, rewriter: Rewriter) -> bool:
    """A block with one way in, which is this branch, continues the branch's block."""
    target, block = op.successors[0], op.block
    if target is block or block is None or _single_predecessor(target) is not op:
        return False
    values = list(op.operands)
    rewriter.erase(op)
    for arg, value in zip(target.args, values, strict=True):
        rewriter.replace_all_uses(arg, value)
    for inner in list(target):
        target.remove(inner)
        block.append(inner)
    assert target.region is not None
    target.region.blocks.remove(target)
    target.region = None
    rewriter.push(block.terminator)
    return True


def _collapsed(target: Block, values: list[Value]) -> tuple[Block, list[Value]] | None:
    """Where a branch to ``target`` leads when that block does nothing but branch on."""
    onward = target.first
    if onward is None or onward.name != "cf.br" or onward.successors[0] is target:
        return None
    if not target.args:
        return onward.successors[0], list(onward.operands)
    if any(use.owner is not onward for arg in target.args for use in arg.uses):
        return None
    given = dict(zip(target.args, values, strict=True))
    return onward.successors[0], [given.get(value, value) for value in onward.operands]


@pattern("cf.br")
def _pass_through(op: Op, rewriter: Rewriter) -> bool:
    found = _collapsed(op.successors[0], list(op.operands))
    return found is not None and _branch(op, *found, rewriter)


@pattern("cf.cond_br")
def _decided(op: Op, rewriter: Rewriter) -> bool:
    known = constant_of(op.operands[0])
    if known is None or known is POISON:
        return False
    index = 0 if known else 1
    return _branch(op, op.successors[index], successor_operands(op, index), rewriter)


@pattern("cf.cond_br")
def _pass_through_either(op: Op, rewriter: Rewriter) -> bool:
    changed = False
    for index in (0, 1):
        found = _collapsed(op.successors[index], successor_operands(op, index))
        if found is not None:
            op.set_successor(index, found[0])
            set_successor_operands(op, index, found[1])
            changed = True
    if changed:
        rewriter.modified(op)
    return changed


@pattern("cf.cond_br")
def _same_target(op: Op, rewriter: Rewriter) -> bool:
    """A branch that leads to one place whatever the condition needs no condition."""
    target = op.successors[0]
    if target is not op.successors[1]:
        return False
    first, second = successor_operands(op, 0), successor_operands(op, 1)
    if first != second and any(branch is not op for branch, _ in predecessors(target)):
        return False
    condition = op.operands[0]
    values = [a if a is b else rewriter.make(op, "arith.select", (condition, a, b), a.type) for a, b in zip(first, second, strict=True)]
    return _branch(op, target, values, rewriter)


@pattern("cf.cond_br")
def _same_condition_as_predecessor(op: Op, rewriter: Rewriter) -> bool:
    assert op.block is not None
    before = _single_predecessor(op.block)
    if before is None or before.name != "cf.cond_br" or before.operands[0] is not op.operands[0]:
        return False
    index = 0 if before.successors[0] is op.block else 1
    return _branch(op, op.successors[index], successor_operands(op, index), rewriter)


@pattern("cf.cond_br")
def _propagate_condition(op: Op, rewriter: Rewriter) -> bool:
    """In a block that only one outcome leads to, the condition is known."""
    condition = op.operands[0]
    changed = False
    for index, target in enumerate(op.successors):
        if _single_predecessor(target) is None:
            continue
        for use in reversed(tuple(condition.uses)):
            owner = use.owner
            if owner.block is target:
                use.set(rewriter.constant(condition.type, index == 0))
                rewriter.modified(owner)
                changed = True
    return changed


@pattern("cf.br", "cf.cond_br")
def _uniform_arguments(op: Op, rewriter: Rewriter) -> bool:
    """A block argument for which every branch gives the same value is that value."""
    changed = False
    for target in op.successors:
        branches = predecessors(target)
        if len({branch.block for branch, _ in branches}) < 2:
            continue
        for arg in target.args:
            given = {successor_operands(branch, index)[arg.index] for branch, index in branches}
            if arg.uses and len(given) == 1 and arg not in given:
                rewriter.replace_all_uses(arg, given.pop())
                changed = True
    return changed
