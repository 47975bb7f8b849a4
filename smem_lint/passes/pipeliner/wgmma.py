"""Let the asynchronous dots of sm_90 (``wgmma``) run on while the loop goes on, and wait for them where that is needed.

A dot that the loop only accumulates into stays in flight for one iteration; any other is waited for at once. A wait takes the
results that it makes usable, and the buffers that the dots read, so that both live until then.

Facts: lib/Dialect/TritonGPU/Transforms/Pipeliner/WGMMAPipeline.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smem_lint.layout.conversion import min_conversion_dims
from smem_lint.layout.encodings import Mma
from smem_lint.passes.pipeliner.loops import ancestor_in
from smem_lint.passes.pipeliner.wgmma_split import split_in_two
from smem_lint.tile.ir import Builder, Op, Use, Value
from smem_lint.tile.types import F32, MemDesc, Tensor

_DOT, _WAIT = "ttng.warp_group_dot", "ttng.warp_group_dot_wait"
_THROUGH = frozenset(("ttg.convert_layout", "ttg.memdesc_trans", "ttg.memdesc_reshape", "ttg.memdesc_subslice"))


def launch_dots(loop: Op) -> None:
    """Make the dots directly in the body asynchronous, with the waits that this takes."""
    in_flight: dict[Op, int] = {}
    for dot in [op for op in loop.body if op.name == _DOT]:
        dot.attrs["isAsync"] = True
        number = _carried_as(dot, loop)
        if number is not None:
            in_flight[dot] = number
        else:
            thread_through(_wait_after(dot, 0), [dot.result])
    if not in_flight:
        return
    if all(wait.attrs["pendings"] for wait in _waits(loop)):
        in_flight = {part: number for dot, number in in_flight.items() for part in split_in_two(dot)}
    _wait_in_loop(loop, list(in_flight))
    results = [loop.results[number] for number in in_flight.values()]
    thread_through(_wait_after(loop, 0), results)


def _waits(loop: Op) -> Iterator[Op]:
    return (op for op in loop.body if op.name == _WAIT)


def _wait_after(op: Op, pendings: int) -> Op:
    return Builder().after(op).op(_WAIT, (), (), {"pendings": pendings})


def thread_through(wait: Op, values: Sequence[Value]) -> Op:
    """Let ``wait`` also take ``values``, and what comes after it read them from there. Returns the wait that replaces it."""
    operands = dict.fromkeys((*wait.operands, *values))
    first_new = len(wait.operands)
    for dot in _dots_behind(values, wait):
        operands.update(dict.fromkeys(value for value in dot.operands if isinstance(value.type, MemDesc)))
    new = Builder(before=wait).op(_WAIT, operands, [value.type for value in operands], dict(wait.attrs))
    block = new.block
    assert block is not None

    def stands_before(use: Use) -> bool:
        at = ancestor_in(block, use.owner)
        return at is None or not new.is_before(at)

    for index, result in enumerate(new.results):
        if not isinstance(result.type, MemDesc):
            if index < first_new:
                wait.results[index].replace_all_uses(result)
            else:
                new.operands[index].replace_all_uses(result, stands_before)
    wait.drop()
    return new


def _dots_behind(values: Sequence[Value], wait: Op) -> list[Op]:
    """The dots that ``values`` are computed from in the block of ``wait``, up to the first on each way."""
    dots: list[Op] = []
    for value in values:
        seen: set[Op] = set()
        pending = [value.op]
        while pending:
            op = pending.pop()
            if op is None or op in seen:
                continue
            seen.add(op)
            if op.name == _DOT:
                dots.append(op)
            elif op.block is wait.block:
                pending += [operand.op for operand in reversed(op.operands)]
    return dots


# May a dot stay in flight? ------------------------------------------------------------------------------------------------------


def _carried_as(dot: Op, loop: Op) -> int | None:
    """The number of the loop's result that a dot accumulates into, if it may run on into the next iteration."""
    if any(op.name == "ttng.arrive_barrier" for op in loop.body):
        return None
    if not all(_is_ring(value, loop) for value in dot.operands[:2]):
        return None
    number = _only_yielded(dot, loop)
    if number is None or dot.operands[2].type.element is not F32:
        return None
    argument = loop.body.args[1 + number]
    if all(_accumulates(use) for use in argument.uses):
        return number
    first = next((wait for wait in _waits(loop) if not wait.attrs["pendings"]), None)
    if first is None:
        return None
    users = [ancestor_in(loop.body, use.owner) for use in argument.uses]
    if not all(user is not None and first.is_before(user) for user in users):
        return None
    thread_through(first, [argument])
    return number


