"""Bytes of shared memory that operations on tensors need while they run, from their layouts.

Facts: ``ReduceOpHelper``, ``ScanLoweringHelper`` and ``GatherLoweringHelper`` in lib/Analysis/Utility.cpp and
third_party/nvidia/lib/TritonNVIDIAGPUToLLVM/Allocation.cpp, Triton 3.8.0. ``bits`` is the width of an element in shared memory:
8 for ``i1``, 64 for a pointer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import prod

from smem_lint.layout.conversion import conversion_needs_shared
from smem_lint.layout.distributed import contig_per_thread, threads_per_warp, warps_per_cta
from smem_lint.layout.encodings import Blocked, Distributed
from smem_lint.layout.linear import Dims, LinearLayout
from smem_lint.layout.swizzle import conversion_repetitions, load_store_repetitions
from smem_lint.layout.to_linear import linear_encoding, linear_layout


@cache
def conversion_scratch(
    source: Distributed, target: Distributed, shape: Dims, bits: int, capability: int = 120, keep_matrix: bool = True
) -> int:
    """Bytes of a ``ttg.convert_layout``: the tensor, divided by the rounds that it is converted in; 0 without shared memory."""
    if not conversion_needs_shared(source, target, shape):
        return 0
    rounds = conversion_repetitions(linear_layout(source, shape), linear_layout(target, shape), bits, capability, keep_matrix)
    return prod(shape) // rounds * bits // 8


# Reductions -----------------------------------------------------------------------------------------------------------------


@cache
def reduce_scratch_swizzled(encoding: Distributed, shape: Dims, axis: int, bits: Dims) -> int:
    """Bytes of a ``tt.reduce`` (Triton 3.8 and later); ``bits`` has the width of each operand.

    Each thread reduces its registers, each warp its lanes. What is left lies in warps; it is brought into lanes by a conversion
    through shared memory and reduced there, again and again if the lanes are too few for all warps at once.
    """
    layout = _lanes_reduced(_registers_reduced(linear_layout(encoding, shape), axis), axis)
    most = 0
    while layout.shape[axis] > 1:
        moved = _warps_to_lanes(layout, axis)
        elements = prod(layout.shape)
        most = max(most, sum(elements // load_store_repetitions(layout, moved, width) * (width // 8) for width in bits))
        layout = _lanes_reduced(moved, axis)
    return most


@cache
def reduce_scratch_per_warp(encoding: Distributed, shape: Dims, axis: int, bits: Dims) -> int:
    """Bytes of a ``tt.reduce`` up to Triton 3.7: one result of each warp along the axis, for the whole rest of the tensor."""
    layout = linear_layout(encoding, shape)
    warps = 1 << sum(layout.along(basis, axis) != 0 for basis in layout.warp)
    if warps == 1:
        return 0
    return prod(shape[:axis] + shape[axis + 1 :]) * warps * sum(width // 8 for width in bits)


def _registers_reduced(layout: LinearLayout, axis: int) -> LinearLayout:
    registers = layout.without_zeros().register
    ordered = sorted(registers, key=lambda basis: layout.along(basis, axis) == 0)
    return _reduced(layout.replace(register=ordered), axis, "register").without_zeros()


def _lanes_reduced(layout: LinearLayout, axis: int) -> LinearLayout:
    return _reduced(layout, axis, "lane")


def _reduced(layout: LinearLayout, axis: int, name: str) -> LinearLayout:
    """Nothing moves along ``axis`` by input ``name`` any more; what still does counts 1, 2, 4 … along it."""
    columns: dict[str, list[list[int]]] = {}
    extent = 1
    for other in layout.inputs:
        columns[other] = [list(basis) for basis in layout.coordinate_bases(other)]
        for basis in columns[other]:
            if other == name:
                basis[axis] = 0
            elif basis[axis]:
                basis[axis] = extent
                extent *= 2
    return LinearLayout.of((*layout.shape[:axis], extent, *layout.shape[axis + 1 :]), **columns)


def _warps_to_lanes(layout: LinearLayout, axis: int) -> LinearLayout:
    """Swap the warp bits along ``axis`` with lane bits: idle ones if there are enough, else the first ones."""
    lanes, warps = list(layout.lane), list(layout.warp)
    along = [bit for bit, basis in enumerate(warps) if layout.along(basis, axis)]
    idle = [bit for bit, basis in enumerate(lanes) if not basis]
    places = idle if len(idle) >= len(along) else range(len(lanes))
    for lane, warp in zip(places, along, strict=False):
        lanes[lane], warps[warp] = warps[warp], lanes[lane]
    return layout.replace(lane=lanes, warp=warps)


# Scans, gathers, atomics ----------------------------------------------------------------------------------------------------


@cache
def scan_scratch(encoding: Distributed, shape: Dims, axis: int, bits: Dims) -> int:
    """Bytes of a ``tt.scan``: the last result of each warp, for each block of the tensor; 0 if one warp has the whole axis.

    Only blocked layouts can be scanned.
    """
    if not isinstance(encoding, Blocked):
        return 0
    unique = linear_encoding(linear_layout(encoding, shape).without_zeros())
    registers, lanes, warps = (ask(unique, shape) for ask in (contig_per_thread, threads_per_warp, warps_per_cta))
    if warps[axis] == 1:
        return 0
    per_warp = prod(lanes) // lanes[axis] * (prod(registers) // registers[axis])
    blocks = prod(-(-size // (r * n * w)) for size, r, n, w in zip(shape, registers, lanes, warps, strict=True))
    return prod(warps) * per_warp * blocks * sum(-(-width // 8) for width in bits)


@cache
def gather_scratch(source: Distributed, source_shape: Dims, index: Distributed, index_shape: Dims, axis: int, bits: int) -> int:
    """Bytes of a ``tt.gather``: the whole source, or 0 if each warp holds all that its indices can point to."""
    return 0 if gather_is_warp_local(source, source_shape, index, index_shape, axis) else prod(source_shape) * max(1, bits // 8)


@cache
def gather_is_warp_local(source: Distributed, source_shape: Dims, index: Distributed, index_shape: Dims, axis: int) -> bool:
    """Whether columns along ``axis`` stay within a warp, and source and index spread the columns over threads alike."""
    layouts = linear_layout(source, source_shape), linear_layout(index, index_shape)
    if any(layout.along(basis, axis) for layout in layouts for basis in layout.warp):
        return False
    ours, theirs = (layout.without_dim(axis) for layout in layouts)
    return ours.on(["warp"]) is theirs.on(["warp"]) and ours.on(["lane"]) is theirs.on(["lane"])


@cache
def has_copies(encoding: Distributed, shape: Dims) -> bool:
    """Whether some element is held more than once."""
    return any(linear_layout(encoding, shape).free_masks().values())


# What differs between versions of Triton ------------------------------------------------------------------------------------

ReduceScratch = Callable[[Distributed, Dims, int, Dims], int]


@dataclass(frozen=True, slots=True)
class ScratchRules:
    """The strategies of a version of Triton for the sizes that have changed."""

    reduce: ReduceScratch = reduce_scratch_swizzled
    keep_matrix_repetitions: bool = True


RULES_3_8 = ScratchRules()
RULES_3_6 = ScratchRules(reduce=reduce_scratch_per_warp)
RULES_3_5 = ScratchRules(reduce=reduce_scratch_per_warp, keep_matrix_repetitions=False)


def scratch_rules(version: tuple[int, ...]) -> ScratchRules:
    """The rules of a version, given as ``(3, 8)`` or ``(3, 8, 0)``."""
    return RULES_3_8 if version >= (3, 8) else RULES_3_6 if version >= (3, 6) else RULES_3_5
