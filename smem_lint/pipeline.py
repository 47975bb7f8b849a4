"""The compiler's passes in the compiler's order: which of them the model runs, for a target.

Source: ``third_party/nvidia/backend/compiler.py`` (``make_ttir``, ``make_ttgir``, ``make_llir``), Triton 3.8.0. Passes that cannot
change what is allocated (tensor-memory clean-up where there is no tensor memory, ``plan_cta`` for one CTA, ``lower_mma``) are left
out; ``allocation`` does what follows the last one.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable

from smem_lint.tile.ir import Module
from smem_lint.tile.versions import Version, decisions

Pass = Callable[[Module], None]

_TILE = "smem_lint.tile.cleanup."
_LAYOUT = "smem_lint.passes."
_WHERE = {
    "rewrite_tensor_descriptor_to_pointer": _TILE, "combine": _TILE, "reorder_broadcast": _TILE, "cse": _TILE,
    "symbol_dce": _TILE, "loop_unroll": _TILE, "loop_aware_cse": _TILE, "fuse_nested_loops": _TILE, "triton_licm": _TILE, "sccp": _TILE,
    "combine_tensor_select_and_if": _TILE, "optimize_accumulator_init": _TILE,
}  # fmt: skip
_MODULE = {"canonicalizer": "canonicalize", "triton_licm": "licm"}

_TILE_PROGRAM = ("canonicalizer", "combine", "reorder_broadcast", "cse", "symbol_dce", "loop_unroll")
_LAYOUTS = (
    "convert_to_ttgpuir", "coalesce", "f32_dot_tc", "plan_cta", "remove_layout_conversions", "optimize_thread_locality",
    "accelerate_matmul", "remove_layout_conversions", "optimize_dot_operands", "optimize_descriptor_encoding", "loop_aware_cse",
    "fuse_nested_loops", "canonicalizer", "triton_licm",
)  # fmt: skip
_AFTER_LAYOUTS = {
    "ampere_hopper": ("canonicalizer", "combine_tensor_select_and_if", "hopper_warpspec"),
    "blackwell": ("optimize_accumulator_init", "hoist_tmem_alloc"),
}
_PIPELINING = {
    "ampere_hopper": ("assign_latencies", "schedule_loops", "pipeline"),
    "blackwell": (
        "assign_latencies", "schedule_loops", "warp_specialize", "pipeline", "combine_tensor_select_and_if", "hoist_tmem_alloc",
    ),
}  # fmt: skip
_LAST = (
    "remove_layout_conversions", "reduce_data_duplication", "reorder_instructions", "loop_aware_cse", "symbol_dce", "fence_insertion",
    "sccp", "cse", "canonicalizer", "combine_tensor_select_and_if",
)  # fmt: skip


def front_passes(capability: int) -> tuple[str, ...]:
    """The passes before ``num_stages`` is looked at for the first time."""
    first = ("rewrite_tensor_descriptor_to_pointer",) if capability < 90 else ()
    return (*first, *_TILE_PROGRAM, *_LAYOUTS, *_AFTER_LAYOUTS[_family(capability)])


def back_passes(capability: int, version: Version = (3, 8)) -> tuple[str, ...]:
    """The passes from latency assignment on."""
    middle: tuple[str, ...] = ("canonicalizer", "loop_aware_cse")
    middle += ("prefetch",) if capability < 90 or decisions(version).prefetches_everywhere else ()
    middle += ("optimize_dot_operands", "coalesce_async_copy")
    middle += ("tma_lowering",) if capability >= 90 else ()
    return (*_PIPELINING[_family(capability)], *middle, *_LAST)


def _family(capability: int) -> str:
    return "ampere_hopper" if capability < 100 else "blackwell"


@functools.cache
def pass_named(name: str) -> Pass:
    """The model's pass of that name; raises ModuleNotFoundError where it has none."""
    place = f"{_WHERE.get(name, _LAYOUT)}{_MODULE.get(name, name)}"
    run: Pass = importlib.import_module(place).run
    return run
