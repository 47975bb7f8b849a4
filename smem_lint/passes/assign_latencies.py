"""Which loads of a loop are pipelined, and how many iterations ahead they run.

A load that a dot needs, directly or through other operations, is pipelined; one that computes the address of such a load runs
still earlier (one *level* up). The stages of the loop are shared out evenly between the levels.

Facts: lib/Dialect/TritonGPU/Transforms/Pipeliner/AssignLatencies.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from smem_lint.passes.axis_info import ModuleAxisInfo
from smem_lint.passes.pipeliner import loads
from smem_lint.passes.pipeliner.loops import (
    DESCRIPTOR_LOADS,
    DOTS,
    LOADS,
    body_operations,
    for_loops,
    has_inner_loop,
    num_stages_of,
    outer_operands,
    yields_an_argument,
)
from smem_lint.tile.ir import Module, Op
from smem_lint.tile.unsupported import Unsupported

_NUM_STAGES = "tt.num_stages"
_TENSOR_MEMORY_DOTS = frozenset(("ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled"))


def run(module: Module) -> None:
    """Set ``tt.latency`` on every load that is to be pipelined. Raises Unsupported for dots into tensor memory."""
    loops = [
        loop for loop in for_loops(module)
        if num_stages_of(loop, module.num_stages) > 1 and not yields_an_argument(loop) and not has_inner_loop(loop)
    ]  # fmt: skip
    axis_info = ModuleAxisInfo(module) if loops else None
    for loop in loops:
        assert axis_info is not None
        num_stages = num_stages_of(loop, module.num_stages)
        levels = load_levels(loop, num_stages, axis_info)
        latency = (num_stages - 1) // (max(levels.values(), default=0) + 1)
        for load in levels:
            load.attrs["tt.latency"] = latency
        dot = next((op for op in body_operations(loop) if op.name in _TENSOR_MEMORY_DOTS), None)
        if dot is not None:
            raise Unsupported("a pipelined loop with a dot into tensor memory", dot.line)


def load_levels(loop: Op, num_stages: int, axis_info: ModuleAxisInfo) -> dict[Op, int]:
    """The loads to pipeline, each with the number of other loads between it and the dot that needs it."""
    search = _Search(axis_info)
    for op in body_operations(loop):
        if op.name in DOTS or op.name == "ttng.tmem_store":
            search.seen.clear()
            search.visit(op, 0)
    if _NUM_STAGES in loop.attrs:
        for op in body_operations(loop):
            if op.name not in LOADS:
                search.visit(op, 0)
    return {load: level for load, level in search.levels.items() if level < num_stages - 1}


class _Search:
    """Walks from users to the loads that feed them, depth first."""

    def __init__(self, axis_info: ModuleAxisInfo) -> None:
        self.axis_info = axis_info
        self.levels: dict[Op, int] = {}
        self.seen: set[Op] = set()
        self.excluded: set[Op] = set()
        self.worth: dict[Op, bool] = {}

    def visit(self, root: Op, level: int) -> None:
        pending = [(root, level)]
        while pending:
            op, level = pending.pop()
            if op in self.seen:
                continue
            self.seen.add(op)
            if op in self.excluded:
                continue
            if op.name in LOADS:
                if not self._is_worth_it(op):
                    continue
                if self.levels.setdefault(op, level) != level:
                    del self.levels[op]
                    self.excluded.add(op)
                    continue
                level += 1
            skipped = op.operands[2] if op.name in DOTS else None
            sources = [value.op for value in outer_operands(op) if value is not skipped]
            pending += [(source, level) for source in reversed(sources) if source is not None and source.block is op.block]

    def _is_worth_it(self, load: Op) -> bool:
        found = self.worth.get(load)
        if found is None:
            found = self.worth[load] = load.name in DESCRIPTOR_LOADS or worth_pipelining(load, self.axis_info)
        return found


def worth_pipelining(load: Op, axis_info: ModuleAxisInfo) -> bool:
    """Whether the load is wide enough for asynchronous copies and its users agree on a shared encoding."""
    if not loads.wide_enough(load, axis_info):
        return False
    try:
        loads.encoding_of_dot_users(load.results[0])
    except loads.Incompatible:
        return False
    wanted = loads.alloc_encodings(load)
    if not wanted:
        return True
    if any(encoding is not wanted[0] for encoding in wanted):
        return False
    return 8 * loads.copy_bytes(load.results[0].type, wanted[0]) >= loads.SMALLEST_COPY_BITS
