"""Shared-memory encodings that wgmma, tcgen05 and TMA read.

Facts: the builder of ``NVMMASharedEncodingAttr`` in include/triton/Dialect/TritonGPU/IR/TritonGPUAttrDefs.td, Triton 3.8.0.
"""

from __future__ import annotations

from math import prod

from smem_lint.layout.encodings import NvmmaShared
from smem_lint.layout.linear import Dims


def nvmma_shared_for(shape: Dims, order: Dims, bits: int, padded: bool = False) -> NvmmaShared:
    """The encoding of a buffer of ``shape`` kept in ``order``: the widest swizzle (bytes) that divides a row."""
    row = shape[order[0]] * (2 if padded else 1) * bits // 8
    width = next((width for width in (128, 64, 32) if row >= width and row % width == 0), 0)
    if len(shape) < 2 or prod(shape[dim] for dim in order[1:]) < 8:
        width = 0
    return NvmmaShared(width, len(order) > 1 and order[0] == 0, bits, padded)
