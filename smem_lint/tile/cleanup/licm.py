"""Motion of loop-invariant code, loads included, out of loops.

Facts: ``lib/Dialect/Triton/Transforms/LoopInvariantCodeMotion.cpp``, 3.8.0, and
``mlir/lib/Transforms/Utils/LoopInvariantCodeMotionUtils.cpp`` as linked into it.
"""

from __future__ import annotations

from smem_lint.tile.effects import LOOPS, READ, TERMINATORS, is_memory_effect_free, is_speculatable, recursive_effects
from smem_lint.tile.ir import Block, Module, Op, Value
from smem_lint.tile.types import I1, Tensor

_ONLY_READS = frozenset({READ})


def _only_reads(op: Op) -> bool:
    effects = recursive_effects(op)
    return effects is not None and effects <= _ONLY_READS


class _Motion:
    def __init__(self, loop: Op) -> None:
        self.loop = loop
        self.reads_only: bool | None = None

    def outside(self, value: Value) -> bool:
        """Whether a value is defined outside of the loop."""
        return not self.loop.is_ancestor(value.op) if value.op is not None else not self._holds(value.parent_block)

    def _holds(self, block: Block) -> bool:
        owner = block.parent_op
        return owner is not None and self.loop.is_ancestor(owner)

    def movable(self, op: Op) -> bool:
        if op.name in TERMINATORS:
            return False
        if op.name != "tt.load":
            return is_memory_effect_free(op) and is_speculatable(op)
        if not _only_reads(op):
            return False
        if self.reads_only is None:
            self.reads_only = _only_reads(self.loop)
        return self.reads_only

    def invariant(self, op: Op) -> bool:
        """Whether nothing that ``op`` or its regions read is defined in the loop (and outside of ``op``)."""
        if not op.regions:
            return all(self.outside(value) for value in op.operands)
        for inner in op.walk():
            for value in inner.operands:
                owner = value.op if value.op is not None else value.parent_block.parent_op
                if not self.outside(value) and not (owner is not None and op.is_ancestor(owner) and value not in op.results):
                    return False
        return True

    def move(self, op: Op) -> None:
        if op.name == "tt.load":
            if self.loop.name != "scf.for":
                return
            self._predicate(op)
        op.move_before(self.loop)

    def _predicate(self, load: Op) -> None:
        """A hoisted load happens only if the loop runs at all."""
        lower, upper = self.loop.operands[:2]
        runs = self._make("arith.cmpi", (lower, upper), I1, predicate="ult" if self.loop.attrs.get("unsigned") else "slt")
        pointer = load.operands[0].type
        if isinstance(pointer, Tensor):
            runs = self._make("tt.splat", (runs,), pointer.with_element(I1))
        _, masks, others = load.attrs.get("segments", (1, 0, 0))
        mask = self._make("arith.andi", (runs, load.operands[1]), runs.type) if masks else runs
        load.set_operands([load.operands[0], mask, *load.operands[1 + masks :]])
        load.attrs["segments"] = (1, 1, others)

    def _make(self, name: str, operands: tuple[Value, ...], type_: object, **attrs: object) -> Value:
        op = Op(name, operands, (type_,), attrs, line=self.loop.line)  # type: ignore[arg-type]
        assert self.loop.block is not None
        self.loop.block.insert_before(self.loop, op)
        return op.results[0]


class _PureMotion(_Motion):
    """MLIR's own motion, which leaves loads alone."""

    def movable(self, op: Op) -> bool:
        return op.name not in TERMINATORS and is_memory_effect_free(op) and is_speculatable(op)


def hoist_invariant(loop: Op) -> None:
    """Move what is invariant and touches no memory out of one loop (MLIR's ``moveLoopInvariantCode``)."""
    _hoist(_PureMotion(loop), loop)


def hoist(loop: Op) -> None:
    """Move what is invariant, loads included, out of one loop (Triton's motion)."""
    _hoist(_Motion(loop), loop)


def _hoist(motion: _Motion, loop: Op) -> None:
    for region in loop.regions:
        queue = [op for block in region.blocks for op in block]
        at = 0
        while at < len(queue):
            op = queue[at]
            at += 1
            if op.block is None or op.block.region is not region or not motion.movable(op) or not motion.invariant(op):
                continue
            users = [user for result in op.results for user in result.users]
            motion.move(op)
            queue += [user for user in users if user.block is not None and user.block.region is region]


def run(module: Module) -> None:
    for function in module.functions:
        for op in [op for op in function.walk_post() if op.name in LOOPS]:
            hoist(op)
