"""How a graph is drawn: no edge runs beneath a box, none leaves a loop's frame to come back, texts can be read."""

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from test_graph_layout import programs

from smem_lint.model import ModelEngine
from smem_lint.report.drawing import COLORS, LINES
from smem_lint.report.graph import program_graph
from smem_lint.report.graph_drawing import _HEIGHT, _extent, drawing, lines_of
from smem_lint.report.tokens import shortened
from smem_lint.specialization import Specialization

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "fixtures" / "kernels"


def specializations():
    seen = {}
    for line in (ROOT / "fixtures" / "truth" / "fixtures.jsonl").read_text().splitlines():
        one = json.loads(line)
        if one["kernel"] not in seen and (KERNELS / one["file"]).is_file():
            seen[one["kernel"]] = Specialization.from_record(one)
    return seen


KNOWN = specializations()


def curve(path):
    """Points along an edge as it is drawn: from each spot to the next, first straight up or down, then across."""
    for (x0, y0), (x1, y1) in itertools.pairwise(path):
        for step in range(21):
            t = step / 20
            weights = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
            middle = (y0 + y1) / 2
            yield (
                sum(weight * x for weight, x in zip(weights, (x0, x0, x1, x1), strict=True)),
                sum(weight * y for weight, y in zip(weights, (y0, middle, middle, y1), strict=True)),
            )


def boxes_of(made):
    for node in made.graph:
        x, y, width = made.made.centres[node], made.middles[made.made.rows[node]], made.widths[node]
        yield node, (x - width / 2, y - _HEIGHT / 2, x + width / 2, y + _HEIGHT / 2)


def within(point, box, spare=1e-6):
    return box[0] + spare < point[0] < box[2] - spare and box[1] + spare < point[1] < box[3] - spare


def check(made):
    boxes = dict(boxes_of(made))
    assert set(made.paths) == set(made.graph.edges)
    for (start, end), path in made.paths.items():
        points = list(curve(path))
        assert not any(within(point, box) for point in points for box in boxes.values()), (start, end)
        for ends, node in ((path[0], start), (path[-1], end)):
            box = boxes[node]
            assert box[0] < ends[0] < box[2] and min(abs(ends[1] - box[1]), abs(ends[1] - box[3])) < 1e-9
    for one, other in itertools.combinations(boxes.values(), 2):
        assert one[2] <= other[0] or other[2] <= one[0] or one[3] < other[1] or other[3] < one[1]


def frames(made):
    """Each loop's frame with the nodes that are in it: (left, top, right, bottom), nodes."""
    for loop, (left, right, top, bottom) in made.boxes.items():
        yield (left, top, right, bottom), {node for node in made.graph if loop in made.made.inside[node]}


@pytest.mark.parametrize("kernel", KNOWN)
def test_edges_of_the_fixtures_run_beneath_no_box(kernel):
    one = KNOWN[kernel]
    made = drawing(program_graph(ModelEngine([KERNELS]), one, (KERNELS / one.file).read_text().splitlines()))
    check(made)
    for frame, nodes in frames(made):
        for (start, end), path in made.paths.items():
            points = list(curve(path))
            inside = [key for key, _ in itertools.groupby(within(point, frame) for point in points)]
            crossed = (start in nodes) != (end in nodes)
            assert inside == sorted(inside, reverse=start in nodes) if crossed else len(inside) == 1, (start, end)


@given(programs())
@settings(max_examples=100, deadline=None)
def test_edges_of_any_program_run_beneath_no_box(program):
    graph, _ = program
    for node, data in graph.nodes(data=True):
        data.update(kind="load", label="load " * (1 + node % 4), code="", line=node, bytes=0, offset=None, peak=False)
    made = drawing(graph)
    check(made)
    for frame, nodes in frames(made):
        for (start, end), path in made.paths.items():
            if start not in nodes and end not in nodes:
                assert not any(within(point, frame) for point in curve(path)), (start, end)


def test_a_lane_past_a_loop_is_straight_along_the_whole_frame():
    made = drawing(program_graph(ModelEngine([KERNELS]), KNOWN["fused_moe_kernel"]))
    (frame,) = made.boxes.values()
    lanes = [node for node in made.made.centres if isinstance(node, tuple) and node[0] == "passing" and not made.made.inside[node]]
    along = [node for node in lanes if frame[2] < made.middles[made.made.rows[node]] < frame[3]]
    assert len(along) >= 3 and len({made.made.centres[node] for node in along}) == 1
    assert min(_extent(node, made)[0] for node in along) <= frame[2] and max(_extent(node, made)[1] for node in along) >= frame[3]


def contrast(color, other="#ffffff"):
    def level(text):
        parts = [int(text[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    light, dark = sorted((level(color), level(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("color", [*COLORS.values(), *LINES])
def test_white_on_a_box_and_a_label_on_white_can_be_read(color):
    assert contrast(color) >= 4.5


def test_text_is_cut_between_tokens():
    assert shortened("tl.store(DV + tile, dv.to(DV.dtype.element_ty), mask=inside)", 40) == "tl.store(DV + tile, dv.to(…"
    assert shortened("acc = acc * shrink[:, None] + tl.dot(p.to(v.dtype), v)", 40) == "acc = acc * shrink[:, None] + tl.dot(…"
    assert shortened("short = 1", 40) == "short = 1" and shortened("a" * 50, 10) == "a" * 9 + "…"
    for longest in range(2, 60):
        assert len(shortened("total = total * shrink + tl.sum(p, 1) + other_name.of_it[0:16, None]", longest)) <= longest


def test_a_node_says_what_it_is():
    data = {"label": "staged 2 × 64×64 bf16", "bytes": 16384, "offset": 4096, "peak": True, "line": 5, "code": "k = tl.load(at, mask=x)"}
    assert lines_of(data) == ["staged 2 × 64×64 bf16", "16,384 B at 4,096, at the peak", "5: k = tl.load(at, mask=x)"]
