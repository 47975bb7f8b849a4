"""Loops of the front end's program: what is in them, and what may become of them before loads are staged.

Source: MLIR's canonicalization of ``scf.for`` and ``scf.if``, LoopUnroll.cpp, FuseNestedLoops.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lint.tile.ir import Op, Value

LOOPS = ("scf.for", "scf.while")
_UNROLL = "tt.loop_unroll_factor"
_SAME_NUMBER = frozenset({"arith.extsi", "arith.index_cast", "arith.bitcast"})
_FROM_OUTSIDE = frozenset({"tt.get_program_id", "tt.load"})
_SIGNED = frozenset({"eq", "ne", "slt", "sle", "sgt", "sge"})
_SMALL = 1 << 30


def parents(op: Op) -> Iterator[Op]:
    at = op.parent
    while at is not None:
        yield at
        at = at.parent


def copies(loop: Op) -> int:
    """How often a loop's body may stand in the program: unrolled, and once more for the iterations that are left."""
    factor = int(loop.attrs.get(_UNROLL) or 1)
    return factor + 1 if factor > 1 else 1


def may_vanish(loop: Op) -> bool:
    """Whether a loop may be found to run once, and be replaced by its body: its bounds are made of constants."""
    if loop.name != "scf.for" or not all(map(_constant, loop.operands[:3])):
        return False
    known = iterations(loop)
    return known is None or known < 2


def iterations(loop: Op) -> int | None:
    """How often a loop runs that is not unrolled, where its bounds are numbers."""
    if loop.name != "scf.for" or loop.attrs.get(_UNROLL):
        return None
    lower, upper, step = map(_number, loop.operands[:3])
    if lower is None or upper is None or step is None or step < 1:
        return None
    return max(0, -(-(upper - lower) // step))


def homes(op: Op) -> Iterator[Op]:
    """The loops in whose body an operation may stand itself, innermost first: not in a branch that is certain to be left.

    A loop that is known to run once is replaced by its body before any load is staged.
    """
    for owner in parents(op):
        if owner.name in LOOPS:
            if iterations(owner) not in (0, 1):
                yield owner
            if not may_vanish(owner):
                return
        elif owner.name == "scf.if" and not _may_fold(owner):
            return


def _may_fold(branch: Op) -> bool:
    """Whether the condition may turn out to be a constant: unless it compares a number with what is only known at run time."""
    made = branch.operands[0].op
    if made is None:
        return not _at_run_time(branch.operands[0])
    if made.name != "arith.cmpi" or made.attrs.get("predicate") not in _SIGNED:
        return True
    for one, other in (made.operands, reversed(made.operands)):
        number = _number(other)
        if _at_run_time(one) and number is not None and -_SMALL < number < _SMALL:
            return False
    return True


def _at_run_time(value: Value) -> bool:
    """Whether no pass can find a number for a value: an argument, an induction variable, what is loaded."""
    made = value.op
    if made is not None:
        return made.name in _FROM_OUTSIDE
    assert value.block is not None
    owner = value.block.parent_op
    return owner is not None and (owner.name == "tt.func" or (owner.name == "scf.for" and value.index == 0 and not may_vanish(owner)))


def _constant(value: Value) -> bool:
    """Whether a value is worked out from constants alone."""
    pending, seen = [value], set[Op]()
    while pending:
        made = pending.pop().op
        if made is None or made.regions or not made.name.startswith("arith."):
            return False
        if made not in seen:
            seen.add(made)
            pending += made.operands
    return True


def _number(value: Value) -> int | None:
    made = value.made_through(_SAME_NUMBER)
    number = made.attrs["value"] if made is not None and made.name == "arith.constant" else None
    return int(number) if isinstance(number, int) else None
