"""The lifetimes of buffers as a graph, to be drawn or examined; ``networkx`` is only imported when one is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from smem_lint.allocation.placement import live_together

if TYPE_CHECKING:
    from smem_lint.allocation.allocate import Buffer


def lifetimes_graph(buffers: Sequence[Buffer]) -> Any:
    """A ``networkx.Graph``: a node is the place of a buffer in ``buffers``, with ``size``, ``offset``, ``start``, ``end``, ``kind``;

    an edge joins buffers that are live at the same time, so a clique is what must lie side by side.
    """
    import networkx

    graph = networkx.Graph()
    for index, buffer in enumerate(buffers):
        graph.add_node(
            index, size=buffer.size, offset=buffer.offset, start=buffer.start, end=buffer.end, kind=buffer.kind, op=buffer.op.name
        )
    for index, others in enumerate(live_together(buffers)):
        graph.add_edges_from((index, other) for other in others if other > index)
    return graph
