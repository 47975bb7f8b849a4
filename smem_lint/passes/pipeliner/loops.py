"""Questions about a loop's body that the pipelining passes share.

Facts: lib/Dialect/TritonGPU/Transforms/Pipeliner/PipeliningUtility.cpp and lib/Dialect/TritonGPU/Transforms/Utility.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from smem_lint.tile.ir import Block, Module, Op, Use, Value

DOTS = frozenset(("tt.dot", "tt.dot_scaled", "ttng.warp_group_dot", "ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled"))
DESCRIPTOR_LOADS = frozenset(("tt.descriptor_load", "tt.descriptor_gather"))
LOADS = DESCRIPTOR_LOADS | {"tt.load"}
VIEWS = frozenset(
    ("ttg.memdesc_index", "ttg.memdesc_subslice", "ttg.memdesc_trans", "ttg.memdesc_reshape", "ttg.memdesc_reinterpret"),
)  # fmt: skip


def operations_named(module: Module, name: str) -> list[Op]:
    """Every operation of a name, inner ones first."""
    found: list[Op] = []
    for function in module.functions:
        _collect(function, name, found)
    return found


def _collect(holder: Op, name: str, found: list[Op]) -> None:
    for region in holder.regions:
        for block in region.blocks:
            op = block.first
            while op is not None:
                if op.regions:
                    _collect(op, name, found)
                if op.name == name:
                    found.append(op)
                op = op.next


def for_loops(module: Module) -> list[Op]:
    """Every ``scf.for``, inner ones first."""
    return operations_named(module, "scf.for")


def body_operations(loop: Op) -> Iterator[Op]:
    """The operations directly in the body, without its terminator."""
    op = loop.body.first
    while op is not None and op.next is not None:
        following = op.next
        yield op
        op = following


def num_stages_of(loop: Op, default: int) -> int:
    return int(loop.attrs.get("tt.num_stages", default))


def yields_an_argument(loop: Op) -> bool:
    """Whether a yielded value is a block argument: it would come from two iterations ago, or from outside the function."""
    return any(value.op is None for value in loop.body.terminator.operands)


def has_inner_loop(loop: Op) -> bool:
    """Whether a loop stands directly in the body."""
    return any(op.name in ("scf.for", "scf.while") for op in loop.body)


def ancestor_in(block: Block, op: Op | None) -> Op | None:
    """The operation of ``block`` that is ``op`` or holds it, None if there is none."""
    while op is not None and op.block is not block:
        op = op.parent
    return op


def outer_operands(op: Op) -> Iterable[Value]:
    """The values from outside ``op`` that it or anything within it reads; each once, inner operations first."""
    if not op.regions:
        return dict.fromkeys(op.operands)
    found: dict[Value, None] = {}
    for inner in op.walk_post():
        for value in inner.operands:
            holder = value.parent_block.parent_op
            if holder is not op and holder is not None and holder.is_ancestor(op):
                found[value] = None
    return found


def top_level_users(op: Op, loop: Op, keep: Callable[[Op], bool] | None = None) -> dict[Op, None]:
    """Operations directly in the body that use results of ``op``, also in the next iteration or through views of memory."""
    body, found = loop.body, dict[Op, None]()
    pending: list[Use] = [use for result in op.results for use in reversed(result.uses)]
    while pending:
        use = pending.pop()
        user = use.owner
        if user.name == "scf.yield" and user.parent is loop:
            pending += reversed(body.args[1 + use.index].uses)
        elif user.name in VIEWS:
            pending += [inner for result in user.results for inner in reversed(result.uses)]
        elif keep is None or keep(user):
            top = ancestor_in(body, user)
            if top is not None:
                found[top] = None
    return found


def definition_and_distance(loop: Op, value: Value) -> tuple[Op | None, int]:
    """What defines ``value``, and how many iterations earlier; (None, 0) for what comes from no operation of this kind."""
    if value.op is not None:
        return value.op, 0
    body, distance, seen = loop.body, 0, set[Value]()
    while value.op is None:
        if value.block is not body or value.index == 0:
            return None, 0
        distance += 1
        value = body.terminator.operands[value.index - 1]
        if value in seen:
            return None, 0
        seen.add(value)
    return value.op, distance
