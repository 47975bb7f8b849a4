"""A dataflow graph as a picture (matplotlib) or as DOT text."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from smem_lint.report.drawing import COLORS, new_figure, save
from smem_lint.report.graph_layout import Layout, layout

_HEIGHT, _STEP = 0.62, 1.0
_CHARACTER = 0.068
_MARGIN = 0.35
_INK = "#22262d"
_PALE = {"load": "#e8f0fa", "dot": "#fdeede", "store": "#e9f4ec", "reduction": "#f0ebf7", "scan": "#f0ebf7"}
_HELD = {"staged", "operand", "scratch", "barrier", "call"}
_LEGEND = (("staged", "staged load"), ("operand", "operand in shared memory"), ("scratch", "scratch while it runs"))


def lines_of(data: dict[str, Any]) -> list[str]:
    """What a node says: what it is, its bytes if it takes any, and the source behind it."""
    text = [data["label"]]
    if data["bytes"]:
        text.append(f"{data['bytes']:,} B at {data['offset']:,}" + (", at the peak" if data["peak"] else ""))
    if data["line"]:
        text.append(f"{data['line']}: {_short(data['code'])}" if data["code"] else f"line {data['line']}")
    return text


def _short(text: str) -> str:
    return text if len(text) <= 36 else text[:35] + "…"


def picture(graph: Any, file: Path, title: str) -> None:
    """Draw to an ``.svg`` or ``.png`` file. Raises NotDrawn, OSError."""
    from matplotlib.patches import Patch

    texts = {node: lines_of(data) for node, data in graph.nodes(data=True)}
    widths: dict[Any, float] = {node: max(map(len, text)) * _CHARACTER + 0.24 for node, text in texts.items()}
    made = layout(graph, widths)
    boxes = _loops(graph, made, widths)
    lefts = [at - widths[node] / 2 for node, at in made.centres.items()] + [box[0] for box in boxes.values()]
    rights = [at + widths[node] / 2 for node, at in made.centres.items()] + [box[1] for box in boxes.values()]
    left, right = min(lefts, default=0.0) - _MARGIN, max(rights, default=4.0) + _MARGIN
    right = max(right, left + 6.2)
    bottom = (max(made.rows.values(), default=0) + 0.5) * _STEP + 0.75
    figure = new_figure(right - left, bottom + 0.75)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, -1.1 + 0.35)
    axes.set_axis_off()
    axes.text(left + _MARGIN, -0.52, _plain(f"{title}: {graph.graph['total']:,} B"), size=11, weight="bold", color=_INK, va="center")
    for number, box in sorted(boxes.items()):
        _loop(axes, box, graph.graph["loops"][number][1])
    _edges(axes, graph, made, widths)
    for node, data in graph.nodes(data=True):
        _node(axes, made.centres[node], made.rows[node] * _STEP, widths[node], texts[node], data)
    handles = [Patch(facecolor=COLORS[kind], label=text) for kind, text in _LEGEND]
    handles.append(Patch(facecolor="white", edgecolor=_INK, linewidth=2.2, label="held at the peak"))
    axes.legend(handles=handles, loc="lower center", ncols=4, fontsize=8, frameon=False)
    save(figure, file)


def _node(axes: Any, x: float, y: float, width: float, text: list[str], data: dict[str, Any]) -> None:
    from matplotlib.patches import FancyBboxPatch

    held = bool(data["bytes"])
    face = COLORS.get(data["kind"], COLORS["scratch"]) if held else _PALE.get(data["kind"], "#f1f2f4")
    edge, thick = (_INK, 2.2) if data["peak"] else ("#8a8f98", 0.8)
    axes.add_patch(
        FancyBboxPatch(
            (x - width / 2, y - _HEIGHT / 2), width, _HEIGHT, boxstyle="round,pad=0,rounding_size=0.08", facecolor=face, edgecolor=edge,
            linewidth=thick, zorder=4,
        )
    )  # fmt: skip
    color = "white" if held else _INK
    for index, line in enumerate(text):
        at = y + (index - (len(text) - 1) / 2) * 0.175
        weight = "bold" if index == 0 else "normal"
        axes.text(x, at, _plain(line), size=7.4, color=color, weight=weight, ha="center", va="center", zorder=5)


def _loops(graph: Any, made: Layout, widths: dict[Any, float]) -> dict[int, tuple[float, float, float, float]]:
    """The box of each loop: left, right, top, bottom; an outer loop's holds the inner ones'."""
    boxes: dict[int, tuple[float, float, float, float]] = {}
    for number in sorted(graph.graph["loops"], reverse=True):
        own = [node for node in graph if graph.nodes[node]["loop"] == number]
        parts = [boxes[one] for one, (outer, _) in graph.graph["loops"].items() if outer == number and one in boxes]
        for node in own:
            x, y = made.centres[node], made.rows[node] * _STEP
            parts.append((x - widths[node] / 2, x + widths[node] / 2, y - _HEIGHT / 2, y + _HEIGHT / 2))
        if parts:
            boxes[number] = (
                min(one[0] for one in parts) - 0.2, max(one[1] for one in parts) + 0.2, min(one[2] for one in parts) - 0.17,
                max(one[3] for one in parts) + 0.1,
            )  # fmt: skip
    return boxes


def _loop(axes: Any, box: tuple[float, float, float, float], line: int | None) -> None:
    from matplotlib.patches import FancyBboxPatch

    left, right, top, bottom = box
    axes.add_patch(
        FancyBboxPatch(
            (left, top), right - left, bottom - top, boxstyle="round,pad=0,rounding_size=0.1", facecolor="#f6f7f9", edgecolor="#aab0ba",
            linestyle=(0, (4, 2)), linewidth=1, zorder=1,
        )
    )  # fmt: skip
    axes.text(left + 0.08, top + 0.09, f"loop, line {line}" if line else "loop", size=7, color="#5b6770", va="center", zorder=2)


def _edges(axes: Any, graph: Any, made: Layout, widths: dict[Any, float]) -> None:
    for start, end in graph.edges:
        route = made.routes.get((start, end))
        color = COLORS.get(graph.nodes[start]["kind"], "#6b7280") if graph.nodes[start]["kind"] in _HELD else "#6b7280"
        if route is None:
            _back(axes, start, end, made, widths)
            continue
        points = [(made.centres[node], made.rows[node] * _STEP) for node in route]
        points[0] = (points[0][0], points[0][1] + _HEIGHT / 2)
        points[-1] = (points[-1][0], points[-1][1] - _HEIGHT / 2)
        _arrow(axes, points, color, "solid")


def _arrow(axes: Any, points: list[tuple[float, float]], color: str, style: Any) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path as Curve

    vertices, codes = [points[0]], [int(Curve.MOVETO)]
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        middle = (y1 - y0) * 0.5
        vertices += [(x0, y0 + middle), (x1, y1 - middle), (x1, y1)]
        codes += [int(Curve.CURVE4)] * 3
    axes.add_patch(
        FancyArrowPatch(
            path=Curve(vertices, codes), arrowstyle="-|>", mutation_scale=8, color=color, linewidth=1.0, linestyle=style, zorder=3,
            shrinkA=0, shrinkB=0,
        )
    )  # fmt: skip


def _back(axes: Any, start: Any, end: Any, made: Layout, widths: dict[Any, float]) -> None:
    """To the next iteration: out of the right side, up, and in again from the right."""
    x0, y0 = made.centres[start] + widths[start] / 2, made.rows[start] * _STEP
    x1, y1 = made.centres[end] + widths[end] / 2, made.rows[end] * _STEP
    far = max(x0, x1) + 0.3
    _arrow(axes, [(x0, y0), (far, (y0 + y1) / 2), (x1, y1)], "#9a6b00", (0, (3, 2)))


def as_dot(graph: Any, title: str) -> str:
    """The graph in Graphviz's language, loops as clusters."""
    names = {node: f"n{index}" for index, node in enumerate(graph)}
    heading = f"{title}: {graph.graph['total']:,} B"
    lines = [f"digraph {_quoted(title)} {{", f'  label={_quoted(heading)}; labelloc=t; fontname="sans-serif";']
    lines.append('  node [shape=box, style="rounded,filled", fontname="sans-serif", fontsize=10, fillcolor="#f1f2f4"];')
    lines += _cluster(graph, names, None, "  ")
    for start, end, data in graph.edges(data=True):
        style = ' [style=dashed, constraint=false, label="next iteration"]' if data["carried"] else ""
        lines.append(f"  {names[start]} -> {names[end]}{style};")
    return "\n".join([*lines, "}"]) + "\n"


def _cluster(graph: Any, names: dict[Any, str], loop: int | None, indent: str) -> list[str]:
    lines = []
    for node, data in graph.nodes(data=True):
        if data["loop"] == loop:
            color = COLORS.get(data["kind"], COLORS["scratch"])
            held = f', fillcolor="{color}", fontcolor=white' if data["bytes"] else ""
            thick = ", penwidth=3" if data["peak"] else ""
            lines.append(f"{indent}{names[node]} [label={_quoted(chr(10).join(lines_of(data)))}{held}{thick}];")
    for number, (outer, line) in graph.graph["loops"].items():
        if outer == loop:
            lines.append(f"{indent}subgraph cluster_{number} {{")
            lines.append(f"{indent}  label={_quoted(f'loop, line {line}')}; style=dashed;")
            lines += [*_cluster(graph, names, number, indent + "  "), f"{indent}}}"]
    return lines


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _plain(text: str) -> str:
    return text.replace("$", r"\$")
