"""Rewrite patterns of ``scf.if``.

Facts: ``mlir/lib/Dialect/SCF/IR/SCF.cpp``, as linked into Triton 3.8.0.
"""

from __future__ import annotations

from smem_lint.tile.cleanup.fold_integers import defined_by
from smem_lint.tile.cleanup.numbers import constant_of, int_of
from smem_lint.tile.cleanup.patterns_region import drop_operands
from smem_lint.tile.cleanup.rewriter import Pattern, Rewriter, registrar
from smem_lint.tile.ir import Block, Op, Region, Value
from smem_lint.tile.types import Type

PATTERNS: dict[str, list[Pattern]] = {}
pattern = registrar(PATTERNS)


def _block(op: Op, index: int) -> Block | None:
    blocks = op.regions[index].blocks
    return blocks[0] if blocks else None


def _yields(block: Block | None) -> list[Value]:
    return list(block.terminator.operands) if block is not None else []


def _only_yields(block: Block) -> bool:
    return block.first is block.last


def _take(region: Region, source: Region) -> None:
    """Move the blocks of ``source`` into the empty ``region``."""
    region.blocks, source.blocks = source.blocks, []
    for block in region.blocks:
        block.region = region


def _new_if(before: Op, condition: Value, types: list[Type], rewriter: Rewriter) -> Op:
    return rewriter.insert(before, Op("scf.if", (condition,), types, regions=2))


def _is_negation(value: Value, of: Value) -> bool:
    xor = defined_by(value, "arith.xori")
    return xor is not None and xor.operands[0] is of and int_of(xor.operands[1]) == 1


@pattern("scf.if")
def _combine_neighbours(op: Op, rewriter: Rewriter) -> bool:
    """Two neighbours with the same condition (or its negation) are one."""
    before = op.prev
    if before is None or before.name != "scf.if":
        return False
    condition, mine = before.operands[0], op.operands[0]
    if mine is condition:
        then, other = _block(op, 0), _block(op, 1)
    elif _is_negation(mine, condition) or _is_negation(condition, mine):
        then, other = _block(op, 1), _block(op, 0)
    else:
        return False
    if then is None and other is None:
        return False
    _use_yields_within(before, (then, other), rewriter)
    types = [result.type for result in (*before.results, *op.results)]
    combined = _new_if(op, condition, types, rewriter)
    for index, block in enumerate((then, other)):
        _take(combined.regions[index], before.regions[index])
        if block is None:
            continue
        if not combined.regions[index].blocks:
            assert block.region is not None
            _take(combined.regions[index], block.region)
        else:
            _append_block(combined.regions[index].blocks[0], block, rewriter)
    count = len(before.results)
    rewriter.replace(before, combined.results[:count])
    rewriter.replace(op, combined.results[count:])
    return True


def _use_yields_within(before: Op, blocks: tuple[Block | None, Block | None], rewriter: Rewriter) -> None:
    """In the arms that follow, read what the arms of ``before`` yield instead of its results."""
    for index, block in enumerate(blocks):
        source = _block(before, index)
        if block is None or source is None:
            continue
        for result, value in zip(before.results, source.terminator.operands, strict=True):
            for use in reversed(tuple(result.uses)):
                if _within(use.owner, block):
                    use.set(value)
                    rewriter.modified(use.owner)


def _within(op: Op, block: Block) -> bool:
    at: Op | None = op
    while at is not None:
        if at.block is block:
            return True
        at = at.parent
    return False


def _append_block(block: Block, more: Block, rewriter: Rewriter) -> None:
    """Continue ``block`` with the operations of ``more``; it yields what both yielded."""
    first, second = block.terminator, more.terminator
    yielded = [*first.operands, *second.operands]
    rewriter.erase(first)
    for op in list(more):
        more.remove(op)
        if op is second:
            op.drop()
            continue
        block.append(op)
        rewriter.push(op)
    rewriter.push(block.append(Op("scf.yield", yielded)))


