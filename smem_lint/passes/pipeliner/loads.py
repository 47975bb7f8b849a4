"""Which loads can be copied to shared memory asynchronously, and in which encoding they are kept there.

Facts: lib/Dialect/TritonGPU/Transforms/Pipeliner/PipeliningUtility.cpp and ``getSharedEncIfAllUsersAreDotEnc`` in
lib/Dialect/TritonGPU/Transforms/Utility.cpp, Triton 3.8.0. On NVIDIA GPUs one ``cp.async`` moves 4, 8 or 16 bytes.
"""

from __future__ import annotations

from typing import Any

from smem_lint.layout.conversion import shared_vector
from smem_lint.layout.distributed import memory_order, order_of
from smem_lint.layout.encodings import DotOperand, Shared, SwizzledShared
from smem_lint.layout.operand_shared import swizzle_for_dot, swizzle_for_tile_like
from smem_lint.passes.axis_info import ModuleAxisInfo
from smem_lint.passes.pipeliner.loops import DESCRIPTOR_LOADS, VIEWS
from smem_lint.tile.ir import Op, Value, constant_value
from smem_lint.tile.types import MemDesc, Tensor, element_of

SMALLEST_COPY_BITS = 32


class Incompatible(Exception):
    """Users of one load want it in different shared encodings."""


def pointer_of(load: Op) -> Value:
    return load.operands[0]


def mask_of(load: Op) -> Value | None:
    return load.operands[1] if load.attrs["segments"][1] else None


def other_of(load: Op) -> Value | None:
    """What masked elements read as; None when the load does not say."""
    return load.operands[-1] if load.attrs["segments"][2] else None


def vector_of(load: Op, axis_info: ModuleAxisInfo) -> int:
    """Elements that one thread can load at once: neighbours that are aligned and masked alike."""
    vector = axis_info.ptr_contiguity(pointer_of(load))
    mask = mask_of(load)
    return vector if mask is None else min(vector, axis_info.mask_alignment(mask))


def wide_enough(load: Op, axis_info: ModuleAxisInfo) -> bool:
    """Whether the elements that a thread loads at once are as many bits as the smallest asynchronous copy."""
    type_ = pointer_of(load).type
    bits: int = element_of(type_).pointee.bits
    return (vector_of(load, axis_info) * bits if isinstance(type_, Tensor) else bits) >= SMALLEST_COPY_BITS


def copy_bytes(register_type: Tensor, shared: Shared) -> int:
    """Bytes that a thread can move at once between registers of this type and a buffer."""
    return shared_vector(register_type.encoding, shared, register_type.shape) * int(register_type.element.bits) // 8


def alloc_encodings(load: Op) -> list[Any]:
    """The encodings of the ``local_alloc`` operations that copy the loaded tensor to shared memory."""
    return [user.result.type.encoding for user in load.results[0].users if user.name == "ttg.local_alloc"]


def encoding_of_dot_users(value: Value) -> SwizzledShared | None:
    """The one shared encoding that suits every user of ``value`` as operand of a dot.

    None where a user is something else; raises Incompatible where two want different encodings.
    """
    found: SwizzledShared | None = None
    for user in value.users:
        if len(user.results) != 1:
            return None
        wanted = _wanted_by(user, value)
        if wanted is None:
            return None
        if found is not None and wanted is not found:
            raise Incompatible
        found = wanted
    return found


def _wanted_by(user: Op, value: Value) -> SwizzledShared | None:
    type_ = user.result.type
    if isinstance(type_, MemDesc):
        encoding = type_.encoding
        if not isinstance(encoding, SwizzledShared) or (user.result.uses and encoding_of_dot_users(user.result) is None):
            return None
        return encoding
    if user.name not in ("ttg.local_load", "ttg.convert_layout"):
        return None
    bits = element_of(value.type).bits
    if isinstance(type_.encoding, DotOperand):
        shape, source = value.type.shape, value.type.encoding
        order = order_of(source, shape) if isinstance(source, Shared) else memory_order(source, shape)
        return swizzle_for_dot(type_.encoding, shape, order, bits)
    return swizzle_for_tile_like(type_.encoding, type_.shape, bits)


def shared_encoding(load: Op) -> Any:
    """The encoding of the buffer of a pipelined load: what a user already asks for, or one that suits any."""
    type_ = load.results[0].type
    if load.name in DESCRIPTOR_LOADS:
        return descriptor_encoding(load)
    wanted = alloc_encodings(load)
    if wanted:
        return wanted[0]
    try:
        for_dots = encoding_of_dot_users(load.results[0])
    except Incompatible:
        for_dots = None
    return for_dots or SwizzledShared(1, 1, 1, order_of(type_.encoding, type_.shape))


def descriptor_encoding(op: Op, type_: Tensor | None = None) -> Any:
    """The encoding in shared memory of a tensor that a descriptor's bulk copies move (by default what ``op`` loads).

    The descriptor names it for its own block; dimensions that it does not know are the slowest.
    """
    described = op.operands[0].type
    encoding, rank = described.encoding, len((type_ or op.results[0].type).shape)
    if isinstance(encoding, SwizzledShared) and len(encoding.order) != rank:
        new = range(rank - 1, len(encoding.order) - 1, -1)
        order = (*new, *(dim for dim in encoding.order if dim < rank))
        return SwizzledShared(encoding.vec, encoding.per_phase, encoding.max_phase, order)
    return encoding


def must_load_to_registers(op: Op) -> bool:
    """Whether the loaded tensor has users that cannot read the buffer itself."""
    if op.name == "tt.load":
        other = other_of(op)
        if other is not None and not is_zero(other):
            return True
    if not op.results[0].has_one_use:
        return True
    user = next(op.results[0].users)
    if user.name != "ttg.local_alloc":
        return True
    return op.name in DESCRIPTOR_LOADS and descriptor_encoding(op) is not user.result.type.encoding


def feeds_warp_group_dot(op: Op) -> bool:
    """Such a dot still reads its buffer while the next iteration begins: it needs one slot more."""
    if must_load_to_registers(op):
        return False
    pending = list(next(op.results[0].users).result.users)
    while pending:
        user = pending.pop()
        if user.name == "ttng.warp_group_dot":
            return True
        if user.name in VIEWS:
            pending += user.result.users
    return False


def is_zero(value: Value) -> bool:
    """Whether ``value`` is a constant tensor of zeros."""
    constant = constant_value(value) if isinstance(value.type, Tensor) else None
    return constant is not None and not isinstance(constant, tuple) and constant == 0
