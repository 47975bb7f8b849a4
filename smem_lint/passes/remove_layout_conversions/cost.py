"""Whether computing a slice again is cheaper than the conversion that it saves.

The unit is about a thousandth of a cycle: a conversion moves each byte through shared memory twice and waits, arithmetic costs
its bytes once (eight times where the special function unit or several instructions are needed). What only the slice uses
disappears from its old place, so only the growth counts.

Facts: ``isRematBeneficial`` and its helpers in lib/Dialect/TritonGPU/Transforms/RemoveLayoutConversions.cpp and ``ReduceOpHelper``
in lib/Analysis/Utility.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from smem_lint.layout.conversion import conversion_is_reorder
from smem_lint.layout.distributed import threads_per_warp, unique_elems_per_thread, warps_per_cta
from smem_lint.passes.region_flow import BRANCHES, sources, targets
from smem_lint.passes.remove_layout_conversions.backward_slice import BackwardSlice
from smem_lint.tile.ir import Op, Value
from smem_lint.tile.types import Scalar, Tensor

_EXPENSIVE = frozenset({"arith.divf"}) | {
    f"math.{name}" for name in (
        "erfc", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "ctpop", "ctlz", "cttz", "exp", "exp2", "expm1", "log", "log2",
        "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "powf", "sqrt", "rsqrt", "erf", "cbrt",
    )
}  # fmt: skip
_LOADS = frozenset({"tt.load", "ttg.local_load"})
_EXPENSIVE_FACTOR = 8
_LOAD_FACTOR = 8  # taken to hit the first-level cache
_WARP_FACTOR = 8
_CONVERSION_FACTOR = 32
_LEAST_ELEMENTS = 32
_LEAST_BITS = 32


def conversion_cost(value: Value, encoding: Any) -> int:
    """What it costs to convert ``value``; nothing if only registers are renamed."""
    return _conversion_cost(value.type, encoding)


@cache
def _conversion_cost(type_: Tensor, encoding: Any) -> int:
    if conversion_is_reorder(type_.encoding, encoding, type_.shape):
        return 0
    return _moved(type_)


def moving_cost(value: Value) -> int:
    """What it costs to convert ``value``, whatever it takes (before Triton 3.8)."""
    return _moved(value.type)


def _moved(type_: Tensor) -> int:
    return _CONVERSION_FACTOR * (max(type_.numel, _LEAST_ELEMENTS) * max(_bits(type_), _LEAST_BITS) >> 3)


def _bits(type_: Any) -> int:
    """Bits of a number; pointers count for nothing."""
    return type_.element.bits if isinstance(type_, Tensor) and isinstance(type_.element, Scalar) else 0


def _bytes(type_: Any) -> int:
    return type_.numel * _bits(type_) >> 3 if isinstance(type_, Tensor) else 0


@cache
def _growth(type_: Tensor, encoding: Any) -> int:
    """How many times as many elements each thread has in the new layout (at least once)."""
    return max(1, unique_elems_per_thread(encoding, type_.shape) // unique_elems_per_thread(type_.encoding, type_.shape))


def pays_off(convert: Op, found: BackwardSlice, remaining_cost: int) -> bool:
    """Whether to compute ``found`` again in order to be rid of ``convert``, with ``remaining_cost`` of conversions put elsewhere."""
    saved = conversion_cost(convert.operands[0], convert.results[0].type.encoding)
    ops = dict.fromkeys(value.op for value in found.values if value.op is not None)
    shared = _used_elsewhere(convert, found, ops)
    cost = remaining_cost
    for op in ops:
        extra = _op_cost(op, found, any(result in shared for result in op.results))
        if extra is None:
            return False
        cost += extra
    return saved >= cost


def _op_cost(op: Op, found: BackwardSlice, shared: bool) -> int | None:
    """What the second computation of ``op`` adds; None if it must not be done twice."""
    name = op.name
    if name == "arith.constant":
        return 0
    if name.startswith(("arith.", "math.")):
        factor = _EXPENSIVE_FACTOR if name in _EXPENSIVE else 1
        return sum(
            factor * _bytes(result.type) * (_growth(result.type, found.layout[result]) - (not shared)) for result in op.results
        )  # fmt: skip
    if not shared:
        return 0
    if name in _LOADS:
        return sum(_LOAD_FACTOR * _bytes(result.type) for result in op.results)
    if name == "tt.reduce":
        return _reduce_cost(op)
    return 0


def duplication_cost(convert: Op, ops: dict[Op, None]) -> int | None:
    """What it costs to have those of ``ops`` twice that others than ``convert`` need (before Triton 3.8); None if one must not be."""
    alone: dict[Op, bool] = {}
    cost = 0
    for op in ops:
        if op.name == "arith.constant" or _alone(op, convert, ops, alone):
            continue
        if op.name in _LOADS:
            cost += sum(_LOAD_FACTOR * _bytes(result.type) for result in op.results)
        elif op.name.startswith(("arith.", "math.")):
            cost += sum((_EXPENSIVE_FACTOR if op.name in _EXPENSIVE else 1) * _bytes(result.type) for result in op.results)
        elif op.name == "tt.reduce":
            extra = _reduce_cost(op)
            if extra is None:
                return None
            cost += extra
    return cost


def _alone(op: Op, convert: Op, ops: dict[Op, None], known: dict[Op, bool]) -> bool:
    """Whether only ``convert`` and others of ``ops`` that it alone needs use the results of ``op``."""
    found = known.get(op)
    if found is None:
        users = [use.owner for result in op.results for use in result.uses]
        found = known[op] = all(user is convert or (user in ops and _alone(user, convert, ops, known)) for user in users)
    return found


def _reduce_cost(op: Op) -> int | None:
    source, axis = op.operands[0].type, op.attrs["axis"]
    if _depends_on_order(op, source.element, source.shape[axis]):
        return None
    lanes: int = threads_per_warp(source.encoding, source.shape)[axis]
    warps: int = warps_per_cta(source.encoding, source.shape)[axis]
    return lanes + _WARP_FACTOR * warps


def _depends_on_order(op: Op, element: Any, size: int) -> bool:
    """Sums and products of floats: another layout could give another result."""
    return element.is_float and size > 2 and any(inner.name in ("arith.addf", "arith.mulf") for inner in op.walk())


def _used_elsewhere(convert: Op, found: BackwardSlice, ops: dict[Op, None]) -> dict[Value, None]:
    """Values of the slice that will still be needed in their old layout."""
    shared = {value: None for value in found.values if _escapes(value, convert, found, ops)}
    stack = list(shared)
    for value in stack:
        for source in _sources(value):
            if source in found.values and source not in shared:
                shared[source] = None
                stack.append(source)
    return shared


def _escapes(value: Value, convert: Op, found: BackwardSlice, ops: dict[Op, None]) -> bool:
    for use in value.uses:
        user = use.owner
        if user is convert or user in ops:
            continue
        received = targets(use)
        if received is None or not all(other in found.values or not other.uses for other in received):
            return True
    return False


def _sources(value: Value) -> list[Value]:
    op = value.op
    if op is None:
        op = value.block.parent_op if value.block is not None else None
    if op is None:
        return []
    if op.name in BRANCHES:
        uses = sources(value)
        if uses is not None:
            return [use.value for use in uses]
    return op.operands
