"""Inlining of calls, callees first, each function canonicalised before and after.

Facts: ``mlir/lib/Transforms/InlinerPass.cpp``, ``Utils/Inliner.cpp`` and ``Utils/InliningUtils.cpp`` as linked into Triton 3.8.0;
``lib/Dialect/Triton/IR/Dialect.cpp``: functions marked ``noinline`` stay.
"""

from __future__ import annotations

from collections.abc import Callable

from smem_lint.tile.cleanup.canonicalize import canonicalize
from smem_lint.tile.ir import Block, Module, Op, Value

_MAX_ITERATIONS = 4


def _calls(function: Op) -> list[Op]:
    return [op for op in function.walk() if op.name == "tt.call"]


def _callees_first(module: Module) -> list[Op]:
    by_name = {function.attrs["name"]: function for function in module.functions}
    order: list[Op] = []
    seen: set[Op] = set()

    def visit(function: Op) -> None:
        if function in seen:
            return
        seen.add(function)
        for call in _calls(function):
            callee = by_name.get(call.attrs["callee"])
            if callee is not None:
                visit(callee)
        order.append(function)

    for function in module.functions:
        visit(function)
    return order


def _may_inline(call: Op, callee: Op) -> bool:
    if callee.attrs.get("noinline") or not callee.regions[0].blocks:
        return False
    parent = call.parent
    return len(callee.regions[0].blocks) == 1 or (parent is not None and parent.name == "tt.func")


def _copied_blocks(callee: Op, arguments: list[Value]) -> list[Block]:
    """The callee's blocks with the call's operands for the function's arguments."""
    copy = callee.clone({})
    blocks = copy.regions[0].blocks
    for arg, value in zip(blocks[0].args, arguments, strict=True):
        arg.replace_all_uses(value)
    blocks[0].args = []
    return blocks


def _inline_single(call: Op, block: Block) -> None:
    terminator = block.terminator
    for op in list(block):
        if op is not terminator:
            op.move_before(call)
    for result, value in zip(call.results, terminator.operands, strict=True):
        result.replace_all_uses(value)
    terminator.drop()
    call.erase()


def _inline_several(call: Op, blocks: list[Block]) -> None:
    """Split the caller's block at the call, and put the callee's blocks between its halves."""
    before = call.block
    assert before is not None and before.region is not None
    region = before.region
    after = Block([result.type for result in call.results], region)
    op = call.next
    while op is not None:
        following = op.next
        before.remove(op)
        after.append(op)
        op = following
    for result, arg in zip(call.results, after.args, strict=True):
        result.replace_all_uses(arg)
    call.erase()
    entry = blocks[0]
    for op in list(entry):
        entry.remove(op)
        before.append(op)
    at = region.blocks.index(before) + 1
    region.blocks[at:at] = [*blocks[1:], after]
    for block in blocks[1:]:
        block.region = region
    for block in (before, *blocks[1:]):
        _leave(block, after)


def _leave(block: Block, after: Block) -> None:
    """A return becomes a branch to the rest of the caller's block."""
    terminator = block.terminator
    if terminator.name != "tt.return":
        return
    branch = Op("cf.br", terminator.operands, (), {"segments": (len(terminator.operands),)}, line=terminator.line)
    branch.successors = (after,)
    terminator.drop()
    block.append(branch)


def _inline_calls(function: Op, by_name: dict[str, Op]) -> bool:
    changed = False
    for call in _calls(function):
        callee = by_name.get(call.attrs["callee"])
        if callee is None or callee is function or not _may_inline(call, callee):
            continue
        blocks = _copied_blocks(callee, list(call.operands))
        if len(blocks) == 1:
            _inline_single(call, blocks[0])
        else:
            _inline_several(call, blocks)
        changed = True
    return changed


def _drop_uncalled(module: Module) -> None:
    called = {call.attrs["callee"] for function in module.functions for call in _calls(function)}
    module.functions = [
        function for function in module.functions if function.attrs.get("visibility") != "private" or function.attrs["name"] in called
    ]


def run(module: Module) -> None:
    inline(module, canonicalize)


def inline(module: Module, simplify: Callable[[Op], object]) -> None:
    """Inline what may be, with ``simplify`` for each function before and after."""
    by_name = {function.attrs["name"]: function for function in module.functions}
    for function in _callees_first(module):
        for _ in range(_MAX_ITERATIONS):
            simplify(function)
            if not _inline_calls(function, by_name):
                break
    before = -1
    while before != len(module.functions):
        before = len(module.functions)
        _drop_uncalled(module)


