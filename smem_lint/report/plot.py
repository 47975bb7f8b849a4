"""``explain --plot``: bytes by ``num_stages``, a line for each value that is swept, the devices' limits as lines across."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from smem_lint.devices import Device
from smem_lint.explain import STAGES, Explanation, Row
from smem_lint.report.drawing import LIMITS, LINES, new_figure, save
from smem_lint.report.explanation import value_text

_MOST_LINES = 12
_FAR = 3.0  # how far above the rest a limit may lie and still be drawn


def curves(found: Explanation) -> list[tuple[str, tuple[Row, ...]]]:
    """The lines to draw: one for each value of each sweep, else that of the base alone; lines that coincide are one."""
    lines = [
        (f"{cross.sweep.label} = {value_text(value)}", rows)
        for cross in found.crosses
        for value, rows in zip(cross.sweep.values, cross.rows, strict=True)
    ]
    together: dict[Any, tuple[str, tuple[Row, ...]]] = {}
    for label, rows in lines or [(found.base.specialization.kernel, found.tables[STAGES])]:
        shape = _shape(rows)
        together[shape] = (f"{together[shape][0]}; {label}" if shape in together else label, rows)
    return list(together.values())


def plot(found: Sequence[Explanation], file: Path) -> None:
    """Draw to an ``.svg`` or ``.png`` file. Raises NotDrawn, OSError."""
    figure = new_figure(8.4, 5.0)
    axes = figure.add_subplot()
    first = found[0]
    drawn = _all_curves(found)[:_MOST_LINES]
    tops = [row.estimate.bytes for _, rows in drawn for row in rows if row.estimate.bytes is not None]
    near = _near([one.device for one in found], max([*tops, first.device.optin]))
    highest = max([*tops, *near])
    places = _places(drawn, highest, near)
    for index, (label, rows) in enumerate(drawn):
        _curve(axes, label, rows, first.device, LINES[index % len(LINES)], places)
    axes.scatter([], [], color="#5b6770", marker="X", s=64, label=f"over the limit of {first.device.target}")
    stages = sorted({row.specialization.num_stages for one in found for _, rows in curves(one) for row in rows})
    axes.set_xticks(stages)
    axes.set_xlim(min(stages) - 0.25, max(stages) + 0.25)
    _limits(axes, [one.device for one in found], max([*tops, first.device.optin]), highest)
    axes.set_ylim(0, highest * 1.14)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value / 1024:,.0f} KiB")
    axes.yaxis.set_major_locator(_kibibytes(highest))
    axes.set_xlabel("num_stages")
    axes.set_ylabel("shared memory of one block")
    title = first.base.specialization.kernel + (f", {first.device.target}" if len(found) == 1 else "")
    axes.set_title(_plain(title), loc="left", weight="bold")
    axes.grid(axis="y", color="#d7dae0", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    columns = 3 if max(len(label) for label, _ in drawn) < 36 else 2
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=columns, frameon=False, fontsize=9)
    save(figure, file)


def _all_curves(found: Sequence[Explanation]) -> list[tuple[str, tuple[Row, ...]]]:
    """Those of the first device, and of each other one that differs from it."""
    lines = curves(found[0])
    known = {_shape(rows) for _, rows in lines}
    for one in found[1:]:
        for label, rows in curves(one):
            if _shape(rows) not in known:
                known.add(_shape(rows))
                lines.append((f"{label} ({one.device.target})", rows))
    return lines


def _shape(rows: Sequence[Row]) -> tuple[tuple[int, int | None], ...]:
    return tuple((row.specialization.num_stages, row.estimate.bytes) for row in rows)


def _places(drawn: Sequence[tuple[str, Sequence[Row]]], top: int, limits: Sequence[int]) -> dict[tuple[int, int], str]:
    """Where each point's number goes so that it can be read: above, below, or nowhere."""
    points: dict[int, set[int]] = {}
    for _, rows in drawn:
        for row in rows:
            if row.estimate.bytes is not None:
                points.setdefault(row.specialization.num_stages, set()).add(row.estimate.bytes)
    height, gap = 0.034 * top, 0.012 * top
    places: dict[tuple[int, int], str] = {}
    for x, ys in points.items():
        taken: list[tuple[float, float]] = []
        for y in sorted(ys, reverse=True):
            others = [*taken, *((other - gap, other + gap) for other in ys if other != y), *((limit, limit) for limit in limits)]
            for place, span in (("above", (y + gap, y + gap + height)), ("below", (y - gap - height, y - gap))):
                if span[0] > 0 and all(span[1] <= low or high <= span[0] for low, high in others):
                    taken.append(span)
                    places[x, y] = place
                    break
    return places


def _curve(axes: Any, label: str, rows: Sequence[Row], device: Device, color: str, places: Mapping[tuple[int, int], str]) -> None:
    points = [(row.specialization.num_stages, row.estimate.bytes, row) for row in rows if row.estimate.bytes is not None]
    if not points:
        return
    axes.plot([x for x, _, _ in points], [y for _, y, _ in points], color=color, linewidth=1.8, label=_plain(label), zorder=3)
    for x, y, row in points:
        over = row.fits(device) is False
        style: dict[str, Any] = {"marker": "X", "s": 64} if over else {"marker": "o", "s": 34}
        axes.scatter([x], [y], color=color, edgecolor="white", linewidth=0.7, zorder=4, **style)
        if (x, y) in places:
            up = places[x, y] == "above"
            style = {"xytext": (0, 7 if up else -7), "va": "bottom" if up else "top"}
            axes.annotate(f"{y:,}", (x, y), textcoords="offset points", ha="center", fontsize=8, color=color, zorder=5, **style)


def _near(devices: Sequence[Device], top: int) -> list[int]:
    """The limits that are drawn: those that do not press what is asked for to the floor."""
    return [device.optin for device in devices if device.optin <= _FAR * top]


def _limits(axes: Any, devices: Sequence[Device], top: int, highest: int) -> None:
    """A line for each distinct limit; those that are far above all that is asked for are only told."""
    known: dict[int, list[str]] = {}
    for device in devices:
        known.setdefault(device.optin, []).append(device.target)
    above: list[str] = []
    shown: list[int] = []
    for limit, targets in sorted(known.items(), key=lambda one: (one[0] != devices[0].optin, -one[0])):
        text = f"{', '.join(dict.fromkeys(targets))}: {limit:,} B"
        if limit not in _near(devices, top):
            above.append(text)
            continue
        color = LIMITS[min(len(shown), 1)]
        axes.axhline(limit, color=color, linewidth=1.3, linestyle=(0, (5, 2)), zorder=2)
        close = any(abs(limit - other) < 0.045 * highest for other in shown)
        side: dict[str, Any] = {"ha": "right" if close else "left", "xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
        axes.annotate(text, (0.995 if close else 0.005, limit), (0, 3), color=color, fontsize=8.5, **side)
        if not shown:
            axes.axhspan(limit, 10 * highest, color=color, alpha=0.06, zorder=0)
        shown.append(limit)
    if above:
        axes.annotate(
            "above this picture: " + "; ".join(above), (1, 1.0), (0, -4), xycoords="axes fraction", textcoords="offset points",
            ha="right", va="top", fontsize=8, color="#5b6770",
        )  # fmt: skip


def _kibibytes(top: int) -> Any:
    from matplotlib.ticker import MultipleLocator

    step = 1024
    while top / step > 9:
        step *= 2
    return MultipleLocator(step)


def _plain(text: str) -> str:
    """Text that matplotlib shall not read as formulas."""
    return text.replace("$", r"\$")
