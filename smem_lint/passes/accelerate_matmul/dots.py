"""Rewrites dots to tensor-core instructions of versions 2 and 3.

Facts: ``BlockedToMMA`` in lib/Dialect/TritonGPU/Transforms/AccelerateMatmul.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from typing import Any

from smem_lint.layout.distributed import memory_order
from smem_lint.layout.encodings import DotOperand, Mma
from smem_lint.layout.nvmma import nvmma_shared_for
from smem_lint.passes.accelerate_matmul.choice import instruction_shape
from smem_lint.passes.accelerate_matmul.operand_width import loaded_bits
from smem_lint.passes.accelerate_matmul.warps import warps_v2, warps_v3
from smem_lint.passes.rewriting import convert_value
from smem_lint.tile.ir import Op, Value
from smem_lint.tile.traits import DESCRIPTOR_LOADS
from smem_lint.tile.types import MemDesc, Tensor

INPUT_PRECISIONS = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")
_MEMDESC_VIEWS = frozenset({
    "ttg.memdesc_index", "ttg.memdesc_subslice", "ttg.memdesc_trans", "ttg.memdesc_reshape", "ttg.memdesc_reinterpret",
})  # fmt: skip


def mma_encoding(dot: Op, version: int, num_warps: int, capability: int, uniform: bool) -> Mma:
    """The accumulator's encoding for ``dot`` with instructions of ``version`` 2 or 3."""
    shape = dot.results[0].type.shape
    instruction = instruction_shape(version, shape, dot.operands[0].type.element, num_warps)
    warps = warps_v2(dot, shape, num_warps, uniform) if version == 2 else warps_v3(dot, shape, num_warps, instruction)
    return Mma(version, 1 if capability == 75 else 0, warps, instruction)


def rewrite_dot(dot: Op, version: int, num_warps: int, capability: int, uniform: bool, any_join: bool = False) -> None:
    """Replace ``tt.dot`` by one with instructions of ``version``, with conversions around it."""
    encoding = mma_encoding(dot, version, num_warps, capability, uniform)
    from_memory = _comes_from_memory(dot.operands[0])
    accumulator = convert_value(dot.operands[2], encoding, dot)
    a, b = dot.operands[:2]
    if version == 2:
        bits = min(loaded_bits(a, any_join), loaded_bits(b, any_join))
        operands = [operand_in_registers(a, 0, bits, encoding, dot), operand_in_registers(b, 1, bits, encoding, dot), accumulator]
        replace_dot(dot, "tt.dot", operands, encoding, dict(dot.attrs))
        return
    either_order = a.type.element.name in ("f16", "bf16")
    a = operand_in_memory(a, 0, either_order) if from_memory else operand_in_registers(a, 0, a.type.element.bits, encoding, dot)
    b = operand_in_memory(b, 1, either_order)
    attrs = dict(dot.attrs)
    if attrs.get("inputPrecision", "ieee") != "ieee":
        attrs["inputPrecision"] = INPUT_PRECISIONS.index(attrs["inputPrecision"])
    replace_dot(dot, "ttng.warp_group_dot", [a, b, accumulator], encoding, attrs)


def replace_dot(dot: Op, name: str, operands: list[Value], encoding: Any, attrs: dict[str, Any]) -> Op:
    type_ = dot.results[0].type
    new = Op(name, operands, (type_.with_encoding(encoding),), attrs, line=dot.line)
    assert dot.block is not None
    dot.block.insert_before(dot, new)
    dot.results[0].replace_all_uses(convert_value(new.results[0], type_.encoding, dot))
    dot.erase()
    return new


def operand_in_registers(value: Value, index: int, bits: int, encoding: Mma, dot: Op) -> Value:
    """The operand in registers; a lane holds 32 bits of what was loaded ``bits`` wide."""
    return convert_value(value, DotOperand(index, encoding, max(32 // bits, 1)), dot)


def operand_in_memory(value: Value, index: int, either_order: bool, padded: bool = False, transposed: bool = False) -> Value:
    """The operand in shared memory, stored where its tensor is made; K contiguous unless ``either_order`` is allowed."""
    while value.op is not None and value.op.name == "ttg.convert_layout":
        value = value.op.operands[0]
    type_ = value.type
    assert isinstance(type_, Tensor)
    order = memory_order(type_.encoding, type_.shape)
    if not either_order:
        order = (0, 1) if (index == 1) != transposed else (1, 0)
    memory = MemDesc(type_.shape, type_.element, nvmma_shared_for(type_.shape, order, type_.element.bits, padded))
    alloc = Op("ttg.local_alloc", (value,), (memory,))
    if value.op is not None:
        alloc.line = value.op.line
        assert value.op.block is not None
        value.op.block.insert_after(value.op, alloc)
    else:
        assert value.block is not None
        value.block.prepend(alloc)
    return alloc.results[0]


def _comes_from_memory(value: Value) -> bool:
    """Whether the operand is a load, or an argument of a block, behind conversions, transpositions and views."""
    while value.op is not None and (value.op.name in ("ttg.convert_layout", "tt.trans") or value.op.name in _MEMDESC_VIEWS):
        value = value.op.operands[0]
    return value.op is None or value.op.name == "tt.load" or value.op.name in DESCRIPTOR_LOADS
