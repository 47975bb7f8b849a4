"""Offsets for buffers: those that are live at the same time must not overlap, the others should.

1. The largest buffers are placed first. Free space is kept as *slots*: an offset and the time for which it is free from there
   on. The lowest slot takes the first buffer that is live in it and touches no other slot; it is then cut into what is free
   above the buffer, and before and after it.
2. That leaves buffers that overlap in time and space. They are the edges of the interference graph, whose nodes are coloured
   first-fit. Buffers of colour 0 stay where they are; each other one moves above all of its neighbours.
3. Moving may bring about new overlaps, so 2 is repeated until there are none.

Example: A (64 bytes, live 0 to 10), B (32, 0 to 4), C (32, 6 to 10). A goes to 0; the slot above it takes B at 64 and
then, for the time from 4 on, C at 64: 96 bytes.

Facts: ``calculateStarts``, ``buildInterferenceGraph`` and ``allocate`` in lib/Analysis/Allocation.cpp, Triton 3.8.0. The idea is
from Gergov, Algorithms for Compile-Time Memory Optimization (1999).
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from typing import Protocol

FOREVER = 1 << 62


class Placeable(Protocol):
    """``size`` and ``alignment`` in bytes, live in ``[start, end)``; ``offset`` is what placement fills in."""

    size: int
    alignment: int
    start: int
    end: int
    offset: int


Slot = tuple[int, int, int, int]  # offset, tie-breaker, free from, free until


def place(buffers: Sequence[Placeable]) -> int:
    """Give each buffer its offset; returns the bytes that they take together."""
    if not buffers:
        return 0
    largest_first = sorted(buffers, key=lambda buffer: -buffer.size)
    _first_offsets(largest_first)
    together = live_together(largest_first)
    neighbours = _overlapping(largest_first, together)
    while True:
        total = _spread(largest_first, neighbours)
        neighbours = _overlapping(largest_first, together)
        if not any(neighbours):
            return total


def _aligned(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


def _first_offsets(buffers: Sequence[Placeable]) -> None:
    slots: list[Slot] = [(0, 0, 0, FOREVER)]
    remaining = list(buffers)
    count = 0
    while remaining:
        offset, _, start, end = slots.pop(0)
        chosen = next((buffer for buffer in remaining if _fits(buffer, start, end, slots)), None)
        if chosen is None:
            continue
        remaining.remove(chosen)
        chosen.offset = _aligned(offset, chosen.alignment)
        cut = [(chosen.offset + chosen.size, max(start, chosen.start), min(end, chosen.end))]
        if start < chosen.start:
            cut.append((offset, start, chosen.end))
        if chosen.end < end:
            cut.append((offset, chosen.start, end))
        for at, since, until in cut:
            count += 1
            insort(slots, (at, count, since, until))


def _fits(buffer: Placeable, start: int, end: int, slots: Sequence[Slot]) -> bool:
    """Whether the buffer is live while the slot is free, and at no time at which another slot is."""
    if buffer.start >= end or start >= buffer.end:
        return False
    return not any(buffer.start < until and since < buffer.end for _, _, since, until in slots)


def live_together(buffers: Sequence[Placeable]) -> list[list[int]]:
    """For each buffer the places, in the sequence, of the buffers that are live at some time that it is live at."""
    found: list[list[int]] = [[] for _ in buffers]
    active: list[int] = []
    for index in sorted(range(len(buffers)), key=lambda index: buffers[index].start):
        active = [other for other in active if buffers[other].end > buffers[index].start]
        for other in active:
            found[index].append(other)
            found[other].append(index)
        active.append(index)
    return found


def _overlapping(buffers: Sequence[Placeable], together: list[list[int]]) -> list[list[int]]:
    """The interference graph: of the buffers that are live together, those whose bytes overlap."""

    def overlap(a: Placeable, b: Placeable) -> bool:
        return a.offset < b.offset + b.size and b.offset < a.offset + a.size

    return [[other for other in others if overlap(mine, buffers[other])] for mine, others in zip(buffers, together, strict=True)]


def _spread(buffers: Sequence[Placeable], neighbours: list[list[int]]) -> int:
    """Colour the graph and move all but the first colour above their neighbours; returns the bytes used."""
    colours: dict[int, int] = {0: 0}
    for index, others in enumerate(neighbours):
        taken = {colours[other] for other in others if other in colours}
        colours[index] = next(colour for colour in range(len(buffers) + 1) if colour not in taken)
    total = 0
    for index, buffer in enumerate(buffers):
        if colours[index]:
            top = max((buffers[other].offset + buffers[other].size for other in neighbours[index]), default=0)
            buffer.offset = _aligned(top, buffer.alignment)
        total = max(total, buffer.offset + buffer.size)
    return total