@pattern("scf.if")
def _combine_nested(op: Op, rewriter: Rewriter) -> bool:
    """An ``if`` that holds nothing but an ``if`` is one with both conditions."""
    then, other = _block(op, 0), _block(op, 1)
    assert then is not None
    nested = then.first
    if nested is None or nested.next is not then.last or nested.name != "scf.if":
        return False
    inner_then, inner_other = _block(nested, 0), _block(nested, 1)
    if (other is not None and not _only_yields(other)) or (inner_other is not None and not _only_yields(inner_other)):
        return False
    assert inner_then is not None
    then_yield, else_yield = _yields(then), _yields(other)
    selects: list[int] = []
    for index, value in enumerate(then_yield):
        if value.op is nested:
            if _yields(inner_other)[value.index] is not else_yield[index]:
                return False
            then_yield[index] = inner_then.terminator.operands[value.index]
        elif value.parent_block is then:
            return False
        else:
            selects.append(index)
    condition = rewriter.make(op, "arith.andi", (op.operands[0], nested.operands[0]), op.operands[0].type)
    combined = _new_if(op, condition, [result.type for result in op.results], rewriter)
    results = list(combined.results)
    for index in selects:
        operands = (op.operands[0], then_yield[index], else_yield[index])
        results[index] = rewriter.make(combined, "arith.select", operands, op.results[index].type)
    _take(combined.regions[0], nested.regions[0])
    inner_then.terminator.set_operands(then_yield)
    rewriter.push(inner_then.terminator)
    if else_yield:
        rewriter.push(combined.regions[1].add_block().append(Op("scf.yield", else_yield)))
    rewriter.replace(op, results)
    return True


@pattern("scf.if")
def _propagate_condition(op: Op, rewriter: Rewriter) -> bool:
    """Within an arm the condition is known."""
    condition = op.operands[0]
    if constant_of(condition) is not None:
        return False
    changed = False
    for use in reversed(tuple(condition.uses)):
        for index in (0, 1):
            block = _block(op, index)
            if use.owner is not op and block is not None and _within(use.owner, block):
                owner = use.owner
                use.set(rewriter.constant(condition.type, index == 0))
                rewriter.modified(owner)
                changed = True
                break
    return changed


@pattern("scf.if")
def _yield_to_select(op: Op, rewriter: Rewriter) -> bool:
    """A result between two values from outside is a select."""
    if not op.results:
        return False
    then, other = _block(op, 0), _block(op, 1)
    assert then is not None and other is not None
    pairs = list(zip(then.terminator.operands, other.terminator.operands, strict=True))
    hoisted = [i for i, (a, b) in enumerate(pairs) if a.parent_block is not then and b.parent_block is not other]
    if not hoisted:
        return False
    gone = set(hoisted)
    kept = [result.type for index, result in enumerate(op.results) if index not in gone]
    new = _new_if(op, op.operands[0], kept, rewriter)
    for index in (0, 1):
        _take(new.regions[index], op.regions[index])
        terminator = new.regions[index].blocks[0].terminator
        drop_operands(terminator, hoisted)
        rewriter.push(terminator)
    remaining = iter(new.results)
    results: list[Value] = []
    for index, (a, b) in enumerate(pairs):
        if index not in gone:
            results.append(next(remaining))
        else:
            results.append(a if a is b else rewriter.make(new, "arith.select", (op.operands[0], a, b), a.type))
    rewriter.replace(op, results)
    return True


@pattern("scf.if")
def _drop_empty_else(op: Op, rewriter: Rewriter) -> bool:
    other = _block(op, 1)
    if op.results or other is None or not _only_yields(other):
        return False
    rewriter.erase(other.terminator)
    op.regions[1].blocks = []
    rewriter.modified(op)
    return True


@pattern("scf.if")
def _yield_of_condition(op: Op, rewriter: Rewriter) -> bool:
    """A result that is the same in both arms is that value; one that is true and false is the condition."""
    if not op.results:
        return False
    changed = False
    for result, a, b in zip(op.results, _yields(_block(op, 0)), _yields(_block(op, 1)), strict=True):
        if not result.uses:
            continue
        if a is b:
            rewriter.replace_all_uses(result, a)
            changed = True
            continue
        first, second = constant_of(a), constant_of(b)
        if not isinstance(first, bool) or not isinstance(second, bool) or a.type.is_tensor or first == second:
            continue
        value = op.operands[0]
        if not first:
            value = rewriter.make(op, "arith.xori", (value, rewriter.constant(value.type, True)), value.type)
        rewriter.replace_all_uses(result, value)
        changed = True
    return changed
