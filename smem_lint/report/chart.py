"""The geometry of a plot of bytes by ``num_stages``: scales, ticks, limits and labels, as both kinds of pictures draw it.

All lengths are in the picture's own unit (points or pixels); y runs down from the top.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from smem_lint.report.curves import Curve, Point
from smem_lint.report.places import BOLD, Box, Segment, around, lead, place, spread, width_of

_FAR = 3.0  # how far above the rest a limit may lie and still be drawn
_MANY = 12
_MARK = 4.5
RING = 7.0
"""Radius of the ring around the base's point."""
Limits = Sequence[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Sheet:
    """The size of a picture, the margins around its axes, and the size of its text."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    text: float

    @property
    def frame(self) -> Box:
        return self.left, self.top, self.width - self.right, self.height - self.bottom


@dataclass(frozen=True, slots=True)
class Label:
    """Text whose middle stands at ``x``, ``y``; ``curve`` is None where several lines share the point, ``lead`` leads to it from afar."""

    text: str
    x: float
    y: float
    box: Box
    curve: int | None
    lead: Segment | None = None


@dataclass(frozen=True, slots=True)
class Limit:
    """A line across at ``y``; its label stands in the right margin at ``label_y`` (its middle), in two rows."""

    bytes: int
    targets: tuple[str, ...]
    y: float
    label_y: float
    rows: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Chart:
    """``spots`` are the places of each curve's points; ``marked`` the stages whose points have marks (all, or those that matter where
    there are many); ``note`` names the limits that lie above the picture."""

    sheet: Sheet
    curves: tuple[Curve, ...]
    stages: tuple[int, ...]
    top: float
    spots: tuple[tuple[tuple[float, float], ...], ...]
    marked: tuple[frozenset[int], ...]
    limits: tuple[Limit, ...]
    labels: tuple[Label, ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    note: str


def chart(curves: Sequence[Curve], limits: Limits, sheet: Sheet) -> Chart:
    """Lay a plot out; ``limits`` are (target, bytes): the first target's is drawn in any case, others that are not far above all."""
    stages = sorted({point.stages for one in curves for point in one.points})
    highest = max([point.bytes for one in curves for point in one.points], default=1)
    near = _FAR * max([highest, *(limit for _, limit in limits[:1])])
    shown = {limit: tuple(dict.fromkeys(name for name, one in limits if one == limit)) for _, limit in limits if limit <= near}
    top = max([highest, *shown]) * 1.13
    left, upper, right, lower = sheet.frame

    def x(number: int) -> float:
        return left + (stages.index(number) + 0.5) / len(stages) * (right - left)

    def y(value: float) -> float:
        return lower - value / top * (lower - upper)

    spots = tuple(tuple((x(point.stages), y(point.bytes)) for point in one.points) for one in curves)
    heights = [y(limit) for limit in shown]
    put = spread(heights, 2.5 * sheet.text, upper - sheet.text, lower)
    drawn = tuple(
        Limit(limit, names, at, label, (_named(names, sheet), f"{limit:,} B"))
        for (limit, names), at, label in zip(shown.items(), heights, put, strict=True)
    )
    far = sorted({(limit, name) for name, limit in limits if limit not in shown})
    ticks = _stage_ticks(stages, [point.stages for one in curves for point in one.points if point.here], sheet)
    numbers = {number for number, _ in ticks} if len(stages) > _MANY else set(stages)
    return Chart(
        sheet, tuple(curves), tuple(stages), top, spots, tuple(_marked(one, numbers) for one in curves), drawn,
        _labels(curves, spots, numbers, heights, sheet),
        tuple((x(number), text) for number, text in ticks), tuple((y(value), told) for value, told in byte_ticks(top, 8)),
        "above this picture: " + "; ".join(f"{name}: {limit:,} B" for limit, name in far) if far else "",
    )  # fmt: skip


def _named(targets: Sequence[str], sheet: Sheet) -> str:
    """As many targets as the right margin has room for."""
    for number in range(len(targets), 0, -1):
        told = ", ".join(targets[:number]) + (f" + {len(targets) - number}" if number < len(targets) else "")
        if width_of(told, sheet.text) * BOLD <= sheet.right - 12:
            return told
    return targets[0]


