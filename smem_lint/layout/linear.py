"""Linear layouts: where the elements of a tile live, as a linear map over GF(2).

A layout answers "which element does register r of lane l of warp w hold?". In Triton the answer is always a *linear* function
of the bits of r, l and w, where addition is exclusive-or. So it is enough to know the answer for each single bit; the answer for
any other index is the exclusive-or of those of its bits. The answers for the single bits are called *bases*.

Take a 4 x 8 tile that two lanes-bits and three register-bits cover::

    register bits   1 -> (0, 1)   2 -> (0, 2)            each lane holds four neighbours of a row ...
    lane bits       1 -> (0, 4)   2 -> (1, 0)   4 -> (2, 0)   ... and the lanes walk along the row, then down

    register 3 of lane 5 = register 1 + register 2 + lane 1 + lane 4
                         = (0, 1) ^ (0, 2) ^ (0, 4) ^ (2, 0) = (2, 7)

A basis of zeros means that the bit makes no difference: the same element is held more than once (it is *broadcast*).

**One integer for one basis.** All sizes are powers of two, so the coordinates of an element pack into one integer, the first
coordinate in the lowest bits. In the 4 x 8 tile (1, 0) is ``0b000_01`` = 1, (2, 0) is 2, (0, 1) is ``0b001_00`` = 4 and
(2, 7) is ``0b111_10`` = 30. Exclusive-or of coordinates is then exclusive-or of integers, and the layout above reads
``register = (4, 8), lane = (16, 1, 2)``. The first coordinate being the fastest is not a matter of taste: Triton's algorithms for
shared memory look at bases in ascending order of this very integer.

**The same object describes conversions.** The map from a place in layout ``b`` to the place in layout ``a`` that holds the same
element has places as inputs and places as outputs; it is linear too (``b.invert_and_compose(a)``), so it is a ``LinearLayout``
whose "tile" has one dimension for each input of ``a``.

Facts: include/triton/Tools/LinearLayout.h and lib/Tools/LinearLayout.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from smem_lint.tile.types import Interned

Dims = tuple[int, ...]


def log2(size: int) -> int:
    """The exponent of a power of two (of the largest one not above ``size`` otherwise)."""
    return size.bit_length() - 1


@cache
def shifts_of(shape: Dims) -> Dims:
    """The lowest bit of each coordinate in a packed integer; ``shifts_of((4, 8)) == (0, 2)``."""
    shifts, at = [], 0
    for size in shape:
        shifts.append(at)
        at += log2(size)
    return tuple(shifts)


class LinearLayout(Interned):
    """For each input (``register``, ``lane`` …), slowest last, the packed element that each bit of the index adds.

    ``inputs`` names the inputs, ``bases`` has one tuple of integers for each, ``shape`` is the size of the tile in elements.
    Layouts exist once each, so ``is`` compares them.
    """

    __slots__ = ("inputs", "bases", "shape", "shifts", "_by_name")
    inputs: tuple[str, ...]
    bases: tuple[Dims, ...]
    shape: Dims
    shifts: Dims
    _by_name: dict[str, Dims]

    def __new__(cls, inputs: Iterable[str], bases: Iterable[Iterable[int]], shape: Iterable[int]) -> LinearLayout:
        return cls._of(tuple(inputs), tuple(map(tuple, bases)), tuple(shape))  # type: ignore[no-any-return]

    def _derive(self) -> None:
        self.shifts = shifts_of(self.shape)
        self._by_name = dict(zip(self.inputs, self.bases, strict=True))

    @classmethod
    def of(cls, shape: Sequence[int], **bases: Sequence[Sequence[int]]) -> LinearLayout:
        """A layout from coordinates: ``LinearLayout.of((4, 8), register=[(0, 1), (0, 2)], lane=[(0, 4), (1, 0), (2, 0)])``."""
        shifts = shifts_of(tuple(shape))
        return cls(bases, ([_pack(basis, shifts) for basis in column] for column in bases.values()), shape)

    # Looking at a layout ------------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Dims:
        """The bases of one input, packed."""
        return self._by_name[name]

    @property
    def register(self) -> Dims:
        return self._by_name["register"]

    @property
    def lane(self) -> Dims:
        return self._by_name["lane"]

    @property
    def warp(self) -> Dims:
        return self._by_name["warp"]

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def bits(self) -> int:
        """How many bits a packed element has."""
        return sum(log2(size) for size in self.shape)

    def size(self, name: str) -> int:
        """How many indices the input has: 32 for ``lane``."""
        return 1 << len(self._by_name[name])

    @property
    def input_sizes(self) -> Dims:
        return tuple(1 << len(column) for column in self.bases)

    def all_bases(self) -> Iterator[int]:
        for column in self.bases:
            yield from column

    def coordinates(self, packed: int) -> Dims:
        """The coordinates in a packed integer: 30 is (2, 7) in a 4 x 8 tile."""
        return tuple(packed >> shift & size - 1 for shift, size in zip(self.shifts, self.shape, strict=True))

    def along(self, packed: int, dim: int) -> int:
        """One coordinate of a packed integer."""
        return packed >> self.shifts[dim] & self.shape[dim] - 1

    def coordinate_bases(self, name: str) -> tuple[Dims, ...]:
        """The bases of one input as coordinates."""
        return tuple(self.coordinates(basis) for basis in self._by_name[name])

    def apply(self, **indices: int) -> Dims:
        """The coordinates of the element at a place: ``layout.apply(register=3, lane=5)``."""
        packed = 0
        for name, index in indices.items():
            for bit, basis in enumerate(self._by_name[name]):
                if index >> bit & 1:
                    packed ^= basis
        return self.coordinates(packed)

    def is_surjective(self) -> bool:
        """Whether every element is held somewhere."""
        return len(_Span(self.all_bases()).pivots) == self.bits

    def is_injective(self) -> bool:
        """Whether no element is held twice."""
        return len(_Span(self.all_bases()).pivots) == sum(map(len, self.bases))

    def free_masks(self) -> dict[str, int]:
        """For each input the bits that are no help: their bases are sums of earlier ones, so they repeat elements.

        Registers count as earlier than lanes, lanes as earlier than warps: where a register and a warp bit have the same
        basis, it is the warp that is free.
        """
        span, masks = _Span(()), {}
        for name, column in zip(self.inputs, self.bases, strict=True):
            masks[name] = sum(1 << bit for bit, basis in enumerate(column) if not span.add(basis))
        return masks

    def consecutive(self) -> int:
        """How many neighbours along coordinate 0 the first input's lowest bits run over, aligned to that number.

        ``getNumConsecutiveInOut``: the run ends where a bit does something else, or where any other bit has a part of it.
        """
        first, run = self.bases[0], 0
        while run < len(first) and first[run] == 1 << run and run < log2(self.shape[0]):
            run += 1
        others = 0
        for basis in (*first[run:], *(basis for column in self.bases[1:] for basis in column)):
            others |= basis & self.shape[0] - 1
        return min(1 << run, others & -others) if others else 1 << run

    # Making others from it ----------------------------------------------------------------------------------------------

    def replace(self, **columns: Iterable[int]) -> LinearLayout:
        """The same layout with other bases (packed) for some inputs."""
        return LinearLayout(self.inputs, (columns.get(name, column) for name, column in self._by_name.items()), self.shape)

    def without_zeros(self, name: str = "register") -> LinearLayout:
        """Drop the bits of an input that hold the same element again (broadcast registers carry nothing new)."""
        column = self._by_name[name]
        return self.replace(**{name: filter(None, column)}) if 0 in column else self

    def on(self, inputs: Iterable[str]) -> LinearLayout:
        """The layout of some inputs only, the others held at zero."""
        names = tuple(inputs)
        return LinearLayout(names, (self._by_name[name] for name in names), self.shape)

    def without_dim(self, dim: int) -> LinearLayout:
        """Forget one coordinate."""
        shape = self.shape[:dim] + self.shape[dim + 1 :]
        low, width = self.shifts[dim], log2(self.shape[dim])
        below = (1 << low) - 1
        return LinearLayout(
            self.inputs, ([basis & below | basis >> low + width << low for basis in column] for column in self.bases), shape
        )

    def transpose(self, order: Sequence[int]) -> LinearLayout:
        """Rename coordinates: coordinate ``i`` of the result is coordinate ``order[i]`` of this layout."""
        shape = tuple(self.shape[dim] for dim in order)
        shifts = shifts_of(shape)

        def move(basis: int) -> int:
            return sum(self.along(basis, dim) << shift for dim, shift in zip(order, shifts, strict=True))

        return LinearLayout(self.inputs, (map(move, column) for column in self.bases), shape)

    def reshape(self, shape: Sequence[int]) -> LinearLayout:
        """The same places after a row-major reshape of the tile (last coordinate fastest), as ``tt.reshape`` does it.

        A packed integer has the *first* coordinate in its low bits, so the bits are reordered to row-major, cut anew and
        reordered back.
        """
        target = tuple(shape)
        to_row_major = _reversed_bits(self.shape)
        from_row_major = {row: bit for bit, row in enumerate(_reversed_bits(target))}
        moves = [from_row_major[row] for row in to_row_major]

        def move(basis: int) -> int:
            return sum(1 << place for bit, place in enumerate(moves) if basis >> bit & 1)

        return LinearLayout(self.inputs, (map(move, column) for column in self.bases), target)

    def compose(self, outer: LinearLayout) -> LinearLayout:
        """First this map, then ``outer``, whose inputs are this layout's coordinates, in their order."""
        columns = [basis for column in outer.bases for basis in column]

        def through(packed: int) -> int:
            image = 0
            for bit, basis in enumerate(columns):
                if packed >> bit & 1:
                    image ^= basis
            return image

        return LinearLayout(self.inputs, (map(through, column) for column in self.bases), outer.shape)

    def invert_and_compose(self, outer: LinearLayout) -> LinearLayout:
        """For each place of this layout, a place of ``outer`` that holds the same element.

        The result's inputs are this layout's; its coordinates are the inputs of ``outer`` in order, so that
        ``self.invert_and_compose(outer).compose(outer)`` is this layout again. There may be many such maps, since ``outer``
        may hold elements more than once. Triton's choice, which decides what a conversion costs:

        * an input whose bases are the same in both maps to itself, bit by bit (also its zeros), and takes no further part;
        * for the rest, only those columns of ``outer`` are used that are independent of the columns before them (registers
          first, then lanes, then warps).

        Example: ``self`` has lanes (1, 2), ``outer`` has registers (1,) and lanes (2, 0)::

            lane bit 0 holds element 1, which outer keeps in register bit 0
            lane bit 1 holds element 2, which outer keeps in lane bit 0

        Raises ValueError where ``outer`` does not hold an element of this layout.
        """
        return _invert_and_compose(self, outer)

    def __str__(self) -> str:
        columns = ", ".join(f"{name}={list(self.coordinate_bases(name))}" for name in self.inputs)
        return f"LinearLayout({'x'.join(map(str, self.shape))}: {columns})"


