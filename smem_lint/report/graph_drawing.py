"""A dataflow graph as a picture (matplotlib) or as DOT text."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from smem_lint.report.drawing import COLORS, drawable, new_figure, save
from smem_lint.report.graph_layout import Layout, layout
from smem_lint.report.tokens import shortened

_HEIGHT = 0.62
_GAP, _FRAME, _TITLE = 0.38, 0.18, 0.16  # between rows, for the edge of a loop's frame, for the frame's title
_CHARACTER = 0.068
_MARGIN = 0.35
_CODE = 40
_CARRIED = "#8a5d00"
_INK = "#22262d"
_PALE = {"load": "#e8f0fa", "dot": "#fdeede", "store": "#e9f4ec", "reduction": "#f0ebf7", "scan": "#f0ebf7"}
_LEGEND = {
    "staged": "staged load", "operand": "operand in shared memory", "scratch": "scratch while it runs", "barrier": "barrier",
    "call": "held by a function that is called",
}  # fmt: skip
Spot = tuple[float, float]
Box = tuple[float, float, float, float]


def lines_of(data: dict[str, Any]) -> list[str]:
    """What a node says: what it is, its bytes if it takes any, and the source behind it."""
    text = [data["label"]]
    if data["bytes"]:
        text.append(f"{data['bytes']:,} B at {data['offset']:,}" + (", at the peak" if data["peak"] else ""))
    if data["line"]:
        text.append(f"{data['line']}: {shortened(data['code'], _CODE)}" if data["code"] else f"line {data['line']}")
    return text


@dataclass
class Drawing:
    """Where everything stands, in inches from the upper left: ``middles`` of the rows, ``boxes`` of the loops, ``paths`` of the edges.

    A path runs straight down (or up) beside the boxes of a row, and bends between the rows, so that it is beneath no box. A box is
    left, right, top and bottom.
    """

    graph: Any
    made: Layout
    widths: dict[Any, float]
    middles: list[float]
    boxes: dict[int, Box] = field(default_factory=dict)
    paths: dict[tuple[Any, Any], list[Spot]] = field(default_factory=dict)


def drawing(graph: Any) -> Drawing:
    """Lay a graph out with the room that its texts take."""
    widths: dict[Any, float] = {}
    for node, data in graph.nodes(data=True):
        first, *others = lines_of(data)
        widths[node] = max([len(first) * 1.08, *map(len, others)]) * _CHARACTER + 0.24
    made = layout(graph, widths)
    ports = _ports(made, widths)
    middles = _middles(made, ports)
    found = Drawing(graph, made, widths, middles)
    found.boxes = _loops(found)
    for edge, route in made.routes.items():
        found.paths[edge] = _path(route, found, ports)
    return found


def _ports(made: Layout, widths: dict[Any, float]) -> dict[tuple[Any, Any], float]:
    """Where each edge leaves or enters a box, by the box and what comes next on the route: side by side, in the order of what comes."""
    sides: dict[tuple[Any, bool], list[Any]] = {}
    for route in made.routes.values():
        for node, near in ((route[0], route[1]), (route[-1], route[-2])):
            below = made.rows[near] >= made.rows[node]
            if near not in sides.setdefault((node, below), []):
                sides[node, below].append(near)
    found: dict[tuple[Any, Any], float] = {}
    for (node, _), others in sides.items():
        others.sort(key=lambda one: made.centres[one])
        step = min(0.3, (widths[node] - 0.4) / len(others))
        for index, one in enumerate(others):
            found[node, one] = made.centres[node] + (index - (len(others) - 1) / 2) * step
    return found


def _middles(made: Layout, ports: dict[tuple[Any, Any], float]) -> list[float]:
    """The middle of each row: further apart where edges run far to the side, and where a loop's frame begins or ends."""
    count = max(made.rows.values(), default=0) + 1
    gaps = [_GAP] * count
    for route in made.routes.values():
        for one, other in itertools.pairwise(route):
            row = max(made.rows[one], made.rows[other])
            if made.rows[one] != made.rows[other]:
                aside = abs(ports.get((one, other), made.centres[one]) - ports.get((other, one), made.centres[other]))
                gaps[row] = max(gaps[row], _GAP + min(0.5, 0.07 * aside))
    for _, _, first, last in made.frames.values():
        gaps[first] += _FRAME + _TITLE
        if last + 1 < count:
            gaps[last + 1] += _FRAME
    middles, at = [], -_HEIGHT / 2 - _GAP
    for gap in gaps:
        at += gap + _HEIGHT
        middles.append(at)
    return middles


def _path(route: list[Any], whole: Drawing, ports: dict[tuple[Any, Any], float]) -> list[Spot]:
    half, made, middles = _HEIGHT / 2, whole.made, whole.middles
    start, end = route[0], route[-1]
    down = made.rows[start] < made.rows[end]
    x0, x1 = ports[start, route[1]], ports[end, route[-2]]
    y0, y1 = middles[made.rows[start]], middles[made.rows[end]]
    if made.rows[start] == made.rows[end]:
        return [(x0, y0 + half), (x0, y0 + half + 0.12), (x1, y1 + half + 0.12), (x1, y1 + half)]
    points = [(x0, y0 + (half if down else -half))]
    for lane in route[1:-1]:
        ends = [(made.centres[lane], y) for y in _extent(lane, whole)]
        points += ends if down else reversed(ends)
    return [*points, (x1, y1 - (half if down else -half))]


