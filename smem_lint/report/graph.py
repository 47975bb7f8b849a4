"""The dataflow of a kernel's program as it is allocated, reduced to what a person can read, as a ``networkx.DiGraph``.

Nodes are loads, dots, reductions, stores and whatever takes shared memory; address arithmetic, casts and masks are left out, and
what the pipeliner peeled off a loop is one node with the rest. A node has ``kind``, ``label``, ``code``, ``line``, ``bytes``,
``offset``, ``peak`` (its bytes are held at the peak) and ``loop``, the innermost loop's number (None outside); the graph's ``loops``
maps those to (outer loop, line). An edge with ``carried`` hands a value to the next iteration.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from smem_lint.allocation import Allocation, allocate
from smem_lint.buffers import reported
from smem_lint.engines import Buffer, Estimate
from smem_lint.explain import peak
from smem_lint.model import ModelEngine
from smem_lint.report.explanation import code_at, describe
from smem_lint.specialization import Specialization
from smem_lint.tile.ir import Module, Op, Value
from smem_lint.tile.types import MemDesc, Scalar, Tensor

_KINDS = {
    "tt.load": "load", "tt.descriptor_load": "load", "tt.descriptor_gather": "load", "ttg.async_copy_global_to_local": "load",
    "ttng.async_tma_copy_global_to_local": "load", "ttng.async_tma_gather": "load", "tt.dot": "dot", "tt.dot_scaled": "dot",
    "ttng.warp_group_dot": "dot", "ttng.tc_gen5_mma": "dot", "ttng.tc_gen5_mma_scaled": "dot", "tt.reduce": "reduction",
    "tt.scan": "scan", "tt.store": "store", "tt.descriptor_store": "store", "ttng.async_tma_copy_local_to_global": "store",
    "tt.atomic_rmw": "atomic", "tt.atomic_cas": "atomic", "tt.gather": "gather", "tt.histogram": "histogram", "tt.call": "call",
}  # fmt: skip
_WRITES = {
    "ttg.async_copy_global_to_local", "ttng.async_tma_copy_global_to_local", "ttg.local_store", "ttng.async_tma_gather",
}  # fmt: skip
_LOOPS = ("scf.for", "scf.while")
Key = tuple[Any, ...]


def program_graph(engine: ModelEngine, specialization: Specialization, source: Sequence[str] = ()) -> Any:
    """The graph of one specialization. Raises KernelError, Unsupported, LookupError."""
    import networkx

    module = engine.program(specialization)
    reading = _Reading(module)
    edges = list(reading.edges())
    allocation = allocate(module, module.version)
    graph = networkx.DiGraph(loops=reading.loops, total=allocation.total)
    keys = _add_nodes(graph, reading, allocation, source)
    for start, end, carried in edges:
        a, b = keys.get(start), keys.get(end)
        if a is not None and b is not None and a != b:
            graph.add_edge(a, b, carried=carried and graph.edges.get((a, b), {}).get("carried", True))
    for node, data in graph.nodes(data=True):
        if data["kind"] == "staged":  # made before the loop, and of use to it alone
            data["loop"] = next((graph.nodes[reader]["loop"] for reader in graph.successors(node)), data["loop"])
    graph.remove_nodes_from([key for key in list(graph) if not graph.degree(key) and not graph.nodes[key]["bytes"]])
    return graph


def draw(graph: Any, file: Path, title: str) -> None:
    """To an ``.svg``, ``.png`` or ``.dot`` file. Raises NotDrawn, OSError."""
    from smem_lint.report import graph_drawing

    if file.suffix.lower() == ".dot":
        file.write_text(graph_drawing.as_dot(graph, title), "utf8")
    else:
        graph_drawing.picture(graph, file, title)


def _add_nodes(graph: Any, reading: _Reading, allocation: Allocation, source: Sequence[str]) -> dict[Op, Key]:
    """Each operation's node. Operations of one line that do the same are one."""
    buffers = reported(allocation)
    held = peak(Estimate(allocation.total, 0, None, True, "", buffers))
    by_op = {one.op: one for one in allocation.buffers}
    told = {(one.offset, one.size, one.start, one.end): one for one in buffers}
    keys: dict[Op, Key] = {}
    for op in reading.places:
        raw = by_op.get(op)
        buffer = told[raw.offset, raw.size, raw.start, raw.end] if raw is not None else None
        kind = _KINDS.get(op.name)
        if kind is None and buffer is None:
            continue
        kind = kind or (buffer.kind if buffer is not None else "")
        line = buffer.line if buffer is not None and kind in ("staged", "operand") else op.line
        loop = reading.places[op] if buffer is not None else reading.home(op)
        key: Key = (kind, line, _shape(op), loop, raw.start if raw is not None else None)
        keys[op] = key
        _add(graph, key, kind, line, op, buffer, loop, source)
        if buffer is not None and held is not None and buffer in held.buffers:
            graph.nodes[key]["peak"] = True
    return keys


def _add(graph: Any, key: Key, kind: str, line: int | None, op: Op, buffer: Buffer | None, loop: int | None, source: Sequence[str]) -> None:
    if key in graph:
        return
    label = describe(buffer) if buffer is not None and kind == buffer.kind else f"{kind} {_shape(op)}".strip()
    graph.add_node(
        key, kind=kind, label=label, code=code_at(line, source), line=line, bytes=buffer.size if buffer is not None else 0,
        offset=buffer.offset if buffer is not None else None, peak=False, loop=loop, order=len(graph),
    )  # fmt: skip


