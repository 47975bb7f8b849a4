"""Stretches of a function whose buffers are gone before those of the next one are needed, so that they share their place.

Places are those of the operations that stand in no other. A buffer is there from the operation on that its content is worked out from,
by operations that may be moved up to it (a load, a dot, a loop), until the last one that may read it.

Source: ReorderInstructions.cpp (a buffer is moved up to what it holds, a read of it down to its user), Allocation.cpp (lifetimes), MLIR's
CSE (of two equal operations the first is kept), Triton 3.8.0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from smem_lint.bounds.staging import DOTS, LOADS
from smem_lint.passes.remat_rules import is_elementwise
from smem_lint.tile.ir import Op, Value
from smem_lint.tile.types import Tensor

_UNIFORM = frozenset({"arith.constant", "tt.splat"})
_MOVED = frozenset({
    "tt.trans", "tt.reshape", "tt.broadcast", "tt.expand_dims", "tt.join", "tt.split", "tt.cat", "tt.fp_to_fp", "tt.addptr", "tt.bitcast",
})  # fmt: skip


@dataclass(slots=True)
class Stretch:
    """Places ``start`` to ``end``, both of them within, and the bytes of all buffers that are there."""

    start: int
    end: int
    bytes: int


class Places:
    """The operations of a function that stand in no other, in order, and from where to where each of its buffers is.

    ``owned`` are the sizes of the buffers of each operation (``held.owned``).
    """

    def __init__(self, function: Op, owned: Mapping[Op, list[int]]) -> None:
        self.ops = [op for block in function.regions[0].blocks for op in block]
        self._function, self._owned = function, owned
        self._places = {op: place for place, op in enumerate(self.ops)}

    def most(self) -> int:
        """Bytes of the buffers that are needed at one place, where there are most of them."""
        found: Counter[int] = Counter()
        for op, sizes in self._owned.items():
            found[self._place(op)] += sum(sizes)
        return max(found.values(), default=0)

    def stretches(self, coordinates: Collection[Value]) -> list[Stretch]:
        """The stretches, in order, none of which meets another.

        ``coordinates`` are values that are worked out again in another layout, wherever that is needed.
        """
        found: list[Stretch] = []
        for start, end, size in sorted(self._buffers(self._starts(coordinates))):
            if found and start <= found[-1].end:
                found[-1].end = max(found[-1].end, end)
                found[-1].bytes += size
            else:
                found.append(Stretch(start, end, size))
        return found

    def _buffers(self, starts: Mapping[Value, int]) -> Iterator[tuple[int, int, int]]:
        for op, sizes in self._owned.items():
            here = self._place(op)
            if op.name in DOTS:
                for size, value in zip(sizes, op.operands, strict=False):
                    yield starts[value], here, size
            elif op.name in LOADS:
                yield here, self._last_reader(op), sum(sizes)
            else:
                tiles = [value for value in op.operands if isinstance(value.type, Tensor)]
                yield min([here, *(starts[value] for value in tiles)]), here, sum(sizes)

    def _place(self, op: Op) -> int:
        while op not in self._places:
            parent = op.parent
            assert parent is not None
            op = parent
        return self._places[op]

    def _starts(self, coordinates: Collection[Value]) -> dict[Value, int]:
        """For each value where the first of those stands that it is worked out from by operations that may be moved."""
        starts: dict[Value, int] = {}
        first: dict[object, int] = {}
        for place, op in enumerate(self.ops):
            first.setdefault(_alike(op), place)
        uniform: set[Value] = set()  # all elements are the same: such a tile is made anew in any layout
        for op in self._function.walk():
            for argument in (argument for region in op.regions for block in region.blocks for argument in block.args):
                starts[argument] = self._place(op) if op is not self._function else 0
            if not op.results:
                continue
            here = self._place(op)
            tiles = [value for value in op.operands if isinstance(value.type, Tensor)]
            if not _moves(op):
                here = min(here, first.get(_alike(op), here))
                alike = op.name in _UNIFORM
            else:
                here = min([here, *(starts[value] for value in tiles if value not in coordinates and value not in uniform)])
                alike = bool(tiles) and len(tiles) == len(op.operands) and uniform.issuperset(tiles)
            starts.update(dict.fromkeys(op.results, here))
            uniform.update(op.results if alike else ())
        return starts

    def _last_reader(self, load: Op) -> int:
        last, pending, seen = self._place(load), list(load.results), set[Value]()
        while pending:
            value = pending.pop()
            if value in seen:
                continue
            seen.add(value)
            for user in value.users:
                last = max(last, self._place(user))
                if _moves(user):
                    pending += user.results
        return last


def _alike(op: Op) -> object:
    return (op.name, *(result.type for result in op.results))


def _moves(op: Op) -> bool:
    return not op.regions and (op.name in _MOVED or is_elementwise(op.name))
