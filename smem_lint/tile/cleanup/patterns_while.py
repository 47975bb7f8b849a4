"""Rewrite patterns of ``scf.while``.

Facts: ``mlir/lib/Dialect/SCF/IR/SCF.cpp``, as linked into Triton 3.8.0.
"""

from __future__ import annotations

from smem_lint.tile.cleanup.fold_integers import INVERTED, defined_by
from smem_lint.tile.cleanup.rewriter import Pattern, Rewriter, registrar
from smem_lint.tile.ir import Block, Op, Value

PATTERNS: dict[str, list[Pattern]] = {}
pattern = registrar(PATTERNS)


def _parts(op: Op) -> tuple[Block, Op, Block]:
    before, after = (region.blocks[0] for region in op.regions)
    return before, before.terminator, after


@pattern("scf.while")
def _condition_holds(op: Op, rewriter: Rewriter) -> bool:
    """In the body, a handed-on condition is true."""
    _, condition, after = _parts(op)
    changed = False
    for value, arg in zip(condition.operands[1:], after.args, strict=True):
        if value is condition.operands[0] and arg.uses:
            rewriter.replace_all_uses(arg, rewriter.constant(arg.type, True))
            changed = True
    return changed


@pattern("scf.while")
def _comparison_holds(op: Op, rewriter: Rewriter) -> bool:
    """In the body, the comparison that was the condition is decided."""
    _, condition, after = _parts(op)
    compare = defined_by(condition.operands[0], "arith.cmpi")
    if compare is None:
        return False
    changed = False
    for value, arg in zip(condition.operands[1:], after.args, strict=True):
        for side in (0, 1):
            if value is not compare.operands[side]:
                continue
            for use in reversed(tuple(arg.uses)):
                again = use.owner
                if again.name != "arith.cmpi" or again.operands[1 - side] is not compare.operands[1 - side]:
                    continue
                mine, theirs = again.attrs["predicate"], compare.attrs["predicate"]
                if mine in (theirs, INVERTED[theirs]):
                    rewriter.replace(again, (rewriter.constant(again.results[0].type, mine == theirs),))
                    changed = True
    return changed


@pattern("scf.while")
def _align_arguments(op: Op, rewriter: Rewriter) -> bool:
    """A condition that hands on all arguments of its block in another order hands them on in theirs."""
    before, condition, after = _parts(op)
    handed = condition.operands[1:]
    if handed == before.args or len(handed) != len(before.args) or set(handed) != set(before.args):
        return False
    order = [handed.index(arg) for arg in before.args]
    condition.set_operands([condition.operands[0], *before.args])
    after.args = [after.args[at] for at in order]
    op.results = [op.results[at] for at in order]
    for values in (after.args, op.results):
        for index, value in enumerate(values):
            value.index = index
    rewriter.modified(condition)
    rewriter.modified(op)
    return True


@pattern("scf.while")
def _move_if_down(op: Op, rewriter: Rewriter) -> bool:
    """An ``if`` on the condition just before it belongs to the body."""
    before, condition, after = _parts(op)
    branch = condition.prev
    if branch is None or branch.name != "scf.if" or branch.operands[0] is not condition.operands[0]:
        return False
    then = branch.regions[0].blocks[0]
    other = branch.regions[1].blocks[0] if branch.regions[1].blocks else None
    if other is not None and other.first is not other.last:
        return False
    for index, value in enumerate(condition.operands[1:]):
        if value.op is branch:
            assert other is not None
            rewriter.replace_all_uses(value, other.terminator.operands[value.index])
            rewriter.replace_all_uses(after.args[index], then.terminator.operands[value.index])
    captured = list(dict.fromkeys(v for inner in _all(then) for v in inner.operands if v.parent_block is before))
    args = [after.add_arg(value.type) for value in captured]
    condition.set_operands([*condition.operands, *captured])
    for value in captured:
        op.results.append(Value(value.type, op, None, len(op.results)))
    for value, arg in zip(captured, args, strict=True):
        value.replace_all_uses(arg, unless=lambda use: not _inside(use.owner, then))
    terminator, first = then.terminator, after.terminator if after.first is None else after.first
    for inner in list(then):
        if inner is not terminator:
            inner.move_before(first)
            rewriter.push(inner)
    rewriter.erase(terminator)
    rewriter.erase(branch)
    rewriter.modified(condition)
    rewriter.modified(op)
    return True


def _all(block: Block) -> list[Op]:
    return [inner for op in block for inner in op.walk()]


def _inside(op: Op, block: Block) -> bool:
    at: Op | None = op
    while at is not None:
        if at.block is block:
            return True
        at = at.parent
    return False