def _is_ring(value: Value, loop: Op) -> bool:
    """Whether an operand in shared memory is a slot of a ring, or older than the loop; one in registers always will do."""
    if isinstance(value.type, Tensor):
        return True
    seen: set[Value] = set()
    while _is_within(value, loop):
        if value.op is not None:
            if value.op.name not in _THROUGH:
                return value.op.name == "ttg.memdesc_index"
            value = value.op.operands[0]
            continue
        if value in seen:
            return True
        seen.add(value)
        value = loop.body.terminator.operands[value.index - 1]
    return True


def _is_within(value: Value, loop: Op) -> bool:
    holder = value.parent_block.parent_op
    return holder is not None and loop.is_ancestor(holder)


def _only_yielded(dot: Op, loop: Op) -> int | None:
    """The carried value that the dot's result becomes, None if the loop also uses it otherwise (outside of branches)."""
    number: int | None = None
    pending = list(reversed(dot.result.uses))
    while pending:
        use = pending.pop()
        user = use.owner
        holder = user.parent
        assert holder is not None
        if holder is loop:
            if is_noop(user):
                pending += reversed(user.result.uses)
            elif user.name == "scf.yield" and number is None:
                number = use.index
            else:
                return None
        elif holder.name != "scf.if":
            return None
        elif user.name == "scf.yield":
            pending += reversed(holder.results[use.index].uses)
    return number


def _accumulates(use: Use) -> bool:
    """Whether a use is as a dot's accumulator, perhaps in another arrangement."""
    user = use.owner
    if user.name == _DOT:
        return use.index == 2
    return is_noop(user) and all(_accumulates(inner) for inner in user.result.uses)


def is_noop(op: Op) -> bool:
    """Whether an operation only renames elements: no thread's registers change."""
    if op.name == "ttg.convert_layout":
        source, target = op.operands[0].type, op.result.type
        return not min_conversion_dims(source.encoding, target.encoding, source.shape)
    return op.name in ("tt.reshape", "tt.trans")


# Waits in the loop ----------------------------------------------------------------------------------------------------------------


def _wait_in_loop(loop: Op, dots: list[Op]) -> None:
    """Wait for the dots of the previous iteration; not needed if the loop waits for all dots somewhere."""
    if any(not wait.attrs["pendings"] for wait in _waits(loop)):
        return
    for dot in dots:
        _wait_before_users(dot)
    for dot in dots:
        if _overwrites_registers(dot, loop):
            thread_through(_wait_after(dot, len(dots) - 1), [dot.result])
    if not _overwrites_registers(dots[-1], loop):
        thread_through(_wait_after(dots[-1], len(dots)), [dot.result for dot in dots])


def _wait_before_users(dot: Op) -> None:
    """In each block, before the first use of the dot that is not as accumulator (nor to yield it)."""
    blocks: dict[object, list[Use]] = {}
    for use in reversed(dot.result.uses):
        if use.owner.name != "scf.yield":
            blocks.setdefault(use.owner.block, []).append(use)
    for uses in blocks.values():
        block = uses[0].owner.block
        assert block is not None
        places = {op: place for place, op in enumerate(block)}
        uses.sort(key=lambda use: places[use.owner])
        first = next((at for at, use in enumerate(uses) if not (use.owner.name == _DOT and use.index == 2)), None)
        if first is not None:
            wait = Builder(before=uses[first].owner).op(_WAIT, (), (), {"pendings": 0})
            thread_through(wait, [use.value for use in uses[first:]])


def _overwrites_registers(dot: Op, loop: Op) -> bool:
    """Whether the left operand is in registers that the next iteration writes, other than by converting a dot's result."""
    left = dot.operands[0]
    if not isinstance(left.type, Tensor) or not _is_within(left, loop):
        return False
    if left.op is not None and left.op.name == "ttg.convert_layout":
        return not isinstance(left.op.operands[0].type.encoding, Mma)
    return True
