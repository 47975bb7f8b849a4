"""What Triton's IR text leaves unsaid of an operation: result types, and how operands fall into groups."""

from __future__ import annotations

import math
import re
from typing import Any

from smem_lint.tile import types as ty
from smem_lint.tile.ir import Value
from smem_lint.verify.ir_attributes import split_top

_NAMED_PREDICATE = {"arith.cmpi", "arith.cmpf"}

NO_RESULT = {
    "tt.store", "scf.yield", "scf.condition", "tt.return", "tt.reduce.return", "tt.scan.return", "tt.map_elementwise.return", "tt.print",
    "ttg.local_dealloc", "tt.descriptor_store", "tt.assert", "ttng.init_barrier", "ttng.inval_barrier", "ttng.barrier_expect",
    "ttng.wait_barrier", "ttng.async_tma_copy_local_to_global", "ttng.tensormap_fenceproxy_acquire", "ttng.arrive_barrier",
    "ttng.tensormap_create", "ttg.warp_yield", "tt.descriptor_reduce", "tt.descriptor_scatter", "ttng.async_tma_scatter",
    "ttng.async_tma_gather", "llvm.intr.assume", "ttng.tc_gen5_commit", "ttng.async_tma_reduce", "ttng.tc_gen5_mma",
}  # fmt: skip


def implied_types(name: str, types: list[Any]) -> list[Any]:
    """The result types of operations that print only their operands' types."""
    first = types[0]
    if name == "tt.unsplat":
        return [ty.element_of(first)]
    if name in ("tt.load",):
        pointee = ty.element_of(first).pointee
        return [ty.Tensor(first.shape, pointee, first.encoding) if isinstance(first, ty.Tensor) else pointee]
    if name in _NAMED_PREDICATE:
        return [first.with_element(ty.I1) if isinstance(first, ty.Tensor) else ty.I1]
    if name == "arith.select":
        return [types[-1]]
    if name == "tt.unsplat":
        return [first.element]
    if name == "ttng.warp_group_dot_wait":
        return types
    if name == "tt.make_tensor_descriptor":
        described = types[-1]
        return [ty.TensorDesc(described.shape, described.element, described.encoding)]
    if name in ("arith.mulsi_extended", "arith.mului_extended"):
        return [first, first]
    if name == "arith.addui_extended":
        return [first, types[-1]]
    return [first]


def scales_last(printed: list[Value], of_a: int, of_b: int) -> list[Value]:
    """Operands a, b, c, scales from the order in which they are printed: each scale behind its matrix."""
    a, b = printed[: 1 + of_a], printed[1 + of_a : 2 + of_a + of_b]
    return [a[0], b[0], printed[-1], *a[1:], *b[1:]]


def segments_of(name: str, head: str) -> tuple[int, ...] | None:
    """How many operands each optional group of the operation has, in the order of its definition."""
    count = len(re.findall(r"%[\w$.#-]+", head))
    if name == "tt.load":
        return (1, int(count > 1), int(count > 2))
    if name == "ttg.async_copy_global_to_local":
        return (1, 1, int(" mask " in head), int(" other " in head))
    if name == "tt.make_tensor_descriptor":
        shape, strides = re.findall(r"\[(.*?)\]", head)
        return (1, len(split_top(shape)), len(split_top(strides)))
    if name == "tt.dot_scaled":
        first, _, rest = head.partition(",")
        second = rest.partition(",")[0]
        return (1, 1, 1, int(" scale " in first), int(" scale " in second))
    return None


def float_from_bits(value: int, element: ty.Scalar) -> float:
    """Infinities and NaNs are printed as bit patterns."""
    if element.name == "f32":
        import struct

        return float(struct.unpack("<f", struct.pack("<I", value & 0xFFFFFFFF))[0])
    exponent = {"f64": (52, 11), "bf16": (7, 8), "f16": (10, 5), "f8E5M2": (2, 5)}.get(element.name)
    if exponent is None:
        return math.nan
    mantissa_bits, _ = exponent
    negative = bool(value >> (element.bits - 1) & 1)
    if value & ((1 << mantissa_bits) - 1):
        return math.nan
    return -math.inf if negative else math.inf
