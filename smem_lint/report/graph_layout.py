"""Places for the nodes of a dataflow graph: rows from top to bottom, a loop's rows its own, few crossings.

The method is Sugiyama's: longest paths give the rows, invisible nodes carry edges over rows, medians order each row, and the
neighbours' centres pull the nodes into place. What passes a loop without having to do with it passes beside the loop's frame.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_SWEEPS = 8
_PULLS = 24
_GAP = 0.3
_LANE = 0.2
PAD = 0.2
"""Between what is in a loop and the loop's frame, in units of the widths."""
Node = Hashable
Loops = tuple[int, ...]


@dataclass
class Layout:
    """``rows`` and ``centres`` of each node (row number from the top; units of ``widths`` to the right); ``routes`` of the edges.

    A route is the nodes and invisible nodes (lanes) that an edge passes, from its start to its end: down, or up where it is carried to
    the next iteration. ``frames`` are the left and right ends of each loop, and its first and last row; ``inside`` the loops that a
    node or a lane is in, the outermost first.
    """

    rows: dict[Node, int] = field(default_factory=dict)
    centres: dict[Node, float] = field(default_factory=dict)
    routes: dict[tuple[Node, Node], list[Node]] = field(default_factory=dict)
    frames: dict[int, tuple[float, float, int, int]] = field(default_factory=dict)
    inside: dict[Node, Loops] = field(default_factory=dict)


def layout(graph: Any, widths: dict[Node, float]) -> Layout:
    """Rows and centres for all nodes. ``graph`` has ``loop`` and ``order`` on its nodes, ``carried`` on its edges, and ``loops``."""
    made = Layout()
    forward = _forward(graph)
    _rows(graph, forward, None, 0, made.rows)
    made.inside = {node: _chain(graph, graph.nodes[node]["loop"]) for node in graph}
    spans = _spans(graph, made)
    layers = _layers(graph, made, widths, spans)
    _order(layers, made, spans)
    _pull(layers, made, widths)
    _frame(layers, made, widths, spans)
    return made


def _chain(graph: Any, loop: int | None) -> Loops:
    """A loop and those around it, the outermost first."""
    found: Loops = ()
    while loop is not None:
        found = (loop, *found)
        loop = graph.graph["loops"][loop][0]
    return found


def _spans(graph: Any, made: Layout) -> dict[int, tuple[int, int]]:
    """The first and the last row of each loop that has nodes; outer loops first."""
    found = {}
    for loop in sorted(graph.graph["loops"], key=lambda one: (len(_chain(graph, one)), one)):
        own = [made.rows[node] for node in graph if loop in made.inside[node]]
        if own:
            found[loop] = min(own), max(own)
    return found


def _forward(graph: Any) -> list[tuple[Node, Node]]:
    """The edges that lead down: not those to a next iteration, nor those that close a circle."""
    after: dict[Node, list[Node]] = {node: [] for node in graph}
    for start, end, data in graph.edges(data=True):
        if not data["carried"]:
            after[start].append(end)
    done: set[Node] = set()
    on_path: set[Node] = set()
    kept: list[tuple[Node, Node]] = []

    def visit(node: Node) -> None:
        on_path.add(node)
        for following in after[node]:
            if following in on_path:
                continue
            kept.append((node, following))
            if following not in done:
                visit(following)
        on_path.discard(node)
        done.add(node)

    for node in sorted(graph, key=lambda one: graph.nodes[one]["order"]):
        if node not in done:
            visit(node)
    return kept


def _rows(graph: Any, edges: Sequence[tuple[Node, Node]], loop: int | None, first: int, rows: dict[Node, int]) -> int:
    """Rows from ``first`` on for what is in ``loop``, inner loops standing between what comes before and after; the next free row."""
    inner = {number: _members(graph, number) for number, (outer, _) in graph.graph["loops"].items() if outer == loop}
    starts = sorted((min(graph.nodes[node]["order"] for node in nodes), number) for number, nodes in inner.items() if nodes)
    own = [node for node in graph if graph.nodes[node]["loop"] == loop]
    phases: list[list[Node]] = [[] for _ in range(len(starts) + 1)]
    reached = _reached(edges, starts, inner)
    for node in own:
        order = graph.nodes[node]["order"]
        phases[max(sum(order > start for start, _ in starts), reached.get(node, 0))].append(node)
    for index, nodes in enumerate(phases):
        first = _longest(nodes, edges, first, rows)
        if index < len(starts):
            first = _rows(graph, edges, starts[index][1], first, rows)
    return first


