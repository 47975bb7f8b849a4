"""Bytes by ``num_stages`` within a page. Colours are classes of the page's style."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from smem_lint.engines import Estimate
from smem_lint.report.chart import RING, Chart, Limits, Sheet, chart
from smem_lint.report.curves import Curve, Point, legend_of
from smem_lint.report.html_svg import WIDE, both, line, number, rectangle, svg, text
from smem_lint.report.html_tags import Child, Safe, tag

_CROSS = "M-5,-2.6L-2.6,-5L0,-2.4L2.6,-5L5,-2.6L2.4,0L5,2.6L2.6,5L0,2.4L-2.6,5L-5,2.6L-2.4,0Z"


def cliff(points: Mapping[int, Estimate], here: int, limit: int | None, target: str, label: str) -> list[Child]:
    """One config's bytes by ``num_stages``; ``here`` is the one in use."""
    known = [
        Point(stages, one.bytes, "all" if limit is not None and one.bytes > limit else "", stages == here)
        for stages, one in sorted(points.items())
        if one.bytes is not None
    ]
    return curves([Curve(label, tuple(known))], [(target, limit)] if limit is not None else [])


def curves(lines: Sequence[Curve], limits: Limits) -> list[Child]:
    """The legend and the picture, which is higher where there are many lines."""
    height = min(500, 320 + 36 * max(0, len(lines) - 4))

    def draw(width: int) -> Safe:
        sheet = Sheet(width, height, 64, 96, 22, 40, 11) if width == WIDE else Sheet(width, height, 52, 80, 22, 40, 10.5)
        return _picture(chart(lines, limits, sheet))

    return [_legend(lines, limits), both(draw)]


def _legend(lines: Sequence[Curve], limits: Limits) -> Safe:
    keys = [tag("span", _key_line(one), one.label, class_=f"key line-{one.color}") for one in lines if one.label]
    marks = legend_of(lines, limits or [("", 0)])
    keys += [tag("span", _key_mark(mark), told, class_="key quiet") for mark, told in marks.items()]
    return tag("p", keys, class_="legend")


def _key_line(one: Curve) -> Safe:
    drawn = tag("path", d="M0,6L26,6", class_=f"curve style-{one.style}")
    return tag("svg", drawn, viewBox="0 0 26 12", class_="swatch-line", aria_hidden="true")


def _key_mark(mark: str) -> Safe:
    return tag("svg", _mark(mark, 8, 8), viewBox="0 0 16 16", class_="swatch-mark", aria_hidden="true")


def _mark(mark: str, x: float, y: float, title: str = "") -> Safe:
    told = tag("title", title) if title else None
    if mark == "here":
        return tag("circle", told, cx=number(x), cy=number(y), r=number(RING), class_="ring")
    if mark:
        return tag("path", told, d=_CROSS, transform=f"translate({number(x)},{number(y)})", class_=f"point cross {mark}")
    return tag("circle", told, cx=number(x), cy=number(y), r=4.5, class_="point")


def _picture(made: Chart) -> Safe:
    left, top, right, bottom = made.sheet.frame
    parts: list[Child] = []
    if len(made.limits) == 1:
        parts.append(rectangle(left, top, right, made.limits[0].y, "over"))
    for at, told in made.y_ticks:
        parts += [line(left, at, right, at, "grid"), text(told, left - 6, at, "axis", "end")]
    for at, told in made.x_ticks:
        parts.append(text(told, at, bottom + 11, "axis", "middle"))
    parts.append(text("num_stages", (left + right) / 2, bottom + 28, "axis", "middle"))
    for index, limit in enumerate(made.limits):
        parts += _limit(made, index, limit.y, limit.label_y, limit.rows, ", ".join(limit.targets))
    parts += [_line(*one) for one in zip(made.curves, made.spots, made.marked, strict=True)]
    for label in made.labels:
        color = f"value line-{made.curves[label.curve].color}" if label.curve is not None else "value"
        if label.lead is not None:
            (x0, y0), (x1, y1) = label.lead
            parts.append(line(x0, y0, x1, y1, f"{color} lead"))
        parts.append(text(label.text, label.x, label.y, color, "middle"))
    if made.note:
        parts.append(text(made.note, right, 10, "axis", "end"))
    return svg("Bytes of shared memory by num_stages", parts, "cliff", made.sheet.width, made.sheet.height)


def _limit(made: Chart, index: int, y: float, label_y: float, rows: Sequence[str], targets: str) -> list[Child]:
    left, _, right, _ = made.sheet.frame
    kind = "" if index == 0 else " other"
    parts: list[Child] = [line(left, y, right, y, f"limit{kind}")]
    if abs(y - label_y) > 1:
        parts.append(line(right, y, right + 7, label_y, f"limit-lead{kind}"))
    for told, shift in zip(rows, (-6.5, 6.5), strict=True):
        parts.append(text(told, right + 9, label_y + shift, f"limit-text{kind}", title=f"limit of {targets}"))
    return parts


def _line(one: Curve, spots: Sequence[tuple[float, float]], marked: frozenset[int]) -> Safe:
    path = "".join(f"{'L' if index else 'M'}{number(x)},{number(y)}" for index, (x, y) in enumerate(spots))
    parts: list[Child] = [tag("path", d=path, class_=f"curve style-{one.style}")]
    for point, (x, y) in zip(one.points, spots, strict=True):
        over = ", over the limit" if point.over == "all" else ", over the limit of some targets" if point.over else ""
        here = ", this config" if point.here else ""
        name = f"{one.label}, " if one.label else ""
        if point.stages in marked:
            parts.append(_mark(point.over, x, y, f"{name}num_stages={point.stages}: {point.bytes:,} B{over}{here}"))
        if point.here:
            parts.append(_mark("here", x, y))
    return tag("g", parts, class_=f"line-{one.color}")
