"""From an encoding and a shape to the linear layout that they mean.

Every encoding of Triton describes a *tile* of its own size, which is then fitted to the tensor:

1. the tile's bases are laid down one after another; each new basis along a dimension doubles the extent covered so far;
2. where the tensor is larger than the tile, registers are added along the encoding's dimensions, in its order, until it is
   covered (the tile is repeated);
3. where the tensor is smaller, the bases that point beyond it become zeros (elements are held more than once).

Example: ``Blocked(size_per_thread=(1, 2), threads_per_warp=(8, 4), warps_per_cta=(2, 1), order=(1, 0))`` covers 16 x 8. On a
16 x 16 tensor one register is added, on an 8 x 8 tensor the warps hold the same elements::

    16 x 16   register (0,1) (0,8)   lane (0,2) (0,4) (1,0) (2,0) (4,0)   warp (8,0)
     8 x  8   register (0,1)         lane (0,2) (0,4) (1,0) (2,0) (4,0)   warp (0,0)

Facts: lib/Dialect/TritonGPU/IR/LinearLayoutConversions.cpp and lib/Tools/LayoutUtils.cpp, Triton 3.8.0; one block to a cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from smem_lint.layout.encodings import Bases, Blocked, DotOperand, Encoding, Linear, Mma, Shared, Slice
from smem_lint.layout.linear import Dims, LinearLayout, shifts_of
from smem_lint.layout.shared import shared_layout
from smem_lint.tile.unsupported import Unsupported

Order = Sequence[int]


@cache
def linear_layout(encoding: Encoding, shape: Dims) -> LinearLayout:
    """The linear layout of a tensor (inputs ``register``, ``lane``, ``warp``) or a memdesc (input ``offset``).

    ``shape`` is in elements, powers of two. Raises Unsupported for an encoding that is not modelled.
    """
    if isinstance(encoding, Blocked):
        return _blocked(encoding, shape)
    if isinstance(encoding, Slice):
        return _slice(encoding, shape)
    if isinstance(encoding, Linear):
        return _linear(encoding, shape)
    if isinstance(encoding, Mma):
        return _mma(encoding, shape)
    if isinstance(encoding, DotOperand):
        return _mma_operand(encoding, shape) if isinstance(encoding.parent, Mma) else _blocked_operand(encoding, shape)
    if isinstance(encoding, Shared):
        return shared_layout(encoding, shape)
    raise Unsupported(f"layout of encoding {encoding}")


class _Tile:
    """A tile under construction: per input the bases so far, each a dimension and a step along it (step 0: broadcast)."""

    __slots__ = ("columns", "extents")

    def __init__(self, rank: int) -> None:
        self.extents = [1] * rank
        self.columns: dict[str, list[tuple[int, int]]] = {"register": [], "lane": [], "warp": []}

    def grow(self, name: str, size: int, dim: int) -> None:
        """Cover ``size`` times more of ``dim`` with the next bits of an input."""
        column = self.columns[name]
        end = self.extents[dim] * size
        while self.extents[dim] < end:
            column.append((dim, self.extents[dim]))
            self.extents[dim] *= 2

    def repeat(self, name: str, size: int, dim: int) -> None:
        """Hold the same elements ``size`` times."""
        self.columns[name] += [(dim, 0)] * (size.bit_length() - 1)

    def grow_all(self, name: str, sizes: Dims, order: Order, fixed: int | None = None) -> None:
        """Grow along each dimension in ``order``; dimension ``fixed`` is repeated instead."""
        for dim in order:
            (self.repeat if dim == fixed else self.grow)(name, sizes[dim], dim)

    def fit(self, shape: Dims, order: Order) -> LinearLayout:
        """The layout of a tensor of ``shape``: repeat the tile in ``order`` where it is too small, fold it where too large."""
        for dim in order:
            if self.extents[dim] < shape[dim]:
                self.grow("register", shape[dim] // self.extents[dim], dim)
        shifts = shifts_of(shape)
        return LinearLayout(
            self.columns,
            ([step << shifts[dim] if step < shape[dim] else 0 for dim, step in column] for column in self.columns.values()),
            shape,
        )


def _blocked(encoding: Blocked, shape: Dims) -> LinearLayout:
    tile, order = _Tile(len(shape)), encoding.order
    tile.grow_all("register", encoding.size_per_thread, order)
    tile.grow_all("lane", encoding.threads_per_warp, order)
    tile.grow_all("warp", encoding.warps_per_cta, order)
    return tile.fit(shape, order)


def _slice(encoding: Slice, shape: Dims) -> LinearLayout:
    """The parent's layout with one coordinate forgotten; registers that moved along it alone are gone, lanes and warps stay."""
    parent = linear_layout(encoding.parent, (*shape[: encoding.dim], 1, *shape[encoding.dim :]))
    return parent.without_dim(encoding.dim).without_zeros("register")


def row_major(rank: int) -> Dims:
    """The last dimension is the fastest: (2, 1, 0)."""
    return tuple(range(rank - 1, -1, -1))


def matrix_order(rank: int, row_major_matrix: bool) -> Dims:
    """The order of a batch of matrices whose rows (or columns) are contiguous, fastest dimension first."""
    order = row_major(rank)
    return order if row_major_matrix or rank < 2 else (order[1], order[0], *order[2:])


