"""Rewrite patterns that all structured control flow shares: values that a loop or branch hands on to no purpose.

Facts: ``mlir/lib/Interfaces/ControlFlowInterfaces.cpp`` (``populateRegionBranchOpInterfaceCanonicalizationPatterns`` and
``…InliningPattern``) and ``mlir/lib/Dialect/SCF/IR/SCF.cpp``, as linked into Triton 3.8.0. An *input* is a result of the operation or
an argument of one of its blocks; what reaches it are the operands of the operation or of a terminator within.
"""

from __future__ import annotations

from smem_lint.tile.cleanup.numbers import POISON, constant_of, scalar_int_of, unsigned, width_of
from smem_lint.tile.cleanup.rewriter import Pattern, Rewriter, registrar
from smem_lint.tile.ir import Block, Op, Use, Value

Feeds = dict[Value, list[Use]]
PATTERNS: dict[str, list[Pattern]] = {}
pattern = registrar(PATTERNS)


def trip_count(op: Op) -> int | None:
    """How often an ``scf.for`` with constant bounds iterates, None where that is not known."""
    lower, upper, step = op.operands[:3]
    if lower is upper:
        return 0
    low, high, by = scalar_int_of(lower), scalar_int_of(upper), scalar_int_of(step)
    if low is None or high is None or by == 0:
        return None
    if op.attrs.get("unsigned"):
        bits = width_of(lower.type)
        low, high, by = unsigned(low, bits), unsigned(high, bits), None if by is None else unsigned(by, bits)
    if low >= high:
        return 0
    return None if by is None or by <= 0 else -((low - high) // by)


def feeds(op: Op) -> Feeds:
    """For each input of ``scf.for``, ``scf.if`` or ``scf.while`` the uses whose values reach it."""
    found: Feeds = {}
    if op.name == "scf.for":
        _for_feeds(op, found)
    elif op.name == "scf.if":
        for region in op.regions:
            for block in region.blocks:
                for result, use in zip(op.results, block.terminator.operand_uses, strict=True):
                    found.setdefault(result, []).append(use)
    else:
        before, after = (region.blocks[0] for region in op.regions)
        for arg, initial, again in zip(before.args, op.operand_uses, after.terminator.operand_uses, strict=True):
            found[arg] = [initial, again]
        for result, arg, use in zip(op.results, after.args, before.terminator.operand_uses[1:], strict=True):
            found[result] = [use]
            found[arg] = [use]
    return found


def _for_feeds(op: Op, found: Feeds) -> None:
    count = trip_count(op)
    inits, yields = op.operand_uses[3:], op.body.terminator.operand_uses
    for index, arg in enumerate(op.body.args[1:]):
        into_body, out = found.setdefault(arg, []), found.setdefault(op.results[index], [])
        if count is None or count:
            into_body.append(inits[index])
        if count is None or not count:
            out.append(inits[index])
        if count != 1:
            into_body.append(yields[index])
        out.append(yields[index])


def _reaching(value: Value, found: Feeds) -> Value | None:
    """The only value other than inputs that can reach an input, None when there are several."""
    seen: set[Value] = set()
    stack = [value]
    only: Value | None = None
    while stack:
        uses = found.get(at := stack.pop())
        if uses is None:
            if only is not None and only is not at:
                return None
            only = at
            continue
        for use in uses:
            if use.value not in seen:
                seen.add(use.value)
                stack.append(use.value)
    return only


def _may_be_constant(op: Op) -> bool:
    """Whether an input of an ``scf.for`` may be reached by one value only; False only where ``_make_inputs_dead`` has nothing to do."""
    count = trip_count(op)
    if count is not None and count < 2:
        return True
    inits, yields, body = op.operands[3:], op.body.terminator.operands, op.body
    for index, initial in enumerate(inits):
        at = yields[index]
        if at.block is not body or not at.index:
            if at is initial or (count is not None and at.parent_block is not body):
                return True
            continue
        for _ in inits:
            if at.block is not body or not at.index:
                if at is initial:
                    return True
                break
            if inits[at.index - 1] is not initial:
                break
            at = yields[at.index - 1]
        else:
            return True
    return False


def _may_repeat(op: Op) -> bool:
    """Whether two carried values of an ``scf.for`` may be the same; False only where ``_merge_duplicates`` has nothing to do."""
    count = trip_count(op)
    inits, yields = op.operands[3:], op.body.terminator.operands
    if count is None:
        return len(set(zip(inits, yields, strict=True))) < len(inits)
    return count < 2 or len(set(yields)) < len(yields)


def _available(op: Op, value: Value, at: Value) -> bool:
    """Whether ``value``, which reaches input ``at`` of ``op``, is defined where ``at`` is."""
    block = value.parent_block
    if block.parent_op is not op:
        return True
    return at.op is None and value.op is None and at.block is block


@pattern("scf.for", "scf.if", "scf.while")
def _make_inputs_dead(op: Op, rewriter: Rewriter) -> bool:
    """An input that only one value can reach is that value."""
    if (not op.results and op.name == "scf.if") or (op.name == "scf.for" and not _may_be_constant(op)):
        return False
    found = feeds(op)
    changed = False
    for value in found:
        if not value.uses:
            continue
        only = _reaching(value, found)
        if only is not None and _available(op, only, value):
            rewriter.replace_all_uses(value, only)
            changed = True
    return changed


def _index(value: Value) -> int:
    return value.index


@pattern("scf.for", "scf.if", "scf.while")
def _merge_duplicates(op: Op, rewriter: Rewriter) -> bool:
    """Of two inputs of one place that always hold the same value, the first does."""
    if (not op.results and op.name == "scf.if") or (op.name == "scf.for" and not _may_repeat(op)):
        return False
    found = feeds(op)
    first: dict[tuple[Op | Block | None, frozenset[tuple[Op, Value]]], Value] = {}
    changed = False
    for value in sorted(found, key=_index):
        key = (value.op or value.block, frozenset((use.owner, use.value) for use in found[value]))
        kept = first.setdefault(key, value)
        if kept is not value and value.uses:
            rewriter.replace_all_uses(value, kept)
            changed = True
    return changed


def drop_results(op: Op, dead: list[int]) -> None:
    for index in reversed(dead):
        del op.results[index]
    for index, result in enumerate(op.results):
        result.index = index


def drop_operands(op: Op, dead: list[int]) -> None:
    gone = set(dead)
    op.set_operands([value for index, value in enumerate(op.operands) if index not in gone])


def _drop_args(block: Block, dead: list[int]) -> None:
    for index in reversed(dead):
        block.erase_arg(index)


@pattern("scf.for")
def _drop_dead_carried(op: Op, rewriter: Rewriter) -> bool:
    dead = [i for i, result in enumerate(op.results) if not result.uses and not op.body.args[i + 1].uses]
    if not dead:
        return False
    gone = [op.operands[3 + i] for i in dead] + [op.body.terminator.operands[i] for i in dead]
    drop_operands(op, [3 + i for i in dead])
    drop_operands(op.body.terminator, dead)
    _drop_args(op.body, [i + 1 for i in dead])
    drop_results(op, dead)
    _revisit(op, gone, rewriter)
    return True


@pattern("scf.if")
def _drop_dead_results(op: Op, rewriter: Rewriter) -> bool:
    dead = [i for i, result in enumerate(op.results) if not result.uses]
    if not dead:
        return False
    gone: list[Value] = []
    for region in op.regions:
        for block in region.blocks:
            gone += [block.terminator.operands[i] for i in dead]
            drop_operands(block.terminator, dead)
    drop_results(op, dead)
    _revisit(op, gone, rewriter)
    return True


@pattern("scf.while")
def _drop_dead_while_values(op: Op, rewriter: Rewriter) -> bool:
    before, after = (region.blocks[0] for region in op.regions)
    dead_before = [i for i, arg in enumerate(before.args) if not arg.uses]
    dead_after = [i for i, result in enumerate(op.results) if not result.uses and not after.args[i].uses]
    if not dead_before and not dead_after:
        return False
    gone = [op.operands[i] for i in dead_before] + [after.terminator.operands[i] for i in dead_before]
    gone += [before.terminator.operands[i + 1] for i in dead_after]
    drop_operands(op, dead_before)
    drop_operands(after.terminator, dead_before)
    drop_operands(before.terminator, [i + 1 for i in dead_after])
    _drop_args(before, dead_before)
    _drop_args(after, dead_after)
    drop_results(op, dead_after)
    _revisit(op, gone, rewriter)
    return True


def _revisit(op: Op, gone: list[Value], rewriter: Rewriter) -> None:
    for value in gone:
        if value.op is not None:
            rewriter.push(value.op)
    for region in op.regions:
        for block in region.blocks:
            rewriter.push(block.terminator)
    rewriter.modified(op)


def inline_before(block: Block, place: Op, values: list[Value], rewriter: Rewriter) -> list[Value]:
    """Move the operations of ``block`` before ``place``, with ``values`` for its arguments; what its terminator hands on."""
    for arg, value in zip(block.args, values, strict=True):
        rewriter.replace_all_uses(arg, value)
    terminator = block.terminator
    for op in block:
        if op is not terminator:
            op.move_before(place)
            rewriter.push(op)
    handed = list(terminator.operands)
    rewriter.erase(terminator)
    return handed


@pattern("scf.for")
def _inline_short_loop(op: Op, rewriter: Rewriter) -> bool:
    """A loop that runs once is its body; one that does not run hands on its initial values."""
    count = trip_count(op)
    if count is None or count > 1:
        return False
    values = op.operands[3:]
    if count == 1:
        values = inline_before(op.body, op, [op.operands[0], *values], rewriter)
    rewriter.replace(op, values)
    return True


@pattern("scf.if")
def _inline_decided_branch(op: Op, rewriter: Rewriter) -> bool:
    known = constant_of(op.operands[0])
    if known is None or known is POISON:
        return False
    region = op.regions[0 if known else 1]
    values = inline_before(region.blocks[0], op, [], rewriter) if region.blocks else []
    rewriter.replace(op, values)
    return True


@pattern("scf.while")
def _inline_unentered_while(op: Op, rewriter: Rewriter) -> bool:
    before = op.regions[0].blocks[0]
    if constant_of(before.terminator.operands[0]) is not False:
        return False
    values = inline_before(before, op, list(op.operands), rewriter)
    rewriter.replace(op, values[1:])
    return True
