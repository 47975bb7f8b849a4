"""How narrow an operand was when it was loaded, which decides how many of its elements a lane reads at once.

Facts: ``computeOrigBitWidth`` in lib/Dialect/TritonGPU/Transforms/AccelerateMatmul.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from collections.abc import Iterable

from smem_lint.layout.distributed import order_of
from smem_lint.tile.ir import Op, Value
from smem_lint.tile.slices import backward_slice
from smem_lint.tile.traits import DESCRIPTOR_LOADS, VIEWS, is_pure_elementwise
from smem_lint.tile.types import Tensor

_LOADS = DESCRIPTOR_LOADS | {"tt.load"}
_ENTERED = VIEWS | _LOADS | {"ttg.fp4_to_fp", "tt.broadcast", "ttg.convert_layout"}


def loaded_bits(value: Value, any_join: bool = False) -> int:
    """The narrowest element among the loads behind ``value``, in bits; its own where there is none.

    Half of that behind a join of packed halves, or behind any join (``any_join``).
    """
    if value.op is None:
        return int(value.type.element.bits)
    behind = backward_slice(value, _may_enter, omit_block_arguments=True)
    if any(op.name == "ttg.fp4_to_fp" for op in behind):
        return 4
    bits = int(value.type.element.bits)
    for op in behind:
        if op.name in _LOADS and isinstance(op.results[0].type, Tensor):
            bits = min(bits, op.results[0].type.element.bits)
    if any_join:
        return bits // 2 if any(op.name == "tt.join" for op in behind) else bits
    return bits // 2 if _joins_packed(behind, bits) else bits


def _may_enter(op: Op) -> bool:
    return op.name in _ENTERED or is_pure_elementwise(op)


def _joins_packed(ops: Iterable[Op], bits: int) -> bool:
    """Whether a join puts unpacked halves, twice as wide as what was loaded, side by side along the last dimension."""
    for op in ops:
        if op.name == "tt.join":
            type_ = op.results[0].type
            rank = len(type_.shape)
            if rank >= 2 and type_.element.bits == 2 * bits and order_of(type_.encoding, type_.shape)[:2] == (rank - 1, rank - 2):
                return True
    return False
