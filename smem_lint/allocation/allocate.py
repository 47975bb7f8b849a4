"""All buffers of a kernel's shared memory, where each lies and how much they take together.

``allocate`` reads as the compiler's pass ``allocate-shared-memory-nv``: collect the buffers, see how long each is live, place
them. Functions that are called and not inlined are done before their callers, in which the whole of the callee's memory is one
buffer, live during the call.

Facts: lib/Analysis/Allocation.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from smem_lint.allocation.control_flow import lower_control_flow
from smem_lint.allocation.liveness import buffer_ranges, loop_ranges, number_operations
from smem_lint.allocation.placement import place
from smem_lint.allocation.scratch import SCRATCH_ALIGNMENT, local_alloc_alignment, local_alloc_bytes, scratch_bytes
from smem_lint.layout.scratch import scratch_rules
from smem_lint.tile.ir import Module, Op


@dataclass(slots=True, eq=False)
class Buffer:
    """Bytes of shared memory that belong to ``op``: ``kind`` is ``alloc``, ``scratch`` or ``call``.

    ``size``, ``alignment`` and ``offset`` are bytes; the buffer is live in the half-open range of operation numbers
    ``[start, end)``.
    """

    op: Op
    kind: str
    size: int
    alignment: int
    start: int = 0
    end: int = 0
    offset: int = 0


@dataclass(frozen=True, slots=True)
class FunctionAllocation:
    """The buffers of one function, in the compiler's order: allocs, scratch, calls.

    ``loops`` are (first operation, behind the last one, source line) of its loops, the outer ones first.
    """

    name: str
    total: int
    buffers: tuple[Buffer, ...]
    loops: tuple[tuple[int, int, int | None], ...] = ()


@dataclass(frozen=True)
class Allocation:
    """``total`` is the shared memory of the kernel in bytes; ``functions`` are callees first, the kernel last."""

    total: int
    functions: tuple[FunctionAllocation, ...]

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The buffers of the function that needs most (the kernel)."""
        return self._largest.buffers if self.functions else ()

    @property
    def loops(self) -> tuple[tuple[int, int, int | None], ...]:
        """The loops of the same function."""
        return self._largest.loops if self.functions else ()

    @property
    def _largest(self) -> FunctionAllocation:
        return max(self.functions, key=lambda function: function.total)

    @cached_property
    def graph(self) -> Any:
        """The buffers as a ``networkx.Graph``; an edge joins two that are live at the same time."""
        from smem_lint.allocation.graph import lifetimes_graph

        return lifetimes_graph(self.buffers)


def allocate(module: Module, version: tuple[int, ...] = (3, 8)) -> Allocation:
    """The shared memory of a module whose passes are done; its control flow is lowered in place.

    ``version`` is that of Triton. Raises Unsupported for operations whose scratch is not modelled.
    """
    lower_control_flow(module)
    rules = scratch_rules(version)
    calls = {function: _callees(function) for function in module.functions} if len(module.functions) > 1 else {}
    called = {name for names in calls.values() for name in names}
    sizes: dict[str, int] = {}
    done = []
    for function in _callees_first(module.functions, calls):
        name = function.attrs["name"]
        buffers = _collect(function, module, rules, sizes)
        numbers = number_operations(function) if buffers else {}
        sizes[name] = _place(function, buffers, numbers)
        done.append(FunctionAllocation(name, sizes[name], tuple(buffers), loop_ranges(function, numbers) if buffers else ()))
    return Allocation(max((entry.total for entry in done if entry.name not in called), default=0), tuple(done))


def _callees(function: Op) -> list[str]:
    return [op.attrs["callee"] for op in function.walk() if op.name == "tt.call"]


def _callees_first(functions: list[Op], calls: dict[Op, list[str]]) -> list[Op]:
    by_name = {function.attrs["name"]: function for function in functions}
    order: dict[Op, None] = {}

    def visit(function: Op) -> None:
        if function not in order:
            for name in calls.get(function, ()):
                visit(by_name[name])
            order[function] = None

    for function in functions:
        visit(function)
    return list(order)


def _collect(function: Op, module: Module, rules: Any, sizes: dict[str, int]) -> list[Buffer]:
    """Buffers in the order in which the function names them: all allocs, then all scratch, then all calls."""
    allocs, scratch, calls = [], [], []
    for op in function.walk():
        if op.name == "ttg.local_alloc":
            type_: Any = op.result.type
            if type_.space == "smem":
                allocs.append(Buffer(op, "alloc", local_alloc_bytes(type_), local_alloc_alignment(op)))
        elif op.name == "tt.call":
            if sizes.get(op.attrs["callee"], 0):
                calls.append(Buffer(op, "call", sizes[op.attrs["callee"]], SCRATCH_ALIGNMENT))
        else:
            size = scratch_bytes(op, module.capability, rules)
            if size:
                scratch.append(Buffer(op, "scratch", size, SCRATCH_ALIGNMENT))
    return [*allocs, *scratch, *calls]


def _place(function: Op, buffers: list[Buffer], numbers: dict[Op, int]) -> int:
    if not buffers:
        return 0
    ranges = buffer_ranges(function, [buffer.op for buffer in buffers if buffer.kind == "alloc"], numbers)
    for buffer in buffers:
        at = numbers[buffer.op]
        buffer.start, buffer.end = ranges[buffer.op] if buffer.kind == "alloc" else (at, at + 1)
    return place(buffers)
