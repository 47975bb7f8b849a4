"""When each buffer lives and where: a picture within a page. Colours are classes of the page's style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from smem_lint.engines import Buffer, Estimate, Loop
from smem_lint.explain import Peak, lifetime
from smem_lint.report.chart import byte_ticks
from smem_lint.report.explanation import describe
from smem_lint.report.html_svg import WIDE, both, line, number, rectangle, svg, text
from smem_lint.report.html_tags import Child, Safe, tag
from smem_lint.report.places import BOLD, Box, Segment, place, width_of

KINDS = {
    "staged": "staged: filled by loads ahead of their use", "operand": "operand: a tile on its way to a dot",
    "scratch": "scratch: held while one operation runs", "barrier": "barrier", "call": "held by a function that is called",
}  # fmt: skip
_TEXT = 11.0
_LINE = 14.0
_LEAST_EXCESS = 32.0  # pixels: what is over the limit is drawn so large at least
_FAR = 1.6  # a limit that is so much larger than what is in use is told and not drawn
_STRIP = 9.0


def timeline(estimate: Estimate, peak: Peak | None, numbers: dict[Buffer, int], limit: int | None, target: str) -> list[Child]:
    """The legend and the picture: offset (bytes, upwards) against program order; bars have the numbers of the table's rows."""
    buffers = [one for one in estimate.buffers if one.end > one.start]
    over = limit is not None and max((one.offset + one.size for one in buffers), default=0) > limit
    kinds = [name for name in KINDS if any(_kind(one) == name for one in buffers)]
    told = {**{name: KINDS[name] for name in kinds}, **({"excess": "over the limit"} if over else {})}
    told |= {"band": "loop"} if estimate.loops else {}
    told |= {"dots": "peak"} if peak is not None else {}
    keys = [tag("span", tag("span", class_=f"swatch {name}"), meaning, class_="key") for name, meaning in told.items()]

    def draw(width: int) -> Safe:
        return _Drawing(width, buffers, estimate.loops, limit).picture(peak, numbers, target)

    return [tag("p", keys, class_="legend"), both(draw)]


def _kind(buffer: Buffer) -> str:
    return buffer.kind if buffer.kind in KINDS else "scratch"


def hatching(box: Box) -> str:
    """The path of slanting lines within a box, six pixels apart."""
    left, top, right, bottom = box
    parts, at = [], left - (bottom - top) + 3
    while at < right:
        begin, end = max(at, left), min(at + bottom - top, right)
        if begin < end:
            parts.append(f"M{number(begin)},{number(bottom - (begin - at))}L{number(end)},{number(bottom - (end - at))}")
        at += 6
    return "".join(parts)


