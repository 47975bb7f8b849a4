"""Parts of the software pipeliner on small inputs; values from Triton 3.8.0 (``triton.compile`` with ``MLIR_ENABLE_DUMP=1``)."""

from __future__ import annotations

import pytest

from smem_lint.layout.encodings import Blocked, DotOperand, Linear, Mma, SwizzledShared
from smem_lint.layout.operand_shared import swizzle_for_dot, swizzle_for_operand, swizzle_for_tile_like
from smem_lint.passes import assign_latencies, schedule_loops
from smem_lint.passes.pipeliner.predication import predicate
from smem_lint.passes.pipeliner.schedule import Clusters, Schedule
from smem_lint.passes.pipeliner.waits import update_waits
from smem_lint.tile.ir import Module
from smem_lint.tile.unsupported import Unsupported
from smem_lint.verify.ir_text import parse_module

MMA = Mma(2, 0, (2, 2), (16, 8))


def function(body: str, arguments: str = "%n: i32, %p: !tt.ptr<f32> {tt.divisibility = 16 : i32}") -> Module:
    return parse_module(f"module {{\ntt.func public @f({arguments}) attributes {{noinline = false}} {{\n{body}\ntt.return\n}}\n}}")


@pytest.mark.parametrize(
    ("op_idx", "shape", "order", "bits", "expected"),
    [
        (0, (128, 64), (1, 0), 16, (8, 1, 8)),  # 64 bf16 of a row are 1024 bits: one row to a phase
        (1, (64, 128), (1, 0), 16, (8, 1, 8)),
        (0, (128, 32), (1, 0), 16, (8, 2, 4)),  # two rows share a phase
        (0, (16, 16), (1, 0), 16, (8, 4, 2)),
        (0, (128, 128), (1, 0), 8, (16, 1, 8)),
        (1, (128, 128), (0, 1), 8, (16, 1, 8)),
    ],
)
def test_swizzle_of_dot_operands(
    op_idx: int, shape: tuple[int, int], order: tuple[int, int], bits: int, expected: tuple[int, int, int]
) -> None:
    k_width = 32 // bits
    assert swizzle_for_dot(DotOperand(op_idx, MMA, k_width), shape, order, bits) is SwizzledShared(*expected, order)


def test_dot_without_tensor_cores_needs_no_swizzle() -> None:
    parent = Blocked((1, 1), (8, 4), (4, 1), (1, 0))
    assert swizzle_for_dot(DotOperand(0, parent), (64, 64), (1, 0), 32) is SwizzledShared(1, 1, 1, (1, 0))


def test_transposed_operand_is_recognised_by_its_tiles() -> None:
    """The layout in front of a ``tt.trans`` whose result is operand 1 of a dot over 64 x 128 in bf16."""
    registers = ((0, 1), (0, 8), (0, 16), (0, 32), (16, 0), (32, 0), (64, 0))
    like_b = Linear(registers, ((0, 2), (0, 4), (1, 0), (2, 0), (4, 0)), ((8, 0), (0, 0)))
    assert swizzle_for_tile_like(like_b, (128, 64), 16) is swizzle_for_operand(0, 2, (128, 64), (1, 0), 16)
    rows_first = Linear(registers, ((1, 0), (2, 0), (4, 0), (0, 2), (0, 4)), ((8, 0), (0, 0)))
    assert swizzle_for_tile_like(rows_first, (128, 64), 16) is None


def test_clusters_know_their_places() -> None:
    clusters = Clusters()
    middle = clusters.new_at_back()
    last = clusters.new_at_back()
    first = clusters.new_at_front()
    between = clusters.new_before(last)
    assert [first.id, middle.id, between.id, last.id] == [0, 1, 2, 3]


LOOP = """
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %f0 = arith.constant 0.0 : f32
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %f0) -> (f32)  : i32 {{
      %a = tt.addptr %p, %i : !tt.ptr<f32>, i32
      %x = tt.load %a : !tt.ptr<f32>
      {extra}
      %t = arith.addf %s, %x : f32
      scf.yield %t : f32
    }} {{{attributes}}}
    tt.store %p, %r : !tt.ptr<f32>
"""


def latencies(extra: str = "", attributes: str = "tt.num_stages = 4 : i32") -> list[int | None]:
    module = function(LOOP.format(extra=extra, attributes=attributes))
    assign_latencies.run(module)
    return [op.attrs.get("tt.latency") for op in module.walk() if op.name == "tt.load"]


def test_loop_that_asks_for_stages_pipelines_loads_without_a_dot() -> None:
    assert latencies() == [3]


def test_loop_without_a_dot_is_left_alone() -> None:
    assert latencies(attributes="tt.flatten") == [None]


def test_without_a_dot_a_load_behind_a_load_is_on_its_level() -> None:
    """Every operation starts a walk, so that the address is met before the load that needs it: all run three ahead."""
    extra = "%j = arith.fptosi %x : f32 to i32\n%b = tt.addptr %p, %j : !tt.ptr<f32>, i32\n%y = tt.load %b : !tt.ptr<f32>\n"
    extra += "%z = arith.addf %y, %y : f32"
    assert latencies(extra) == [3, 3]


def test_print_in_the_loop_keeps_the_latency_but_not_the_schedule() -> None:
    module = function(
        LOOP.format(extra='tt.print "x" {hex = false, isSigned = array<i32: 0>} : %x : f32', attributes="tt.num_stages = 3 : i32")
    )
    assign_latencies.run(module)
    assert [op.attrs["tt.latency"] for op in module.walk() if op.name == "tt.load"] == [2]
    schedule_loops.run(module)
    assert not any("loop.stage" in op.attrs or "tt.latency" in op.attrs for op in module.walk())


def test_schedule_of_a_load_and_its_use() -> None:
    module = function(LOOP.format(extra="", attributes="tt.num_stages = 3 : i32"))
    assign_latencies.run(module)
    schedule_loops.run(module)
    loop = next(op for op in module.walk() if op.name == "scf.for")
    slots = [(op.name, op.attrs["loop.stage"], op.attrs["loop.cluster"]) for op in loop.body if "loop.stage" in op.attrs]
    assert slots == [("tt.addptr", 0, 2), ("tt.load", 0, 2), ("arith.addf", 2, 0)]
    assert loop.attrs["tt.scheduled_max_stage"] == 2
    again = Schedule.read(loop)
    assert again is not None and again.num_stages == 3 and len(again.clusters) == 3


def test_wait_counts_the_groups_behind_the_one_it_waits_for() -> None:
    module = function("""
        %a = ttg.async_commit_group
        %b = ttg.async_commit_group
        %c = ttg.async_commit_group
        %w = ttg.async_wait %a {num = 0 : i32}
        %v = ttg.async_wait %b {num = 0 : i32}
    """)
    update_waits(module)
    waits = [op for op in module.walk() if op.name == "ttg.async_wait"]
    assert [(len(op.operands), op.attrs["num"]) for op in waits] == [(2, 1)]


def test_what_cannot_be_predicated_is_said() -> None:
    module = function("%q = tt.atomic_cas acq_rel, gpu, %i, %n, %n : (!tt.ptr<i32>, i32, i32) -> i32", "%n: i32, %i: !tt.ptr<i32>, %c: i1")
    op = next(op for op in module.walk() if op.name == "tt.atomic_cas")
    with pytest.raises(Unsupported, match="atomic_cas in an early stage"):
        predicate(op, module.kernel.body.args[2])
