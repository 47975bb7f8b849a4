"""Selects of tiles become results of the ``if`` that has their condition.

Facts: ``lib/Dialect/TritonGPU/Transforms/CombineTensorSelectAndIf.cpp``, 3.8.0.
"""

from __future__ import annotations

from smem_lint.tile.dominance import dominates
from smem_lint.tile.ir import Module, Op, Value
from smem_lint.tile.types import Tensor


def _arm_of(branch: Op, op: Op) -> int | None:
    """Which arm of ``branch`` holds ``op`` (None: neither)."""
    at: Op | None = op
    while at is not None and at.parent is not branch:
        at = at.parent
    if at is None or at.block is None:
        return None
    return 0 if at.block.region is branch.regions[0] else 1


def _decide_within_arms(module: Module) -> None:
    """Uses of a select within an arm of an ``if`` with its condition read the arm's value."""
    moves: list[tuple[Op, Value, Value]] = []
    for op in module.walk():
        if op.name != "arith.select":
            continue
        for branch in op.operands[0].users:
            if branch.name != "scf.if":
                continue
            for user in op.results[0].users:
                arm = _arm_of(branch, user)
                if arm is not None:
                    moves.append((user, op.results[0], op.operands[1 + arm]))
    for user, value, other in moves:
        for use in list(user.operand_uses):
            if use.value is value:
                use.set(other)


def _mergeable(select: Op, branch: Op) -> bool:
    return dominates(select, branch) and all(dominates(branch, user) for user in select.results[0].users)


def _branch_for(select: Op) -> Op | None:
    found = [user for user in select.operands[0].users if user.name == "scf.if" and user.block is select.block]
    assert select.block is not None
    select.block.number()
    found.sort(key=lambda branch: branch._order)
    return next((branch for branch in dict.fromkeys(found) if _mergeable(select, branch)), None)


def _merge(branch: Op, selects: list[Op]) -> None:
    types = [result.type for result in (*branch.results, *(select.results[0] for select in selects))]
    new = Op("scf.if", branch.operands, types, regions=2, line=branch.line)
    assert branch.block is not None
    branch.block.insert_before(branch, new)
    for index in (0, 1):
        region, source = new.regions[index], branch.regions[index]
        region.blocks, source.blocks = source.blocks, []
        for block in region.blocks:
            block.region = region
        if not region.blocks:
            region.add_block().append(Op("scf.yield"))
        terminator = region.blocks[0].terminator
        terminator.set_operands([*terminator.operands, *(select.operands[1 + index] for select in selects)])
    for old, result in zip((*branch.results, *(select.results[0] for select in selects)), new.results, strict=True):
        old.replace_all_uses(result)
    for select in selects:
        select.erase()
    branch.erase()


def run(module: Module) -> None:
    _decide_within_arms(module)
    merges: dict[Op, list[Op]] = {}
    for op in module.walk():
        if op.name == "arith.select" and isinstance(op.results[0].type, Tensor):
            branch = _branch_for(op)
            if branch is not None:
                merges.setdefault(branch, []).append(op)
    for branch, selects in merges.items():
        _merge(branch, selects)
