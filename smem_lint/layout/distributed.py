"""What passes ask of a tensor's layout: how many elements a thread holds, in which order, over how many lanes and warps.

All answers are read off the linear layout of the tensor, as Triton does (``LinearEncodingAttr``); a blocked encoding's own fields
are not always what these functions say. Tuples run over the tensor's dimensions.

Facts: lib/Dialect/TritonGPU/IR/Dialect.cpp and include/triton/Dialect/TritonGPU/IR/TritonGPUAttr{Defs,Interfaces}.td, Triton 3.8.0.
"""

from __future__ import annotations

from functools import cache
from math import prod

from smem_lint.layout.encodings import Blocked, Distributed, DotOperand, Encoding, Linear, Mma, Shared, Slice
from smem_lint.layout.linear import Dims, LinearLayout
from smem_lint.layout.shared import shared_order
from smem_lint.layout.to_linear import (
    first_moves,
    linear_encoding,
    linear_layout,
    matrix_order,
    order_for_dot_operand,
    register_order,
    row_major,
)

__all__ = [
    "blocked_for", "cat_encoding_is_legal", "contig_per_thread", "default_blocked", "elems_per_thread", "matrix_order",
    "memory_order", "mma_v2_warps_per_cta", "order_for_dot_operand", "order_of", "rank_of", "rep_order", "same_layout",
    "size_per_thread", "thread_order", "threads_per_warp", "to_linear_encoding", "total_elems_per_thread",
    "unique_contig_per_thread", "unique_elems_per_thread", "view_is_expensive", "warp_order", "warps_per_cta",
]  # fmt: skip


def _clamp(value: int, low: int, high: int) -> int:
    return max(low, min(value, high))


