"""The axis analysis on small programs: the facts that ``test/Analysis/test-alignment.mlir`` of Triton 3.8.0 is about."""

from __future__ import annotations

from smem_lint.passes.axis_info import MAX_DIVISOR, ModuleAxisInfo
from smem_lint.verify.ir_text import parse_module


def facts(body: str, arguments: str = "") -> dict[str, tuple[object, ...]]:
    """(contiguity, divisibility, constancy, constant) of every named value of a function with this body."""
    module = parse_module(f"module {{\ntt.func public @f({arguments}) attributes {{noinline = false}} {{\n{body}\ntt.return\n}}\n}}")
    axes = ModuleAxisInfo(module)
    return {result.name: tuple(axes.info(result)) for op in module.walk() for result in op.results}


def test_range_times_constant_is_no_longer_contiguous() -> None:
    found = facts("""
        %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
        %c = arith.constant dense<16> : tensor<128xi32>
        %m = arith.muli %r, %c : tensor<128xi32>
        %a = arith.addi %r, %c : tensor<128xi32>
        %d = arith.divsi %r, %c : tensor<128xi32>
        %q = arith.remsi %r, %c : tensor<128xi32>
    """)
    assert found["r"] == ((128,), (1 << 30,), (1,), None)
    assert found["m"] == ((1,), (16,), (1,), None)
    assert found["a"] == ((128,), (16,), (1,), None)
    assert found["d"] == ((1,), (1,), (16,), None)
    assert found["q"] == ((16,), (16,), (1,), None)


def test_pointer_moved_by_elements() -> None:
    found = facts(
        """
        %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
        %b = tt.splat %p : !tt.ptr<f16> -> tensor<64x!tt.ptr<f16>>
        %a = tt.addptr %b, %r : tensor<64x!tt.ptr<f16>>, tensor<64xi32>
        """,
        "%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}",
    )
    assert found["b"] == ((1,), (16,), (64,), None)
    assert found["a"] == ((64,), (16,), (1,), None)


def test_mask_of_a_multiple_of_16_repeats_16_times() -> None:
    body = """
        %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
        %s = tt.splat %n : i32 -> tensor<128xi32>
        %lt = arith.cmpi slt, %r, %s : tensor<128xi32>
        %le = arith.cmpi sle, %r, %s : tensor<128xi32>
    """
    aligned = facts(body, "%n: i32 {tt.divisibility = 16 : i32}")
    assert (aligned["lt"][2], aligned["le"][2]) == ((16,), (1,))
    assert facts(body, "%n: i32")["lt"][2] == (1,)


def test_loop_weakens_what_it_carries() -> None:
    found = facts(
        """
        %zero = arith.constant 0 : i32
        %four = arith.constant 4 : i32
        %start = arith.constant 32 : i32
        %end = scf.for %i = %zero to %n step %four iter_args(%x = %start) -> (i32)  : i32 {
          %next = arith.addi %x, %four : i32
          scf.yield %next : i32
        }
        """,
        "%n: i32",
    )
    assert found["start"] == ((1,), (32,), (1,), 32)
    assert found["next"] == ((1,), (4,), (1,), None)
    assert found["end"] == ((1,), (4,), (1,), None)


def test_rows_and_columns() -> None:
    found = facts(
        """
        %r = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
        %row = tt.expand_dims %r {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
        %col = tt.expand_dims %r {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
        %s = tt.splat %n : i32 -> tensor<32x1xi32>
        %m = arith.muli %row, %s : tensor<32x1xi32>
        %bm = tt.broadcast %m : tensor<32x1xi32> -> tensor<32x32xi32>
        %bc = tt.broadcast %col : tensor<1x32xi32> -> tensor<32x32xi32>
        %sum = arith.addi %bm, %bc : tensor<32x32xi32>
        %t = tt.trans %sum {order = array<i32: 1, 0>} : tensor<32x32xi32> -> tensor<32x32xi32>
        """,
        "%n: i32 {tt.divisibility = 16 : i32}",
    )
    assert found["bm"] == ((1, 1), (16, 16), (1, 32), None)
    assert found["sum"][0] == (1, 32)
    assert found["sum"][1] == (1, 16)
    assert found["t"][0] == (32, 1)


def test_reshape_keeps_the_run_that_it_does_not_cut() -> None:
    found = facts("""
        %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
        %x = tt.reshape %r : tensor<128xi32> -> tensor<8x16xi32>
    """)
    assert found["x"] == ((1, 16), (1, 16), (1, 1), None)


def test_hints_replace_what_is_known() -> None:
    found = facts(
        """
        %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
        %s = tt.splat %n : i32 -> tensor<128xi32>
        %q = arith.remsi %r, %s {tt.contiguity = dense<128> : tensor<1xi32>, tt.divisibility = dense<64> : tensor<1xi32>} : tensor<128xi32>
        """,
        "%n: i32",
    )
    assert found["q"] == ((128,), (64,), (1,), None)


def test_zero_is_divisible_by_anything() -> None:
    found = facts("%z = arith.constant dense<0> : tensor<16xi32>")
    assert found["z"] == ((1,), (MAX_DIVISOR,), (16,), 0)


def test_loop_that_is_known_to_run_hides_its_start() -> None:
    body = """
        %zero = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %many = arith.constant MANY : i32
        %start = arith.constant 6 : i32
        %end = scf.for %i = %zero to %many step %one iter_args(%x = %start) -> (i32)  : i32 {
          scf.yield %n : i32
        }
    """
    argument = "%n: i32 {tt.divisibility = 16 : i32}"
    assert facts(body.replace("MANY", "4"), argument)["end"][1] == (16,)
    assert facts(body.replace("MANY", "0"), argument)["end"] == ((1,), (2,), (1,), 6)
    assert facts(body.replace("MANY", "4").replace("to %many", "to %n"), argument)["end"][1] == (2,)
