"""Loops and branches as jumps between blocks, since shared memory is allocated on basic blocks.

A buffer is live from one *operation number* to another, and operations are numbered in the order of blocks. So what counts here
is which blocks there are and in which order they stand::

    scf.for                         scf.if with results              scf.while
      before: br condition            before: cond_br then, else       before:  br test
      condition(iv, carried):         then:   br join(values)          test(carried):
        cond_br body, after           else:   br join(values)            cond_br body, after
      body:  br condition             join(results): br after          body(values): br test
      after                           after                            after

An ``scf.if`` without results joins in ``after``; an ``scf.while`` whose body only hands its values on has no body block.

Facts: SCFToControlFlow.cpp of MLIR, as Triton 3.8.0 runs it (pass ``scf_to_cf``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from smem_lint.tile.ir import Block, Builder, Module, Op, Region, Value
from smem_lint.tile.types import I1


def lower_control_flow(module: Module) -> None:
    """Replace all structured control flow of all functions by branches, in place."""
    for function in module.functions:
        for region in function.regions:
            _lower_region(region)


def _lower_region(region: Region) -> None:
    pending = list(region.blocks)
    while pending:
        block = pending.pop()
        for op in block:
            lower = _LOWERINGS.get(op.name)
            if lower is not None:
                pending += lower(op)
                break


def _split_before(op: Op) -> Block:
    """Move ``op`` and all that follows it in its block to a new block, which is returned, right after that block."""
    block = op.block
    assert block is not None and block.region is not None
    rest = Block(region=block.region)
    blocks = block.region.blocks
    blocks.insert(blocks.index(block) + 1, rest)
    moving: Op | None = op
    while moving is not None:
        following = moving.next
        block.remove(moving)
        rest.append(moving)
        moving = following
    return rest


def _inline_before(region: Region, place: Block) -> list[Block]:
    """Move the blocks of ``region`` to right before ``place``."""
    target = place.region
    assert target is not None
    at = target.blocks.index(place)
    moved, region.blocks = region.blocks, []
    for block in moved:
        block.region = target
    target.blocks[at:at] = moved
    return moved


def _branch(block: Block, target: Block, values: Sequence[Value], line: int | None) -> None:
    op = Op("cf.br", values, (), {"segments": (len(values),)}, line=line)
    op.successors = (target,)
    block.append(op)


def _conditional(block: Block, condition: Value, true: Block, false: Block, values: Sequence[Value], line: int | None) -> None:
    """Branch on ``condition``; ``values`` are handed to the ``true`` block."""
    op = Op("cf.cond_br", [condition, *values], (), {"segments": (1, len(values), 0)}, line=line)
    op.successors = (true, false)
    block.append(op)


def _take_operands(terminator: Op) -> list[Value]:
    operands = list(terminator.operands)
    terminator.drop()
    return operands


def _replace(op: Op, values: Sequence[Value]) -> None:
    for result, value in zip(op.results, values, strict=True):
        result.replace_all_uses(value)
    op.drop()


def _lower_for(op: Op) -> list[Block]:
    before = op.block
    assert before is not None
    after = _split_before(op)
    lower, upper, step, *inits = op.operands
    condition = op.body
    body = _split_body(condition)
    _inline_before(op.regions[0], after)
    last = after.region.blocks[after.region.blocks.index(after) - 1] if after.region else body
    induction, *carried = condition.args
    values = _take_operands(last.terminator)
    build = Builder(last)
    build.line = op.line
    stepped = build.value("arith.addi", [induction, step], induction.type)
    _branch(last, condition, [stepped, *values], op.line)
    _branch(before, condition, [lower, *inits], op.line)
    build.block = condition
    compared = build.value("arith.cmpi", [induction, upper], I1, predicate="ult" if op.attrs.get("unsigned") else "slt")
    _conditional(condition, compared, body, after, (), op.line)
    _replace(op, carried)
    return [body, after]


def _split_body(condition: Block) -> Block:
    """All operations of a loop's block in a block of their own; its arguments stay behind, for the test."""
    assert condition.first is not None
    return _split_before(condition.first)


def _lower_if(op: Op) -> list[Block]:
    before = op.block
    assert before is not None
    after = _split_before(op)
    join = after
    if op.results:
        assert after.region is not None
        join = Block([result.type for result in op.results], after.region)
        after.region.blocks.insert(after.region.blocks.index(after), join)
        _branch(join, after, (), op.line)
    targets = []
    for region in op.regions:
        if not region.blocks:
            targets.append(join)
            continue
        targets.append(region.blocks[0])
        last = region.blocks[-1]
        _branch(last, join, _take_operands(last.terminator), op.line)
        _inline_before(region, join)
    inner = [target for target in targets if target is not join]
    true, false = targets if len(targets) == 2 else (targets[0], join)
    _conditional(before, op.operands[0], true, false, (), op.line)
    _replace(op, join.args if op.results else ())
    return [*inner, after]


def _lower_while(op: Op) -> list[Block]:
    before = op.block
    assert before is not None
    after = _split_before(op)
    test, body = op.regions[0].blocks[0], op.regions[1].blocks[0]
    only_forwards = body.first is body.last and body.terminator.operands == body.args
    _inline_before(op.regions[0], after)
    _branch(before, test, op.operands, op.line)
    condition, *values = _take_operands(test.terminator)
    if only_forwards:
        body.terminator.drop()
        op.regions[1].blocks.clear()
        _conditional(test, condition, test, after, values, op.line)
        _replace(op, values)
        return [test, after]
    _inline_before(op.regions[1], after)
    _conditional(test, condition, body, after, values, op.line)
    _branch(body, test, _take_operands(body.terminator), op.line)
    _replace(op, values)
    return [test, body, after]


_LOWERINGS: dict[str, Callable[[Op], list[Block]]] = {"scf.for": _lower_for, "scf.if": _lower_if, "scf.while": _lower_while}
