"""The encoding of a result from that of an operand, and back, for operations that move elements between dimensions.

All of these keep each element in its thread: ``tt.trans``, ``tt.reshape``, ``tt.join``, ``tt.split``, ``tt.expand_dims`` and
``tt.reduce`` rename what a thread holds. Where the outcome is again a blocked (or slice, or operand) encoding Triton keeps that
form, otherwise it spells the layout out as ``Linear``. Which of the two matters: later passes treat them differently.

The functions on encodings return None where Triton finds no encoding. ``infer_result`` and ``infer_operand`` do it for an
operation, as ``inferDstEncoding`` and ``inferSrcEncoding`` do.

Facts: ``TritonGPUInferLayoutInterface`` in lib/Dialect/TritonGPU/IR/Dialect.cpp and lib/Dialect/TritonGPU/Transforms/Utility.cpp,
Triton 3.8.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from smem_lint.layout.distributed import order_of, rank_of, same_layout, view_is_expensive
from smem_lint.layout.encodings import Blocked, Distributed, DotOperand, Encoding, NvmmaShared, SharedLinear, Slice, SwizzledShared
from smem_lint.layout.linear import Dims, LinearLayout
from smem_lint.layout.reshape import blocked_reshape
from smem_lint.layout.shared import alignment_of
from smem_lint.layout.to_linear import linear_encoding, linear_layout
from smem_lint.tile.ir import Op

# Dimensions added and dropped -----------------------------------------------------------------------------------------------


def expand_dims_result(encoding: Encoding, axis: int) -> Any:
    """A slice along ``axis`` gets its parent back; nothing else can be expanded."""
    return encoding.parent if isinstance(encoding, Slice) and encoding.dim == axis else None


def reduce_result(encoding: Distributed, axis: int) -> Any:
    """The slice along ``axis``; None for the scalar that is left of a vector."""
    return None if rank_of(encoding) == 1 else Slice(axis, encoding)


# Transpositions -------------------------------------------------------------------------------------------------------------


def inverse_permutation(order: Sequence[int]) -> Dims:
    inverse = [0] * len(order)
    for place, dim in enumerate(order):
        inverse[dim] = place
    return tuple(inverse)


@cache
def trans_result(encoding: Encoding, shape: Dims, order: Dims) -> Any:
    """The encoding of ``tt.trans`` (or ``ttg.memdesc_trans``) of an operand of ``shape``: dimension i becomes ``order[i]``."""
    if order == tuple(range(len(order))):
        return encoding
    inverse = inverse_permutation(order)
    if isinstance(encoding, SwizzledShared):
        return SwizzledShared(encoding.vec, encoding.per_phase, encoding.max_phase, tuple(inverse[dim] for dim in encoding.order))
    if isinstance(encoding, NvmmaShared) and order == (1, 0):
        return NvmmaShared(encoding.swizzling_byte_width, not encoding.transposed, encoding.element_bit_width, encoding.fp4_padded)
    if isinstance(encoding, Blocked):
        size, lanes, warps = (tuple(field[dim] for dim in order) for field in encoding.sizes)
        return Blocked(size, lanes, warps, tuple(inverse[dim] for dim in encoding.order))
    layout = linear_layout(encoding, shape).transpose(order)
    if isinstance(encoding, Distributed):
        return linear_encoding(layout)
    assert isinstance(encoding, (NvmmaShared, SharedLinear))
    return SharedLinear(layout.coordinate_bases("offset"), (), alignment_of(encoding))


def trans_operand(encoding: Encoding, result_shape: Dims, order: Dims) -> Any:
    """The operand's encoding from the result's: the inverse transposition of the latter."""
    return trans_result(encoding, result_shape, inverse_permutation(order))


# Reshapes -------------------------------------------------------------------------------------------------------------------


@cache
def reshape_result(encoding: Distributed, shape: Dims, target: Dims, hint: Distributed | None = None, allow_reorder: bool = False) -> Any:
    """The encoding of ``tt.reshape`` from ``shape`` to ``target``.

    With ``allow_reorder`` the ``hint``, the encoding that the other side has now, is kept if it costs no moves. The relation is
    symmetric: called with the result's encoding and the shapes exchanged it gives the operand's.
    """
    if allow_reorder and hint is not None and not view_is_expensive(encoding, shape, hint, target):
        return hint
    if isinstance(encoding, Blocked):
        blocked = blocked_reshape(encoding, shape, target)
        if blocked is not None and not view_is_expensive(encoding, shape, blocked, target):
            return blocked
    return linear_encoding(linear_layout(encoding, shape).reshape(target))


# Pairs along a new last dimension -------------------------------------------------------------------------------------------


@cache
def join_result(encoding: Distributed, shape: Dims) -> Any:
    """The encoding of ``tt.join`` of two tensors of ``shape``: a last dimension of two neighbours in each thread."""
    if isinstance(encoding, Slice):
        if encoding.dim == len(shape):
            half = split_result(encoding.parent, (*shape, 2))
            if half is not None and same_layout(half, encoding, shape):
                return encoding.parent
    elif isinstance(encoding, Blocked):
        size, lanes, warps = encoding.sizes
        return Blocked((*size, 2), (*lanes, 1), (*warps, 1), (len(shape), *encoding.order))
    return linear_encoding(_with_pairs(linear_layout(encoding, shape).reshape((*shape, 1)), len(shape)))


@cache
def split_result(encoding: Distributed, shape: Dims) -> Any:
    """The encoding of the halves of a ``tt.split`` of ``shape``, whose last dimension is 2; None if a thread has no pairs."""
    if isinstance(encoding, Blocked):
        size, lanes, warps = encoding.sizes
        if (size[-1], lanes[-1], warps[-1]) == (2, 1, 1):
            last = len(shape) - 1
            return Blocked(size[:-1], lanes[:-1], warps[:-1], tuple(dim for dim in encoding.order if dim != last))
    if shape[-1] != 2:
        return None
    halves = _without_pairs(linear_layout(encoding, shape), len(shape) - 1)
    return None if halves is None else linear_encoding(halves.without_dim(len(shape) - 1))


def _with_pairs(layout: LinearLayout, axis: int) -> LinearLayout:
    """Twice as many elements along ``axis``: the new lowest bit of the coordinate is the new first register."""
    columns = {name: [_scaled(basis, axis) for basis in layout.coordinate_bases(name)] for name in layout.inputs}
    columns["register"].insert(0, tuple(int(dim == axis) for dim in range(layout.rank)))
    shape = tuple(2 * size if dim == axis else size for dim, size in enumerate(layout.shape))
    return LinearLayout.of(shape, **columns)


def _scaled(basis: Dims, axis: int) -> Dims:
    return tuple(2 * step if dim == axis else step for dim, step in enumerate(basis))


def _without_pairs(layout: LinearLayout, axis: int) -> LinearLayout | None:
    """Half as many elements along ``axis``: the registers that hold its lowest bit go; None if no register does."""
    columns = {name: list(layout.coordinate_bases(name)) for name in layout.inputs}
    kept = [basis for basis in columns["register"] if basis[axis] != 1]
    if len(kept) == len(columns["register"]):
        return None
    columns["register"] = kept
    halved = {
        name: [tuple(step // 2 if dim == axis else step for dim, step in enumerate(basis)) for basis in bases]
        for name, bases in columns.items()
    }
    return LinearLayout.of(tuple(size // 2 if dim == axis else size for dim, size in enumerate(layout.shape)), **halved)


# Packed fp4 -----------------------------------------------------------------------------------------------------------------


@cache
def fp4_to_fp_result(encoding: Distributed, shape: Dims, axis: int) -> Any:
    """The encoding of ``ttg.fp4_to_fp`` of packed pairs along ``axis``; ``shape`` is the packed operand's."""
    if order_of(encoding, shape)[axis] == 0:
        if isinstance(encoding, DotOperand):
            return DotOperand(encoding.op_idx, encoding.parent, encoding.k_width * 2)
        if isinstance(encoding, Blocked):
            return _with_size_per_thread(encoding, axis, encoding.size_per_thread[axis] * 2)
    return linear_encoding(_with_pairs(linear_layout(encoding, shape), axis))


