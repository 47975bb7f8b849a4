"""RemoveLayoutConversions against Triton 3.8.0's own, on programs small enough to read, and its cost model.

``fixtures/truth/remove_layout_conversions.jsonl.gz`` holds the IR before and after the pass for kernels that, together, take every
turn of the model's code that any of 700 such programs took. For whole folders of dumps there is
``python tests/differential/run_pass.py remove_layout_conversions --dumps DIR``. The texts below were run through
``passes.ttgpuir.add_remove_layout_conversions`` of Triton 3.8.0.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from smem_lint.layout.encodings import Blocked, Slice
from smem_lint.passes import remove_layout_conversions
from smem_lint.passes.remove_layout_conversions.cost import conversion_cost
from smem_lint.tile.ir import Module, Op
from smem_lint.verify.ir_text import difference, parse_module

FIXTURE = Path(__file__).parents[2] / "fixtures" / "truth" / "remove_layout_conversions.jsonl.gz"
CASES: list[dict[str, Any]] = [json.loads(line) for line in gzip.decompress(FIXTURE.read_bytes()).splitlines()]

HEADER = """
#wide = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#tall = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [16, 2], warpsPerCTA = [1, 4], order = [0, 1]}>
#thin = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 8]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:120", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @kernel(%p: !tt.ptr<f32>, %q: tensor<64x64x!tt.ptr<f32>, #tall>, %n: i32) {
"""
WIDE = Blocked((1, 4), (2, 16), (4, 1), (1, 0))
TALL = Blocked((4, 1), (16, 2), (1, 4), (0, 1))


def after_pass(body: str) -> Module:
    module = parse_module(f"{HEADER}{body}    tt.return\n  }}\n}}\n")
    remove_layout_conversions.run(module)
    return module


def ops(module: Module, name: str) -> list[Op]:
    return [op for op in module.walk() if op.name == name]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_programs_come_out_as_from_the_compiler(case: dict[str, str]):
    module = parse_module(case["before"])
    remove_layout_conversions.run(module)
    assert difference(module, parse_module(case["after"])) is None


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_its_outcome_stays_as_it_is(case: dict[str, str]):
    """Not so for all programs; for these the compiler was asked."""
    module = parse_module(case["after"])
    remove_layout_conversions.run(module)
    assert difference(module, parse_module(case["after"])) is None


def test_addresses_are_computed_again_rather_than_converted():
    module = after_pass("""
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = #thin}>>
    %c = tt.expand_dims %r {axis = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = #thin}>> -> tensor<1x64xi32, #thin>
    %b = tt.broadcast %c : tensor<1x64xi32, #thin> -> tensor<64x64xi32, #thin>
    %s = tt.splat %p : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>, #thin>
    %a = tt.addptr %s, %b : tensor<64x64x!tt.ptr<f32>, #thin>, tensor<64x64xi32, #thin>
    %w = ttg.convert_layout %a : tensor<64x64x!tt.ptr<f32>, #thin> -> tensor<64x64x!tt.ptr<f32>, #wide>
    %x = tt.load %w : tensor<64x64x!tt.ptr<f32>, #wide>
    %y = ttg.convert_layout %x : tensor<64x64xf32, #wide> -> tensor<64x64xf32, #tall>
    tt.store %q, %y : tensor<64x64x!tt.ptr<f32>, #tall>
""")
    assert ops(module, "tt.make_range")[0].result.type.encoding is Slice(0, WIDE)
    (convert,) = ops(module, "ttg.convert_layout")
    assert (convert.operands[0].op.name, convert.result.type.encoding) == ("tt.load", TALL)


def test_of_a_broadcast_the_narrow_side_is_converted():
    """64 floats instead of 4096: the store's layout is fixed, and the reduction must not be repeated (a sum of floats)."""
    module = after_pass("""
    %s = tt.splat %p : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>, #wide>
    %x = tt.load %s : tensor<64x64x!tt.ptr<f32>, #wide>
    %r = "tt.reduce"(%x) <{axis = 1 : i32}> ({
    ^bb0(%a: f32, %b: f32):
      %sum = arith.addf %a, %b : f32
      tt.reduce.return %sum : f32
    }) : (tensor<64x64xf32, #wide>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #wide}>>
    %e = tt.expand_dims %r {axis = 1 : i32} : tensor<64xf32, #ttg.slice<{dim = 1, parent = #wide}>> -> tensor<64x1xf32, #wide>
    %b = tt.broadcast %e : tensor<64x1xf32, #wide> -> tensor<64x64xf32, #wide>
    %y = ttg.convert_layout %b : tensor<64x64xf32, #wide> -> tensor<64x64xf32, #tall>
    tt.store %q, %y : tensor<64x64x!tt.ptr<f32>, #tall>
""")
    (convert,) = ops(module, "ttg.convert_layout")
    assert convert.result.type.shape == (64, 1) and convert.result.type.encoding is TALL


def test_a_loop_carries_its_value_in_the_layout_of_its_loads():
    module = after_pass("""
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #thin>
    %s = tt.splat %p : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>, #wide>
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32, #thin>)  : i32 {
      %x = tt.load %s : tensor<64x64x!tt.ptr<f32>, #wide>
      %y = ttg.convert_layout %x : tensor<64x64xf32, #wide> -> tensor<64x64xf32, #thin>
      %z = arith.addf %acc, %y : tensor<64x64xf32, #thin>
      scf.yield %z : tensor<64x64xf32, #thin>
    }
    %out = ttg.convert_layout %sum : tensor<64x64xf32, #thin> -> tensor<64x64xf32, #tall>
    tt.store %q, %out : tensor<64x64x!tt.ptr<f32>, #tall>
""")
    (loop,) = ops(module, "scf.for")
    assert loop.result.type.encoding is WIDE
    (convert,) = ops(module, "ttg.convert_layout")
    assert convert.operands[0] is loop.result


def test_a_conversion_costs_32_times_its_bytes_and_nothing_between_registers():
    module = after_pass("""
    %x = tt.load %q : tensor<64x64x!tt.ptr<f32>, #tall>
    tt.store %q, %x : tensor<64x64x!tt.ptr<f32>, #tall>
""")
    (load,) = ops(module, "tt.load")
    assert conversion_cost(load.result, WIDE) == 32 * 64 * 64 * 4
    assert conversion_cost(load.result, TALL) == 0
    swapped = Blocked((4, 2), (16, 2), (1, 4), (0, 1))
    assert conversion_cost(load.operands[0], swapped) == 32 * 64 * 64 * 4, "a pointer counts as 32 bits"