def _reached(edges: Sequence[tuple[Node, Node]], starts: Sequence[tuple[int, int]], inner: dict[int, list[Node]]) -> dict[Node, int]:
    """Of the loops in order, the number of the last one that a node depends on."""
    found: dict[Node, int] = {}
    after: dict[Node, list[Node]] = {}
    for start, end in edges:
        after.setdefault(start, []).append(end)
    for index, (_, number) in enumerate(starts, 1):
        pending, seen = list(inner[number]), set(inner[number])
        while pending:
            for node in after.get(pending.pop(), ()):
                if node not in seen:
                    seen.add(node)
                    found[node] = index
                    pending.append(node)
    return found


def _members(graph: Any, loop: int) -> list[Node]:
    within = {loop}
    for number, (outer, _) in sorted(graph.graph["loops"].items()):
        if outer in within:
            within.add(number)
    return [node for node in graph if graph.nodes[node]["loop"] in within]


def _longest(nodes: Sequence[Node], edges: Iterable[tuple[Node, Node]], first: int, rows: dict[Node, int]) -> int:
    """Rows by the longest path within ``nodes``; what has no source there stands right above its first reader."""
    chosen = set(nodes)
    inner = [(start, end) for start, end in edges if start in chosen and end in chosen]
    for node in nodes:
        rows[node] = first
    for _ in nodes:
        moved = False
        for start, end in inner:
            if rows[end] <= rows[start]:
                rows[end], moved = rows[start] + 1, True
        if not moved:
            break
    targets = {end for _, end in inner}
    for node in nodes:
        readers = [rows[end] for start, end in inner if start == node]
        if node not in targets and readers:
            rows[node] = min(readers) - 1
    return max((rows[node] for node in nodes), default=first - 1) + 1


def _layers(graph: Any, made: Layout, widths: dict[Node, float], spans: dict[int, tuple[int, int]]) -> list[list[Node]]:
    """The nodes of each row, with a lane wherever an edge passes: within the loops that it begins or ends in."""
    for start, end in graph.edges:
        down = made.rows[start] < made.rows[end]
        top, bottom = (start, end) if down else (end, start)
        route: list[Node] = [top]
        for row in range(made.rows[top] + 1, made.rows[bottom]):
            around = [loop for loop, (first, last) in spans.items() if first <= row <= last]
            inside = tuple(loop for loop in around if loop in made.inside[start] or loop in made.inside[end])
            lane = ("passing", start, row, inside, down)
            made.rows[lane], widths[lane], made.inside[lane] = row, _LANE, inside
            route.append(lane)
        made.routes[start, end] = [*route, bottom] if down else [bottom, *reversed(route)]
    layers: list[list[Node]] = [[] for _ in range(max(made.rows.values(), default=0) + 1)]
    for node, row in made.rows.items():
        layers[row].append(node)
    return layers


def _neighbours(made: Layout) -> tuple[dict[Node, list[Node]], dict[Node, list[Node]]]:
    above: dict[Node, list[Node]] = {node: [] for node in made.rows}
    below: dict[Node, list[Node]] = {node: [] for node in made.rows}
    for route in made.routes.values():
        for one, other in itertools.pairwise(route):
            start, end = (one, other) if made.rows[one] < made.rows[other] else (other, one)
            if made.rows[start] < made.rows[end] and start not in above[end]:
                above[end].append(start)
                below[start].append(end)
    return above, below


def _order(layers: list[list[Node]], made: Layout, spans: dict[int, tuple[int, int]]) -> None:
    above, below = _neighbours(made)
    chains = [[loop for loop, (first, last) in spans.items() if first <= row <= last] for row in range(len(layers))]
    for row, layer in enumerate(layers):
        layer[:] = _parted(layer, chains[row], made.inside)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        near = above if down else below
        for row in range(1, len(layers)) if down else range(len(layers) - 2, -1, -1):
            place = {node: index for index, node in enumerate(layers[row - 1 if down else row + 1])}
            layers[row].sort(key=_median(near, place, {node: index for index, node in enumerate(layers[row])}))
            layers[row][:] = _parted(layers[row], chains[row], made.inside)
    sides = _sides(layers, chains, made.inside)
    for row, layer in enumerate(layers):
        layer[:] = _parted(layer, chains[row], made.inside, sides)


def _parted(layer: list[Node], chain: Sequence[int], within: dict[Node, Loops], sides: Mapping[Node, int] | None = None) -> list[Node]:
    """The same order, but what is not in a row's loop to the left or to the right of all that is: as ``sides`` say, else as it stands."""
    if not chain:
        return layer
    inside = [node for node in layer if chain[0] in within[node]]
    standing = _standing(layer, chain[0], within)
    side = {node: (sides or {}).get((chain[0], _lane(node)), at) for node, at in standing.items()}
    left, right = ([node for node in layer if side.get(node) == at] for at in (-1, 1))
    return [*left, *_parted(inside, chain[1:], within, sides), *right]