@cache
def blocked_for(shape: Dims, size_per_thread: Dims, order: Dims, num_warps: int, threads_per_warp: int = 32) -> Blocked:
    """The blocked encoding that spreads the threads over ``shape``, along ``order[0]`` first.

    Each dimension takes as many lanes, then warps, as it has elements for; the last one takes whatever remains, needed or not.
    """
    lanes, warps, threads = threads_per_warp, num_warps, num_warps * threads_per_warp
    per_warp, per_block = [1] * len(shape), [1] * len(shape)
    for dim in order[:-1]:
        wanted = _clamp(threads, 1, max(1, shape[dim] // size_per_thread[dim]))
        per_warp[dim] = _clamp(wanted, 1, lanes)
        per_block[dim] = _clamp(wanted // per_warp[dim], 1, warps)
        lanes //= per_warp[dim]
        warps //= per_block[dim]
        threads //= per_warp[dim] * per_block[dim]
    per_warp[order[-1]] = threads_per_warp // prod(per_warp[dim] for dim in order[:-1])
    per_block[order[-1]] = num_warps // prod(per_block[dim] for dim in order[:-1])
    return Blocked(size_per_thread, tuple(per_warp), tuple(per_block), order)


@cache
def default_blocked(shape: Dims, num_warps: int, threads_per_warp: int = 32) -> Blocked:
    """What every tensor gets first: one element per thread, the last dimension fastest."""
    return blocked_for(shape, (1,) * len(shape), row_major(len(shape)), num_warps, threads_per_warp)


@cache
def mma_v2_warps_per_cta(shape: Dims, num_warps: int) -> Dims:
    """Warps of a stand-alone ``mma.sync`` dot: halve the larger count of 16 x 8 tiles first, M on a tie."""
    if len(shape) == 3:
        return (num_warps, 1, 1)
    rows, columns = -(-shape[0] // 16), -(-shape[1] // 8)
    along_m, along_n = 1, 1
    while along_m * along_n < num_warps:
        if rows >= columns:
            along_m *= 2
            rows = rows // 2 if rows != 1 else 1
        else:
            along_n *= 2
            columns //= 2
    return (along_m, along_n)


@cache
def to_linear_encoding(encoding: Distributed, shape: Dims) -> Linear:
    return linear_encoding(linear_layout(encoding, shape))


def same_layout(a: Encoding, b: Encoding, shape: Dims) -> bool:
    """Whether both put every element into the same places (``areLayoutsEquivalent``)."""
    return a is b or linear_layout(a, shape) is linear_layout(b, shape)


def rank_of(encoding: Encoding) -> int:
    """How many dimensions a tensor of this encoding has."""
    if isinstance(encoding, Blocked):
        return len(encoding.order)
    if isinstance(encoding, Slice):
        return rank_of(encoding.parent) - 1
    if isinstance(encoding, Mma):
        return len(encoding.warps_per_cta)
    if isinstance(encoding, DotOperand):
        return rank_of(encoding.parent)
    assert isinstance(encoding, Linear)
    return next(len(basis) for bases in (encoding.lane, encoding.warp, encoding.register) for basis in bases)


# Counting elements ----------------------------------------------------------------------------------------------------------


def _bases_per_dim(layout: LinearLayout, name: str, skip_broadcast: bool = True) -> Dims:
    """The product of the bits that move along each dimension; bits of no dimension count for the one before, unless skipped."""
    counts, dim = [1] * layout.rank, 0
    for basis in layout[name]:
        if basis:
            dim = _dim_of(layout, basis)
        if basis or not skip_broadcast:
            counts[dim] *= 2
    return tuple(counts)


def _dim_of(layout: LinearLayout, basis: int) -> int:
    """The first dimension that a basis moves along."""
    return next(dim for dim in range(layout.rank) if layout.along(basis, dim))


@cache
def elems_per_thread(encoding: Distributed, shape: Dims) -> Dims:
    """Registers of a thread by dimension, copies of an element counted (for the dimension before them)."""
    return _bases_per_dim(linear_layout(encoding, shape), "register", skip_broadcast=False)


@cache
def total_elems_per_thread(encoding: Distributed, shape: Dims) -> int:
    """Registers of a thread, copies counted."""
    return linear_layout(encoding, shape).size("register")


@cache
def unique_elems_per_thread(encoding: Distributed, shape: Dims) -> int:
    """Registers of a thread that hold something of their own."""
    return linear_layout(encoding, shape).without_zeros("register").size("register")


@cache
def threads_per_warp(encoding: Distributed, shape: Dims) -> Dims:
    """Lanes along each dimension that hold elements of their own."""
    return _bases_per_dim(linear_layout(encoding, shape), "lane")


@cache
def warps_per_cta(encoding: Distributed, shape: Dims) -> Dims:
    """Warps along each dimension that hold elements of their own."""
    return _bases_per_dim(linear_layout(encoding, shape), "warp")


@cache
def size_per_thread(encoding: Distributed, shape: Dims) -> Dims:
    """The part of a thread's registers that belongs to one tile, without the repetitions of the tile.

    Repetitions are the last register bits, as long as each is half of what remains of its dimension and they do not come back
    to a dimension that they have left.
    """
    layout = linear_layout(encoding, shape)
    registers, remaining, seen = list(layout.register), list(shape), dict[int, None]()
    while registers and registers[-1]:
        dim = _dim_of(layout, registers[-1])
        seen[dim] = None
        if dim != list(seen)[-1] or 2 * layout.along(registers[-1], dim) != remaining[dim]:
            break
        remaining[dim] //= 2
        registers.pop()
    return _bases_per_dim(layout.replace(register=registers), "register")


@cache
def contig_per_thread(encoding: Distributed, shape: Dims) -> Dims:
    """Neighbouring elements in a thread's first registers, along each dimension in the layout's order."""
    layout = linear_layout(encoding, shape)
    registers, at = layout.register, 0
    contiguous = [1] * layout.rank
    for dim in order_of(encoding, shape):
        while at < len(registers) and registers[at] == contiguous[dim] << layout.shifts[dim] and contiguous[dim] < shape[dim]:
            contiguous[dim] *= 2
            at += 1
    return tuple(contiguous)


@cache
def unique_contig_per_thread(encoding: Distributed, shape: Dims) -> Dims:
    """Neighbouring elements of a thread, never more than the tensor has."""
    return tuple(map(min, contig_per_thread(encoding, shape), shape))


# Orders ---------------------------------------------------------------------------------------------------------------------


@cache
def order_of(encoding: Encoding, shape: Dims) -> Dims:
    """Dimensions as a thread's registers (or a buffer's offsets) walk along them, fastest first (``getOrder``)."""
    if isinstance(encoding, Shared):
        return shared_order(encoding, len(shape))
    return register_order(linear_layout(encoding, shape).coordinate_bases("register"), len(shape))


@cache
def thread_order(encoding: Distributed, shape: Dims) -> Dims:
    """Dimensions as the lanes walk along them, completed by the register order."""
    return first_moves(linear_layout(encoding, shape).coordinate_bases("lane"), order_of(encoding, shape))


@cache
def warp_order(encoding: Distributed, shape: Dims) -> Dims:
    """Dimensions as the warps walk along them, completed by the register order."""
    return first_moves(linear_layout(encoding, shape).coordinate_bases("warp"), order_of(encoding, shape))


@cache
def memory_order(encoding: Distributed, shape: Dims) -> Dims:
    """The order to keep such a tensor in memory: the registers' own, or the lanes' where a thread has one element along it."""
    order, lanes = order_of(encoding, shape), thread_order(encoding, shape)
    return lanes if order != lanes and elems_per_thread(encoding, shape)[lanes[0]] == 1 else order


def rep_order(encoding: Distributed) -> Dims:
    """Dimensions along which tiles of the encoding are repeated over a larger tensor, first one first (``getRepOrder``)."""
    if isinstance(encoding, Blocked):
        return encoding.order
    if isinstance(encoding, Slice):
        return tuple(dim - (dim > encoding.dim) for dim in rep_order(encoding.parent) if dim != encoding.dim)
    if isinstance(encoding, Mma):
        return row_major(rank_of(encoding))
    if isinstance(encoding, DotOperand):
        parent = encoding.parent
        return order_for_dot_operand(encoding.op_idx, rank_of(parent)) if isinstance(parent, Mma) else rep_order(parent)
    assert isinstance(encoding, Linear)
    return register_order(encoding.register, rank_of(encoding))


# Questions about views ------------------------------------------------------------------------------------------------------


@cache
def view_is_expensive(source: Distributed, source_shape: Dims, target: Distributed, target_shape: Dims) -> bool:
    """Whether a reshape that may reorder elements cannot keep them in their registers (``isExpensiveView``)."""
    before, after = linear_layout(source, source_shape), linear_layout(target, target_shape)
    return before.free_masks() != after.free_masks() or before.size("register") != after.size("register")


@cache
def cat_encoding_is_legal(operand: Distributed, operand_shape: Dims, result: Distributed, result_shape: Dims) -> bool:
    """Whether ``tt.cat`` can join the registers of its operands into a result of this encoding."""
    return unique_elems_per_thread(result, result_shape) == 2 * unique_elems_per_thread(operand, operand_shape)