@cache
def fp4_to_fp_operand(encoding: Distributed, shape: Dims, axis: int) -> Any:
    """The packed operand's encoding from the result's of ``shape``; None if a thread does not hold pairs."""
    if order_of(encoding, shape)[axis] == 0:
        if isinstance(encoding, DotOperand):
            return DotOperand(encoding.op_idx, encoding.parent, encoding.k_width // 2) if encoding.k_width > 1 else None
        if isinstance(encoding, Blocked):
            size = encoding.size_per_thread[axis]
            return _with_size_per_thread(encoding, axis, size // 2) if size > 1 else None
    layout = linear_layout(encoding, shape)
    if not layout.register or layout.register[0] != 1 << layout.shifts[axis]:
        return None
    halves = _without_pairs(layout, axis)
    return None if halves is None else linear_encoding(halves)


def _with_size_per_thread(encoding: Blocked, axis: int, size: int) -> Blocked:
    sizes = (*encoding.size_per_thread[:axis], size, *encoding.size_per_thread[axis + 1 :])
    return Blocked(sizes, encoding.threads_per_warp, encoding.warps_per_cta, encoding.order)


# Operations -----------------------------------------------------------------------------------------------------------------

_SAME_ENCODING = frozenset({
    "tt.int_to_ptr", "tt.ptr_to_int", "tt.bitcast", "tt.fp_to_fp", "tt.clampf", "tt.precise_sqrt", "tt.precise_divf", "tt.mulhiui",
    "tt.addptr", "tt.load", "tt.atomic_rmw", "tt.atomic_cas", "tt.splat", "tt.broadcast", "tt.scan", "tt.map_elementwise",
    "tt.extern_elementwise", "tt.elementwise_inline_asm", "scf.while", "scf.yield", "scf.condition", "ttng.warp_group_dot_wait",
})  # fmt: skip


def keeps_encoding(name: str) -> bool:
    """Whether operands and results of such an operation always have one encoding (element-wise operations and a few more)."""
    return name in _SAME_ENCODING or name.startswith(("arith.", "math."))


def infer_result(op: Op, encoding: Encoding) -> Any:
    """The encoding of the results of ``op`` once its operand has ``encoding``; None if Triton infers none."""
    name = op.name
    if name == "tt.scan" and not isinstance(encoding, Blocked):
        return None
    if keeps_encoding(name) or name in ("scf.for", "tt.gather"):
        return encoding
    assert isinstance(encoding, Distributed)
    operand: Any = op.operands[0].type if op.operands else None
    if name == "tt.reduce":
        return reduce_result(encoding, op.attrs["axis"])
    if name == "tt.expand_dims":
        return expand_dims_result(encoding, op.attrs["axis"])
    if name == "tt.join":
        return join_result(encoding, operand.shape)
    if name == "tt.split":
        return split_result(encoding, operand.shape)
    if name == "tt.trans":
        return trans_result(encoding, operand.shape, op.attrs["order"])
    if name == "tt.reshape":
        result: Any = op.result.type
        return reshape_result(encoding, operand.shape, result.shape, result.encoding, op.attrs.get("allow_reorder", False))
    if name == "ttg.fp4_to_fp":
        return fp4_to_fp_result(encoding, operand.shape, op.attrs["axis"])
    return None


def infer_operand(op: Op, encoding: Encoding) -> Any:
    """The encoding that the operands of ``op`` need for its results to have ``encoding``; None if Triton infers none.

    Of a gather this is the index's encoding.
    """
    name = op.name
    if name == "tt.scan" and not isinstance(encoding, Blocked):
        return None
    if keeps_encoding(name) or name == "tt.gather":
        return encoding
    assert isinstance(encoding, Distributed)
    result: Any = op.results[0].type if op.results else None
    if name in ("tt.reduce", "tt.expand_dims"):
        axis = op.attrs["axis"]
        return Slice(axis, encoding) if name == "tt.expand_dims" else expand_dims_result(encoding, axis)
    if name == "tt.join":
        return split_result(encoding, result.shape)
    if name == "tt.split":
        return join_result(encoding, result.shape)
    if name == "tt.trans":
        return trans_operand(encoding, result.shape, op.attrs["order"])
    if name == "tt.reshape":
        operand: Any = op.operands[0].type
        return reshape_result(encoding, result.shape, operand.shape, operand.encoding, op.attrs.get("allow_reorder", False))
    if name == "ttg.fp4_to_fp":
        return fp4_to_fp_operand(encoding, result.shape, op.attrs["axis"])
    return None