def _standing(layer: Sequence[Node], loop: int, within: dict[Node, Loops]) -> dict[Node, int]:
    """Of what is not in a loop: whether it stands to the left (-1) or to the right (1) of the middle of what is."""
    places = [index for index, node in enumerate(layer) if loop in within[node]]
    middle = sum(places) / max(len(places), 1)
    return {node: -1 if index < middle else 1 for index, node in enumerate(layer) if loop not in within[node]}


def _sides(layers: Sequence[Sequence[Node]], chains: Sequence[Sequence[int]], within: dict[Node, Loops]) -> dict[Node, int]:
    """For each loop and each edge that passes it the side on which it does so in most rows."""
    votes: dict[Node, int] = {}
    for layer, chain in zip(layers, chains, strict=True):
        for loop in chain:
            for node, side in _standing(layer, loop, within).items():
                votes[loop, _lane(node)] = votes.get((loop, _lane(node)), 0) + side
    return {key: -1 if vote < 0 else 1 for key, vote in votes.items()}


def _lane(node: Node) -> Node:
    """What the lanes of one edge in the rows of a loop have in common."""
    return (node[1], node[3], node[4]) if isinstance(node, tuple) and node[:1] == ("passing",) else node


def _median(near: dict[Node, list[Node]], place: dict[Node, int], now: dict[Node, int]) -> Callable[[Node], float]:
    def key(node: Node) -> float:
        spots = sorted(place[one] for one in near[node] if one in place)
        return sum(spots) / len(spots) if spots else now[node]

    return key


def _pull(layers: list[list[Node]], made: Layout, widths: dict[Node, float]) -> None:
    for layer in layers:
        at = -sum(widths[node] + _GAP for node in layer) / 2
        for node in layer:
            made.centres[node] = at + widths[node] / 2
            at += widths[node] + _GAP
    above, below = _neighbours(made)
    for pull in range(_PULLS):
        for layer in layers if pull % 2 == 0 else reversed(layers):
            wanted = {node: _centre([*above[node], *below[node]], made.centres, node) for node in layer}
            _settle(layer, wanted, made.centres, widths)


def _centre(near: Sequence[Node], centres: dict[Node, float], node: Node) -> float:
    return sum(centres[one] for one in near) / len(near) if near else centres[node]


def _settle(layer: Sequence[Node], wanted: dict[Node, float], centres: dict[Node, float], widths: dict[Node, float]) -> None:
    """As near to what is wanted as the order and the widths allow: from the left, then back from the right, and the middle of both."""
    left: list[float] = []
    for index, node in enumerate(layer):
        least = left[-1] + (widths[layer[index - 1]] + widths[node]) / 2 + _GAP if left else wanted[node]
        left.append(max(wanted[node], least))
    right: list[float] = [0.0] * len(layer)
    for index in range(len(layer) - 1, -1, -1):
        node = layer[index]
        most = right[index + 1] - (widths[layer[index + 1]] + widths[node]) / 2 - _GAP if index + 1 < len(layer) else wanted[node]
        right[index] = min(wanted[node], most)
    for node, a, b in zip(layer, left, right, strict=True):
        centres[node] = (a + b) / 2


def _frame(layers: Sequence[Sequence[Node]], made: Layout, widths: dict[Node, float], spans: dict[int, tuple[int, int]]) -> None:
    """The frames of the loops, inner ones first, and what only passes moved to beside them."""
    within = made.inside
    for loop, (first, last) in reversed(spans.items()):
        own = [node for row in range(first, last + 1) for node in layers[row] if loop in within[node]]
        inner = [frame for other, frame in made.frames.items() if first <= frame[2] and frame[3] <= last and other != loop]
        left = min([made.centres[node] - widths[node] / 2 for node in own] + [one[0] for one in inner]) - PAD
        right = max([made.centres[node] + widths[node] / 2 for node in own] + [one[1] for one in inner]) + PAD
        made.frames[loop] = left, right, first, last
        rows = layers[first : last + 1]
        for side, edge in ((-1, left), (1, right)):
            _beside(rows, loop, side, edge, made)


def _beside(rows: Sequence[Sequence[Node]], loop: int, side: int, edge: float, made: Layout) -> None:
    """Lanes that pass a loop's frame on one side (-1: left): straight past all of it, each further out than the last."""
    lanes: dict[Node, list[Node]] = {}
    for layer in rows:
        places = [index for index, node in enumerate(layer) if loop in made.inside[node]]
        if places:
            for node in reversed(layer[: places[0]]) if side < 0 else layer[places[-1] + 1 :]:
                lanes.setdefault(_lane(node), []).append(node)

    def out(own: Sequence[Node]) -> float:
        return sum(side * made.centres[one] for one in own) / len(own)

    for own in sorted(lanes.values(), key=out):
        edge = side * max(side * edge + _LANE, *(side * made.centres[one] for one in own))
        for one in own:
            made.centres[one] = edge