def _shape(op: Op) -> str:
    """The tile that an operation makes or takes."""
    values = [*op.results, *(one for one in op.operands if isinstance(one.type, MemDesc)), *op.operands[1:], *op.operands[:1]]
    if op.name == "tt.reduce":
        values = op.operands
    type_ = next((one.type for one in values if isinstance(one.type, (Tensor, MemDesc))), None)
    return "×".join(map(str, type_.shape[-2:])) if isinstance(type_, (Tensor, MemDesc)) else ""


@dataclass
class _Reading:
    """The structured program: each operation's innermost loop, and what flows to where. Made before control flow is lowered."""

    module: Module
    loops: dict[int, tuple[int | None, int | None]] = field(default_factory=dict)
    places: dict[Op, int | None] = field(default_factory=dict)
    _twins: dict[Key, list[tuple[int, Op, int | None]]] = field(default_factory=dict)
    _conversions: set[Op] | None = None

    def __post_init__(self) -> None:
        self._walk(self.module.kernel, None)

    def _walk(self, parent: Op, loop: int | None) -> None:
        for region in parent.regions:
            for block in region.blocks:
                for op in block:
                    if op.name == "tt.reduce" or op.name == "tt.scan" or not op.regions:
                        self.places[op] = loop
                    elif op.name in _LOOPS:
                        number = len(self.loops)
                        self.loops[number] = (loop, op.line)
                        self._walk(op, number)
                    else:
                        self._walk(op, loop)

    def home(self, op: Op) -> int | None:
        """The loop that an operation belongs to: its own, or the nearest one from which the pipeliner peeled it off."""
        if not self._twins:
            for index, (one, loop) in enumerate(self.places.items()):
                if one.name in _KINDS:
                    self._twins.setdefault((one.name, one.line, _shape(one)), []).append((index, one, loop))
        twins = self._twins[op.name, op.line, _shape(op)]
        here = next(index for index, one, _ in twins if one is op)
        own = self.places[op]
        inner = [(index < here, abs(index - here), loop) for index, _, loop in twins if loop is not None and self._within(loop, own)]
        return min(inner)[2] if inner else own

    def _within(self, loop: int | None, outer: int | None) -> bool:
        """Whether ``loop`` lies in ``outer`` and is not it."""
        while loop is not None:
            loop = self.loops[loop][0]
            if loop == outer:
                return True
        return False

    def edges(self) -> Iterator[tuple[Op, Op, bool]]:
        """(from, to, carried): from each operation of the graph to those that read what it makes."""
        for op in self.places:
            values = [value for value in op.operands if not _is_barrier(value)]
            if op.name in _WRITES:
                targets = [value for value in values if isinstance(value.type, MemDesc)]
                values = [value for value in values if value not in targets]
                for alloc in (alloc for target in targets for alloc, _ in self._sources(target)):
                    if op.name == "ttg.local_store":
                        yield from ((start, alloc, carried) for start, carried in self._sources(values[0]))
                    else:
                        yield op, alloc, False
            if op.name in _KINDS or op.name in ("ttg.local_alloc", "ttg.convert_layout"):
                for value in values:
                    yield from ((start, op, carried) for start, carried in self._sources(value))

    def _sources(self, value: Value) -> list[tuple[Op, bool]]:
        """The operations of the graph that a tile comes from, and whether it comes by way of the previous iteration."""
        found: dict[Op, bool] = {}
        pending, seen = [(value, False)], {(value, False)}
        while pending:
            at, carried = pending.pop()
            if not isinstance(at.type, (Tensor, MemDesc)):
                continue
            if at.op is not None and self._shown(at.op):
                found[at.op] = found.get(at.op, True) and carried
                continue
            for before, again in _before(at):
                step = (before, carried or again)
                if step not in seen:
                    seen.add(step)
                    pending.append(step)
        return list(found.items())

    def _shown(self, op: Op) -> bool:
        return op.name in _KINDS or op.name == "ttg.local_alloc" or (op.name == "ttg.convert_layout" and op in self._converting)

    @property
    def _converting(self) -> set[Op]:
        if self._conversions is None:
            from smem_lint.allocation.scratch import scratch_bytes

            ops = (op for op in self.places if op.name == "ttg.convert_layout")
            self._conversions = {op for op in ops if scratch_bytes(op, self.module.capability)}
        return self._conversions


def _is_barrier(value: Value) -> bool:
    return isinstance(value.type, MemDesc) and value.type.element is Scalar("i64") and value.type.shape[-1] == 1


def _before(value: Value) -> Iterator[tuple[Value, bool]]:
    """The values that a value is made from; True where the previous iteration made it."""
    op = value.op
    if op is None:
        yield from _arguments(value)
    elif op.name == "scf.for":
        yield op.body.terminator.operands[value.index], False
    elif op.name == "scf.if":
        yield from ((region.blocks[0].terminator.operands[value.index], False) for region in op.regions if region.blocks)
    elif op.name == "scf.while":
        yield op.body.terminator.operands[value.index + 1], False
    else:
        yield from ((operand, False) for operand in op.operands)


def _arguments(value: Value) -> Iterator[tuple[Value, bool]]:
    block = value.block
    parent = block.parent_op if block is not None else None
    if parent is None or block is None:
        return
    if parent.name == "scf.for" and value.index:
        yield parent.operands[value.index + 2], False
        yield parent.body.terminator.operands[value.index - 1], True
    elif parent.name == "scf.while":
        if block is parent.body:
            yield parent.operands[value.index], False
            yield parent.regions[1].blocks[0].terminator.operands[value.index], True
        else:
            yield parent.body.terminator.operands[value.index + 1], False
