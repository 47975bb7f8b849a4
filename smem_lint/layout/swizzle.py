"""How a conversion lays its elements out in shared memory, and how much of the tensor is there at a time.

A conversion writes the tensor with the registers, lanes and warps of the source and reads it with those of the target. The
packed element number (see ``linear.py``) is split into four parts:

* **vector**: bits that one thread writes and reads with one instruction;
* **bank**: bits that, with the vector, fill the 1024 bits of all 32 banks once;
* **segment**: the rest; two lanes of one access that differ in a segment bit hit the same bank, which costs time. The bits are
  therefore chosen so that neither the writing nor the reading lanes move along them, or both by exclusive-or (the swizzle);
* **repetitions**: segment bits that are register bits on both sides. These parts of the tensor need not be there together: they
  are converted one after another in the same memory. So the scratch is the tensor's size divided by the repetitions.

Worked example: 512 x 32 bf16 from ``blocked (8,1) (32,1) (2,2) order (0,1)`` to the operand of a transposed dot, on sm_120. With
packed = row + 512 * column::

    source   register 1 2 4 1024 2048 4096 8192      lane 8 16 32 64 128       warp 256 512
    target   register 512 4096 8192 32 64 128 256    lane 1024 2048 1 2 4      warp 8 16

``ldmatrix.trans`` wants its target lanes 2, 3, 4 to be neighbours in memory; these are 1 2 4, which are registers of the source,
so vector = 1 2 4. Writing lanes then move along 8 16 32, reading ones along 512 1024 2048. Of 14 bits 3 are vector, 3 bank, so
8 segment: 64 128 256 4096 8192, which neither moves along, and the swizzles 8^512, 16^1024, 32^2048. Register bits of both sides
among them are 4096 and 8192: 4 repetitions, 512 * 32 * 2 / 4 = 8192 bytes.

Facts: lib/Tools/GenericSwizzling.cpp and ``getSrcDstTiles`` in lib/Conversion/TritonGPUToLLVM/Utility.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

from smem_lint.layout.linear import Dims, LinearLayout, log2

_BANK_BITS = 32 * 32
_WIDEST_ACCESS = 128  # bits that one thread moves with one instruction


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction that moves registers to or from shared memory.

    ``contiguous``: lane bits that run over neighbouring elements, after the vector of each thread; ``address``: lane bits that
    pick the address of a row.
    """

    name: str
    contiguous: Dims
    address: Dims

    @property
    def repetitions_kept(self) -> int:
        """Repetitions that stay together so that the instruction's widest form (``.x4``) can be used."""
        return len(self.contiguous) + len(self.address) - 3


LOAD_STORE = Instruction("ld/st", (), (0, 1, 2))
MATRIX = Instruction("ldmatrix/stmatrix", (0, 1), (2, 3, 4))
MATRIX_TRANSPOSED = Instruction("ldmatrix.trans/stmatrix.trans", (2, 3, 4), (0, 1))


def _instructions(bits: int, has_matrix: bool) -> list[Instruction]:
    found = [LOAD_STORE]
    if has_matrix and bits <= 32:
        found.append(MATRIX)
    if has_matrix and bits == 16:
        found.append(MATRIX_TRANSPOSED)
    return found


@dataclass(frozen=True, slots=True)
class Swizzle:
    """The parts of the packed element number in shared memory (``bank`` is what the others leave)."""

    vector: Dims
    segment: Dims
    repetitions: Dims


@cache
def conversion_repetitions(source: LinearLayout, target: LinearLayout, bits: int, capability: int, keep_matrix: bool = True) -> int:
    """Into how many rounds the conversion of elements of ``bits`` is cut, with the instructions of ``capability``.

    ``keep_matrix``: matrix instructions keep the repetitions that their widest form needs (Triton 3.6 and later).
    """
    source, target = source.without_zeros(), target.without_zeros()
    candidates = list(_candidates(source, target, bits, capability, keep_matrix))
    if not candidates:
        return load_store_repetitions(source, target, bits)
    _, swizzle = min(candidates, key=lambda found: (found[0], -len(found[1].repetitions)))
    return 1 << len(swizzle.repetitions)