def order_for_dot_operand(op_idx: int, rank: int, k_contiguous: bool = True) -> Dims:
    """The order of operand ``op_idx`` of a dot whose K (else M or N) is contiguous: A is M x K, B is K x N."""
    return matrix_order(rank, bool(op_idx) != k_contiguous)


def _grow_mma_tile(tile: _Tile, rows: int, columns: int, k_width: int, inner: int, outer: int) -> None:
    """What one tensor-core instruction holds: eight rows of four lanes with ``k_width`` neighbours each, then more of it.

    ::

        lane 0: 0 0   lane 1: 1 1   lane 2: 2 2   lane 3: 3 3      (k_width = 2, along ``inner``)
        lane 4: 4 4   …                                            (along ``outer``)
    """
    tile.grow("register", k_width, inner)
    tile.grow("lane", 4, inner)
    tile.grow("lane", 8, outer)
    tile.grow("register", rows // 8, outer)
    tile.grow("register", columns // (4 * k_width), inner)


def _mma(encoding: Mma, shape: Dims) -> LinearLayout:
    """The accumulator of ``mma.sync`` (version 2) or ``wgmma`` (version 3); warps go along N first in the former."""
    rank = len(shape)
    rows, columns = encoding.instr_shape[-2:] if encoding.version_major == 2 else encoding.instr_shape[:2]
    tile = _Tile(rank)
    _grow_mma_tile(tile, rows, columns, 2, inner=rank - 1, outer=rank - 2)
    tile.grow_all("warp", encoding.warps_per_cta, matrix_order(rank, encoding.version_major == 2))
    return tile.fit(shape, row_major(rank))


def _mma_operand(encoding: DotOperand, shape: Dims) -> LinearLayout:
    """An operand in registers: like the accumulator, K is the inner dimension and every warp along it holds all of K."""
    parent, rank = encoding.parent, len(shape)
    assert isinstance(parent, Mma)
    order = order_for_dot_operand(encoding.op_idx, rank)
    inner, outer = order[0], order[1]
    # An fp64 instruction (8 rows) is half as deep in K.
    rows = parent.instr_shape[rank - 2 if parent.version_major == 2 else 0]
    depth = encoding.k_width * (4 if rows == 8 else 8)
    tile = _Tile(rank)
    _grow_mma_tile(tile, rows if encoding.op_idx == 0 else 8, depth, encoding.k_width, inner, outer)
    tile.grow_all("warp", parent.warps_per_cta, matrix_order(rank, parent.version_major == 2), fixed=inner)
    return tile.fit(shape, order)


def _blocked_operand(encoding: DotOperand, shape: Dims) -> LinearLayout:
    """An operand of a dot without tensor cores: each thread holds all of K, threads and warps along K hold the same."""
    parent, rank = encoding.parent, len(shape)
    if not isinstance(parent, Blocked):
        raise Unsupported(f"layout of encoding {encoding}")
    k_dim = rank - 1 if encoding.op_idx == 0 else rank - 2
    sizes = list(parent.size_per_thread)
    sizes[k_dim] = shape[k_dim]
    tile = _Tile(rank)
    tile.grow_all("register", tuple(sizes), parent.order)
    tile.grow_all("lane", parent.threads_per_warp, parent.order, fixed=k_dim)
    tile.grow_all("warp", parent.warps_per_cta, parent.order, fixed=k_dim)
    return tile.fit(shape, parent.order)


def _linear(encoding: Linear, shape: Dims) -> LinearLayout:
    """Explicit bases. Unlike the other encodings, registers that point beyond a smaller tensor are dropped, not folded."""
    rank = len(shape)
    tile = _Tile(rank)
    for name, bases in (("register", encoding.register), ("lane", encoding.lane), ("warp", encoding.warp)):
        tile.columns[name] = [_step(basis) for basis in bases]
        for dim, step in tile.columns[name]:
            tile.extents[dim] = max(tile.extents[dim], 2 * step)
    tile.columns["register"] = [(dim, step) for dim, step in tile.columns["register"] if step < shape[dim]]
    return tile.fit(shape, register_order(encoding.register, rank))


def _step(basis: Dims) -> tuple[int, int]:
    """The dimension that a basis moves along, and how far."""
    moves = [(dim, step) for dim, step in enumerate(basis) if step]
    if len(moves) > 1:
        raise Unsupported(f"a basis along several dimensions at once: {basis}")
    return moves[0] if moves else (0, 0)


def register_order(bases: Iterable[Dims], rank: int) -> Dims:
    """Dimensions as registers first move along them; those they do not move along follow, last dimension first."""
    return first_moves(bases, row_major(rank))


def first_moves(bases: Iterable[Dims], default: Order) -> Dims:
    """Dimensions in the order in which the bases first move along them, completed by ``default``."""
    order: dict[int, None] = {}
    for basis in bases:
        dim = next((dim for dim, step in enumerate(basis) if step), None)
        if dim is not None:
            order[dim] = None
    order.update(dict.fromkeys(default))
    return tuple(order)


def linear_encoding(layout: LinearLayout) -> Linear:
    """The encoding that spells a layout out."""
    columns: list[Bases] = [layout.coordinate_bases(name) for name in ("register", "lane", "warp")]
    return Linear(*columns)