def _pack(coordinates: Sequence[int], shifts: Dims) -> int:
    return sum(value << shift for value, shift in zip(coordinates, shifts, strict=True))


@cache
def _reversed_bits(shape: Dims) -> Dims:
    """For each bit of a packed integer its place when the last coordinate is the fastest one."""
    places: list[int] = []
    for dim, size in enumerate(shape):
        low = sum(log2(inner) for inner in shape[dim + 1 :])
        places.extend(range(low, low + log2(size)))
    return tuple(places)


class _Span:
    """A growing set of independent vectors, each known as a sum of the columns it was made from.

    ``pivots`` maps the highest bit of a vector to the vector and to the columns (a bit set) that it is the sum of.
    """

    __slots__ = ("pivots",)

    def __init__(self, vectors: Iterable[int]) -> None:
        self.pivots: dict[int, tuple[int, int]] = {}
        for vector in vectors:
            self.add(vector)

    def reduce(self, vector: int, made_of: int = 0) -> tuple[int, int]:
        """What is left of ``vector`` after taking out all that the span can express, and the columns that took part."""
        pivots, rest = self.pivots, vector
        left = 0
        while rest:
            top = rest.bit_length()
            if top in pivots:
                known, columns = pivots[top]
                rest ^= known
                made_of ^= columns
            else:
                left |= 1 << top - 1
                rest ^= 1 << top - 1
        return left, made_of

    def add(self, vector: int, column: int = 0) -> bool:
        """Add a vector under the name ``column`` (a single bit); False if it was in the span already."""
        left, made_of = self.reduce(vector, column)
        if left:
            self.pivots[left.bit_length()] = left, made_of
        return bool(left)


