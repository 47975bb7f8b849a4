"""Which loads a loop may keep copies of, so that they run ahead of what needs them.

A load is staged in the loop in whose body it stands itself, where a dot stands too that needs it, directly or through other operations;
in a loop with a ``num_stages`` of its own every load is. Which loads those are is asked of the front end's program, generously.

Source: AssignLatencies.cpp, LowerLoops.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smem_lint.bounds.loops import homes, parents
from smem_lint.passes.remat_rules import moves_no_data
from smem_lint.tile.ir import Op, Value

DOTS = ("tt.dot", "tt.dot_scaled")
LOADS = ("tt.load", "tt.descriptor_load", "tt.descriptor_gather")
_STAGES = "tt.num_stages"
_FLATTEN = "tt.flatten"
_ACCUMULATOR = 2
_BRANCHES = ("cf.br", "cf.cond_br")


def most_stages(ops: Sequence[Op], num_stages: int) -> dict[Op, int]:
    """The loads of a function that may be staged, each with the largest ``num_stages`` that may hold for it."""
    loads = [op for op in ops if op.name in LOADS]
    dots = [op for op in ops if op.name in DOTS]
    if any(op.attrs.get(_FLATTEN) for op in ops):
        return _in_flat_nests(loads, bool(dots), num_stages)
    near = {home for dot in dots for home in homes(dot)}
    needed = _needed(ops, dots) if near and loads else set()
    found = {}
    for load in loads:
        stages = [
            int(home.attrs.get(_STAGES) or num_stages) for home in homes(load)
            if home.attrs.get(_STAGES) is not None or (home in near and load.results[0] in needed)
        ]  # fmt: skip
        if stages:
            found[load] = max(stages)
    return found


def read_in_branch(load: Op) -> bool:
    """Whether a branch may be what reads a load: it is done after the loads of the next iteration, which need a buffer of their own.

    Source: ScheduleLoops.cpp (branches come in a cluster behind the others), LowerLoops.cpp (stages from a load to its use).
    """
    pending, seen = list(load.results), set[Value]()
    while pending:
        value = pending.pop()
        if value not in seen:
            seen.add(value)
            for user in value.users:
                if user.block is not load.block:
                    return True
                if moves_no_data(user):
                    pending += user.results
    return False


def _needed(ops: Sequence[Op], dots: Sequence[Op]) -> set[Value]:
    """Values that the dots may rest on, but for what they add to."""
    found: set[Value] = set()
    opened: set[Op] = set()
    branched = [value for op in ops if op.name in _BRANCHES for value in op.operands]
    pending = [value for dot in dots for index, value in enumerate(dot.operands) if index != _ACCUMULATOR]
    while pending:
        value = pending.pop()
        if value in found:
            continue
        found.add(value)
        made = value.op or _owner(value)
        if made not in opened:
            opened.add(made)
            pending += _behind(made) if made.name != "tt.func" else branched
    return found


def _owner(value: Value) -> Op:
    assert value.block is not None
    owner = value.block.parent_op
    assert owner is not None
    return owner


def _behind(made: Op) -> Iterator[Value]:
    """What an operation works with; a loop or branch with everything that is in it."""
    yield from made.operands
    for op in made.walk() if made.regions else ():
        yield from op.operands


def _in_flat_nests(loads: Sequence[Op], near_dots: bool, num_stages: int) -> dict[Op, int]:
    """As ``most_stages``, where nested loops are to be made one: a load may be staged for any dot, in any of a nest's loops."""
    found = {}
    for load in loads:
        loops = _loops_around(load)
        stages = [int(loop.attrs[_STAGES]) for loop in loops if loop.attrs.get(_STAGES) is not None]
        if loops and (stages or near_dots):
            found[load] = max([*stages, *([num_stages] if len(loops) > len(stages) or len(loops) > 1 else [])])
    return found


def _loops_around(op: Op) -> list[Op]:
    """The loop that an operation is in, with all that may be made one loop with it."""
    around = [one for one in parents(op) if one.name == "scf.for"]
    flat = [loop for loop in around if loop.attrs.get(_FLATTEN)]
    if flat:
        return [flat[-1], *(inner for inner in flat[-1].walk() if inner.name == "scf.for" and inner is not flat[-1])]
    return around[:1]
