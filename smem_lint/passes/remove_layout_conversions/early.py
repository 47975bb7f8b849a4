"""The removal and moving of conversions that layouts leave behind, as versions before 3.8 went about it.

What is computed again costs whatever others need as well, however much more of it there is then. Operations that were replaced are
erased after each sweep, so that they count as such others until then.

Facts: ``LayoutRematerialization`` in lib/Dialect/TritonGPU/Transforms/RemoveLayoutConversions.cpp of the branches release/3.6.x and
release/3.7.x.
"""

from __future__ import annotations

from collections.abc import Callable

from smem_lint.layout.encodings import DotOperand
from smem_lint.layout.inference import infer_operand
from smem_lint.passes.remat_rules import moves_no_data
from smem_lint.passes.remove_layout_conversions.copies import Copies
from smem_lint.passes.remove_layout_conversions.cost import duplication_cost, moving_cost
from smem_lint.passes.remove_layout_conversions.dominance import runs_after
from smem_lint.passes.remove_layout_conversions.early_slice import EarlyRewrite, EarlySlice
from smem_lint.passes.remove_layout_conversions.hoist import is_if, tensor_core_dots, widened, widens
from smem_lint.passes.remove_layout_conversions.slice_rewrite import convert_after, convert_before
from smem_lint.passes.remove_layout_conversions.sweep import conversions
from smem_lint.tile.ir import Op, Region, Use, Value
from smem_lint.tile.versions import Decisions


def rematerialize_early(function: Op, num_warps: int) -> bool:
    """Whether any conversion could be removed."""
    return _Sweep(function, num_warps).over(_Sweep.remove)


def hoist_early(function: Op, num_warps: int, version: Decisions) -> bool:
    """Whether any conversion could be moved."""
    changed = _Sweep(function, num_warps, version).over(_Sweep.above_widening)
    changed |= _Sweep(function, num_warps, version).over(_Sweep.into_conditional)
    return _Sweep(function, num_warps, version).over(_Sweep.to_load) or changed