def _labels(
    curves: Sequence[Curve], spots: Sequence[Sequence[tuple[float, float]]], numbers: set[int], heights: Sequence[float], sheet: Sheet
) -> tuple[Label, ...]:
    """The bytes beside the points: what matters most first, what finds no place not at all."""
    wanted: dict[tuple[float, float], tuple[int, Point, set[int]]] = {}
    for index, one in enumerate(curves):
        for before, point, at in zip([None, *one.points], one.points, spots[index], strict=False):
            urgent = _urgency(one, before, point)
            if urgent > 1 and point.stages not in numbers:
                continue
            first, _, own = wanted.setdefault(at, (urgent, point, set()))
            wanted[at] = (min(first, urgent), point, own | {index})
    order = sorted(wanted.items(), key=lambda one: (one[1][0], min(one[1][2]), one[0][0]))
    left, upper, right, lower = sheet.frame
    lines: list[Segment] = [pair for own in spots for pair in itertools.pairwise(own)]
    lines += [((left, at), (right, at)) for at in heights]
    marks = [
        _mark(at, point.here)
        for one, own in zip(curves, spots, strict=True)
        for point, at in zip(one.points, own, strict=True)
        if point.stages in _marked(one, numbers)
    ]
    few = len(numbers) <= _MANY
    wishes = [_wishes(at, point, sheet, few) for at, (_, point, _) in order]
    bounds = (left + 2, upper - sheet.text, right - 2, lower - 2)
    found: list[Label] = []
    put = place(wishes, marks, lines, bounds, [at for at, _ in order])
    for box, (at, (_, point, own)) in zip(put, order, strict=True):
        if box is not None:
            middle = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
            line = lead(at, box)
            far = math.dist(*line) > 2.5 * _MARK
            found.append(Label(f"{point.bytes:,}", *middle, box, min(own) if len(own) == 1 else None, line if far else None))
    return tuple(found)


def _marked(curve: Curve, numbers: set[int]) -> frozenset[int]:
    pairs = zip([None, *curve.points], curve.points, strict=False)
    return frozenset(point.stages for before, point in pairs if point.stages in numbers or _urgency(curve, before, point) < 2)


def _mark(at: tuple[float, float], here: bool) -> Box:
    x, y, half = *at, RING if here else _MARK
    return x - half, y - half, x + half, y + half


def _wishes(at: tuple[float, float], point: Point, sheet: Sheet, far: bool) -> list[Box]:
    gap = (RING if point.here else _MARK) + 1.5
    return around(at, width_of(f"{point.bytes:,}", sheet.text), sheet.text * 1.15, gap, far)


def _urgency(curve: Curve, before: Point | None, point: Point) -> int:
    """The base first, then the steps over a limit, then the ends, then what is new, then the rest."""
    if point.here:
        return 0
    after = next((one for one in curve.points if one.stages > point.stages), None)
    if (before is not None and before.over != point.over) or (after is not None and after.over != point.over):
        return 1
    if before is None or after is None:
        return 2
    return 3 if before.bytes != point.bytes else 4


def _stage_ticks(stages: Sequence[int], here: Sequence[int], sheet: Sheet) -> list[tuple[int, str]]:
    """As many as can stand side by side: the base's, the first, the last, and others at even steps."""
    if not stages:
        return []
    left, _, right, _ = sheet.frame
    room = (right - left) / len(stages)
    step = next((one for one in (1, 2, 5, 10, 20) if one * room >= 2.2 * sheet.text), 50)
    even = [number for index, number in enumerate(stages) if (number % step == 0 if len(stages) > _MANY else index % step == 0)]
    order = list(dict.fromkeys([*here, stages[0], stages[-1], *even]))

    def box(number: int) -> Box:
        middle, half = (stages.index(number) + 0.5) * room, width_of(str(number), sheet.text) / 2 + 3
        return middle - half, 0, middle + half, 1

    put = place([[box(number)] for number in order], (), (), (-99, 0, right - left + 99, 1))
    return sorted((number, str(number)) for number, chosen in zip(order, put, strict=True) if chosen is not None)


def byte_ticks(top: float, most: int) -> list[tuple[int, str]]:
    """Round numbers of bytes up to ``top``, and how they are told."""
    step = 1
    while top / step > most:
        step *= 2
    return [(value, f"{value // 1024:,} KiB" if step >= 1024 else f"{value:,} B") for value in range(0, int(top) + 1, step)]
