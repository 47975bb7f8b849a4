"""Which operations care about their layout, which can be computed again in another one, and what that would need.

Facts: lib/Dialect/TritonGPU/Transforms/Utility.cpp (``isExpensiveLoadOrStore``, ``canUseResultEncoding``, ``isFreeConvert``,
``isView``) and RemoveLayoutConversions.cpp (``isLayoutAnchor``, ``canBeRemat``), Triton 3.8.0.
"""

from __future__ import annotations

from typing import Any

from smem_lint.layout.conversion import conversion_is_reorder
from smem_lint.layout.distributed import cat_encoding_is_legal, view_is_expensive
from smem_lint.layout.encodings import Encoding, Mma
from smem_lint.layout.inference import keeps_encoding
from smem_lint.tile.effects import is_memory_effect_free
from smem_lint.tile.ir import Op
from smem_lint.tile.types import Tensor

_THREADS_PER_WARP = 32
_DOTS = frozenset({"tt.dot", "tt.dot_scaled", "ttng.warp_group_dot", "ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled"})
_ATOMICS = frozenset({"tt.atomic_rmw", "tt.atomic_cas"})
_DESCRIPTOR_LOADS = frozenset({"tt.descriptor_load", "tt.descriptor_gather"})
_DESCRIPTOR_OPS = _DESCRIPTOR_LOADS | {"tt.descriptor_store", "tt.descriptor_reduce", "tt.descriptor_scatter"}
_ANY_RESULT = frozenset({
    "arith.constant", "tt.make_range", "tt.splat", "tt.histogram", "ttg.local_alloc", "ttg.local_load", "ttg.local_store",
})  # fmt: skip
_VIEWS = frozenset({"tt.expand_dims", "tt.reshape", "tt.trans", "tt.join", "tt.split"})
_THROUGH = _VIEWS | {"tt.reduce", "ttg.convert_layout"}
_ELEMENTWISE = frozenset({
    "tt.int_to_ptr", "tt.ptr_to_int", "tt.bitcast", "tt.fp_to_fp", "tt.clampf", "tt.precise_sqrt", "tt.precise_divf", "tt.mulhiui",
    "tt.addptr", "tt.extern_elementwise", "tt.elementwise_inline_asm",
})  # fmt: skip
_NOT_SAME_ENCODING = frozenset({"tt.load", "scf.while", "scf.yield", "scf.condition", "ttng.warp_group_dot_wait"})


def is_elementwise(name: str) -> bool:
    """Whether such an operation carries MLIR's ``Elementwise`` trait."""
    return name in _ELEMENTWISE or (name.startswith(("arith.", "math.")) and name != "arith.constant")


def is_dot(name: str) -> bool:
    return name in _DOTS


def is_descriptor_load(name: str) -> bool:
    return name in _DESCRIPTOR_LOADS


def passes_layout_on(name: str) -> bool:
    """Whether a layout of an operand determines one of the results when layouts are propagated forward."""
    return name in _THROUGH or (keeps_encoding(name) and name not in _NOT_SAME_ENCODING)


def moves_no_data(op: Op) -> bool:
    """Whether the results of ``op`` stay in the threads that hold its operands."""
    name = op.name
    if name in ("tt.broadcast", "ttg.fp4_to_fp", "ttg.convert_layout") or name in _VIEWS:
        return True
    return is_elementwise(name) and is_memory_effect_free(op)


def is_expensive_access(op: Op, num_warps: int) -> bool:
    """Whether a load or store has work for every thread: smaller ones hit the same lines, so any layout serves them."""
    pointer: Any = op.operands[0].type
    if not isinstance(pointer, Tensor) or pointer.numel == 1:
        return False
    return pointer.numel >= num_warps * _THREADS_PER_WARP


def is_anchor(op: Op, num_warps: int) -> bool:
    """Whether the layout of the results of ``op`` was chosen for a reason and should spread to its users."""
    name = op.name
    if name in ("tt.load", "tt.store"):
        return is_expensive_access(op, num_warps)
    if name in _DOTS or name in _ATOMICS or name in _DESCRIPTOR_OPS or name == "ttng.tmem_load":
        return True
    if name == "tt.gather":
        return bool(op.attrs.get("efficient_layout"))
    return name == "tt.reshape" and bool(op.attrs.get("allow_reorder"))


def can_be_repeated(op: Op, num_warps: int) -> bool:
    """Whether ``op`` may be computed once more in another layout."""
    name = op.name
    if name in ("tt.load", "tt.store"):
        return not is_expensive_access(op, num_warps)
    if name in ("tt.gather", "tt.reshape"):
        return not op.attrs.get("efficient_layout")
    return name not in _ATOMICS and name not in _DOTS and name not in ("scf.while", "scf.condition")


def is_free_convert(op: Op) -> bool:
    """Whether ``op`` is a conversion that only renames registers."""
    if op.name != "ttg.convert_layout":
        return False
    source, target = op.operands[0].type, op.results[0].type
    return conversion_is_reorder(source.encoding, target.encoding, source.shape)


def can_take_result_encoding(op: Op, encoding: Encoding) -> bool:
    """Whether ``op`` could write its result in ``encoding`` without any change to its operands."""
    name = op.name
    if name == "ttg.convert_layout":
        return not isinstance(encoding, Mma) or op.operands[0].type.encoding is encoding
    if name == "tt.cat":
        operand, result = op.operands[0].type, op.results[0].type
        return cat_encoding_is_legal(operand.encoding, operand.shape, encoding, result.shape)
    if name == "tt.reshape":
        if not op.attrs.get("allow_reorder") or op.attrs.get("efficient_layout"):
            return False
        operand, result = op.operands[0].type, op.results[0].type
        return not view_is_expensive(operand.encoding, operand.shape, encoding, result.shape)
    return name in _ANY_RESULT
