"""Placement of buffers: worked examples and what must hold for any set of buffers."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from smem_lint.allocation.placement import FOREVER, live_together, place


@dataclass
class Box:
    size: int
    start: int
    end: int
    alignment: int = 16
    offset: int = -1


@st.composite
def boxes(draw: st.DrawFn) -> list[Box]:
    found = []
    for _ in range(draw(st.integers(0, 25))):
        start = draw(st.integers(0, 40))
        length = draw(st.sampled_from([1, 1, 1, 5, 40, FOREVER]))
        found.append(Box(draw(st.integers(1, 5000)), start, start + length, draw(st.sampled_from([4, 8, 16, 128, 1024]))))
    return found


@given(boxes())
def test_buffers_live_together_do_not_overlap(buffers: list[Box]) -> None:
    total = place(buffers)
    for box in buffers:
        assert box.offset >= 0 and box.offset % box.alignment == 0 and box.offset + box.size <= total
    for i, a in enumerate(buffers):
        for b in buffers[:i]:
            apart = a.end <= b.start or b.end <= a.start or a.offset + a.size <= b.offset or b.offset + b.size <= a.offset
            assert apart, (a, b)


@given(boxes())
def test_the_total_is_the_highest_end_and_no_less_than_what_is_live_at_once(buffers: list[Box]) -> None:
    total = place(buffers)
    assert total == max((box.offset + box.size for box in buffers), default=0)
    for moment in {box.start for box in buffers}:
        assert total >= sum(box.size for box in buffers if box.start <= moment < box.end)


@given(boxes())
def test_live_together_is_the_overlap_of_ranges(buffers: list[Box]) -> None:
    found = live_together(buffers)
    for i, a in enumerate(buffers):
        expected = {j for j, b in enumerate(buffers) if i != j and a.start < b.end and b.start < a.end}
        assert set(found[i]) == expected and len(found[i]) == len(expected)


def test_two_short_lived_buffers_share_the_space_above_a_long_lived_one() -> None:
    a, b, c = Box(64, 0, 10), Box(32, 0, 4), Box(32, 6, 10)
    assert place([a, b, c]) == 96
    assert (a.offset, b.offset, c.offset) == (0, 64, 64)


def test_alignment_leaves_gaps() -> None:
    a, b = Box(16384, 0, 9), Box(4, 3, 4, alignment=128)
    assert place([b, a]) == 16388
    barrier, scratch = Box(8, 0, 9), Box(4, 3, 4, alignment=128)
    assert place([barrier, scratch]) == 132


def test_no_buffers_take_nothing() -> None:
    assert place([]) == 0