@cache
def _invert_and_compose(inner: LinearLayout, outer: LinearLayout) -> LinearLayout:
    same = {name for name in inner.inputs if name in outer.inputs and _same_elements(inner, outer, name)}
    span, bit, starts = _Span(()), 0, {}
    for name, column in zip(outer.inputs, outer.bases, strict=True):
        starts[name] = bit
        for basis in column:
            if name not in same:
                span.add(basis, 1 << bit)
            bit += 1
    aligned = inner if inner.shape == outer.shape else _repack(inner, outer.shape)

    def places(name: str, column: Dims) -> Iterator[int]:
        if name in same:
            yield from (1 << starts[name] + index for index in range(len(column)))
            return
        for basis in column:
            left, place = span.reduce(basis)
            if left:
                raise ValueError(f"element {aligned.coordinates(basis)} of {inner} has no place in {outer}")
            yield place

    return LinearLayout(inner.inputs, [tuple(places(*item)) for item in aligned._by_name.items()], outer.input_sizes)


def _same_elements(a: LinearLayout, b: LinearLayout, name: str) -> bool:
    return a[name] == b[name] if a.shape == b.shape else a.coordinate_bases(name) == b.coordinate_bases(name)


def _repack(layout: LinearLayout, shape: Dims) -> LinearLayout:
    """The same coordinates packed for a larger tile."""
    columns: Mapping[str, Any] = {name: layout.coordinate_bases(name) for name in layout.inputs}
    return LinearLayout.of(shape, **columns)
