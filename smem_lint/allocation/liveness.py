"""From where to where each buffer of a function is live, in numbers of operations.

Operations are numbered after those inside them (post-order), so that an operation's own number comes last. A range is half-open.

A buffer is live wherever a value that stands for it is: the result of its ``ttg.local_alloc``, views of it, and block arguments
that receive it. Within a block a value is live from its definition, or the block's start, to its last use, or the block's end if
a following block needs it. The range of a buffer is the hull of all of these, from the lowest number to the highest: in a loop,
which ends with a jump back, a buffer from outside is live up to the loop's last operation.

Facts: ``AllocationAnalysis::resolveLiveness`` in lib/Analysis/Allocation.cpp, lib/Analysis/Alias.cpp (Triton 3.8.0), MLIR's
Liveness.cpp.
"""

from __future__ import annotations

from collections.abc import Iterable

from smem_lint.tile.ir import Block, Op, Value

Range = tuple[int, int]

_VIEWS = frozenset({
    "ttg.memdesc_index", "ttg.memdesc_subslice", "ttg.memdesc_subview", "ttg.memdesc_trans", "ttg.memdesc_reshape",
    "ttg.memdesc_reinterpret",
})  # fmt: skip


def number_operations(function: Op) -> dict[Op, int]:
    """The number of each operation of a function, the function's own being the highest."""
    return {op: number for number, op in enumerate(function.walk_post())}


def buffer_ranges(function: Op, allocs: Iterable[Op], numbers: dict[Op, int]) -> dict[Op, Range]:
    """For each ``ttg.local_alloc`` the range in which its buffer is live."""
    predecessors = _predecessors(function)
    ranges = {}
    for alloc in allocs:
        parts = [_value_range(value, numbers, predecessors) for value in _aliases(alloc.result)]
        ranges[alloc] = min(start for start, _ in parts), max(end for _, end in parts)
    return ranges


def loop_ranges(function: Op, numbers: dict[Op, int]) -> tuple[tuple[int, int, int | None], ...]:
    """Each loop of a function whose control flow is lowered: from where a jump leads back to, to that jump; and its line."""
    found: dict[int, tuple[int, int | None]] = {}
    for block in function.regions[0].blocks:
        jump = block.terminator
        for successor in jump.successors:
            head = numbers[successor.terminator if successor.first is None else successor.first]
            if head <= numbers[jump]:
                found[head] = max(found.get(head, (0, None)), (numbers[jump] + 1, jump.line), key=lambda one: one[0])
    return tuple((start, end, line) for start, (end, line) in sorted(found.items(), key=lambda one: (one[0], -one[1][0])))


def _predecessors(function: Op) -> dict[Block, list[Block]]:
    """The blocks from which each block can be entered."""
    found: dict[Block, list[Block]] = {}
    for block in function.regions[0].blocks:
        for successor in block.terminator.successors:
            found.setdefault(successor, []).append(block)
    return found


def _aliases(buffer: Value) -> list[Value]:
    """All values that may stand for the buffer, itself first."""
    found: dict[Value, None] = {buffer: None}
    pending = [buffer]
    while pending:
        for use in pending.pop().uses:
            for value in _handed_on(use.owner, use.index):
                if value not in found:
                    found[value] = None
                    pending.append(value)
    return list(found)


def _handed_on(op: Op, index: int) -> list[Value]:
    """Which values are the same buffer as operand ``index`` of ``op``."""
    if op.name in _VIEWS:
        return op.results if index == 0 else []
    if op.name == "arith.select":
        return op.results if index > 0 else []
    if op.name in ("cf.br", "cf.cond_br"):
        first = 0 if op.name == "cf.br" else 1
        for successor, count in zip(op.successors, op.attrs["segments"][first:], strict=True):
            if first <= index < first + count:
                return [successor.args[index - first]]
            first += count
    return []


def _value_range(value: Value, numbers: dict[Op, int], predecessors: dict[Block, list[Block]]) -> Range:
    home = value.parent_block
    uses = _uses_by_block(value, home)
    live_in = _live_in(home, uses, predecessors)
    live_out = {block for entered in live_in for block in predecessors.get(entered, ())}
    start, end = None, -1
    for block in (home, *live_in):
        if block.first is None:
            continue
        first = value.op if block is home and value.op is not None else block.first
        last = block.terminator if block in live_out else _last(uses.get(block, ()), first, numbers)
        start = numbers[first] if start is None else min(start, numbers[first])
        end = max(end, numbers[last] + 1)
    assert start is not None
    return start, end


def _uses_by_block(value: Value, home: Block) -> dict[Block, list[Op]]:
    """Uses as the operations, in blocks beside the value's own, that hold them."""
    found: dict[Block, list[Op]] = {}
    for use in value.uses:
        op = use.owner
        while op.block is not None and op.block.region is not home.region:
            parent = op.parent
            assert parent is not None
            op = parent
        if op.block is not None:
            found.setdefault(op.block, []).append(op)
    return found


def _live_in(home: Block, uses: dict[Block, list[Op]], predecessors: dict[Block, list[Block]]) -> list[Block]:
    """The blocks at whose start the value is live: from each use back to the block that defines it."""
    found = {block: None for block in uses if block is not home}
    pending = list(found)
    while pending:
        for block in predecessors.get(pending.pop(), ()):
            if block is not home and block not in found:
                found[block] = None
                pending.append(block)
    return list(found)


def _last(ops: Iterable[Op], first: Op, numbers: dict[Op, int]) -> Op:
    """The last of ``ops``, or ``first`` where none comes after it."""
    return max((first, *ops), key=numbers.__getitem__)
