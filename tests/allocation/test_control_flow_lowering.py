"""Blocks that structured control flow becomes, and ranges of buffers across them.

The expected blocks are written down from MLIR's SCFToControlFlow.cpp; ``test_allocation_truth.py`` holds the lowering against the compiler.
"""

from __future__ import annotations

from smem_lint.allocation import allocate
from smem_lint.allocation.control_flow import lower_control_flow
from smem_lint.tile.ir import Module
from smem_lint.verify.ir_text import parse_module

HEAD = 'module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:120"} {\n'
MEMDESC = (
    "!ttg.memdesc<32x32xf32, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>, #ttg.shared_memory, mutable>"
)


def lowered(body: str) -> Module:
    module = parse_module(HEAD + "tt.func public @k(%c: i1, %n: i32, %x: i32) {\n" + body + "\ntt.return\n}\n}")
    lower_control_flow(module)
    return module


def blocks(module: Module) -> list[list[str]]:
    names = {block: f"^{i}" for i, block in enumerate(module.kernel.regions[0].blocks)}
    return [[" ".join([op.name, *(names[s] for s in op.successors)]) for op in block] for block in module.kernel.regions[0].blocks]


def test_for():
    module = lowered("%r = scf.for %i = %x to %n step %x iter_args(%a = %x) -> (i32) : i32 {\n%b = arith.muli %a, %i : i32\n"
                     "scf.yield %b : i32\n}\n%z = arith.addi %r, %r : i32")  # fmt: skip
    assert blocks(module) == [
        ["cf.br ^1"],
        ["arith.cmpi", "cf.cond_br ^2 ^3"],
        ["arith.muli", "arith.addi", "cf.br ^1"],
        ["arith.addi", "tt.return"],
    ]
    condition, after = module.kernel.regions[0].blocks[1], module.kernel.regions[0].blocks[3]
    assert after.first is not None and after.first.operands[0] is condition.args[1]


def test_if_with_results_joins_in_a_block_of_its_own():
    module = lowered("%r = scf.if %c -> (i32) {\nscf.yield %x : i32\n} else {\nscf.yield %n : i32\n}\n%z = arith.addi %r, %r : i32")
    assert blocks(module) == [["cf.cond_br ^1 ^2"], ["cf.br ^3"], ["cf.br ^3"], ["cf.br ^4"], ["arith.addi", "tt.return"]]


def test_if_without_results_joins_in_what_follows():
    module = lowered("scf.if %c {\n%z = arith.addi %x, %x : i32\n}")
    assert blocks(module) == [["cf.cond_br ^1 ^2"], ["arith.addi", "cf.br ^2"], ["tt.return"]]


def test_while():
    module = lowered("%r = scf.while (%a = %x) : (i32) -> i32 {\n%t = arith.cmpi slt, %a, %n : i32\nscf.condition(%t) %a : i32\n"
                     "} do {\n^bb0(%b: i32):\n%d = arith.addi %b, %b : i32\nscf.yield %d : i32\n}")  # fmt: skip
    assert blocks(module) == [["cf.br ^1"], ["arith.cmpi", "cf.cond_br ^2 ^3"], ["arith.addi", "cf.br ^1"], ["tt.return"]]


def test_while_whose_body_hands_its_values_on_has_no_body():
    module = lowered("%r = scf.while (%a = %x) : (i32) -> i32 {\n%t = arith.cmpi slt, %a, %n : i32\nscf.condition(%t) %a : i32\n"
                     "} do {\n^bb0(%b: i32):\nscf.yield %b : i32\n}")  # fmt: skip
    assert blocks(module) == [["cf.br ^1"], ["arith.cmpi", "cf.cond_br ^1 ^2"], ["tt.return"]]


def test_a_buffer_used_in_a_loop_is_live_to_the_end_of_the_loop():
    """The loop jumps back, so the buffer from outside is still needed by its last operation; one of the loop's own is not."""
    body = (
        f"%m = ttg.local_alloc : () -> {MEMDESC}\n"
        "scf.for %i = %x to %n step %x : i32 {\n"
        f"ttg.local_dealloc %m : {MEMDESC}\n"
        f"%own = ttg.local_alloc : () -> {MEMDESC}\n"
        f"ttg.local_dealloc %own : {MEMDESC}\n"
        "%b = arith.muli %x, %x : i32\n"
        "}"
    )
    module = parse_module(HEAD + "tt.func public @k(%n: i32, %x: i32) {\n" + body + "\ntt.return\n}\n}")
    allocation = allocate(module)
    outside, inside = allocation.buffers
    # 0 alloc, 1 br, 2 cmpi, 3 cond_br, 4 dealloc, 5 alloc, 6 dealloc, 7 muli, 8 addi, 9 br
    assert (outside.start, outside.end) == (0, 10)
    assert (inside.start, inside.end) == (5, 7)
    assert allocation.total == 2 * 4096
    assert sorted(allocation.graph.edges) == [(0, 1)]


def test_buffers_handed_to_a_block_live_as_long_as_the_argument():
    body = (
        f"%m = ttg.local_alloc : () -> {MEMDESC}\n%k = ttg.local_alloc : () -> {MEMDESC}\n"
        f"%r = scf.if %c -> ({MEMDESC}) {{\nscf.yield %m : {MEMDESC}\n}} else {{\nscf.yield %k : {MEMDESC}\n}}\n"
        f"%z = arith.addi %x, %x : i32\nttg.local_dealloc %r : {MEMDESC}"
    )
    module = parse_module(HEAD + "tt.func public @k(%c: i1, %x: i32) {\n" + body + "\ntt.return\n}\n}")
    # 0 alloc, 1 alloc, 2 cond_br, 3 br, 4 br, 5 br, 6 addi, 7 dealloc
    assert [(buffer.start, buffer.end) for buffer in allocate(module).buffers] == [(0, 8), (1, 8)]
