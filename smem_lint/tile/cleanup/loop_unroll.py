"""Unrolling of loops that ask for it, with a loop for the remaining iterations.

Facts: ``lib/Dialect/Triton/Transforms/LoopUnroll.cpp``, 3.8.0, and ``loopUnrollByFactor`` in ``mlir/lib/Dialect/SCF/Utils/Utils.cpp``
as linked into it.
"""

from __future__ import annotations

from smem_lint.tile.cleanup.numbers import int_of
from smem_lint.tile.cleanup.patterns_region import trip_count
from smem_lint.tile.ir import Builder, Module, Op, Value

_FACTOR = "tt.loop_unroll_factor"
_STAGES = "tt.num_stages"


def _bounds(loop: Op, factor: int) -> tuple[Value, Value, bool]:
    """Upper bound and step of the unrolled loop, and whether iterations remain after it."""
    lower, upper, step = loop.operands[:3]
    builder = Builder(before=loop)
    count = trip_count(loop)
    low, high, by = int_of(lower), int_of(upper), int_of(step)
    if count is not None and low is not None and high is not None and by is not None:
        even = low + (count - count % factor) * by
        bound = builder.constant(upper.type, even) if even < high else upper
        return bound, builder.constant(step.type, by * factor), even < high
    type_ = lower.type

    def make(name: str, a: Value, b: Value) -> Value:
        return builder.value(name, (a, b), type_)

    difference = make("arith.subi", upper, lower)
    less_one = make("arith.subi", step, builder.constant(type_, 1))
    trips = make("arith.divui", make("arith.addi", difference, less_one), step)
    times = builder.constant(type_, factor)
    even_trips = make("arith.subi", trips, make("arith.remsi", trips, times))
    bound = make("arith.addi", lower, make("arith.muli", even_trips, step))
    return bound, make("arith.muli", step, times), True


def _promote(loop: Op) -> bool:
    """Put the body of a loop that runs once in its place."""
    if trip_count(loop) != 1 or loop.block is None:
        return False
    for arg, value in zip(loop.body.args, (loop.operands[0], *loop.operands[3:]), strict=True):
        arg.replace_all_uses(value)
    terminator = loop.body.terminator
    for result, value in zip(loop.results, terminator.operands, strict=True):
        result.replace_all_uses(value)
    for op in list(loop.body):
        if op is not terminator:
            op.move_before(loop)
    loop.erase()
    return True


def _repeat_body(loop: Op, factor: int, step: Value) -> None:
    body, terminator = loop.body, loop.body.terminator
    induction = body.args[0]
    original = [op for op in body if op is not terminator]
    yielded = list(terminator.operands)
    last = yielded
    for number in range(1, factor):
        mapping: dict[Value, Value] = dict(zip(body.args[1:], last, strict=True))
        if induction.uses:
            builder = Builder(before=terminator)
            stride = builder.value("arith.muli", (step, builder.constant(induction.type, number)), induction.type)
            mapping[induction] = builder.value("arith.addi", (induction, stride), induction.type)
        for op in original:
            body.insert_before(terminator, op.clone(mapping))
        last = [mapping.get(value, value) for value in yielded]
    terminator.set_operands(last)


def unroll(loop: Op, factor: int) -> Op | None:
    """Unroll one loop in place; the loop for the remaining iterations, if there is one."""
    if loop.body.first is loop.body.last:
        return None
    step = loop.operands[2]
    bound, wide_step, remains = _bounds(loop, factor)
    rest: Op | None = None
    if remains:
        rest = loop.clone({})
        assert loop.block is not None
        loop.block.insert_after(loop, rest)
        for mine, theirs in zip(loop.results, rest.results, strict=True):
            mine.replace_all_uses(theirs)
        rest.set_operands([bound, *rest.operands[1:3], *loop.results])
        if _promote(rest):
            rest = None
    loop.set_operand(1, bound)
    loop.set_operand(2, wide_step)
    _repeat_body(loop, factor, step)
    _promote(loop)
    return rest


def run(module: Module) -> None:
    for loop in [op for op in module.walk_post() if op.name == "scf.for" and op.attrs.get(_FACTOR, 1) > 1]:
        rest = unroll(loop, loop.attrs.pop(_FACTOR))
        if rest is not None:
            rest.attrs[_STAGES] = 1
