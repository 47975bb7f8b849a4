"""How many bytes of shared memory an operation needs while it runs.

Facts: lib/Analysis/Allocation.cpp and third_party/nvidia/lib/TritonNVIDIAGPUToLLVM/Allocation.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from smem_lint.layout.encodings import NvmmaShared, Shared
from smem_lint.layout.scratch import RULES_3_8, ScratchRules, conversion_scratch, gather_scratch, has_copies, scan_scratch
from smem_lint.layout.shared import alignment_of, shared_order
from smem_lint.tile.ir import Op
from smem_lint.tile.types import MemDesc, Pointer, Tensor, bits_of, element_of
from smem_lint.tile.unsupported import Unsupported

SCRATCH_ALIGNMENT = 128
_TENSOR_MAP_BYTES = 128
_LANES = 32

Sizer = Callable[[Op, int, ScratchRules], int]


def scratch_bytes(op: Op, capability: int, rules: ScratchRules = RULES_3_8) -> int:
    """Bytes that ``op`` needs on a target of ``capability``; 0 for most. Raises Unsupported."""
    sizer = _SIZERS.get(op.name)
    return sizer(op, capability, rules) if sizer is not None else 0


def _conversion(op: Op, capability: int, rules: ScratchRules) -> int:
    source: Any = op.operands[0].type
    target: Any = op.result.type
    bits = bits_of(source.element)
    return conversion_scratch(source.encoding, target.encoding, source.shape, bits, capability, rules.keep_matrix_repetitions)


def _operand_bits(op: Op) -> tuple[int, ...]:
    return tuple(bits_of(element_of(operand.type)) for operand in op.operands)


def _reduce(op: Op, capability: int, rules: ScratchRules) -> int:
    source: Any = op.operands[0].type
    return rules.reduce(source.encoding, source.shape, op.attrs["axis"], _operand_bits(op))


def _scan(op: Op, capability: int, rules: ScratchRules) -> int:
    source: Any = op.operands[0].type
    return scan_scratch(source.encoding, source.shape, op.attrs["axis"], _operand_bits(op))


def _gather(op: Op, capability: int, rules: ScratchRules) -> int:
    source: Any = op.operands[0].type
    index: Any = op.operands[1].type
    return gather_scratch(source.encoding, source.shape, index.encoding, index.shape, op.attrs["axis"], bits_of(source.element))


def _histogram(op: Op, capability: int, rules: ScratchRules) -> int:
    bins: int = op.result.type.numel
    return max(bins, _LANES) * bits_of(element_of(op.result.type)) // 8


def _atomic(op: Op, capability: int, rules: ScratchRules) -> int:
    """The old values are handed to every thread that holds a copy of them; nothing if nobody reads them."""
    if op.is_unused:
        return 0
    pointer: Any = element_of(op.operands[0].type)
    size = bits_of(pointer.pointee if isinstance(pointer, Pointer) else pointer) // 8
    result: Any = op.result.type
    if not isinstance(result, Tensor):
        return size
    return result.numel * size if has_copies(result.encoding, result.shape) else 0


def _tensor_map(op: Op, capability: int, rules: ScratchRules) -> int:
    return _TENSOR_MAP_BYTES


def _not_modelled(op: Op, capability: int, rules: ScratchRules) -> int:
    raise Unsupported(f"shared memory of {op.name}", op.line)


_SIZERS: dict[str, Sizer] = {
    "ttg.convert_layout": _conversion,
    "tt.reduce": _reduce,
    "tt.scan": _scan,
    "tt.gather": _gather,
    "tt.histogram": _histogram,
    "tt.atomic_rmw": _atomic,
    "tt.atomic_cas": _atomic,
    "ttng.tensormap_create": _tensor_map,
    "ttg.warp_specialize": _not_modelled,
}


def local_alloc_bytes(type_: MemDesc) -> int:
    """Bytes of a ``ttg.local_alloc``: shared memory is not padded, except for fp4 pairs spread over bytes."""
    shape = list(type_.shape)
    if isinstance(type_.encoding, NvmmaShared) and type_.encoding.fp4_padded:
        shape[shared_order(type_.encoding, len(shape))[0]] *= 2
    return prod(shape) * bits_of(type_.element) // 8


def local_alloc_alignment(op: Op) -> int:
    """Alignment in bytes of a ``ttg.local_alloc``: its own, or its encoding's."""
    given: int | None = op.attrs.get("alignment")
    type_: Any = op.result.type
    if given is not None:
        return given
    return alignment_of(type_.encoding) if isinstance(type_.encoding, Shared) else 16
