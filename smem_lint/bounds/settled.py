"""Values that are never converted from one layout to another.

*Coordinates* (offsets, pointers and masks worked out from ranges, splats and constants) cost less to work out again in another layout
than a conversion does, so that none is left. *Products* (the result of a function's only dot, and what follows from it, coordinates and
constants element by element) all have the dot's layout: nothing else that they meet asks for one of its own.

Source: RemoveLayoutConversions.cpp (``isRematBeneficial``, ``LayoutPropagation``), Triton 3.8.0. Held against all conversions of the
programs of 2,393 records: ``tests/model/test_bounds.py`` does so for a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from smem_lint.bounds.staging import DOTS
from smem_lint.passes.remat_rules import is_elementwise
from smem_lint.tile.ir import Op, Value
from smem_lint.tile.types import Tensor, bits_of

_Given = Callable[[Op, set[Value]], bool]
_Carried = Callable[[Value, Value, set[Value]], bool]

_SOURCES = frozenset({"tt.splat", "tt.make_range", "arith.constant"})
_SAME = frozenset({"tt.addptr", "tt.broadcast", "tt.expand_dims", "tt.bitcast"})
_SAVED = 128
"""What a conversion costs for each element, at least, in the compiler's unit; arithmetic costs its bytes."""

_COPIES = 4
"""How many times as many elements a thread may have of a tile in another layout; of a vector it may have all."""

_LEAST = 128
"""Elements a warp from which on a tile is spread over all threads without copies."""


class Settled:
    """The ``coordinates`` and ``products`` of a function."""

    def __init__(self, ops: Sequence[Op], num_warps: int) -> None:
        self.ops = ops
        self.products: set[Value] = set()
        offsets = self._settled(_is_offset, _goes_on_as_offset, results=False)
        dots = [op for op in ops if op.name in DOTS]
        if len(dots) == 1 and dots[0].name == "tt.dot":
            products = self._settled(
                lambda op, found: op is dots[0] or _follows(op, found, offsets),
                lambda start, end, found: (start in found or start in offsets) and end in found,
                results=True,
            )
            start = dots[0].operands[2]
            self.products = products if start in products or start in offsets else set()
        weights = self._weights(offsets)
        least = _LEAST * num_warps
        self.coordinates = {value for value in offsets if value.type.numel >= least and weights[value] <= _SAVED * value.type.numel}

    def _settled(self, given: _Given, carried: _Carried, *, results: bool) -> set[Value]:
        """Values in program order, what loops carry (and, if wanted, give) on trial; again without what did not stand the trial."""
        rejected: set[Value] = set()
        while True:
            found: set[Value] = set()
            trials: list[Value] = []
            for op in self.ops:
                if op.name == "scf.for":
                    for value in op.body.args[1:]:
                        if isinstance(value.type, Tensor) and value not in rejected:
                            trials.append(value)
                            found.update((value, op.results[value.index - 1]) if results else (value,))
                elif len(op.results) == 1 and isinstance(op.results[0].type, Tensor) and given(op, found):
                    found.add(op.results[0])
            failed = [value for value in trials if not carried(*_ends(value), found)]
            if not failed:
                return found
            rejected.update(failed)

    def _weights(self, offsets: set[Value]) -> dict[Value, int]:
        """What it takes to work each of the offsets out again, at most: bytes of arithmetic, those of its operands included."""
        weights: dict[Value, int] = {}
        for _ in range(2):  # what a loop carries has the weight of its start at first, and then that of what it goes on with
            for op in self.ops:
                if op.name == "scf.for":
                    for value in op.body.args[1:]:
                        if value in offsets:
                            start, end = _ends(value)
                            weights[value] = max(weights[start], weights.get(end, 0))
                elif op.results and op.results[0] in offsets:
                    value = op.results[0]
                    weights[value] = _own_weight(op) + sum(weights.get(operand, 0) for operand in op.operands)
        return weights


def _ends(value: Value) -> tuple[Value, Value]:
    """What a loop's argument starts with, and what it goes on with."""
    block = value.block
    assert block is not None and block.parent_op is not None
    return block.parent_op.operands[value.index + 2], block.terminator.operands[value.index - 1]


def _is_offset(op: Op, found: set[Value]) -> bool:
    name = op.name
    if name in _SOURCES:
        return True
    if name not in _SAME and not (name.startswith("arith.") and name != "arith.divf"):
        return False
    return all(value in found or not isinstance(value.type, Tensor) for value in op.operands)


def _goes_on_as_offset(start: Value, end: Value, found: set[Value]) -> bool:
    return start in found and end in found


def _follows(op: Op, products: set[Value], offsets: set[Value]) -> bool:
    if not is_elementwise(op.name) or op.name == "tt.elementwise_inline_asm":
        return False
    tiles = [value for value in op.operands if isinstance(value.type, Tensor)]
    return any(value in products for value in tiles) and all(value in products or value in offsets for value in tiles)


def _own_weight(op: Op) -> int:
    if not op.name.startswith("arith.") or op.name == "arith.constant":
        return 0
    tile = op.results[0].type
    weight: int = tile.numel * max(1, bits_of(tile.element) // 8) * (_COPIES if len(tile.shape) > 1 else tile.numel)
    return weight
