"""Moves conversions, buffers and transpositions next to what they belong to; what lives together in memory depends on it.

Facts: lib/Dialect/TritonGPU/Transforms/ReorderInstructions.cpp, Triton 3.8.0. (Triton sinks into loops in the order of a hash table;
here it is program order.)
"""

from __future__ import annotations

from smem_lint.layout.encodings import DotOperand
from smem_lint.tile.effects import ALLOC, FREE, READ, recursive_effects
from smem_lint.tile.ir import Block, Module, Op

_SCALARS = frozenset({"arith.constant", "tt.splat"})
_TRANSPOSITIONS = frozenset({"tt.trans", "ttg.memdesc_trans"})
_HARMLESS = {READ, ALLOC, FREE}


def run(module: Module) -> None:
    """Reorder the operations of ``module`` in five sweeps, as the pass does."""
    ops = list(module.walk_post())
    for op in ops:
        if op.name == "ttg.convert_layout":
            _sink_behind_deallocations(op)
    moves = [(op, user) for op in ops if _needs_registers(op) and (user := _user_in_other_loop(op)) is not None]
    for op, user in moves:
        op.move_before(user)
    for op in list(module.walk_post()):
        if op.name == "ttg.local_alloc" and op.operands:
            source = op.operands[0].op
            if source is not None and source.name not in _SCALARS:
                op.move_after(source)
    for op in list(module.walk_post()):
        if op.name in _TRANSPOSITIONS and op.operands[0].op is not None:
            op.move_after(op.operands[0].op)
    for op in list(module.walk_post()):
        if op.name == "ttg.local_load":
            _follow_first_operand(op)


def ancestor_in(block: Block | None, op: Op) -> Op | None:
    """``op`` or the operation around it that stands in ``block``."""
    at: Op | None = op
    while at is not None and at.block is not block:
        at = at.parent
    return at


def _sink_behind_deallocations(convert: Op) -> None:
    """Behind the last deallocation in front of the first use, so that the buffer's space is free again."""
    block = convert.block
    assert block is not None
    users = [found for user in convert.results[0].users if (found := ancestor_in(block, user)) is not None]
    block.number()
    first = min(users, key=lambda op: op._order, default=None)
    at, last = convert.next, None
    while at is not None and at is not first:
        if at.name == "ttg.local_dealloc":
            last = at
        at = at.next
    if last is not None:
        convert.move_after(last)


def _needs_registers(op: Op) -> bool:
    if op.name == "ttg.local_load":
        return True
    return op.name == "ttg.convert_layout" and isinstance(op.results[0].type.encoding, DotOperand)


def _loop_around(op: Op) -> Op | None:
    at = op.parent
    while at is not None and at.name != "scf.for":
        at = at.parent
    return at


def _user_in_other_loop(op: Op) -> Op | None:
    """The only user, if it stands in another loop than ``op``."""
    if not op.results[0].has_one_use:
        return None
    user = next(op.results[0].users)
    return user if _loop_around(user) is not _loop_around(op) else None


def _follow_first_operand(load: Op) -> None:
    """Operand 1 of a dot is read after operand 0, if no write lies between."""
    encoding = load.results[0].type.encoding
    if not isinstance(encoding, DotOperand) or encoding.op_idx != 1 or not load.results[0].has_one_use:
        return
    dot = next(load.results[0].users)
    if dot.name != "tt.dot":
        return
    other = dot.operands[0].op
    if other is None or other.name != "ttg.local_load":
        return
    end = ancestor_in(load.block, other)
    if end is None or end is load or not load.is_before(end):
        return
    at = load.next
    while at is not None:
        if _writes(at):
            return
        if at is end:
            break
        at = at.next
    load.move_after(other)


def _writes(op: Op) -> bool:
    """Whether the operation declares effects other than reads and allocations; unknown effects pass, as in Triton."""
    effects = recursive_effects(op)
    return effects is not None and not effects <= _HARMLESS
