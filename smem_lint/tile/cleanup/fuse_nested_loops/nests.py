"""Which loop nests can be fused, and what prepares them.

Facts: ``lib/Dialect/TritonGPU/Transforms/FuseNestedLoops.cpp``, 3.8.0.
"""

from __future__ import annotations

from smem_lint.tile.dominance import ancestor_in, dominates
from smem_lint.tile.effects import READ, is_memory_effect_free, is_speculatable, own_effects
from smem_lint.tile.ir import Block, Builder, Op, Region, Value
from smem_lint.tile.types import I1, Pointer, Scalar, Type
from smem_lint.tile.unsupported import Unsupported

_SPECIALIZE = "tt.warp_specialize"
_DOTS = frozenset({"tt.dot", "tt.dot_scaled", "ttng.warp_group_dot", "ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled"})


def nests(region: Region) -> list[tuple[Op, list[Op]]]:
    """The outermost loops in a region with all loops in them that no other operation with regions separates from them."""
    found: list[tuple[Op, list[Op]]] = []
    for block in region.blocks:
        for op in block:
            if op.name == "scf.for":
                inside: list[Op] = []
                _loops_within(op, inside, found)
                found.append((op, inside))
            else:
                for inner in op.regions:
                    found += nests(inner)
    return found


def _loops_within(loop: Op, inside: list[Op], found: list[tuple[Op, list[Op]]]) -> None:
    for op in loop.body:
        if op.name == "scf.for":
            inside.append(op)
            _loops_within(op, inside, found)
        else:
            for region in op.regions:
                found += nests(region)


def _is_scalar(type_: Type) -> bool:
    return isinstance(type_, (Scalar, Pointer))


def _cheap(op: Op) -> bool:
    """Whether a bound's computation may move in front of the outer loop."""
    if not is_memory_effect_free(op) and own_effects(op) != frozenset({READ}):
        return False
    return all(_is_scalar(value.type) for value in (*op.operands, *op.results))


def _before(value: Value, loop: Op) -> bool:
    """Whether a value is defined before ``loop``."""
    if value.op is not None:
        return value.op is not loop and not loop.is_ancestor(value.op) and dominates(value.op, loop)
    owner = value.parent_block.parent_op
    return owner is None or not loop.is_ancestor(owner)


def _bound_computation(outer: Op, inner: Op) -> list[Op] | None:
    """The operations in the outer loop that the inner loop's bounds need, in order; None if they cannot leave it."""
    needed: dict[Op, None] = {}
    queue = list(inner.operands[:3])
    while queue:
        value = queue.pop(0)
        if _before(value, outer):
            continue
        op = value.op
        if op is None or (op not in needed and not _cheap(op)):
            return None
        if op not in needed:
            needed[op] = None
            queue += op.operands
    return _in_order(list(needed))


def _in_order(ops: list[Op]) -> list[Op]:
    """Operations sorted so that each comes after those whose results it reads."""
    chosen, done, order = set(ops), set[Op](), list[Op]()

    def visit(op: Op) -> None:
        if op in done:
            return
        done.add(op)
        for value in op.operands:
            if value.op in chosen:
                visit(value.op)
        order.append(op)

    for op in ops:
        visit(op)
    return order


def sink_to_epilogue(outer: Op, inner: Op) -> None:
    """What only the part behind the inner loop reads is computed there."""
    region = outer.regions[0]

    def behind(user: Op) -> bool:
        around = ancestor_in(region, user)
        return around is not None and around is not inner and inner.is_before(around)

    sunk: dict[Op, None] = {}
    ahead = []
    op = inner.prev
    while op is not None:
        ahead.append(op)
        op = op.prev
    for op in ahead:
        if op.name in _DOTS or not is_memory_effect_free(op) or not is_speculatable(op):
            continue
        if all(behind(user) or user in sunk for result in op.results for user in result.users):
            sunk[op] = None
    place = inner.next
    assert place is not None
    for op in _in_order(list(sunk)):
        op.move_before(place)


def iterations(builder: Builder, loop: Op) -> Value:
    lower, upper, step = loop.operands[:3]
    difference = builder.value("arith.subi", (upper, lower), lower.type)
    return builder.value("arith.ceildivsi", (difference, step), lower.type)


def _has_known_iterations(inner: Op) -> bool:
    """Whether the program says itself (``tl.assume``) that the inner loop is not empty."""
    return any(
        user.name == "arith.cmpi" and any(again.name == "llvm.intr.assume" for again in user.results[0].users)
        for user in inner.operands[1].users
    )


def speculate(outer: Op, inner: Op) -> bool:
    """Give the case of an empty inner loop a loop of its own; whether the nest can be fused."""
    if _has_known_iterations(inner):
        raise Unsupported("flattening of a loop nest with an assumption about the inner loop", inner.line)
    needed = _bound_computation(outer, inner)
    if needed is None:
        return False
    for op in needed:
        op.move_before(outer)
    builder = Builder(before=outer)
    length = iterations(builder, inner)
    empty = builder.value("arith.cmpi", (length, builder.constant(length.type, 0)), I1, predicate="eq")
    branch = builder.op("scf.if", (empty,), [result.type for result in outer.results], regions=2)
    _without_inner(outer, inner, branch.regions[0].add_block())
    for old, new in zip(outer.results, branch.results, strict=True):
        old.replace_all_uses(new)
    block = branch.regions[1].add_block()
    assert outer.block is not None
    outer.block.remove(outer)
    block.append(outer)
    block.append(Op("scf.yield", outer.results))
    return True


def _without_inner(outer: Op, inner: Op, block: Block) -> None:
    """A copy of the nest whose inner loop hands on its initial values."""
    place = sum(1 for _ in _preceding(inner))
    copy = block.append(outer.clone({}))
    copy.attrs.pop(_SPECIALIZE, None)
    block.append(Op("scf.yield", copy.results))
    twin = list(copy.body)[place]
    for result, value in zip(twin.results, twin.operands[3:], strict=True):
        result.replace_all_uses(value)
    twin.erase()


def _preceding(op: Op) -> list[Op]:
    found, at = [], op.prev
    while at is not None:
        found.append(at)
        at = at.prev
    return found[::-1]
