"""How warps share the result of a dot.

Facts: ``warpsPerTileV2`` and ``warpsPerTileV3`` in lib/Dialect/TritonGPU/Transforms/AccelerateMatmul.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from smem_lint.layout.distributed import mma_v2_warps_per_cta
from smem_lint.layout.encodings import Mma
from smem_lint.tile.ir import Op
from smem_lint.tile.slices import forward_slice, program_order
from smem_lint.tile.traits import DOTS

Dims = tuple[int, ...]


def warps_v2(dot: Op, shape: Dims, num_warps: int, uniform: bool) -> Dims:
    """Chained dots share their warps: those of the first that is settled already, else all along the longer dimension.

    ``uniform``: settled dots that are linked have the same warps, so that any of them will do.
    """
    if len(shape) == 3:
        return mma_v2_warps_per_cta(shape, num_warps)
    others = []
    for op in _linked(dot):
        if op.name in ("tt.dot", "tt.dot_scaled") and len(op.results[0].type.shape) == len(shape):
            if uniform and isinstance(op.results[0].type.encoding, Mma):
                return op.results[0].type.encoding.warps_per_cta
            others.append(op)
    settled = [op for op in others if isinstance(op.results[0].type.encoding, Mma)]
    for op in program_order(settled):
        warps: Dims = op.results[0].type.encoding.warps_per_cta
        return warps
    if others:
        return (num_warps, 1) if shape[0] >= shape[1] else (1, num_warps)
    return mma_v2_warps_per_cta(shape, num_warps)


def _linked(dot: Op) -> Iterator[Op]:
    """Operations joined to ``dot`` by values within its own region, no transposition between them, nearest first."""
    region = dot.block.region if dot.block is not None else None
    seen = {dot}
    queue = deque([dot])
    while queue:
        for near in _neighbours(queue.popleft()):
            if near not in seen and near.name != "tt.trans" and near.block is not None and near.block.region is region:
                seen.add(near)
                queue.append(near)
                yield near


def _neighbours(op: Op) -> Iterator[Op]:
    for operand in op.operands:
        if operand.op is not None:
            yield operand.op
    for result in op.results:
        for use in result.uses:
            yield use.owner


def warps_v3(dot: Op, shape: Dims, num_warps: int, instruction: Dims) -> Dims:
    """All along M where another dot depends on this one; else four along M, then whichever dimension is not covered."""
    if any(op.name in DOTS for op in forward_slice(dot.results[0])):
        return (num_warps, 1)
    along_m, along_n = 4, 1
    while along_m * along_n < num_warps:
        if shape[0] > instruction[0] * along_m:
            along_m *= 2
        else:
            along_n *= 2
    return (along_m, along_n)
