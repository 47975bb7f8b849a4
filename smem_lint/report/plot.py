"""``explain --plot``: bytes by ``num_stages``, a line for each value that is swept, the devices' limits as lines across."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from smem_lint.explain import Explanation
from smem_lint.report.chart import Chart, Sheet, chart
from smem_lint.report.curves import curves_of, legend_of
from smem_lint.report.drawing import LIMITS, LINES, drawable, new_figure, save
from smem_lint.report.places import Segment, width_of
from smem_lint.report.tokens import shortened

_WIDTH, _HEIGHT = 620.0, 372.0  # points, 72 an inch, without the legend
_TEXT, _ROW = 8.0, 14.0
_INK, _QUIET = "#22262d", "#5b6770"
_STYLES: tuple[Any, ...] = ("solid", (0, (6, 2)), (0, (6, 2, 1.5, 2)), (0, (1.5, 1.5)))
_LONGEST_ENTRY, _LONGEST_TITLE = 100, 84


def plot(found: Sequence[Explanation], file: Path) -> None:
    """Draw to an ``.svg`` or ``.png`` file. Raises NotDrawn, OSError."""
    curves = curves_of(found)
    entries = [_wrapped(one.label) for one in curves]
    limits = [(one.device.target, one.device.optin) for one in found]
    marks = legend_of(curves, limits)
    columns, rows = _columns([*entries, *marks.values()])
    height = _HEIGHT + rows * _ROW
    figure = new_figure(_WIDTH / 72, height / 72)
    made = chart(curves, limits, _sheet(height, rows))
    axes = _axes(figure, made)
    for index, entry in enumerate(entries):
        _curve(axes, made, index, entry)
    for limit in made.limits:
        _limit(axes, made, limit, limit is made.limits[0])
    for label in made.labels:
        color = LINES[curves[label.curve].color] if label.curve is not None else _INK
        _text(axes, made, label.text, label.x, label.y, ha="center", va="center", fontsize=_TEXT, color=color, zorder=6)
        if label.lead is not None:
            _stroke(axes, made, label.lead, color, 0.6)
    first = found[0]
    title = first.base.specialization.kernel + (f", {first.device.target}" if len(found) == 1 else "")
    heading = drawable(shortened(title, _LONGEST_TITLE), bold=True)
    _text(axes, made, heading, 12, 16, va="center", weight="bold", fontsize=12, color=_INK)
    if made.note:
        _text(axes, made, made.note, 12, 32, va="center", fontsize=_TEXT, color=_QUIET)
    _legend(figure, made, marks, columns)
    save(figure, file)


def _sheet(height: float, rows: int) -> Sheet:
    return Sheet(_WIDTH, height, left=66, right=88, top=42, bottom=50 + rows * _ROW, text=_TEXT)


def _axes(figure: Any, made: Chart) -> Any:
    sheet = made.sheet
    left, top, right, bottom = sheet.frame
    axes = figure.add_axes(
        (left / sheet.width, 1 - bottom / sheet.height, (right - left) / sheet.width, (bottom - top) / sheet.height)
    )  # fmt: skip
    axes.set_xlim(-0.5, len(made.stages) - 0.5)
    axes.set_ylim(0, made.top)
    axes.set_xticks([made.stages.index(int(text)) for _, text in made.x_ticks], [text for _, text in made.x_ticks], fontsize=9)
    step = made.top / (bottom - top)
    axes.set_yticks([(bottom - at) * step for at, _ in made.y_ticks], [text for _, text in made.y_ticks], fontsize=9)
    axes.set_xlabel("num_stages", fontsize=9.5)
    axes.set_ylabel("shared memory of one block", fontsize=9.5)
    axes.grid(axis="y", color="#e3e5ea", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _curve(axes: Any, made: Chart, index: int, entry: str) -> None:
    curve = made.curves[index]
    xs = [made.stages.index(one.stages) for one in curve.points]
    ys = [one.bytes for one in curve.points]
    color = LINES[curve.color]
    label = "\n".join(map(drawable, entry.split("\n")))
    axes.plot(xs, ys, color=color, linewidth=1.8, linestyle=_STYLES[curve.style], label=label, zorder=3)
    for x, one in zip(xs, curve.points, strict=True):
        if one.stages not in made.marked[index]:
            continue
        style: dict[str, Any] = {"marker": "X", "s": 76} if one.over else {"marker": "o", "s": 30}
        face, edge = ("white", color) if one.over == "some" else (color, "white")
        axes.scatter([x], [one.bytes], facecolor=face, edgecolor=edge, linewidth=1.0, zorder=4, **style)
        if one.here:
            axes.scatter([x], [one.bytes], marker="o", s=130, facecolor="none", edgecolor=_INK, linewidth=1.2, zorder=5)


def _limit(axes: Any, made: Chart, limit: Any, first: bool) -> None:
    color = LIMITS[0 if first else 1]
    right = made.sheet.frame[2]
    axes.axhline(limit.bytes, color=color, linewidth=1.2, linestyle=(0, (3, 2)), zorder=2)
    if len(made.limits) == 1:
        axes.axhspan(limit.bytes, made.top, color=color, alpha=0.06, linewidth=0, zorder=0)
    if abs(limit.y - limit.label_y) > 1:
        _stroke(axes, made, ((right, limit.y), (right + 9, limit.label_y)), color, 0.8)
    for text, shift in zip(limit.rows, (-0.62, 0.62), strict=True):
        _text(axes, made, text, right + 11, limit.label_y + shift * _TEXT, va="center", color=color, fontsize=_TEXT)


def _legend(figure: Any, made: Chart, marks: Mapping[str, str], columns: int) -> None:
    from matplotlib.lines import Line2D

    handles = list(figure.axes[0].get_legend_handles_labels()[0])
    plain: dict[str, Any] = {"linestyle": "none", "color": _QUIET}
    styles: dict[str, dict[str, Any]] = {
        "all": {"marker": "X", "markersize": 8.5, "markeredgecolor": "white"}, "some": {"marker": "X", "markersize": 8.5},
        "here": {"marker": "o", "markersize": 10},
    }  # fmt: skip
    for mark, text in marks.items():
        handles.append(Line2D([], [], label=text, **plain, markerfacecolor=_QUIET if mark == "all" else "none", **styles[mark]))
    figure.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(8 / made.sheet.width, 6 / made.sheet.height), ncols=columns, frameon=False,
        fontsize=8.5, handlelength=2.6, borderpad=0, borderaxespad=0, columnspacing=1.6, labelspacing=0.5,
    )  # fmt: skip


def _columns(entries: Sequence[str]) -> tuple[int, int]:
    """As many columns as the longest entry allows, and the rows that come of it."""
    widest = max(width_of(row, 8.5) for one in entries for row in one.split("\n")) + 50
    columns = max(1, min(3, len(entries), int((_WIDTH - 16) / widest)))
    heights = [one.count("\n") + 1 for one in entries]
    return columns, max(sum(heights) if columns == 1 else -(-len(entries) // columns) * max(heights), 1)


def _wrapped(label: str) -> str:
    """A legend's entry in two rows at most."""
    rows = textwrap.wrap(label, _LONGEST_ENTRY, break_long_words=True, break_on_hyphens=False)
    return "\n".join([rows[0], *([shortened(" ".join(rows[1:]), _LONGEST_ENTRY)] if rows[1:] else [])]) if rows else ""


def _spot(made: Chart, x: float, y: float) -> tuple[float, float]:
    """Points from the lower left corner, as matplotlib counts them."""
    return x, made.sheet.height - y


def _stroke(axes: Any, made: Chart, line: Segment, color: str, width: float) -> None:
    ends = [_spot(made, *end) for end in line]
    style = {"arrowstyle": "-", "color": color, "linewidth": width, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", ends[1], ends[0], xycoords="figure points", textcoords="figure points", arrowprops=style, annotation_clip=False)


def _text(axes: Any, made: Chart, text: str, x: float, y: float, **style: Any) -> None:
    axes.annotate(text, _spot(made, x, y), xycoords="figure points", annotation_clip=False, **style)
