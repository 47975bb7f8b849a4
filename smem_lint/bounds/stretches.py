"""Stretches of a function whose buffers are gone before those of the next one are needed, so that they share their place.

Places are those of the operations that stand in no other. A buffer is there from the operation on that its content is worked out from,
by operations that may be moved up to it (a load, a dot, a loop), until the last one that may read it.

Source: ReorderInstructions.cpp (a buffer is moved up to what it holds, a read of it down to its user), Allocation.cpp (lifetimes), MLIR's
CSE (of two equal operations the first is kept), Triton 3.8.0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from math import prod

from smem_lint.bounds.held import Facts, lasting
from smem_lint.bounds.loops import LOOPS, copies, parents
from smem_lint.bounds.staging import DOTS, LOADS
from smem_lint.passes.remat_rules import is_elementwise
from smem_lint.tile.ir import Op, Value
from smem_lint.tile.types import Tensor

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
    """The operations of a function that stand in no other, in order, and from where to where each of its buffers is."""

    def __init__(self, function: Op, facts: Facts) -> None:
        self.ops = [op for block in function.regions[0].blocks for op in block]
        self._function = function
        self._places = {op: place for place, op in enumerate(self.ops)}
        self._owners = {op: _sizes(op, facts) for op in function.walk()}
        self._coordinates: Collection[Value] = ()
        self._starts: dict[Value, int] = {}
        self._first: dict[object, int] = {}
        for place, op in enumerate(self.ops):
            if op.results:
                self._first.setdefault(_alike(op), place)

    def most(self) -> int:
        """Bytes of the buffers that are needed at one place, where there are most of them."""
        found: Counter[int] = Counter()
        for op, sizes in self._owners.items():
            if sizes:
                found[self._place(op)] += sum(sizes)
        return max(found.values(), default=0)

    def stretches(self, coordinates: Collection[Value]) -> list[Stretch]:
        """The stretches, in order, none of which meets another.

        ``coordinates`` are values that are worked out again in another layout, wherever that is needed.
        """
        self._coordinates = coordinates
        found: list[Stretch] = []
        for start, end, size in sorted(self._buffers()):
            if found and start <= found[-1].end:
                found[-1].end = max(found[-1].end, end)
                found[-1].bytes += size
            else:
                found.append(Stretch(start, end, size))
        return found

    def _buffers(self) -> Iterator[tuple[int, int, int]]:
        for op, sizes in self._owners.items():
            if not sizes:
                continue
            here = self._place(op)
            if op.name in DOTS:
                for size, value in zip(sizes, op.operands, strict=False):
                    yield self._start(value), here, size
            elif op.name in LOADS:
                yield here, self._last_reader(op), sum(sizes)
            else:
                tiles = [value for value in op.operands if isinstance(value.type, Tensor)]
                yield min([here, *map(self._start, tiles)]), here, sum(sizes)

    def _place(self, op: Op) -> int:
        while op not in self._places:
            parent = op.parent
            assert parent is not None
            op = parent
        return self._places[op]

    def _start(self, value: Value) -> int:
        """Where the first of the values stands that ``value`` is worked out from by operations that may be moved."""
        if value not in self._starts:
            self._starts[value] = 0  # for values that rest on themselves
            self._starts[value] = self._found_start(value)
        return self._starts[value]

    def _found_start(self, value: Value) -> int:
        made = value.op
        if made is None:
            owner = value.parent_block.parent_op
            return self._place(owner) if owner is not None and owner is not self._function else 0
        here = self._place(made)
        if not _moves(made):
            return min(here, self._first.get(_alike(made), here))
        return min([here, *(self._start(one) for one in made.operands if not self._made_anew(one))])

    def _made_anew(self, value: Value) -> bool:
        return not isinstance(value.type, Tensor) or value in self._coordinates or _is_uniform(value)

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


def _sizes(op: Op, facts: Facts) -> list[int]:
    """Bytes of each buffer of an operation, in all the copies that there may be of it."""
    sizes = [size + facts.alignment for size in lasting(op, facts)]
    times = prod(copies(one) for one in parents(op) if one.name in LOOPS) if sizes else 1
    return [size * times for size in sizes]


def _alike(op: Op) -> object:
    return (op.name, *(result.type for result in op.results))


def _moves(op: Op) -> bool:
    return not op.regions and (op.name in _MOVED or is_elementwise(op.name))


def _is_uniform(value: Value) -> bool:
    """Whether all elements are the same: such a tile is made anew in any layout."""
    made = value.op
    if made is None:
        return False
    if made.name in ("arith.constant", "tt.splat"):
        return True
    return _moves(made) and bool(made.operands) and all(map(_is_uniform, made.operands))