@cache
def load_store_repetitions(source: LinearLayout, target: LinearLayout, bits: int) -> int:
    """As above with plain loads and stores that need not move 128 bits each."""
    source, target = source.without_zeros(), target.without_zeros()
    vector = _plain_vector(source, target, bits)
    dropped = log2(max(1, (bits << len(vector)) // 32))  # lanes of later phases of a wide access
    writers, readers = source.lane[: len(source.lane) - dropped], target.lane[: len(target.lane) - dropped]
    swizzle = _swizzle(source, target, bits, vector, writers, readers, 0)
    return 1 << len(swizzle.repetitions)


def _candidates(source: LinearLayout, target: LinearLayout, bits: int, capability: int, keep_matrix: bool) -> Iterator[tuple[int, Swizzle]]:
    """Each pair of instructions that can do the whole conversion: its bank conflicts and its swizzle."""
    stores, loads = _instructions(bits, capability >= 90), _instructions(bits, capability >= 75)
    for store, load in product(stores, loads):
        vector = _common_vector(source, target, store, load, bits)
        if vector is None:
            continue
        writers, readers = _access(store, source, vector), _access(load, target, vector)
        if writers is None or readers is None:
            continue
        kept = min(store.repetitions_kept, load.repetitions_kept) if keep_matrix else 0
        swizzle = _swizzle(source, target, bits, vector, writers, readers, kept)
        conflicts = sum((1 << len(intersection(swizzle.segment, lanes, source.bits))) - 1 for lanes in (writers, readers))
        yield conflicts, swizzle


def _common_vector(source: LinearLayout, target: LinearLayout, store: Instruction, load: Instruction, bits: int) -> Dims | None:
    """The bits that both instructions see as 128 contiguous bits, or None.

    The side with more of them in registers can choose which registers; the other side's lanes are fixed. So the lanes of the
    latter must be registers of the former, or lanes at the former's own contiguous places.
    """
    wide, narrow, of_wide, of_narrow = source, target, store, load
    if len(of_wide.contiguous) > len(of_narrow.contiguous):
        wide, narrow, of_wide, of_narrow = target, source, load, store
    total = log2(_WIDEST_ACCESS // bits)
    in_registers = total - len(of_narrow.contiguous)
    vector = intersection(wide.register, narrow.register, wide.bits)[:in_registers]
    lanes = of_narrow.contiguous
    tile = [narrow.lane[lane] for lane in lanes]
    if len(vector) < in_registers or 0 in tile or any(wide.lane[lane] == 0 for lane in of_wide.contiguous):
        return None
    places = narrow.invert_and_compose(wide)
    from_registers = len(lanes) - len(of_wide.contiguous)
    if not all(places.along(places.lane[lane], 0) for lane in lanes[:from_registers]):
        return None
    matching = zip(of_wide.contiguous, lanes[from_registers:], strict=True)
    if any(places.along(places.lane[of_lane], 1) != 1 << lane for lane, of_lane in matching):
        return None
    return (*vector, *tile)


def _access(instruction: Instruction, layout: LinearLayout, vector: Dims) -> Dims | None:
    """The bits along which the rows of one access differ: the first registers beside the vector, then the address lanes."""
    needed = 3 - len(instruction.address)
    registers = [basis for basis in layout.register if basis not in vector][:needed]
    if len(registers) < needed:
        return None
    return (*registers, *(layout.lane[lane] for lane in instruction.address))


def _plain_vector(source: LinearLayout, target: LinearLayout, bits: int) -> Dims:
    """Common register bits, at most 128 bits wide; below 32 bits, filled with bits of warps to a whole bank."""
    size = source.bits
    vector = list(intersection(source.register, target.register, size))[: log2(_WIDEST_ACCESS // bits)]
    if bits << len(vector) >= 32:
        return tuple(vector)
    bank = log2(32 // bits)
    writing, reading = [basis for basis in source.warp if basis], [basis for basis in target.warp if basis]
    by_source = intersection([basis for basis in source.register if basis not in vector], reading, size)
    by_target = intersection([basis for basis in target.register if basis not in vector], writing, size)
    if len(by_source) == len(by_target):
        larger = by_source if by_source and min(by_source) < min(by_target) else by_target
    else:
        larger = max(by_source, by_target, key=len)
    vector += larger
    if len(vector) < bank:
        vector += intersection(writing, reading, size)
    for index in range(max(len(writing), len(reading))):
        for warps in (writing, reading):
            if len(vector) < bank and index < len(warps) and warps[index] not in vector:
                vector.append(warps[index])
    return tuple(vector[:bank])


def _swizzle(source: LinearLayout, target: LinearLayout, bits: int, vector: Dims, writers: Dims, readers: Dims, kept: int) -> Swizzle:
    """Choose the segment and take the repetitions out of it, except for the first ``kept``."""
    size = source.bits
    bank = min(log2(_BANK_BITS // (bits << len(vector))), size - len(vector))
    found = _segment({*vector, *writers}, {*vector, *readers}, size, size - bank - len(vector))
    in_both = set(source.register) & set(target.register)
    movable = [basis for basis in dict.fromkeys(found) if basis in in_both][kept:]
    return Swizzle(vector, tuple(basis for basis in found if basis not in movable), tuple(movable))


def _segment(written: set[int], read: set[int], size: int, length: int) -> Dims:
    """``length`` bits that bring neither writers nor readers into conflict, as far as there are that many."""
    written.discard(0)
    read.discard(0)
    segment = [1 << bit for bit in range(size) if 1 << bit not in written and 1 << bit not in read]
    if len(segment) < length:
        fewer, more = sorted((sorted(written - read), sorted(read - written)), key=len)
        conflicting = min(max(0, length - len(fewer) - len(segment)), len(fewer))
        segment += [a ^ b for a, b in zip(fewer[conflicting:], more[conflicting:], strict=False)]
        segment += fewer[:conflicting] + more[:conflicting]
    return tuple(segment[:length])


# Vector spaces --------------------------------------------------------------------------------------------------------------


def intersection(first: Sequence[int], second: Sequence[int], size: int) -> Dims:
    """A basis of what both span; in the order of ``first`` where all are single bits (Triton's order otherwise)."""
    if all(_is_single_bit(basis) for basis in first) and all(_is_single_bit(basis) for basis in second):
        return tuple(basis for basis in first if basis in second)
    return _nullspace([*_nullspace(first, size), *_nullspace(second, size)], size)


def _is_single_bit(value: int) -> bool:
    return value > 0 and value & value - 1 == 0


def _nullspace(vectors: Iterable[int], size: int) -> Dims:
    """A basis of the vectors of ``size`` bits that are orthogonal to all of ``vectors``."""
    rows: dict[int, int] = {}  # lowest bit -> the reduced row that has it, and no other row has it
    for vector in vectors:
        for pivot, row in rows.items():
            if vector >> pivot & 1:
                vector ^= row
        if vector:
            lowest = (vector & -vector).bit_length() - 1
            for pivot, row in rows.items():
                if row >> lowest & 1:
                    rows[pivot] = row ^ vector
            rows[lowest] = vector
    return tuple(1 << free | sum(1 << pivot for pivot, row in rows.items() if row >> free & 1) for free in range(size) if free not in rows)
