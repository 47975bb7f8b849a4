"""Layouts that keep reductions and gathers within a thread or a warp; a sum over a loop is kept per thread until the loop ends.

Facts: lib/Dialect/TritonGPU/Transforms/OptimizeThreadLocality.cpp, Triton 3.8.0. (Triton splits several reductions of one loop in the
order of a hash table, which only decides the order of the loop's arguments; here it is program order.)
"""

from __future__ import annotations

import math
from collections.abc import Callable

from smem_lint.layout.distributed import blocked_for, elems_per_thread, order_of, thread_order, view_is_expensive, warp_order
from smem_lint.layout.encodings import Blocked, Slice
from smem_lint.passes.rewriting import convert_value
from smem_lint.tile.cleanup.rewriter import Rewriter, rewrite
from smem_lint.tile.ir import Builder, Module, Op, Use, Value
from smem_lint.tile.types import Tensor
from smem_lint.tile.unsupported import Unsupported

_LANES = 32
_NEUTRAL = {
    "arith.addf": -0.0, "arith.mulf": 1.0, "arith.maximumf": -math.inf, "arith.maxnumf": -math.inf, "arith.minimumf": math.inf,
    "arith.minnumf": math.inf,
}  # fmt: skip


def run(module: Module) -> None:
    """Change layouts of reshapes and gathers, then split reductions that a loop adds up."""

    def reshape(op: Op, rewriter: Rewriter) -> bool:
        return _reshape_for_reduction(op, module.num_warps, rewriter)

    def gather(op: Op, rewriter: Rewriter) -> bool:
        return _gather_within_warps(op, module.num_warps, rewriter)

    patterns: dict[str, tuple[Callable[[Op, Rewriter], bool], ...]] = {"tt.reshape": (reshape,), "tt.gather": (gather,)}
    for function in module.functions:
        rewrite(function, patterns)
    for op in [op for op in module.walk_post() if op.name == "tt.reduce" and _accumulates(op)]:
        _split(op)


# Reshapes and gathers -------------------------------------------------------------------------------------------------------


def _reshape_for_reduction(op: Op, num_warps: int, rewriter: Rewriter) -> bool:
    """A reshape that may reorder puts all elements along the axis of the reductions behind it into one thread."""
    if not op.attrs.get("allow_reorder"):
        return False
    axes = {user.attrs["axis"] for user in op.results[0].users if user.name == "tt.reduce"}
    if len(axes) != 1:
        return False
    axis = axes.pop()
    type_ = op.results[0].type
    old = type_.encoding
    if isinstance(old, Blocked) and old.threads_per_warp[axis] == 1 and old.warps_per_cta[axis] == 1:
        return False
    order = (*(dim for dim in order_of(old, type_.shape) if dim != axis), axis)
    encoding = blocked_for(type_.shape, (1,) * len(type_.shape), order, num_warps)
    source = op.operands[0].type
    if encoding is old or view_is_expensive(source.encoding, source.shape, encoding, type_.shape):
        return False
    op.attrs["efficient_layout"] = True
    _retype(op, encoding, rewriter)
    return True


def _retype(op: Op, encoding: Blocked, rewriter: Rewriter) -> None:
    """Change the encoding of a result in place; what used it sees it through a conversion."""
    result = op.results[0]
    old = result.type
    result.retype(old.with_encoding(encoding))
    convert = Op("ttg.convert_layout", (result,), (old,), line=op.line)
    result.replace_all_uses(convert.results[0], unless=lambda use: use.owner is convert)
    assert op.block is not None
    op.block.insert_after(op, convert)
    rewriter.modified(op)
    rewriter.push(convert)


def _gather_within_warps(op: Op, num_warps: int, rewriter: Rewriter) -> bool:
    """Whole columns along the axis in one warp, so that the gather is a shuffle; a vector is left alone."""
    source = op.operands[0].type
    if op.attrs.get("efficient_layout") or len(source.shape) == 1:
        return False
    encoding = _gather_encoding(source, op.attrs["axis"], num_warps)
    for index in (0, 1):
        value = convert_value(op.operands[index], encoding, op)
        op.set_operand(index, value)
        rewriter.push(value.op)
    op.attrs["efficient_layout"] = True
    _retype(op, encoding, rewriter)
    return True


