"""Software pipelining: scheduled loops become a prologue and a kernel that overlaps loads of later iterations with the work.

Facts: lib/Dialect/TritonGPU/Transforms/Pipeliner/SoftwarePipeliner.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from smem_lint.passes.axis_info import ModuleAxisInfo
from smem_lint.passes.pipeliner.expander import expand
from smem_lint.passes.pipeliner.loops import for_loops, num_stages_of
from smem_lint.passes.pipeliner.lower_loads import lower_loads
from smem_lint.passes.pipeliner.predication import predicate
from smem_lint.passes.pipeliner.schedule import MAX_STAGE, Schedule, clear
from smem_lint.passes.pipeliner.tma_stores import multi_buffer_descriptors, pipeline_stores
from smem_lint.passes.pipeliner.waits import update_waits
from smem_lint.passes.pipeliner.wgmma import launch_dots
from smem_lint.tile.cleanup.rewriter import rewrite
from smem_lint.tile.ir import Module, Op, Value


def run(module: Module) -> None:
    """Pipeline the loops that carry a schedule.

    The pass asks the arith dialect for its patterns; those stand with its operations, so that the dialect has none of its own.
    What its greedy rewrites come to is folding, and that what nothing uses goes.
    """
    scheduled = [loop for loop in for_loops(module) if MAX_STAGE in loop.attrs]
    if scheduled:
        _lower(module, scheduled)
        _expand(module)
        clear(module.walk())
    for loop in _pipelined(module):
        launch_dots(loop)
    update_waits(module)
    for function in module.functions:
        rewrite(function, {})
    for loop in _pipelined(module):
        pipeline_stores(loop)


def _pipelined(module: Module) -> list[Op]:
    return [loop for loop in for_loops(module) if num_stages_of(loop, module.num_stages) > 1]


def _lower(module: Module, loops: list[Op]) -> None:
    axis_info = ModuleAxisInfo(module)
    for loop in loops:
        schedule = Schedule.read(loop)
        assert schedule is not None
        loop = lower_loads(module, loop, schedule, axis_info)
        loop = multi_buffer_descriptors(loop, schedule)
        schedule.write(loop)


def _expand(module: Module) -> None:
    guarded: list[tuple[Op, Value]] = []
    for loop in for_loops(module):
        schedule = Schedule.read(loop)
        if schedule is not None:
            expand(loop, schedule, lambda op, condition: guarded.append((op, condition)))
    for op, condition in guarded:
        predicate(op, condition)
