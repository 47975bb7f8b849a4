"""Fences between writes to shared memory by threads and reads by wgmma or tcgen05; out of loops where the writes are.

Facts: lib/Dialect/TritonNvidiaGPU/Transforms/FenceInsertion.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from smem_lint.tile.ir import Module, Op, Value
from smem_lint.tile.traits import DOTS
from smem_lint.tile.types import MemDesc

_FENCE = "ttng.fence_async_shared"
_LOOPS = ("scf.for", "scf.while")


def run(module: Module) -> None:
    """Insert fences on targets from sm_90 on."""
    if module.capability < 90:
        return
    for dot in [op for op in module.walk_post() if op.name in DOTS]:
        written = [op for value in dot.operands[:2] for op in _writes_behind(value)]
        if written:
            _insert(dot, written)


def _insert(dot: Op, written: list[Op]) -> None:
    at, loop = dot, _loop_around(dot)
    while loop is not None and not any(loop.is_ancestor(op) for op in written):
        at, loop = loop, _loop_around(loop)
    if at.prev is not None and at.prev.name == _FENCE:
        return
    assert at.block is not None
    at.block.insert_before(at, Op(_FENCE, (), (), {"bCluster": False}, line=dot.line))


def _loop_around(op: Op) -> Op | None:
    at = op.parent
    while at is not None and at.name not in _LOOPS:
        at = at.parent
    return at


def _writes_behind(value: Value) -> dict[Op, None]:
    """The operations that copy registers to the memory that ``value`` is a view of."""
    found: dict[Op, None] = {}
    seen: set[Value] = set()
    stack = [value]
    while stack:
        at = stack.pop()
        if at in seen or not isinstance(at.type, MemDesc):
            continue
        seen.add(at)
        if at.op is not None:
            if at.op.name == "ttg.local_alloc" and at.op.operands:
                found[at.op] = None
            stack += at.op.operands
            continue
        owner = at.block.parent_op if at.block is not None else None
        assert owner is not None
        if owner.name == "scf.for":
            stack += (owner.operands[at.index + 2], owner.body.terminator.operands[at.index - 1])
        else:
            found[owner] = None
    return found
