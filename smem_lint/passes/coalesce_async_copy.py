"""Layouts of asynchronous copies to shared memory, which are free of what the users of the data want.

Facts: lib/Dialect/TritonGPU/Transforms/CoalesceAsyncCopy.cpp, Triton 3.8.0 (which, unlike later versions, does not cap a thread's
neighbours at the 128 bits of one copy).
"""

from __future__ import annotations

from smem_lint.layout.conversion import shared_vector
from smem_lint.layout.distributed import blocked_for, contig_per_thread
from smem_lint.layout.encodings import Blocked, SwizzledShared
from smem_lint.passes.coalesce import ASYNC_COPY, Choice, accesses_of
from smem_lint.passes.rewriting import convert_value
from smem_lint.tile.cleanup.rewriter import Rewriter, rewrite
from smem_lint.tile.ir import Module, Op

_THREADS_PER_WARP = 32


def run(module: Module) -> None:
    """Coalesce the copies of small tensors, and split those whose threads hold more neighbours than one copy takes."""
    accesses = accesses_of(module)
    small = [op for op in accesses if op.name == ASYNC_COPY and _is_small(op, module.num_warps)]
    coalesced: dict[Op, Blocked] = {}
    if small:
        choice = Choice(module, accesses)
        coalesced = {op: choice.encoding(op) for op in small}

    def cheap(op: Op, rewriter: Rewriter) -> bool:
        encoding = coalesced.get(op)
        if encoding is None or encoding is op.operands[0].type.encoding:
            return False
        _retarget(op, encoding, rewriter)
        return True

    def clip(op: Op, rewriter: Rewriter) -> bool:
        source, target = op.operands[0].type, op.operands[1].type
        encoding = source.encoding
        if not isinstance(encoding, Blocked) or not isinstance(target.encoding, SwizzledShared):
            return False
        widest = shared_vector(encoding, target.encoding, source.shape)
        sizes = list(contig_per_thread(encoding, source.shape))
        fastest = encoding.order[0]
        if sizes[fastest] <= widest:
            return False
        sizes[fastest] = widest
        _retarget(op, blocked_for(source.shape, tuple(sizes), encoding.order, module.num_warps), rewriter)
        return True

    for function in module.functions:
        rewrite(function, {ASYNC_COPY: (cheap, clip)})


def _is_small(copy: Op, num_warps: int) -> bool:
    """Larger tensors are coalesced already; below 32 bits there is no asynchronous copy of single elements."""
    source, target = copy.operands[0].type, copy.operands[1].type
    return bool(source.numel < num_warps * _THREADS_PER_WARP and target.element.bits >= 32)


def _retarget(copy: Op, encoding: Blocked, rewriter: Rewriter) -> None:
    """Convert pointers, mask and default; of the converted pointers no alignment is known."""
    for index, value in enumerate(copy.operands):
        if index != 1:
            converted = convert_value(value, encoding, copy)
            copy.set_operand(index, converted)
            rewriter.push(converted.op)
    copy.attrs.pop("contiguity", None)
    rewriter.modified(copy)
