"""Properties that MLIR gives to operations as traits, by name (TritonOps.td and MLIR's arith and math dialects, Triton 3.8.0)."""

from __future__ import annotations

from smem_lint.tile.ir import Op

DOTS = frozenset({"tt.dot", "tt.dot_scaled", "ttng.warp_group_dot", "ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled"})
VIEWS = frozenset({"tt.expand_dims", "tt.reshape", "tt.trans", "tt.join", "tt.split"})
DESCRIPTOR_LOADS = frozenset({"tt.descriptor_load", "tt.descriptor_gather"})

_ELEMENTWISE = frozenset({
    "tt.int_to_ptr", "tt.ptr_to_int", "tt.bitcast", "tt.fp_to_fp", "tt.clampf", "tt.precise_sqrt", "tt.precise_divf", "tt.mulhiui",
    "tt.addptr", "tt.extern_elementwise", "tt.elementwise_inline_asm",
})  # fmt: skip
_INLINE = frozenset({"tt.extern_elementwise", "tt.elementwise_inline_asm"})


def is_elementwise(op: Op) -> bool:
    """Whether the operation has MLIR's ``Elementwise`` trait; a constant does not."""
    name = op.name
    return name in _ELEMENTWISE or (name.startswith(("arith.", "math.")) and name != "arith.constant")


def is_pure_elementwise(op: Op) -> bool:
    """The same, and without effects on memory."""
    return is_elementwise(op) and (op.name not in _INLINE or bool(op.attrs.get("pure")))
