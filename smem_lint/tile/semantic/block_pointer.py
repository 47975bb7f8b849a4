"""Block pointers, which the front end of Triton 3.8 turns into ordinary pointers and masks (``_block_ptr`` in ``core.py``, 3.8.0)."""

from __future__ import annotations

from typing import Any

from smem_lint.tile import dtypes
from smem_lint.tile.semantic import arithmetic, memory
from smem_lint.tile.semantic.casts import cast
from smem_lint.tile.semantic.context import Context, fail, to_tensor
from smem_lint.tile.semantic.promotion import broadcast_to_shape, expand_dims
from smem_lint.tile.semantic.shapes import arange
from smem_lint.tile.values import Composite, Handle


class BlockPointer(Composite):
    """``base`` and, as int64 scalars, the tensor's ``sizes``, ``strides`` and the block's ``offsets``; ``block`` is its shape."""

    __slots__ = ("base", "sizes", "strides", "offsets", "block", "order")

    def __init__(
        self, base: Handle, sizes: tuple[Handle, ...], strides: tuple[Handle, ...], offsets: tuple[Handle, ...],
        block: tuple[int, ...], order: tuple[int, ...],
    ) -> None:  # fmt: skip
        self.base, self.sizes, self.strides, self.offsets, self.block, self.order = base, sizes, strides, offsets, block, order

    @property
    def dtype(self) -> Any:
        return self.base.dtype

    @property
    def parts(self) -> tuple[Any, ...]:
        return (self.base, *self.sizes, *self.strides, *self.offsets)

    def with_parts(self, parts: tuple[Any, ...]) -> BlockPointer:
        rank = len(self.block)
        groups = [parts[1 + rank * i : 1 + rank * (i + 1)] for i in range(3)]
        return BlockPointer(parts[0], groups[0], groups[1], groups[2], self.block, self.order)

    @property
    def type(self) -> Any:
        return (*super().type, self.block, self.order)


def _list(values: Any) -> tuple[Any, ...]:
    return tuple(values) if isinstance(values, tuple | list) else (values,)


def _scalars(ctx: Context, values: Any, what: str) -> tuple[Handle, ...]:
    made = []
    for each in _list(values):
        handle = to_tensor(ctx, each)
        if handle.type.block or not handle.dtype.integer:
            raise fail(ctx, f"expected {what} of a block pointer to be integer scalars")
        made.append(cast(ctx, handle, dtypes.INT64))
    return tuple(made)


def make(ctx: Context, base: Handle, sizes: Any, strides: Any, offsets: Any, block: Any, order: Any) -> BlockPointer:
    """``tl.make_block_ptr``."""
    if not isinstance(base, Handle) or not base.type.pointer:
        raise fail(ctx, f"expected base of a block pointer to be a scalar pointer, got {base!r}")
    scalars = (_scalars(ctx, sizes, "shape"), _scalars(ctx, strides, "strides"), _scalars(ctx, offsets, "offsets"))
    made = BlockPointer(base, *scalars, _list(block), _list(order))
    rank = len(made.block)
    if not rank or any(len(each) != rank for each in (made.sizes, made.strides, made.offsets, made.order)):
        raise fail(ctx, "shape, strides, offsets, block_shape and order of a block pointer must have the same length")
    if sorted(made.order) != list(range(rank)) or any(not isinstance(size, int) or size <= 0 for size in made.block):
        raise fail(ctx, f"block shape {made.block} or order {made.order} of a block pointer is not valid")
    return made


def advance(ctx: Context, pointer: BlockPointer, offsets: Any) -> BlockPointer:
    """``tl.advance``."""
    deltas = _scalars(ctx, offsets, "offsets")
    if len(deltas) != len(pointer.offsets):
        raise fail(ctx, f"expected {len(pointer.offsets)} offsets, got {len(deltas)}")
    moved = tuple(arithmetic.add(ctx, old, delta) for old, delta in zip(pointer.offsets, deltas, strict=True))
    return BlockPointer(pointer.base, pointer.sizes, pointer.strides, moved, pointer.block, pointer.order)


def _checked(ctx: Context, boundary: Any, rank: int) -> set[int]:
    dims = _list(boundary)
    if any(not isinstance(dim, int) or not 0 <= dim < rank for dim in dims) or len(set(dims)) != len(dims):
        raise fail(ctx, f"boundary_check must hold dimensions below {rank}, got {boundary!r}")
    return set(dims)


def _materialize(ctx: Context, pointer: BlockPointer, boundary: Any) -> tuple[Handle, Handle | None]:
    """The tile of pointers, and the mask of the dimensions to be checked."""
    rank = len(pointer.block)
    checked = _checked(ctx, boundary, rank)
    pointers, mask = pointer.base, None
    for dim, size in enumerate(pointer.block):
        at = arithmetic.add(ctx, pointer.offsets[dim], arange(ctx, 0, size))
        for _ in range(dim):
            at = expand_dims(ctx, at, 0)
        for _ in range(dim + 1, rank):
            at = expand_dims(ctx, at, len(at.shape))
        at = broadcast_to_shape(ctx, at, pointer.block)
        pointers = arithmetic.add(ctx, pointers, arithmetic.mul(ctx, at, pointer.strides[dim]))
        if dim in checked:
            low, high = arithmetic.greater_equal(ctx, at, 0), arithmetic.less_than(ctx, at, pointer.sizes[dim])
            valid = arithmetic.and_(ctx, low, high)
            mask = valid if mask is None else arithmetic.and_(ctx, mask, valid)
    return pointers, mask


def load(ctx: Context, pointer: BlockPointer, boundary: Any, padding: Any, cache: Any, eviction: Any, volatile: Any) -> Handle:
    """``tl.load`` of a block pointer; ``padding`` is what stands outside the checked bounds."""
    pointers, mask = _materialize(ctx, pointer, boundary)
    element = pointer.base.type.element_ty
    other: Any = None
    if padding == "zero":
        other = 0.0 if element.floating else 0
    elif padding == "nan" and not element.integer:
        other = float("nan")
    elif padding:
        raise fail(ctx, f"padding option {padding!r} not supported for {element}")
    other = None if other is None else to_tensor(ctx, other)
    return memory.load(ctx, pointers, mask, other, cache, eviction, volatile)


def store(ctx: Context, pointer: BlockPointer, value: Any, boundary: Any, cache: Any, eviction: Any) -> None:
    """``tl.store`` to a block pointer."""
    pointers, mask = _materialize(ctx, pointer, boundary)
    memory.store(ctx, pointers, to_tensor(ctx, value), mask, cache, eviction)
