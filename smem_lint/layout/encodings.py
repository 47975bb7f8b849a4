"""The encodings that say where a tile's elements live. Each exists once, so identity is equality.

Fields and their order follow Triton's attributes (``include/triton/Dialect/TritonGPU/IR/TritonGPUAttrDefs.td``, 3.8.0); all
tuples run over the tile's dimensions unless said. ``layout/linear.py`` turns an encoding and a shape into a linear layout.
"""

from __future__ import annotations

from smem_lint.tile.types import Interned

Dims = tuple[int, ...]
Bases = tuple[Dims, ...]


class Encoding(Interned):
    __slots__: tuple[str, ...] = ()

    def __str__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)}" for name in self.__slots__)
        return f"#{type(self).__name__}<{fields}>"


class Distributed(Encoding):
    """An encoding of a tensor, spread over the registers, lanes and warps of a block."""

    __slots__ = ()


class Blocked(Distributed):
    """``order[0]`` is the fastest dimension."""

    __slots__ = ("size_per_thread", "threads_per_warp", "warps_per_cta", "order")
    size_per_thread: Dims
    threads_per_warp: Dims
    warps_per_cta: Dims
    order: Dims

    def __new__(cls, size_per_thread: Dims, threads_per_warp: Dims, warps_per_cta: Dims, order: Dims) -> Blocked:
        return cls._of(tuple(size_per_thread), tuple(threads_per_warp), tuple(warps_per_cta), tuple(order))  # type: ignore[no-any-return]

    @property
    def sizes(self) -> tuple[Dims, Dims, Dims]:
        """Registers, lanes and warps along each dimension."""
        return self.size_per_thread, self.threads_per_warp, self.warps_per_cta


class Slice(Distributed):
    """The parent's layout with dimension ``dim`` dropped."""

    __slots__ = ("dim", "parent")
    dim: int
    parent: Distributed

    def __new__(cls, dim: int, parent: Distributed) -> Slice:
        return cls._of(dim, parent)  # type: ignore[no-any-return]


class Mma(Distributed):
    """``nvidia_mma``: the accumulator of a tensor-core dot; version 2 (mma.sync) or 3 (wgmma)."""

    __slots__ = ("version_major", "version_minor", "warps_per_cta", "instr_shape")
    version_major: int
    version_minor: int
    warps_per_cta: Dims
    instr_shape: Dims

    def __new__(cls, version_major: int, version_minor: int, warps_per_cta: Dims, instr_shape: Dims) -> Mma:
        return cls._of(version_major, version_minor, tuple(warps_per_cta), tuple(instr_shape))  # type: ignore[no-any-return]


class DotOperand(Distributed):
    """Operand ``op_idx`` (0 or 1) of a dot whose result has encoding ``parent``; ``k_width`` is 0 over a blocked parent."""

    __slots__ = ("op_idx", "parent", "k_width")
    op_idx: int
    parent: Distributed
    k_width: int

    def __new__(cls, op_idx: int, parent: Distributed, k_width: int = 0) -> DotOperand:
        return cls._of(op_idx, parent, k_width)  # type: ignore[no-any-return]


class Linear(Distributed):
    """Explicit bases: for each bit of the register, lane, warp and block index the coordinates that it adds."""

    __slots__ = ("register", "lane", "warp", "block")
    register: Bases
    lane: Bases
    warp: Bases
    block: Bases

    def __new__(cls, register: Bases, lane: Bases, warp: Bases, block: Bases = ()) -> Linear:
        frozen = (tuple(tuple(basis) for basis in bases) for bases in (register, lane, warp, block))
        return cls._of(*frozen)  # type: ignore[no-any-return]


class Shared(Encoding):
    """An encoding of a memdesc."""

    __slots__ = ()


class SwizzledShared(Shared):
    __slots__ = ("vec", "per_phase", "max_phase", "order")
    vec: int
    per_phase: int
    max_phase: int
    order: Dims

    def __new__(cls, vec: int, per_phase: int, max_phase: int, order: Dims) -> SwizzledShared:
        return cls._of(vec, per_phase, max_phase, tuple(order))  # type: ignore[no-any-return]


class NvmmaShared(Shared):
    """The layout that wgmma, tcgen05 and TMA read; ``swizzling_byte_width`` is 0, 32, 64 or 128."""

    __slots__ = ("swizzling_byte_width", "transposed", "element_bit_width", "fp4_padded")
    swizzling_byte_width: int
    transposed: bool
    element_bit_width: int
    fp4_padded: bool

    def __new__(cls, swizzling_byte_width: int, transposed: bool, element_bit_width: int, fp4_padded: bool = False) -> NvmmaShared:
        return cls._of(swizzling_byte_width, bool(transposed), element_bit_width, bool(fp4_padded))  # type: ignore[no-any-return]


class SharedLinear(Shared):
    """Explicit bases of a shared-memory offset; ``alignment`` in bytes."""

    __slots__ = ("offset", "block", "alignment")
    offset: Bases
    block: Bases
    alignment: int

    def __new__(cls, offset: Bases, block: Bases = (), alignment: int = 16) -> SharedLinear:
        frozen = (tuple(tuple(basis) for basis in bases) for bases in (offset, block))
        return cls._of(*frozen, alignment)  # type: ignore[no-any-return]


class OpaqueEncoding(Encoding):
    """An encoding whose contents decide nothing here (tensor memory …), by its MLIR spelling."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> OpaqueEncoding:
        return cls._of(text)  # type: ignore[no-any-return]