def _extent(lane: Any, whole: Drawing) -> tuple[float, float]:
    """How far a lane runs straight: along its row, and past the ends of frames that it is not in."""
    row = whole.made.rows[lane]
    high, low = whole.middles[row] - _HEIGHT / 2, whole.middles[row] + _HEIGHT / 2
    for loop, (_, _, first, last) in whole.made.frames.items():
        if loop not in whole.made.inside[lane]:
            high = min(high, whole.boxes[loop][2]) if row == first else high
            low = max(low, whole.boxes[loop][3]) if row == last else low
    return high, low


def picture(graph: Any, file: Path, title: str) -> None:
    """Draw to an ``.svg`` or ``.png`` file. Raises NotDrawn, OSError."""
    made = drawing(graph)
    boxes = made.boxes
    lefts = [at - made.widths[node] / 2 for node, at in made.made.centres.items()] + [box[0] for box in boxes.values()]
    rights = [at + made.widths[node] / 2 for node, at in made.made.centres.items()] + [box[1] for box in boxes.values()]
    heading = shortened(f"{title}: {graph.graph['total']:,} B", 110)
    left, right = min(lefts, default=0.0) - _MARGIN, max(rights, default=4.0) + _MARGIN
    spare = max(7.2, len(heading) * 0.105 + 0.7) - (right - left)
    left, right = left - max(spare, 0) / 2, right + max(spare, 0) / 2
    bottom = max([made.middles[-1] + _HEIGHT / 2, *(box[3] for box in boxes.values())]) + 0.62
    figure = new_figure(right - left, bottom + 0.62)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, -0.62)
    axes.set_axis_off()
    axes.text(left + _MARGIN, -0.36, drawable(heading, bold=True), size=11, weight="bold", color=_INK, va="center")
    for number, box in sorted(boxes.items()):
        _loop(axes, box, graph.graph["loops"][number][1])
    for (start, end), path in made.paths.items():
        carried = graph.edges[start, end]["carried"] or made.made.rows[start] >= made.made.rows[end]
        color = COLORS.get(graph.nodes[start]["kind"], "#6b7280") if graph.nodes[start]["bytes"] else "#6b7280"
        _arrow(axes, path, _CARRIED if carried else color, (0, (3, 2)) if carried else "solid")
    for node, data in graph.nodes(data=True):
        _node(axes, made.made.centres[node], made.middles[made.made.rows[node]], made.widths[node], lines_of(data), data)
    _legend(axes, graph, made)
    save(figure, file)


def _legend(axes: Any, graph: Any, made: Drawing) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    kinds = {data["kind"] if data["kind"] in COLORS else "scratch" for _, data in graph.nodes(data=True) if data["bytes"]}
    handles: list[Any] = [Patch(facecolor=COLORS[kind], label=text) for kind, text in _LEGEND.items() if kind in kinds]
    if any(data["peak"] for _, data in graph.nodes(data=True)):
        handles.append(Patch(facecolor="white", edgecolor=_INK, linewidth=2.2, label="held at the peak"))
    if any(made.made.rows[start] >= made.made.rows[end] for start, end in made.paths):
        handles.append(Line2D([], [], color=_CARRIED, linestyle=(0, (3, 2)), label="to the next iteration"))
    if handles:
        axes.legend(handles=handles, loc="lower center", ncols=len(handles), fontsize=8, frameon=False, columnspacing=1.4)


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
        bold = index == 0
        weight = "bold" if bold else "normal"
        axes.text(x, at, drawable(line, bold), size=7.4, color=color, weight=weight, ha="center", va="center", zorder=5)


def _loops(made: Drawing) -> dict[int, Box]:
    """The box of each loop; an outer loop's holds the inner ones'."""
    boxes: dict[int, Box] = {}
    for number, (left, right, first, last) in made.made.frames.items():
        inner = [box for other, box in boxes.items() if _holds(made.graph, number, other)]
        top = min([made.middles[first] - _HEIGHT / 2, *(box[2] for box in inner)]) - _FRAME - 0.08
        bottom = max([made.middles[last] + _HEIGHT / 2, *(box[3] for box in inner)]) + _FRAME
        boxes[number] = left, right, top, bottom
    return boxes


def _holds(graph: Any, outer: int, inner: int | None) -> bool:
    while inner is not None:
        inner = graph.graph["loops"][inner][0]
        if inner == outer:
            return True
    return False


def _loop(axes: Any, box: Box, line: int | None) -> None:
    from matplotlib.patches import FancyBboxPatch

    left, right, top, bottom = box
    axes.add_patch(
        FancyBboxPatch(
            (left, top), right - left, bottom - top, boxstyle="round,pad=0,rounding_size=0.1", facecolor="#f6f7f9", edgecolor="#aab0ba",
            linestyle=(0, (4, 2)), linewidth=1, zorder=1,
        )
    )  # fmt: skip
    axes.text(left + 0.1, top + 0.1, f"loop, line {line}" if line else "loop", size=7, color="#5b6770", va="center", zorder=2)


def _arrow(axes: Any, points: list[Spot], color: str, style: Any) -> None:
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
