"""Linear layouts of shared-memory encodings: the element at each offset (in elements) of a buffer.

A swizzled layout keeps rows contiguous but exchanges pieces of each row with one another, so that the same column of
consecutive rows falls into different banks. For ``vec=2, per_phase=1, max_phase=2`` over rows of four elements::

    offset   0 1 2 3   4 5 6 7        the offset's bits      1        2        4
    row      0 0 0 0   1 1 1 1        stand for (row, col)   (0, 1)   (0, 2)   (1, 2)
    column   0 1 2 3   2 3 0 1

Facts: lib/Dialect/TritonGPU/IR/LinearLayoutConversions.cpp and ``NVMMASharedEncodingAttr`` in lib/Dialect/TritonGPU/IR/Dialect.cpp,
Triton 3.8.0. Im2col descriptors are not modelled.
"""

from __future__ import annotations

from functools import cache
from math import prod

from smem_lint.layout.encodings import NvmmaShared, Shared, SharedLinear, SwizzledShared
from smem_lint.layout.linear import Dims, LinearLayout, shifts_of
from smem_lint.tile.unsupported import Unsupported

_LARGEST_TMA_BOX = 256  # elements along one dimension of one bulk copy


@cache
def shared_layout(encoding: Shared, shape: Dims) -> LinearLayout:
    """The layout of a buffer of ``shape`` (elements); its only input is ``offset``.

    A buffer may have one dimension more than its encoding, the slots of a ring: such a shape describes one slot after another.
    """
    if isinstance(encoding, SwizzledShared):
        extra = len(shape) - len(encoding.order)
        return _ring(encoding, shape) if extra else _swizzled(encoding, shape)
    if isinstance(encoding, NvmmaShared):
        return _nvmma(encoding, shape)
    if isinstance(encoding, SharedLinear):
        return _explicit(encoding, shape)
    raise Unsupported(f"layout of encoding {encoding}")


def shared_order(encoding: Shared, rank: int) -> Dims:
    """Dimensions of a shared encoding, fastest first (``getOrder``)."""
    if isinstance(encoding, SwizzledShared):
        return encoding.order
    rows = tuple(range(rank - 1, -1, -1))
    if isinstance(encoding, NvmmaShared):
        return (rows[1], rows[0], *rows[2:]) if encoding.transposed and rank > 1 else rows
    if isinstance(encoding, SharedLinear):
        moved = [next(dim for dim, step in enumerate(basis) if step) for basis in encoding.offset if any(basis)]
        return tuple(dict.fromkeys([*moved, *rows]))
    raise Unsupported(f"order of encoding {encoding}")


def alignment_of(encoding: Shared) -> int:
    """The alignment in bytes that a buffer of this encoding asks for: a swizzled matrix repeats only after 8 rows."""
    if isinstance(encoding, NvmmaShared):
        return 128 * _phases(encoding)[2]
    return encoding.alignment if isinstance(encoding, SharedLinear) else 16


def _ring(encoding: SwizzledShared, shape: Dims) -> LinearLayout:
    slot = shared_layout(encoding, shape[1:])
    bases = [(0, *basis) for basis in slot.coordinate_bases("offset")]
    return LinearLayout.of(shape, offset=bases + [(step, *(0,) * slot.rank) for step in _powers(shape[0])])


def _powers(end: int) -> list[int]:
    return [1 << bit for bit in range(end.bit_length() - 1)]


