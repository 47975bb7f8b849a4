"""Operands of dots: transpositions and reshapes move from registers to shared memory, where they are free.

Facts: lib/Dialect/TritonGPU/Transforms/OptimizeDotOperands.cpp and ``MemDescReshapeOp::inferReturnTypes`` in
lib/Dialect/TritonGPU/IR/Ops.cpp, Triton 3.8.0. Scales in tensor memory are not modelled.
"""

from __future__ import annotations

from smem_lint.layout.distributed import memory_order
from smem_lint.layout.encodings import DotOperand, NvmmaShared
from smem_lint.layout.inference import trans_result
from smem_lint.layout.linear import Dims
from smem_lint.layout.operand_shared import swizzle_for_dot
from smem_lint.layout.shared import shared_layout
from smem_lint.passes import canonicalize, convert_canonicalization
from smem_lint.tile.cleanup.rewriter import Rewriter, merged, rewrite
from smem_lint.tile.ir import Module, Op
from smem_lint.tile.traits import DOTS
from smem_lint.tile.types import MemDesc
from smem_lint.tile.unsupported import Unsupported

_SWAP = (1, 0)


def run(module: Module) -> None:
    """Canonicalize, then rewrite the operands of dots."""
    canonicalize.run(module)
    for function in module.functions:
        rewrite(function, _PATTERNS)


def _read_transposed(op: Op, rewriter: Rewriter) -> bool:
    """``dot(convert(trans(x)))`` writes x to shared memory and reads it transposed."""
    encoding = op.results[0].type.encoding
    if not isinstance(encoding, DotOperand) or not op.results[0].has_one_use or next(op.results[0].users).name != "tt.dot":
        return False
    trans = op.operands[0].op
    if trans is None or trans.name != "tt.trans" or trans.attrs["order"] != _SWAP:
        return False
    value = trans.operands[0]
    origin = value.op.operands[0].type if value.op is not None and value.op.name == "ttg.convert_layout" else value.type
    shared = swizzle_for_dot(encoding, origin.shape, memory_order(origin.encoding, origin.shape), origin.element.bits, transposed=True)
    buffer = rewriter.make(trans, "ttg.local_alloc", (value,), MemDesc(origin.shape, origin.element, shared))
    view = rewriter.make(trans, "ttg.memdesc_trans", (buffer,), _transposed(buffer.type), {"order": _SWAP})
    op.set_operand(0, rewriter.make(trans, "ttg.local_load", (view,), op.results[0].type))
    rewriter.modified(op)
    rewriter.push(trans)
    return True


def _transposed(type_: MemDesc) -> MemDesc:
    encoding = trans_result(type_.encoding, type_.shape, _SWAP)
    shape = (type_.shape[1], type_.shape[0])
    return MemDesc(shape, type_.element, encoding, type_.space, type_.mutable, shape)


def _store_untransposed(op: Op, rewriter: Rewriter) -> bool:
    """wgmma and tcgen05 read either order: the buffer holds what is transposed, and its view is transposed instead."""
    if not op.operands or not op.results[0].has_one_use:
        return False
    user = next(op.results[0].users)
    trans, type_ = op.operands[0].op, op.results[0].type
    if user.name not in DOTS or user.name in ("tt.dot", "tt.dot_scaled") or not isinstance(type_.encoding, NvmmaShared):
        return False
    if trans is None or trans.name != "tt.trans" or trans.attrs["order"] != _SWAP:
        return False
    source = trans.operands[0]
    encoding = trans_result(type_.encoding, source.type.shape, _SWAP)
    buffer = rewriter.make(op, "ttg.local_alloc", (source,), MemDesc(source.type.shape, source.type.element, encoding, type_.space))
    return rewriter.replace_with(op, "ttg.memdesc_trans", (buffer,), _transposed(buffer.type), {"order": _SWAP})


def _store_unreshaped(op: Op, rewriter: Rewriter) -> bool:
    """The buffer holds what is reshaped, and its view is reshaped instead, if it keeps an encoding that wgmma and TMA know."""
    if not op.operands:
        return False
    reshape, type_ = op.operands[0].op, op.results[0].type
    if reshape is None or reshape.name != "tt.reshape" or not isinstance(type_.encoding, NvmmaShared):
        return False
    source = reshape.operands[0]
    if not reshape_keeps_nvmma(type_.encoding, type_.shape, source.type.shape):
        return False
    buffer = rewriter.make(op, "ttg.local_alloc", (source,), MemDesc(source.type.shape, type_.element, type_.encoding, type_.space))
    return rewriter.replace_with(op, "ttg.memdesc_reshape", (buffer,))


def reshape_keeps_nvmma(encoding: NvmmaShared, shape: Dims, target: Dims) -> bool:
    """Whether a buffer of ``shape`` seen in shape ``target`` has the same encoding."""
    fastest = 0 if encoding.transposed else -1
    if shape[fastest] != target[fastest]:
        return False
    try:
        return shared_layout(encoding, shape).reshape(target) == shared_layout(encoding, target)
    except Unsupported:
        return False


_PATTERNS = merged(
    {"ttg.convert_layout": (_read_transposed,), "ttg.local_alloc": (_store_untransposed, _store_unreshaped)},
    convert_canonicalization.PATTERNS,
)
