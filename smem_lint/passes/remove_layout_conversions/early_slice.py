"""What has to be computed again for a value to come out in another layout, as versions before 3.8 found it.

Values that have the layout already are part of a slice wherever a slice begins or crosses a loop, and so is a copy that stands in
for a value, with what leads up to it. Whether a copy is early enough is only asked while the slice grows.

Facts: ``getConvertBackwardSlice`` (lib/Dialect/TritonGPU/Transforms/Utility.cpp), ``getRematerializableSlice`` and ``rewriteSlice``
(RemoveLayoutConversions.cpp) of the branches release/3.6.x and release/3.7.x.
"""

from __future__ import annotations

from typing import Any

from smem_lint.layout.inference import infer_operand
from smem_lint.passes.remat_rules import can_be_repeated, can_take_result_encoding, is_free_convert
from smem_lint.passes.remove_layout_conversions.backward_slice import BackwardSlice, Stop
from smem_lint.passes.remove_layout_conversions.copies import Copies
from smem_lint.passes.remove_layout_conversions.slice_rewrite import SliceRewrite
from smem_lint.tile.ir import Op, Use, Value
from smem_lint.tile.types import Tensor

_OPAQUE = frozenset({"scf.for", "scf.while"})


class EarlySlice(BackwardSlice):
    """``values`` to compute again and the ``layout`` of each; ``copies`` stay empty, they are looked up when it is rewritten."""

    __slots__ = ()

    def fork(self) -> EarlySlice:
        new = EarlySlice()
        new.values, new.layout = dict(self.values), dict(self.layout)
        return new

    def grow(self, root: Use, encoding: Any, known: Copies, stop: Stop | None = None) -> bool:
        return _Growth(self, known, stop).run(root, encoding)

    def grown(self, root: Use, encoding: Any, known: Copies, num_warps: int, stop: Stop | None = None) -> EarlySlice | None:
        new = self.fork()
        if not new.grow(root, encoding, known, stop) or not new.values:
            return None
        if all(value.op is None or can_be_repeated(value.op, num_warps) for value in new.values):
            return new
        return None

    def joined(self, other: EarlySlice) -> bool:
        """Take over what ``other`` found; False, and nothing is changed, if they disagree about a layout."""
        if any(self.layout.get(value, encoding) is not encoding for value, encoding in other.layout.items()):
            return False
        self.values.update(other.values)
        self.layout.update(other.layout)
        return True


class _Growth:
    def __init__(self, found: EarlySlice, known: Copies, stop: Stop | None) -> None:
        self.found, self.known, self.stop = found, known, stop
        self.seen: set[tuple[Use, Any]] = set()
        self.queue: list[tuple[Use, Any]] = []

    def run(self, root: Use, encoding: Any) -> bool:
        self.enqueue(root, encoding)
        while self.queue:
            if not self.visit(*self.queue.pop()):
                return False
        return True

    def enqueue(self, use: Use, encoding: Any) -> None:
        key = (use, encoding)
        if key not in self.seen:
            self.seen.add(key)
            self.queue.append(key)

    def wants(self, value: Value, encoding: Any) -> bool:
        self.found.values.setdefault(value, None)
        return self.found.layout.setdefault(value, encoding) is encoding

    def visit(self, use: Use, encoding: Any) -> bool:
        value = use.value
        if not isinstance(value.type, Tensor):
            return True
        if value.op is not None and value.op.name in _OPAQUE:
            return False
        if not self.wants(value, encoding):
            return False
        copy = self.known.readable(use, encoding)[1]
        if copy is not None:
            if not self.wants(copy, encoding):
                return False
            value = copy
        op = value.op
        if op is None:
            return self.visit_argument(value, encoding)
        if op.name == "scf.if":
            if self.stop is None or not self.stop(op):
                for region in op.regions:
                    self.enqueue(region.blocks[0].terminator.operand_uses[value.index], encoding)
            return True
        return self.visit_op(op, value, encoding)

    def visit_argument(self, value: Value, encoding: Any) -> bool:
        block = value.block
        parent = block.parent_op if block is not None else None
        if block is None or parent is None or parent.name != "scf.for" or value.index == 0:
            return False
        self.enqueue(parent.operand_uses[value.index + 2], encoding)
        self.enqueue(block.terminator.operand_uses[value.index - 1], encoding)
        return True

    def visit_op(self, op: Op, value: Value, encoding: Any) -> bool:
        for result in op.results:
            if result is not value and isinstance(result.type, Tensor) and not self.wants(result, encoding):
                return False
        if is_free_convert(op):
            self.enqueue(op.operand_uses[0], encoding)
            return True
        if can_take_result_encoding(op, encoding) or (self.stop is not None and self.stop(op)):
            return True
        if op.name == "tt.cat":
            return False
        if op.name == "tt.reshape" and op.attrs.get("allow_reorder"):
            return False
        uses = op.operand_uses[1:] if op.name == "tt.gather" else op.operand_uses
        if not uses:
            return True
        source = infer_operand(op, encoding)
        if source is None:
            return False
        for use in uses:
            type_ = use.value.type
            if not isinstance(type_, Tensor) or type_.encoding is not source:
                self.enqueue(use, source)
        return True


class EarlyRewrite(SliceRewrite):
    """Operations that are replaced stay where they are, and count as users of their operands, until the caller erases them."""

    def run_early(self, convert: Op) -> list[Op]:
        """Give the users of ``convert`` the outcome; the operations that have no use any more, ``convert`` first."""
        for value in list(self.values):
            copy = self.known.at(value, self.layout[value])
            if copy is not None:
                self.mapping[value] = copy
                del self.values[value]
        self.copy_all()
        convert.results[0].replace_all_uses(self.mapping[convert.operands[0]])
        self.known.rename(self.replacements)
        for old, new in self.replacements:
            old.replace_all_uses(new)
        return [convert, *self.dead]
