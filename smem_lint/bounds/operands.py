"""What a dot's operand is made of: its change of layout may be moved up to loads that it is worked out from thread by thread.

Source: ``hoistConvertDotOperand`` in RemoveLayoutConversions.cpp, Triton 3.8.0: only where nothing else than loads and constants is behind
the operand. What a loop carries is something else, unless the loop goes away or does not change it.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lint.bounds.loops import may_vanish
from smem_lint.bounds.staging import LOADS
from smem_lint.passes.remat_rules import moves_no_data
from smem_lint.tile.ir import Op, Value
from smem_lint.tile.types import Tensor


def made_of_loads(operand: Value) -> list[Op]:
    """The loads behind an operand, where there is nothing else; none otherwise."""
    loads: list[Op] = []
    pending, seen = [operand], set[Value]()
    while pending:
        value = pending.pop()
        if value in seen or not isinstance(value.type, Tensor):
            continue
        seen.add(value)
        if value.op is not None and value.op.name in LOADS:
            loads.append(value.op)
            continue
        behind = _behind(value)
        if behind is None:
            return []
        pending += behind
    return loads


def _behind(value: Value) -> list[Value] | None:
    """What a value may be found to be worked out from; None for the result of other work."""
    made = value.op
    if made is None:
        assert value.block is not None
        owner = value.block.parent_op
        return _carried(owner, value.index - 1) if owner is not None and owner.name == "scf.for" and value.index else None
    if made.name == "arith.constant":
        return []
    if made.name == "scf.for":
        return _carried(made, value.index)
    if made.name == "scf.if":
        return list(_yielded(made, value.index))
    return list(made.operands) if moves_no_data(made) or made.name in ("tt.make_range", "tt.splat") else None


def _carried(loop: Op, index: int) -> list[Value] | None:
    """The first value of what a loop carries, and the last, if the loop may go away; None for what its iterations change."""
    first, last = loop.operands[index + 3], loop.body.terminator.operands[index]
    if last is loop.body.args[index + 1]:
        return [first]
    return [first, last] if may_vanish(loop) else None


def _yielded(branch: Op, index: int) -> Iterator[Value]:
    for region in branch.regions:
        if region.blocks:
            yield region.blocks[0].terminator.operands[index]
