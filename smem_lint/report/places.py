"""Places for labels in a picture: each where it covers neither a line, nor a mark, nor another label; the same on each run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Box = tuple[float, float, float, float]
"""Left, top, right, bottom; y runs down."""
Point = tuple[float, float]
Segment = tuple[Point, Point]

BOLD = 1.1
"""How much wider bold text is."""
_NARROW, _WIDE = frozenset(" ,.:;'|!()[]ijlI-"), frozenset("MWmw@%")
_FAR_EAST = "\u2e80"


def width_of(text: str, size: float) -> float:
    """About the width of a line of text, rather too wide than too narrow (DejaVu Sans, which is wider than most)."""
    return size * sum(0.37 if one in _NARROW else 0.98 if one in _WIDE or one >= _FAR_EAST else 0.65 for one in text)


def place(
    wishes: Sequence[Sequence[Box]], blocked: Iterable[Box], lines: Sequence[Segment], bounds: Box, leads: Sequence[Point] = ()
) -> list[Box | None]:
    """For each label the first of its boxes that is free, in the order given; None where none is.

    With ``leads`` a label is led to its point by a line, which crosses no other label or mark.
    """
    taken = list(blocked)
    found: list[Box | None] = []
    for index, boxes in enumerate(wishes):
        free = (box for box in boxes if _within(box, bounds) and not any(meet(box, other) for other in taken))
        clear = (box for box in free if not any(crosses(box, line) for line in lines))
        chosen = next((box for box in clear if not leads or _led(leads[index], box, taken)), None)
        found.append(chosen)
        if chosen is not None:
            taken.append(chosen)
    return found


def around(at: Point, width: float, height: float, gap: float, far: bool = True) -> list[Box]:
    """Boxes beside a point: above, below, to the sides; further off with ``far``."""
    x, y = at
    side, up = width / 2 + gap, height / 2 + gap
    steps = [(0.0, -up), (0.0, up), (-side * 0.75, -up), (side * 0.75, up), (side * 0.75, -up), (-side * 0.75, up)]
    if far:
        steps += [(side, 0.0), (-side, 0.0), (side, -up / 2), (-side, -up / 2), (side, up / 2), (-side, up / 2)]
        steps += [(sideways * width, factor * up) for factor in (-1.7, 1.7, -2.4, 2.4) for sideways in (0.0, -0.6, 0.6)]
    return [(x + dx - width / 2, y + dy - height / 2, x + dx + width / 2, y + dy + height / 2) for dx, dy in steps]


def lead(at: Point, box: Box) -> Segment:
    """From a point to the nearest place of a box's edge."""
    return at, (min(max(at[0], box[0]), box[2]), min(max(at[1], box[1]), box[3]))


def _led(at: Point, box: Box, taken: Sequence[Box]) -> bool:
    line = lead(at, box)
    return not any(crosses(other, line) for other in taken if not (other[0] <= at[0] <= other[2] and other[1] <= at[1] <= other[3]))


def spread(centres: Sequence[float], height: float, low: float, high: float) -> list[float]:
    """Centres of so high labels in one column: as near to what is wanted as they can be without touching, between two bounds."""
    order = sorted(range(len(centres)), key=lambda index: centres[index])
    put: dict[int, float] = {}
    edge = low
    for index in order:
        put[index] = max(centres[index], edge + height / 2)
        edge = put[index] + height / 2
    edge = high
    for index in reversed(order):
        put[index] = min(put[index], edge - height / 2)
        edge = put[index] - height / 2
    return [put[index] for index in range(len(centres))]


def meet(one: Box, other: Box) -> bool:
    """Whether two boxes share more than an edge."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def crosses(box: Box, line: Segment) -> bool:
    """Whether a straight line runs through a box (Liang and Barsky)."""
    (x0, y0), (x1, y1) = line
    enter, leave = 0.0, 1.0
    for step, start, low, high in ((x1 - x0, x0, box[0], box[2]), (y1 - y0, y0, box[1], box[3])):
        if step == 0:
            if not low < start < high:
                return False
            continue
        first, last = sorted(((low - start) / step, (high - start) / step))
        enter, leave = max(enter, first), min(leave, last)
    return enter < leave


def _within(box: Box, bounds: Box) -> bool:
    return box[0] >= bounds[0] and box[1] >= bounds[1] and box[2] <= bounds[2] and box[3] <= bounds[3]
