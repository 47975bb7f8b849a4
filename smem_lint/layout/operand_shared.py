"""Shared-memory encodings from which the operand of a tensor-core dot is read without bank conflicts.

Facts: ``SwizzledSharedEncodingAttr::get`` in include/triton/Dialect/TritonGPU/IR/TritonGPUAttrDefs.td and
``swizzleDotOperandLike`` in lib/Dialect/TritonGPU/Transforms/Utility.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from functools import cache

from smem_lint.layout.distributed import contig_per_thread, order_for_dot_operand, thread_order
from smem_lint.layout.encodings import Distributed, DotOperand, Mma, SwizzledShared
from smem_lint.layout.linear import Dims, log2
from smem_lint.layout.to_linear import linear_layout

_ROW_BITS = 1024  # one access to all banks


def swizzle_for_operand(op_idx: int, k_width: int, shape: Dims, order: Dims, bits: int, transposed: bool = False) -> SwizzledShared:
    """The swizzle for operand ``op_idx`` of ``shape`` kept in ``order``, of ``bits`` wide elements; lanes read ``k_width`` at once."""
    per_phase = max(_ROW_BITS // (bits * shape[order[0]]), 1)
    vec, rows = 4 * k_width, 4 if bits == 64 else 8
    k_dim = len(order) - 1 if op_idx == 0 else len(order) - 2
    if (order[0] != k_dim) != transposed:
        vec, rows = rows, vec
    phases = max(min(rows, _ROW_BITS // (vec * bits)), 1)
    return SwizzledShared(vec, per_phase, max(phases // per_phase, 1), order)


def swizzle_for_dot(operand: DotOperand, shape: Dims, order: Dims, bits: int, transposed: bool = False) -> SwizzledShared:
    """The shared encoding for a tensor that is read as ``operand``; a dot without tensor cores needs no swizzle."""
    if not isinstance(operand.parent, Mma):
        return SwizzledShared(1, 1, 1, order)
    return swizzle_for_operand(operand.op_idx, operand.k_width, shape, order, bits, transposed)


@cache
def swizzle_for_tile_like(encoding: Distributed, shape: Dims, bits: int) -> SwizzledShared | None:
    """The same for a layout that holds its elements like an operand of a tensor-core instruction (8 rows of 4 lanes); else None."""
    order = thread_order(encoding, shape)
    rank = len(order)
    if rank < 2:
        return None
    op_idx = next((index for index in (0, 1) if order_for_dot_operand(index, rank) == order), None)
    if op_idx is None:
        return None
    k_width = contig_per_thread(encoding, shape)[order[0]]
    if not _starts_with_tile(encoding, shape, order[0], order[1], k_width):
        return None
    return swizzle_for_operand(op_idx, k_width, shape, order, bits)


def _starts_with_tile(encoding: Distributed, shape: Dims, inner: int, outer: int, k_width: int) -> bool:
    """Whether registers and lanes begin with one tile of the instruction and everything else moves in whole tiles."""
    if shape[inner] % (4 * k_width) or shape[outer] % 8:
        return False
    layout = linear_layout(encoding, shape)
    steps = {"register": [(inner, 1 << bit) for bit in range(log2(k_width))]}
    steps["lane"] = [(inner, k_width), (inner, 2 * k_width), (outer, 1), (outer, 2), (outer, 4)]
    for name in layout.inputs:
        tile = steps.get(name, [])
        bases = layout.coordinate_bases(name)
        expected = [tuple(step if at == dim else 0 for at in range(len(shape))) for dim, step in tile]
        if list(bases[: len(tile)]) != expected:
            return False
        if any(basis[inner] % (4 * k_width) or basis[outer] % 8 for basis in bases[len(tile) :]):
            return False
    return True
