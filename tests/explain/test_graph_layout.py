"""The layered layout on random programs: no two nodes overlap, edges lead down, a loop's rows are its own."""

import networkx
from hypothesis import given, settings
from hypothesis import strategies as st

from smem_lint.report.graph_layout import layout


@st.composite
def programs(draw):
    """A graph of up to 24 nodes in program order, in up to three loops (the third within the second), with edges either way."""
    graph = networkx.DiGraph(loops={0: (None, 3), 1: (None, 7), 2: (1, 9)})
    inside = sorted(
        draw(st.lists(st.sampled_from([(0, None), (1, 0), (2, None), (3, 1), (4, 2), (5, 1), (6, None)]), min_size=1, max_size=24))
    )
    for order, (_, loop) in enumerate(inside):
        graph.add_node(order, loop=loop, order=order)
    pairs = st.tuples(st.integers(0, len(inside) - 1), st.integers(0, len(inside) - 1), st.booleans())
    for start, end, carried in draw(st.lists(pairs, max_size=40)):
        if start != end:
            graph.add_edge(start, end, carried=carried or start > end)
    return graph, {node: draw(st.sampled_from([1.0, 2.5])) for node in graph}


@given(programs())
@settings(max_examples=150, deadline=None)
def test_nothing_overlaps(program):
    graph, widths = program
    made = layout(graph, dict(widths))
    for node in graph:
        for other in graph:
            if node < other and made.rows[node] == made.rows[other]:
                assert abs(made.centres[node] - made.centres[other]) >= (widths[node] + widths[other]) / 2


@given(programs())
@settings(max_examples=150, deadline=None)
def test_edges_lead_down(program):
    graph, widths = program
    made = layout(graph, dict(widths))
    for start, end, data in graph.edges(data=True):
        if not data["carried"]:
            assert made.rows[start] < made.rows[end]
            route = made.routes[start, end]
            assert [made.rows[node] for node in route] == list(range(made.rows[start], made.rows[end] + 1))


@given(programs())
@settings(max_examples=150, deadline=None)
def test_the_rows_of_a_loop_are_its_own(program):
    graph, widths = program
    made = layout(graph, dict(widths))
    for loops in ({0}, {1, 2}, {2}):
        rows = {made.rows[node] for node in graph if graph.nodes[node]["loop"] in loops}
        others = {made.rows[node] for node in graph if graph.nodes[node]["loop"] not in loops}
        assert not rows or not others & set(range(min(rows), max(rows) + 1))
