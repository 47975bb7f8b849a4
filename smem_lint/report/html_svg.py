"""Pictures within a page: when each buffer lives and where, and bytes by ``num_stages``. Colours are classes of the page's style."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from smem_lint.engines import Buffer, Estimate, Loop
from smem_lint.explain import lifetime, peak
from smem_lint.report.explanation import describe
from smem_lint.report.html_tags import Child, Safe, tag

_WIDTH, _HEIGHT = 720, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 12, 22, 34
_THIN = 4.0
Scale = Callable[[Any], float]
KINDS = ("staged", "operand", "scratch", "barrier", "call")


def timeline(estimate: Estimate, limit: int | None, target: str) -> Safe:
    """Offset (bytes, upwards) against program order (to the right): a rectangle for each buffer, a band for each loop."""
    buffers = [one for one in estimate.buffers if one.end > one.start]
    total = max([one.offset + one.size for one in buffers], default=0)
    first, last = _extent(buffers, estimate.loops)
    top = max(total, limit if limit is not None and limit < 1.6 * total else 0, 1) * 1.06

    def x(position: float) -> float:
        return _LEFT + (position - first) / max(last - first, 1) * (_WIDTH - _LEFT - _RIGHT)

    def y(offset: float) -> float:
        return _HEIGHT - _BOTTOM - offset / top * (_HEIGHT - _TOP - _BOTTOM)

    parts: list[Child] = [_band(loop, x) for loop in estimate.loops]
    parts += _grid(top, y)
    for buffer in sorted(buffers, key=lambda one: (one.start - one.end, one.offset)):
        parts.append(_rectangle(buffer, estimate.loops, x, y, limit))
    if limit is not None and limit <= top:
        parts += [
            tag("line", class_="limit", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=_n(y(limit)), y2=_n(y(limit))),
            tag("text", f"limit of {target}: {limit:,} B", class_="limit-text", x=_WIDTH - _RIGHT, y=_n(y(limit) - 4), text_anchor="end"),
        ]
    parts.append(tag("text", "program order →", class_="axis", x=_WIDTH - _RIGHT, y=_HEIGHT - 6, text_anchor="end"))
    held = peak(estimate)
    if held is not None:
        at = _n(x(held.position + 0.5))
        parts += [
            tag("line", class_="peak", x1=at, x2=at, y1=_TOP - 14, y2=_HEIGHT - _BOTTOM),
            tag("text", "peak", class_="axis", x=at, y=_HEIGHT - 6, text_anchor="middle"),
        ]
    label = f"Buffers of {total:,} bytes against program order"
    return _svg(label, parts, "timeline")


def cliff(points: Mapping[int, Estimate], here: int, limit: int | None, target: str) -> Safe:
    """Bytes by ``num_stages``: a bar for each, the limit across; ``here`` is the one in use."""
    known = {stages: one.bytes for stages, one in sorted(points.items()) if one.bytes is not None}
    return curves({"": known}, here, limit, target)


def curves(lines: Mapping[str, Mapping[int, int]], here: int, limit: int | None, target: str) -> Safe:
    """Bytes by ``num_stages``, one line for each name."""
    values = [value for line in lines.values() for value in line.values()]
    stages = sorted({number for line in lines.values() for number in line})
    highest = max(values, default=1)
    shown = limit if limit is not None and limit < 2.2 * highest else None
    top = max(highest, shown or 0, 1) * 1.2

    def x(number: int) -> float:
        at = stages.index(number) + 0.5
        return _LEFT + at / len(stages) * (_WIDTH - _LEFT - _RIGHT)

    def y(value: float) -> float:
        return _HEIGHT - _BOTTOM - value / top * (_HEIGHT - _TOP - _BOTTOM)

    parts: list[Child] = []
    if shown is not None:
        parts.append(tag("rect", class_="over", x=_LEFT, y=_TOP - 14, width=_WIDTH - _LEFT - _RIGHT, height=_n(y(shown) - _TOP + 14)))
    parts += _grid(top, y)
    for number in stages:
        mark = " (this one)" if number == here else ""
        parts.append(tag("text", f"{number}{mark}", class_="axis", x=_n(x(number)), y=_HEIGHT - 18, text_anchor="middle"))
    parts.append(tag("text", "num_stages", class_="axis", x=_n((_WIDTH + _LEFT) / 2), y=_HEIGHT - 3, text_anchor="middle"))
    if shown is not None:
        parts += [
            tag("line", class_="limit", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=_n(y(shown)), y2=_n(y(shown))),
            tag("text", f"– – limit of {target}: {shown:,} B", class_="limit-text", x=_LEFT + 6, y=_TOP),
        ]
    for index, (name, line) in enumerate(lines.items()):
        parts.append(_line(index, name, line, limit, x, y, _below(line, lines, top)))
    return _svg("Bytes of shared memory by num_stages", parts, "cliff")


def legend(names: Sequence[str]) -> Safe:
    """The names of the lines of ``curves``, in their colours."""
    return tag("p", [tag("span", name, class_=f"key line-{index % 6}") for index, name in enumerate(names)], class_="legend")


def _line(index: int, name: str, line: Mapping[int, int], limit: int | None, x: Scale, y: Scale, below: set[int]) -> Safe:
    path = " ".join(f"{'M' if place == 0 else 'L'}{_n(x(number))},{_n(y(value))}" for place, (number, value) in enumerate(line.items()))
    parts: list[Child] = [tag("path", d=path, class_="curve")]
    for number, value in line.items():
        over = limit is not None and value > limit
        title = tag("title", f"{name + ', ' if name else ''}num_stages={number}: {value:,} B{', over the limit' if over else ''}")
        parts.append(tag("circle", title, cx=_n(x(number)), cy=_n(y(value)), r=5, class_="point over-point" if over else "point"))
        at = y(value) + (18 if number in below else -9)
        parts.append(tag("text", f"{value:,}", class_="value", x=_n(x(number)), y=_n(at), text_anchor="middle"))
    return tag("g", parts, class_=f"line-{index % 6}")


def _below(line: Mapping[int, int], lines: Mapping[str, Mapping[int, int]], top: float) -> set[int]:
    """Where another line runs right above: its numbers go below."""
    found = set()
    for number, value in line.items():
        others = [other[number] for other in lines.values() if number in other]
        if any(0 < one - value < 0.08 * top for one in others):
            found.add(number)
    return found


def _extent(buffers: Sequence[Buffer], loops: Sequence[Loop]) -> tuple[int, int]:
    ranges = [(one.start, one.end) for one in buffers] + [(one.start, one.end) for one in loops]
    first, last = min((one[0] for one in ranges), default=0), max((one[1] for one in ranges), default=1)
    margin = max(1, (last - first) // 60)
    return first - margin, last + margin


def _band(loop: Loop, x: Scale) -> Safe:
    left, right = x(loop.start), x(loop.end)
    label = f"loop, line {loop.line}" if loop.line else "loop"
    return tag(
        "g", tag("rect", class_="loop", x=_n(left), y=_TOP - 14, width=_n(right - left), height=_HEIGHT - _BOTTOM - _TOP + 14),
        tag("text", label, class_="axis", x=_n((left + right) / 2), y=_HEIGHT - 20, text_anchor="middle"),
    )  # fmt: skip


def _label_at(buffer: Buffer, y: Scale, limit: int | None) -> float:
    """Where a buffer's label stands: in its middle, or beside the limit's line where that would go through it."""
    middle, high, low = y(buffer.offset + buffer.size / 2), y(buffer.offset + buffer.size), y(buffer.offset)
    if limit is None or abs(middle - y(limit)) > 9:
        return middle + 4
    below, above = y(limit) + 15, y(limit) - 6
    return below if below < low - 3 else above if above > high + 11 else middle + 4


def _rectangle(buffer: Buffer, loops: Sequence[Loop], x: Scale, y: Scale, limit: int | None) -> Safe:
    left, width = x(buffer.start), max(x(buffer.end) - x(buffer.start), _THIN)
    height = max(y(buffer.offset) - y(buffer.offset + buffer.size), 2.0)
    alive = lifetime(buffer, loops)
    what = f"{describe(buffer)}, {buffer.size:,} B at {buffer.offset:,}{', alive ' + alive if alive else ''}"
    title = tag("title", what + (f", line {buffer.line}" if buffer.line else ""))
    parts: list[Child] = [
        title,
        tag("rect", x=_n(left), y=_n(y(buffer.offset + buffer.size)), width=_n(width), height=_n(height)),
    ]
    told = f"{buffer.size:,} B  {buffer.what}"
    if height >= 13 and width >= 7 * len(told):
        parts.append(tag("text", told, class_="inside", x=_n(left + 6), y=_n(_label_at(buffer, y, limit))))
    elif height >= 13 and width >= 60:
        parts.append(tag("text", f"{buffer.size:,} B", class_="inside", x=_n(left + 4), y=_n(_label_at(buffer, y, limit))))
    kind = buffer.kind if buffer.kind in KINDS else "scratch"
    return tag("g", parts, class_=f"buffer {kind}{' thin' if min(height, width) < 6 else ''}")


def _grid(top: float, y: Scale) -> list[Child]:
    step = 1024
    while top / step > 7:
        step *= 2
    parts: list[Child] = []
    for value in range(0, int(top) + 1, step):
        parts.append(tag("line", class_="grid", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=_n(y(value)), y2=_n(y(value))))
        parts.append(tag("text", f"{value // 1024} KiB", class_="axis", x=_LEFT - 6, y=_n(y(value) + 4), text_anchor="end"))
    return parts


def _svg(label: str, parts: Sequence[Child], kind: str) -> Safe:
    return tag("svg", parts, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", aria_label=label, class_=kind)


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