def _swizzled(encoding: SwizzledShared, shape: Dims) -> LinearLayout:
    if len(shape) == 1:
        return LinearLayout(["offset"], [_powers(shape[0])], shape)
    shifts, order = shifts_of(shape), encoding.order
    column, row = order[0], order[1]
    bases = [step << shifts[column] for step in _powers(shape[column])]
    for step in _powers(shape[row]):
        swizzle = encoding.vec * (step // encoding.per_phase % encoding.max_phase) % shape[column]
        bases.append(step << shifts[row] | swizzle << shifts[column])
    for dim in order[2:]:
        bases += [step << shifts[dim] for step in _powers(shape[dim])]
    return LinearLayout(["offset"], [bases], shape)


def _phases(encoding: NvmmaShared) -> tuple[int, int, int]:
    """(vec in elements, rows of one phase, phases) of the swizzle."""
    width = encoding.swizzling_byte_width
    return (128 // encoding.element_bit_width, 128 // width, width // 16) if width else (1, 1, 1)


def tma_box(shape: Dims, encoding: NvmmaShared) -> Dims:
    """The part of a buffer that one bulk copy fills: at most 256 along a dimension, one swizzle span along the fastest."""
    box = list(shape)
    fastest = 0 if encoding.transposed else len(shape) - 1
    if encoding.fp4_padded:
        box[fastest] *= 2
    box = [min(size, _LARGEST_TMA_BOX) for size in box]
    if encoding.swizzling_byte_width:
        span = 8 * encoding.swizzling_byte_width // encoding.element_bit_width
        if box[fastest] < span:
            raise Unsupported(f"shape {shape} is smaller than the swizzle of {encoding}")
        box[fastest] = span
    if encoding.fp4_padded:
        box[fastest] //= 2
    return tuple(box)


def _nvmma(encoding: NvmmaShared, shape: Dims) -> LinearLayout:
    """Eight-row core matrices tile the box of one bulk copy, boxes tile the buffer (rows of all outer dimensions together)."""
    box = tma_box(shape, encoding)
    rows, columns = prod(box[:-1]), box[-1]
    if encoding.transposed:
        rows, columns, box = columns, rows, (*box[1:], box[0])
    if not encoding.swizzling_byte_width:
        return _unswizzled(box, encoding.transposed, shape)
    bases = _core_matrix(encoding)
    tile_rows, tile_columns = _extents(bases)
    if columns < tile_columns or rows < tile_rows:
        raise Unsupported(f"shape {shape} is smaller than the swizzle of {encoding}")
    bases += [(step * tile_rows, 0) for step in _powers(rows // tile_rows)]
    bases += [(0, step * tile_columns) for step in _powers(columns // tile_columns)]
    layout = LinearLayout.of((rows, columns), offset=bases).reshape(box)
    if encoding.transposed:
        layout = layout.transpose((layout.rank - 1, *range(layout.rank - 1)))
    moves = [(dim, layout.shape[dim]) for dim in range(layout.rank)]
    return LinearLayout.of(shape, offset=[*layout.coordinate_bases("offset"), *_growth(moves, shape)])


def _unswizzled(box: Dims, transposed: bool, shape: Dims) -> LinearLayout:
    """Boxes whose last dimension is the fastest, repeated along the last dimension first.

    A transposed box has had its first dimension moved to the end. The compiler moves it back by exchanging coordinates in the
    order in which they were laid down; for three dimensions that is not the inverse, and parts of the box fall outside the buffer
    (they repeat its first element). This is what it does, not what it should do.
    """
    rank = len(shape)
    moved = {dim: (dim - 1) % rank if transposed else dim for dim in range(rank)}
    steps = [(moved[dim], step) for dim in range(rank - 1, -1, -1) for step in _powers(box[dim])]
    covered = {moved[dim]: box[dim] for dim in range(rank)}
    bases = [_along(dim, step if step < shape[dim] else 0, rank) for dim, step in steps]
    return LinearLayout.of(shape, offset=bases + _growth([(dim, covered[dim]) for dim in range(rank - 1, -1, -1)], shape))


def _core_matrix(encoding: NvmmaShared) -> list[tuple[int, int]]:
    """Bases (row, column) of eight rows as wide as the swizzle."""
    vec, per_phase, max_phase = _phases(encoding)

    def packed(column: int) -> int:
        # Padded fp4: of 16 offsets 8 are padding and repeat the other 8.
        return column // 16 * 8 + column % 8 if encoding.fp4_padded else column

    columns = 8 * max(16, encoding.swizzling_byte_width) // encoding.element_bit_width
    bases = [(0, packed(step)) for step in _powers(columns)]
    return bases + [(step, packed(vec * (step // per_phase % max_phase))) for step in _powers(8)]


def _extents(bases: list[tuple[int, int]]) -> tuple[int, int]:
    rows = max((1 << row.bit_length() for row, _ in bases), default=1)
    return rows, max((1 << column.bit_length() for _, column in bases), default=1)


def _along(dim: int, step: int, rank: int) -> Dims:
    return tuple(step if at == dim else 0 for at in range(rank))


def _growth(covered: list[tuple[int, int]], shape: Dims) -> list[Dims]:
    """Bases that repeat what is covered along each dimension, in the given order, until there is all of ``shape``."""
    return [
        _along(dim, step << more, len(shape))
        for dim, step in covered
        for more in range(max(0, shape[dim].bit_length() - step.bit_length()))
    ]  # fmt: skip


def _explicit(encoding: SharedLinear, shape: Dims) -> LinearLayout:
    rank = len(encoding.offset[0]) if encoding.offset else len(shape)
    if rank != len(shape):
        inner = LinearLayout.of(shape[1:], offset=encoding.offset)
        bases = [(0, *basis) for basis in inner.coordinate_bases("offset")]
        return LinearLayout.of(shape, offset=bases + [(step, *(0,) * inner.rank) for step in _powers(shape[0])])
    return LinearLayout.of(shape, offset=encoding.offset)
