"""Slices in MLIR's order (``mlir/lib/Analysis/SliceAnalysis.cpp``), worked out by hand from its definition on a small loop."""

from __future__ import annotations

from smem_lint.tile.ir import Module, Op
from smem_lint.tile.slices import Reach, backward_slice, forward_slice, slice_of
from smem_lint.verify.ir_text import parse_module

TEXT = """
module {
  tt.func public @f(%n: i32, %p: !tt.ptr<f32>) attributes {noinline = false} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = arith.addi %n, %one : i32
    %end = scf.for %i = %zero to %n step %one iter_args(%x = %a) -> (i32)  : i32 {
      %y = arith.muli %x, %i : i32
      %z = arith.addi %y, %one : i32
      scf.yield %z : i32
    }
    %b = arith.subi %end, %a : i32
    %alone = tt.get_program_id x : i32
    %other = arith.addi %alone, %alone : i32
    tt.return
  }
}
"""


def named(module: Module) -> dict[str, Op]:
    return {result.name: op for op in module.walk() for result in op.results}


def names(ops: dict[Op, None]) -> list[str]:
    return [op.results[0].name if op.results else op.name for op in ops]


def test_forward_slice_is_in_topological_order() -> None:
    ops = named(parse_module(TEXT))
    assert names(forward_slice(ops["a"])) == ["end", "y", "z", "scf.yield", "b"]


def test_backward_slice_passes_loops_by_their_arguments() -> None:
    ops = named(parse_module(TEXT))
    assert names(backward_slice(ops["z"])) == ["zero", "one", "a", "end", "y"]
    assert names(backward_slice(ops["z"], omit_block_arguments=True)) == ["y", "one"]


def test_filter_hides_what_lies_behind() -> None:
    ops = named(parse_module(TEXT))
    assert names(backward_slice(ops["b"], lambda op: op.name != "scf.for")) == ["one", "a"]


def test_whole_slice_and_reach_agree() -> None:
    module = parse_module(TEXT)
    ops = named(module)
    found = slice_of(ops["y"])
    assert names(found) == ["zero", "one", "a", "end", "y", "z", "scf.yield", "b"]
    reach = Reach(module)
    components = reach.components(ops["y"])
    assert all(reach.component(op) in components for op in found)
    assert reach.component(ops["other"]) not in components