class _Sweep:
    """One look at each conversion; ``replaced`` operations are still there."""

    def __init__(self, function: Op, num_warps: int, version: Decisions | None = None) -> None:
        self.function, self.num_warps, self.version = function, num_warps, version
        self.known, self.replaced = Copies(), list[Op]()
        self.dots: dict[Region | None, list[Op]] | None = None

    def over(self, move: Callable[[_Sweep, Op], bool]) -> bool:
        changed = False
        for convert in conversions(self.function):
            if move(self, convert):
                changed = True
            else:
                self.known.add(convert.operands[0], convert.results[0].type.encoding, convert.results[0])
        for op in reversed(self.replaced):
            op.erase()
        return changed

    def rewrite(self, found: EarlySlice, convert: Op, mapping: dict[Value, Value]) -> bool:
        self.replaced += EarlyRewrite(found, self.known, mapping).run_early(convert)
        return True

    def grown(self, found: EarlySlice, use: Use, encoding: object, stop: Callable[[Op], bool] | None = None) -> EarlySlice | None:
        """A slice that holds ``found`` and what ``use`` needs, or None; found apart and joined later where the version does so."""
        if self.version is None or not self.version.slices_merge_late:
            return found.grown(use, encoding, self.known, self.num_warps, stop)
        return EarlySlice().grown(use, encoding, self.known, self.num_warps, stop)

    def remove(self, convert: Op) -> bool:
        encoding = convert.results[0].type.encoding
        if isinstance(encoding, DotOperand):
            return False
        copy = self.known.readable(convert.operand_uses[0], encoding)[1]
        if copy is not None:
            convert.results[0].replace_all_uses(copy)
            self.replaced.append(convert)
            return True
        found = EarlySlice().grown(convert.operand_uses[0], encoding, self.known, self.num_warps)
        if found is None or not _pays_off(convert, found, 0):
            return False
        return self.rewrite(found, convert, {})

    # Above what makes tensors larger

    def above_widening(self, convert: Op) -> bool:
        assert self.version is not None
        encoding = convert.results[0].type.encoding
        if isinstance(encoding, DotOperand):
            return False
        found = EarlySlice().grown(convert.operand_uses[0], encoding, self.known, self.num_warps, widens)
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
            more = self.grown(found, op.operand_uses[0], source)
            if more is not None and (not self.version.slices_merge_late or found.joined(more)):
                found = found if self.version.slices_merge_late else more
            elif widening is not None:
                return False
            else:
                widening = op
        if widening is None:
            return False
        wide, narrow = widening.results[0], widening.operands[0]
        target = found.layout[wide]
        source = infer_operand(widening, target)
        if source is None or (self.version.hoisting_must_pay and not _pays_off(convert, found, moving_cost(narrow))):
            return False
        mapping = {wide: widened(widening, source, target)}
        del found.values[wide]
        return self.rewrite(found, convert, mapping)

    # Into conditionals

    def into_conditional(self, convert: Op) -> bool:
        found = EarlySlice().grown(convert.operand_uses[0], convert.results[0].type.encoding, self.known, self.num_warps, is_if)
        if found is None:
            return False
        edges: list[tuple[Value, Use]] = []  # conversions to put into a branch
        ends: list[Value] = []  # results that have to be converted as they are
        at = 0
        while at < len(found.values):
            value = list(found.values)[at]
            at += 1
            if value.op is not None and value.op.name == "scf.if":
                found = self.through_if(found, value, edges, ends)
        if not edges:
            return False
        mapping: dict[Value, Value] = {}
        for value in ends:
            mapping[value] = convert_after(value, found.layout[value])
            found.values.pop(value, None)
        for value, edge in edges:
            mapping[edge.value] = convert_before(edge.value, found.layout[value], edge.owner)
            found.values.pop(edge.value, None)
        return self.rewrite(found, convert, mapping)

    def through_if(self, found: EarlySlice, value: Value, edges: list[tuple[Value, Use]], ends: list[Value]) -> EarlySlice:
        """The slice, with both branches or one of them; the end of the other goes to ``edges``, the result to ``ends`` for neither."""
        op = value.op
        assert op is not None and self.version is not None
        larger, failed = found.fork(), []
        for region in op.regions:
            use = region.blocks[0].terminator.operand_uses[value.index]
            grown = self.grown(larger, use, found.layout[value], is_if)
            if grown is None:
                failed.append(use)
            elif self.version.slices_merge_late:
                larger.values.update(grown.values)
                larger.layout = {**grown.layout, **larger.layout}
            else:
                larger = grown
        if not failed:
            return larger
        parent = op.parent
        if len(failed) == len(op.regions) or parent is None or parent.name != "scf.for":
            ends.append(value)
            return found
        edges.append((value, failed[0]))
        return larger

    # Behind loads

    def to_load(self, convert: Op) -> bool:
        assert self.version is not None and convert.block is not None
        if self.dots is None:
            self.dots = tensor_core_dots(self.function)
        if not any(runs_after(dot, convert) for dot in self.dots.get(convert.block.region, ())):
            return False
        found = EarlySlice()
        encoding = convert.results[0].type.encoding
        if not found.grow(convert.operand_uses[0], encoding, self.known, lambda op: not moves_no_data(op)):
            return False
        loads = []
        for value in list(found.values):
            op = value.op
            if op is None:
                return False
            if op.name in ("tt.load", "tt.descriptor_load"):
                loads.append(value)
                del found.values[value]
            elif op.name != "arith.constant" and not moves_no_data(op):
                return False
        if not found.values:
            return False
        mapping = {value: convert_after(value, found.layout[value]) for value in loads}
        return self.rewrite(found, convert, mapping)


def _pays_off(convert: Op, found: EarlySlice, remaining_cost: int) -> bool:
    cost = duplication_cost(convert, dict.fromkeys(value.op for value in found.values if value.op is not None))
    return cost is not None and moving_cost(convert.operands[0]) >= remaining_cost + cost
