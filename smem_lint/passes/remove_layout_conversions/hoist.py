"""Move the conversions that are left to where they cost less.

* In front of what makes a tensor larger: a broadcast, an added dimension, a wider element type.
* Into the one branch of a conditional in a loop that needs them.
* For operands of dots behind the load, so that the load can be pipelined in the operand's layout.

Facts: ``hoistConvertOnTopOfExtOrBroadcast``, ``hoistConvertIntoConditionals`` and ``hoistConvertDotOperand`` in
lib/Dialect/TritonGPU/Transforms/RemoveLayoutConversions.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smem_lint.layout.encodings import DotOperand, Mma
from smem_lint.layout.inference import infer_operand
from smem_lint.passes.remat_rules import is_descriptor_load, is_dot, moves_no_data
from smem_lint.passes.remove_layout_conversions.backward_slice import BackwardSlice
from smem_lint.passes.remove_layout_conversions.copies import Copies
from smem_lint.passes.remove_layout_conversions.cost import conversion_cost, pays_off
from smem_lint.passes.remove_layout_conversions.dominance import runs_after
from smem_lint.passes.remove_layout_conversions.slice_rewrite import convert_after, convert_before, rewrite_slice
from smem_lint.passes.remove_layout_conversions.sweep import conversions, operations
from smem_lint.tile.ir import Op, Region, Use, Value
from smem_lint.tile.types import Tensor

Hoist = Callable[[Op, Copies], bool]
_WIDENING = frozenset({"arith.extsi", "arith.extui", "arith.extf", "tt.broadcast", "tt.expand_dims"})


def hoist_conversions(function: Op, num_warps: int) -> bool:
    """Whether any conversion could be moved."""
    changed = _try_all(function, lambda convert, known: _above_widening(convert, known, num_warps))
    changed |= _try_all(function, lambda convert, known: _into_conditional(convert, known, num_warps))
    dots = tensor_core_dots(function)
    return (bool(dots) and _try_all(function, lambda convert, known: _to_load(convert, known, dots))) or changed


def _try_all(function: Op, hoist: Hoist) -> bool:
    known, changed = Copies(), False
    for convert in conversions(function):
        if hoist(convert, known):
            changed = True
        else:
            known.add(convert.operands[0], convert.results[0].type.encoding, convert.results[0])
    return changed


# Above what makes tensors larger --------------------------------------------------------------------------------------------


def widens(op: Op) -> bool:
    if op.name == "tt.fp_to_fp":
        source: Any = op.operands[0].type
        result: Any = op.results[0].type
        return isinstance(source, Tensor) and bool(source.element.bits < result.element.bits)
    return op.name in _WIDENING


def _above_widening(convert: Op, known: Copies, num_warps: int) -> bool:
    encoding = convert.results[0].type.encoding
    if isinstance(encoding, DotOperand):
        return False
    found = BackwardSlice().grown(convert.operand_uses[0], encoding, known, num_warps, widens)
    if found is None:
        return False
    widening: Op | None = None
    for value in list(found.values):
        op = value.op
        if op is None or not widens(op):
            continue
        source = infer_operand(op, found.layout[value])
        if source is None:
            return False
        more = found.grown(op.operand_uses[0], source, known, num_warps)
        if more is not None:
            found = more
        elif widening is not None:
            return False
        else:
            widening = op
    if widening is None:
        return False
    wide, narrow = widening.results[0], widening.operands[0]
    target = found.layout[wide]
    source = infer_operand(widening, target)
    if source is None or not pays_off(convert, found, conversion_cost(narrow, source)):
        return False
    mapping = {wide: widened(widening, source, target)}
    del found.values[wide]
    rewrite_slice(found, convert, known, mapping)
    return True


def widened(op: Op, source: Any, target: Any) -> Value:
    """``op`` once more in front of itself, after a conversion of its operand."""
    converted = convert_before(op.operands[0], source, op)
    new = op.clone({})
    assert op.block is not None
    op.block.insert_before(op, new)
    new.set_operand(0, converted)
    new.results[0].type = op.results[0].type.with_encoding(target)
    return new.results[0]


# Into conditionals ----------------------------------------------------------------------------------------------------------


def is_if(op: Op) -> bool:
    return op.name == "scf.if"


def _into_conditional(convert: Op, known: Copies, num_warps: int) -> bool:
    found = BackwardSlice().grown(convert.operand_uses[0], convert.results[0].type.encoding, known, num_warps, is_if)
    if found is None:
        return False
    edges: list[tuple[Value, Use]] = []  # conversions to put into a branch
    ends: list[Value] = []  # results that have to be converted as they are
    at = 0
    while at < len(found.values):
        value = list(found.values)[at]
        at += 1
        if value.op is None or value.op.name != "scf.if":
            continue
        found, edge = _through_if(found, value, known, num_warps)
        if isinstance(edge, Use):
            edges.append((value, edge))
        elif not edge:
            ends.append(value)
    if not edges:
        return False
    mapping: dict[Value, Value] = {}
    for value in ends:
        mapping[value] = convert_after(value, found.layout[value])
        found.values.pop(value, None)
    for value, edge in edges:
        mapping[edge.value] = convert_before(edge.value, found.layout[value], edge.owner)
        found.values.pop(edge.value, None)
    rewrite_slice(found, convert, known, mapping)
    return True


def _through_if(found: BackwardSlice, value: Value, known: Copies, num_warps: int) -> tuple[BackwardSlice, Use | bool]:
    """The slice through both branches and True; through one of them and the use at the end of the other; or no more, and False."""
    op = value.op
    assert op is not None
    encoding = found.layout[value]
    yields = [region.blocks[0].terminator.operand_uses[value.index] for region in op.regions]
    larger, failed = found, []
    for use in yields:
        grown = larger.grown(use, encoding, known, num_warps, is_if)
        if grown is None:
            failed.append(use)
        else:
            larger = grown
    if not failed:
        return larger, True
    parent = op.parent
    if len(failed) == len(yields) or parent is None or parent.name != "scf.for":
        return found, False
    return larger, failed[0]


# Behind loads ---------------------------------------------------------------------------------------------------------------


def _moves_data(op: Op) -> bool:
    return not moves_no_data(op)


def _to_load(convert: Op, known: Copies, dots: dict[Region | None, list[Op]]) -> bool:
    """Only if a dot is sure to run after ``convert``: it is one that the pipeliner will see."""
    assert convert.block is not None
    if not any(runs_after(dot, convert) for dot in dots.get(convert.block.region, ())):
        return False
    found = BackwardSlice()
    if not found.grow(convert.operand_uses[0], convert.results[0].type.encoding, known, _moves_data):
        return False
    inner, loads = dict(found.values), []
    for value in found.values:
        op = value.op
        if op is None:
            return False
        if op.name == "tt.load" or is_descriptor_load(op.name):
            loads.append(value)
            del inner[value]
        elif op.name != "arith.constant" and not moves_no_data(op):
            return False
    if not inner:
        return False
    mapping = {value: convert_after(value, found.layout[value]) for value in loads}
    found.values = inner
    rewrite_slice(found, convert, known, mapping)
    return True


def tensor_core_dots(function: Op) -> dict[Region | None, list[Op]]:
    """Dots on tensor cores that read registers, by the region they stand in."""
    found: dict[Region | None, list[Op]] = {}
    for op in operations(function):
        if is_dot(op.name) and _reads_registers(op) and op.block is not None:
            found.setdefault(op.block.region, []).append(op)
    return found


def _reads_registers(op: Op) -> bool:
    type_ = op.operands[0].type
    return isinstance(type_, Tensor) and isinstance(type_.encoding, DotOperand) and isinstance(type_.encoding.parent, Mma)