def _gather_encoding(source: Tensor, axis: int, num_warps: int) -> Blocked:
    shape, rank = source.shape, len(source.shape)
    lanes, warps, sizes = [1] * rank, [1] * rank, [1] * rank
    lanes[axis] = min(shape[axis], _LANES)
    order, lanes_left, warps_left = [axis], _LANES // lanes[axis], num_warps
    for dim in thread_order(source.encoding, shape):
        if dim != axis:
            order.append(dim)
            lanes[dim] = min(shape[dim], lanes_left)
            lanes_left //= lanes[dim]
    for dim in warp_order(source.encoding, shape):
        if dim != axis:
            warps[dim] = min(shape[dim] // lanes[dim], warps_left)
            warps_left //= warps[dim]
    sizes[axis] = shape[axis] // lanes[axis]
    lanes[axis] *= lanes_left
    warps[axis] *= warps_left
    return Blocked(tuple(sizes), tuple(lanes), tuple(warps), tuple(order))


# Reductions that a loop adds up ---------------------------------------------------------------------------------------------


def _combination(reduce: Op) -> str | None:
    """The name of the one operation that combines two elements."""
    ops = list(reduce.body)
    return ops[0].name if len(ops) == 2 else None


def _accumulates(reduce: Op) -> bool:
    """Whether loaded rows are reduced and the loop only adds the outcome to a constant that it carries."""
    type_ = reduce.operands[0].type
    rank = len(type_.shape)
    if _combination(reduce) not in _NEUTRAL or reduce.attrs.get("reduction_ordering"):
        return False
    if not isinstance(type_.encoding, Blocked) or rank < 2 or reduce.attrs["axis"] != rank - 1:
        return False
    if any(value.op is None or value.op.name != "tt.load" for value in reduce.operands):
        return False
    if elems_per_thread(type_.encoding, type_.shape)[-1] == 1 or not _has_one_use(reduce):
        return False
    user = next(reduce.results[0].users)
    if len(user.results) != 1 or not _has_one_use(user):
        return False
    use = _only_use(user)
    loop = reduce.parent
    if use.owner.name != "scf.yield" or loop is None or loop.name != "scf.for":
        return False
    if use.index + 3 >= len(loop.operands):
        return False
    start = loop.operands[3 + use.index].op
    return start is not None and start.name == "arith.constant"


def _has_one_use(op: Op) -> bool:
    return sum(len(result.uses) for result in op.results) == 1


def _only_use(op: Op) -> Use:
    return next(use for result in op.results for use in result.uses)


def _split(reduce: Op) -> None:
    """Reduce each thread's own elements in the loop, carry those partial results, and reduce them behind the loop."""
    source, axis = reduce.operands[0].type, reduce.attrs["axis"]
    rank = len(source.shape)
    per_thread = elems_per_thread(source.encoding, source.shape)[axis]
    view = Tensor((*source.shape[:-1], source.shape[-1] // per_thread, per_thread), source.element, _view_encoding(source.encoding))
    partial = Tensor(view.shape[:-1], source.element, Slice(rank, view.encoding))
    use = _only_use(reduce)
    update = use.owner
    carried = update.operands[1 - use.index]
    loop = reduce.parent
    if len(update.operands) != 2 or carried.op is not None or loop is None or carried.block is not loop.body:
        raise Unsupported("a reduction in a loop that is not simply carried", reduce.line)
    number = carried.index - 1
    start, outcome = loop.operands[3 + number], loop.results[number]
    if not outcome.has_one_use or start.op is None:
        raise Unsupported("a reduction in a loop that is used more than once", reduce.line)
    final_use = next(iter(outcome.uses))
    neutral = Builder().after(start.op).constant(partial.with_element(start.type.element), _NEUTRAL[_combination(reduce) or ""])
    argument = loop.body.add_arg(neutral.type)
    new_loop = _with_carried(loop, neutral)
    build = Builder().after(reduce)
    views = {value: build.value("tt.reshape", (value,), view, allow_reorder=True, efficient_layout=True) for value in reduce.operands}
    local = build.insert(reduce.clone(dict(views)))
    local.attrs["axis"] = rank
    local.results[0].type = partial
    updated = build.value(update.name, (argument, local.results[0]), argument.type, **update.attrs)
    end = new_loop.body.terminator
    values = list(end.operands)
    values[number] = carried
    end.set_operands([*values, updated])
    behind = Builder().after(new_loop)
    whole = behind.insert(reduce.clone({reduce.operands[0]: new_loop.results[-1]}))
    shape = partial.shape[:axis] + partial.shape[axis + 1 :]
    whole.results[0].type = Tensor(shape, partial.element, Slice(axis, partial.encoding))
    back = behind.value("ttg.convert_layout", (whole.results[0],), outcome.type)
    final_use.set(behind.value(update.name, (start, back), outcome.type, **update.attrs))


def _view_encoding(encoding: Blocked) -> Blocked:
    """The elements of a thread along the last dimension become a dimension of their own."""
    size, lanes, warps = encoding.sizes
    return Blocked((*size[:-1], 1, size[-1]), (*lanes, 1), (*warps, 1), (len(size), *encoding.order))


def _with_carried(loop: Op, start: Value) -> Op:
    """The same loop with one more carried value, whose argument its body has already; takes the place of ``loop``."""
    types = [*(result.type for result in loop.results), start.type]
    new = Op(loop.name, [*loop.operands, start], types, dict(loop.attrs), line=loop.line)
    new.regions = loop.regions
    for region in new.regions:
        region.op = new
    loop.regions = ()
    assert loop.block is not None
    loop.block.insert_before(loop, new)
    for old, result in zip(loop.results, new.results, strict=False):
        old.replace_all_uses(result)
    loop.erase()
    return new
