"""Scratch that an operation needs while it runs: its own, or that of a change of layout of what it reads or gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smem_lint.bounds.held import LEAST_BITS, Facts, bytes_of, operand, read_as_it_is, staged
from smem_lint.bounds.settled import Settled
from smem_lint.bounds.staging import LOADS
from smem_lint.passes.remat_rules import is_elementwise
from smem_lint.tile.ir import Op, Value
from smem_lint.tile.types import Tensor, bits_of

_STORES = ("tt.store", "tt.descriptor_store", "tt.descriptor_reduce", "tt.descriptor_scatter")
_SHUFFLING = ("tt.reduce", "tt.scan", "tt.gather", "tt.histogram", "tt.atomic_rmw", "tt.atomic_cas", "tt.map_elementwise")
"""What needs scratch of its own, of up to all that it reads and gives; views and the like only rename what a thread has."""

_HANDS_ON = ("scf.yield", "scf.for")


def scratch(op: Op) -> int:
    """Bytes that an operation may need while it runs, whatever it reads and gives."""
    if not op.results and op.name not in _STORES:
        return 0
    sizes = [bytes_of(result.type) for result in op.results]
    sizes += [bytes_of(value.type) for value in op.operands]
    if op.name == "tt.dot":
        sizes += [value.type.numel * LEAST_BITS // 8 for value in op.operands[:2]]
    elif op.name in _SHUFFLING:
        return sum(sizes)
    return max(sizes) if sizes else 0


class Passing:
    """Bytes that the operations of a function may need while they run.

    What ``Settled`` says is never converted counts for nothing: coordinates are worked out again in each layout, and what follows from
    a dot keeps the dot's layout until something else needs another one.
    """

    def __init__(self, ops: Sequence[Op], facts: Facts) -> None:
        self.facts = facts
        self.settled = Settled(ops, facts.num_warps)

    def of(self, op: Op) -> int:
        """Bytes for one operation, but for what is never converted."""
        if op.name in _SHUFFLING:
            return scratch(op)
        if not op.results and op.name not in _STORES:
            return 0
        return max((*(self._given(op, value) for value in op.results), *self._read(op)), default=0)

    def _given(self, op: Op, value: Value) -> int:
        if not value.uses or value in self.settled.coordinates or value in self.settled.products:
            return 0
        if op.name in LOADS and staged(op, self.facts) and read_as_it_is(op):
            return 0  # the dot reads it from the buffer that it is staged in
        return bytes_of(value.type)

    def _read(self, op: Op) -> Iterator[int]:
        coordinates, products = self.settled.coordinates, self.settled.products
        alone = op.name in _HANDS_ON or (is_elementwise(op.name) and all(
            value in coordinates or value in products or not isinstance(value.type, Tensor) for value in op.operands
        ))  # fmt: skip
        for index, value in enumerate(op.operands):
            if op.name == "tt.dot" and index < 2:
                bits = max(LEAST_BITS, bits_of(value.type.element))
                yield value.type.numel * bits // 8 if operand(value, self.facts, 1) else 0
            elif value in coordinates or (value in products and (alone or (op.name == "tt.dot" and index == 2))):
                yield 0
            else:
                yield bytes_of(value.type)