@dataclass
class _Drawing:
    width: int
    buffers: Sequence[Buffer]
    loops: Sequence[Loop]
    limit: int | None

    def __post_init__(self) -> None:
        wide = self.width == WIDE
        self.left, self.right = (60, self.width - 108) if wide else (44, self.width - 102)
        self.levels = min(3, max((_depth(one, self.loops) for one in self.loops), default=0) + 1) if self.loops else 0
        self.top, self.bottom = 22.0, 282.0
        self.height = self.bottom + 2 * _LINE + self.levels * _STRIP + 6
        self.total = max([one.offset + one.size for one in self.buffers], default=0)
        self.over = self.limit is not None and self.total > self.limit > 0
        self.shown = self.limit if self.limit is not None and self.limit < _FAR * max(self.total, 1) else None
        self.high = max(self.total, self.shown or 0, 1) * (1.0 if self.over else 1.06)
        room = self.bottom - self.top
        fair = (self.total - self.limit) / self.total * room if self.over and self.limit is not None else 0.0
        self.excess = max(fair, _LEAST_EXCESS) if self.over else 0.0
        self.enlarged = self.over and self.excess > fair * 1.25
        ranges = [(one.start, one.end) for one in self.buffers] + [(one.start, one.end) for one in self.loops]
        self.first, self.last = min((one[0] for one in ranges), default=0), max((one[1] for one in ranges), default=1)
        self.margin = max(1, (self.last - self.first) // 60)

    def x(self, position: float) -> float:
        first, last = self.first - self.margin, self.last + self.margin
        return self.left + (position - first) / max(last - first, 1) * (self.right - self.left)

    def y(self, offset: float) -> float:
        """Up to the limit and above it two scales, where what is above would not be seen otherwise."""
        if self.over and self.limit is not None:
            edge = self.top + self.excess
            if offset > self.limit:
                return edge - (offset - self.limit) / (self.total - self.limit) * self.excess
            return self.bottom - offset / self.limit * (self.bottom - edge)
        return self.bottom - offset / self.high * (self.bottom - self.top)

    def box(self, one: Buffer) -> Box:
        left, right = self.x(one.start), max(self.x(one.end), self.x(one.start) + 4)
        top, bottom = self.y(one.offset + one.size), self.y(one.offset)
        return left, min(top, bottom - 2), right, bottom

    def picture(self, peak: Peak | None, numbers: dict[Buffer, int], target: str) -> Safe:
        order = sorted(self.buffers, key=lambda one: (numbers.get(one, 0), one.start - one.end, one.offset))
        begin, end = self._peak(peak)
        dotted = sorted({begin, end} if end - begin > 8 else {(begin + end) / 2}) if peak is not None else []
        lines: list[Segment] = [((at, 0.0), (at, self.bottom)) for at in dotted]
        if self.shown is not None:
            lines.append(((self.left, self.y(self.shown)), (self.right, self.y(self.shown))))
        parts: list[Child] = [self._band(one) for one in self.loops]
        parts += self._grid()
        parts += [self._bar(one, numbers.get(one)) for one in order]
        edges = [self.x(edge) for one in self.loops for edge in (one.start, one.end)]
        parts += [line(edge, self.top, edge, self.bottom, "loop-edge") for edge in edges]
        parts += self._limit(target)
        parts += [line(at, self.top - 5, at, self.bottom, "peak") for at in dotted]
        if dotted:
            middle = min(max((begin + end) / 2, self.left + 16), self.right - 16)
            parts.append(rectangle(min(begin, dotted[0] - 1), self.top - 6, max(end, dotted[-1] + 1), self.top - 3, "peak-strip"))
            parts.append(text("peak", middle, self.top - 13, "axis strong", "middle"))
        parts += self._numbers(order, numbers, lines)
        parts += self._strips()
        parts.append(text("program order →", self.right, self.height - 9, "axis", "end"))
        return svg(f"Buffers of {self.total:,} bytes against program order", parts, "timeline", self.width, self.height)

    def _peak(self, peak: Peak | None) -> tuple[float, float]:
        """From where to where all buffers of the peak are held."""
        if peak is None:
            return 0.0, 0.0
        return self.x(max(one.start for one in peak.buffers)), self.x(min(one.end for one in peak.buffers))

    def _band(self, loop: Loop) -> Safe:
        return rectangle(self.x(loop.start), self.top, self.x(loop.end), self.bottom, "loop")

    def _grid(self) -> list[Child]:
        parts: list[Child] = []
        for value, told in byte_ticks(self.limit if self.over and self.limit is not None else self.high, 7):
            parts += [line(self.left, self.y(value), self.right, self.y(value), "grid")]
            parts += [text(told, self.left - 6, self.y(value), "axis", "end")]
        return parts

    def _bar(self, one: Buffer, row: int | None) -> Safe:
        left, top, right, bottom = self.box(one)
        alive = lifetime(one, self.loops)
        what = f"{f'[{row}] ' if row else ''}{describe(one)}, {one.size:,} B at {one.offset:,}{', alive ' + alive if alive else ''}"
        parts: list[Child] = [tag("title", what + (f", line {one.line}" if one.line else "")), rectangle(left, top, right, bottom)]
        if self.over and self.limit is not None and one.offset + one.size > self.limit:
            part = (left, top, right, min(self.y(self.limit), bottom))
            parts += [rectangle(*part, "excess"), tag("path", d=hatching(part), class_="hatch")]
        return tag("g", parts, class_=f"buffer {_kind(one)}{' thin' if min(bottom - top, right - left) < 6 else ''}")

    def _limit(self, target: str) -> list[Child]:
        if self.limit is None:
            return []
        named, size = f"limit of {target}" if self.width == WIDE else target, f"{self.limit:,} B"
        if self.shown is None:
            return [text(f"limit of {target}: {size}, above this picture", self.right, 9, "axis", "end")]
        at, side = self.y(self.shown), self.right + 8
        parts: list[Child] = [line(self.left, at, self.right + 4, at, "limit")]
        first = at + 9 if self.over else max(at - 6.5, 8)
        parts += [text(named, side, first, "limit-text"), text(size, side, first + 13, "limit-text")]
        if self.over:
            middle = at - self.excess / 2
            parts.append(tag("path", d=f"M{number(self.right + 2)},{number(self.top)}h3V{number(at - 1)}h-3", class_="bracket"))
            parts.append(text(f"{self.total - self.limit:,} B over", side, middle - (6 if self.enlarged else 0), "limit-text"))
            parts.append(text("(drawn larger)", side, middle + 7, "axis") if self.enlarged else None)
        return parts

    def _numbers(self, order: Sequence[Buffer], numbers: dict[Buffer, int], lines: Sequence[Segment]) -> list[Child]:
        """Each bar's number, and what it is where there is room: within the bar, else beside it."""
        taken: list[Box] = []
        parts: list[Child] = []
        bars = {one: self.box(one) for one in order}
        inner = {one: self._inside(one, bars[one], numbers, taken, lines) for one in order}
        parts += [one for one in inner.values() if one is not None]
        for one in order:
            if inner[one] is None and one in numbers:
                told = f"[{numbers[one]}]"
                others = [box for other, box in bars.items() if other is not one]
                (found,) = place([_beside(bars[one], width_of(told, _TEXT) * BOLD)], [*others, *taken], lines, self._bounds)
                if found is not None:
                    taken.append(found)
                    parts.append(text(told, (found[0] + found[2]) / 2, (found[1] + found[3]) / 2, "outside", "middle"))
        return parts

    @property
    def _bounds(self) -> Box:
        return self.left, self.top, self.right, self.bottom

    def _inside(self, one: Buffer, bar: Box, numbers: dict[Buffer, int], taken: list[Box], lines: Sequence[Segment]) -> Safe | None:
        row = f"[{numbers[one]}] " if one in numbers else ""
        cuts = [x for (x, _), (other, _) in lines if x == other and bar[0] < x < bar[2]]
        across = [one for one in lines if one[0][1] == one[1][1]]
        for told in (f"{row}{one.size:,} B {describe(one)}", f"{row}{one.size:,} B", row.strip()):
            width, high = width_of(told, _TEXT) * BOLD, _TEXT * 1.1
            starts = [bar[0] + 5, *(x + 5 for x in cuts), *(x - 5 - width for x in cuts), (bar[0] + bar[2] - width) / 2]
            middles = [(bar[1] + bar[3]) / 2, bar[3] - 8, bar[1] + 8]
            boxes = [(x, y - high / 2, x + width, y + high / 2) for y in middles for x in starts]
            for cutting in (lines, across):  # a line down is broken by a label rather than the label made shorter
                (found,) = place([boxes], taken, cutting, (bar[0] + 2, bar[1], bar[2] - 2, bar[3]))
                if told and found is not None:
                    taken.append(found)
                    return text(told, found[0], (found[1] + found[3]) / 2, f"inside on-{self._ground(one, found)}")
        return None

    def _ground(self, one: Buffer, label: Box) -> str:
        """What a label within a bar stands on: the bar, or the part of it that is over the limit."""
        return "excess" if self.over and self.limit is not None and label[1] < self.y(self.limit) else _kind(one)

    def _strips(self) -> list[Child]:
        """Below the axis: each loop's extent, an inner one below its outer one, and its line."""
        parts: list[Child] = []
        wishes, labels = [], []
        for loop in self.loops:
            level = min(_depth(loop, self.loops), self.levels - 1)
            at = self.bottom + 4 + level * _STRIP
            told = f"loop, line {loop.line}" if loop.line else "loop"
            left, right = self.x(loop.start), max(self.x(loop.end), self.x(loop.start) + 3)
            parts.append(tag("g", tag("title", told), rectangle(left, at, right, at + _STRIP - 3, "strip")))
            width, low = width_of(told, _TEXT), self.bottom + 4 + self.levels * _STRIP
            middle = min(max((left + right) / 2, self.left + width / 2), self.right - width / 2)
            wishes.append([(middle - width / 2, low, middle + width / 2, low + _LINE)])
            labels.append(told)
        for told, box in zip(labels, place(wishes, (), (), (0, 0, self.width, self.height)), strict=True):
            if box is not None:
                parts.append(text(told, (box[0] + box[2]) / 2, (box[1] + box[3]) / 2, "axis", "middle"))
        return parts


def _beside(bar: Box, width: float) -> list[Box]:
    left, top, right, bottom = bar
    middle, high = (top + bottom) / 2, _TEXT
    spots = [(right + 2, middle), (left - 2 - width, middle), ((left + right - width) / 2, top - high / 2 - 1)]
    spots += [((left + right - width) / 2, bottom + high / 2 + 1), (right + 2, middle - 6), (left - 2 - width, middle - 6)]
    spots += [(right + 2, middle + 6), (left - 2 - width, middle + 6)]
    spots += [(right + 9, middle), (right + 9, middle - 6), (right + 9, middle + 6)]
    return [(x, y - high / 2, x + width, y + high / 2) for x, y in spots]


def _depth(loop: Loop, loops: Sequence[Loop]) -> int:
    return sum(one.start <= loop.start and loop.end <= one.end and one != loop for one in loops)
