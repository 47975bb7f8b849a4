"""What has to be computed again for a value to come out in another layout.

The slice starts at one use and follows operands as long as a layout of the result determines one for them. It ends at values that
have the wanted layout already (or a copy that has), at operations that can write any layout, and fails at results of loops and
where two uses of a value want different layouts.

Facts: ``getConvertBackwardSlice`` in lib/Dialect/TritonGPU/Transforms/Utility.cpp and its caller ``getRematerializableSlice`` in
RemoveLayoutConversions.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smem_lint.layout.inference import infer_operand
from smem_lint.passes.remat_rules import can_be_repeated, can_take_result_encoding, is_free_convert
from smem_lint.passes.remove_layout_conversions.copies import Copies
from smem_lint.tile.ir import Op, Use, Value
from smem_lint.tile.types import Tensor

Stop = Callable[[Op], bool]
_OPAQUE = frozenset({"scf.for", "scf.while", "ttg.warp_specialize"})


class BackwardSlice:
    """``values`` to compute again, in the order found; the ``layout`` of these and of what they read; ``copies`` to read instead."""

    __slots__ = ("copies", "layout", "values")

    def __init__(self) -> None:
        self.values: dict[Value, None] = {}
        self.layout: dict[Value, Any] = {}
        self.copies: dict[tuple[Value, Any], Value | None] = {}

    def fork(self) -> BackwardSlice:
        new = BackwardSlice()
        new.values, new.layout, new.copies = dict(self.values), dict(self.layout), dict(self.copies)
        return new

    def grow(self, root: Use, encoding: Any, known: Copies, stop: Stop | None = None) -> bool:
        """Add what ``root`` needs in order to read its value in ``encoding``; False (and a slice of no use) if it cannot."""
        return _Growth(self, known, stop).run(root, encoding)

    def grown(self, root: Use, encoding: Any, known: Copies, num_warps: int, stop: Stop | None = None) -> BackwardSlice | None:
        """A larger slice, all of whose operations may be repeated, or None."""
        new = self.fork()
        if not new.grow(root, encoding, known, stop):
            return None
        if all(value.op is None or can_be_repeated(value.op, num_warps) for value in new.values):
            return new
        return None


class _Growth:
    def __init__(self, found: BackwardSlice, known: Copies, stop: Stop | None) -> None:
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
        """Note the layout of ``value``; False if another one was noted before."""
        return self.found.layout.setdefault(value, encoding) is encoding

    def visit(self, use: Use, encoding: Any) -> bool:
        value = use.value
        if not isinstance(value.type, Tensor):
            return True
        if not self.wants(value, encoding):
            return False
        if value.type.encoding is encoding or self.has_copy(use, encoding):
            return True
        op = value.op
        if op is None:
            self.found.values[value] = None
            return self.visit_argument(value, encoding)
        if op.name in _OPAQUE:
            return False
        self.found.values[value] = None
        if op.name == "scf.if":
            self.visit_if(op, value.index, encoding)
            return True
        return self.visit_op(op, value, encoding)

    def has_copy(self, use: Use, encoding: Any) -> bool:
        """Whether ``use`` can read a value computed earlier; a copy that only some uses can read is for none of them."""
        exists, copy = self.known.readable(use, encoding)
        if not exists:
            return False
        key = (use.value, encoding)
        if copy is None:
            self.found.copies[key] = None
            return False
        self.found.copies.setdefault(key, copy)
        return True

    def visit_if(self, op: Op, index: int, encoding: Any) -> None:
        if self.stop is None or not self.stop(op):
            for region in op.regions:
                self.enqueue(region.blocks[0].terminator.operand_uses[index], encoding)

    def visit_argument(self, value: Value, encoding: Any) -> bool:
        block = value.block
        parent = block.parent_op if block is not None else None
        if block is None or parent is None or parent.name != "scf.for":
            return False
        self.enqueue(parent.operand_uses[value.index + 2], encoding)
        self.enqueue(block.terminator.operand_uses[value.index - 1], encoding)
        return True

    def visit_op(self, op: Op, value: Value, encoding: Any) -> bool:
        for result in op.results:
            if result is not value and isinstance(result.type, Tensor):
                if not self.wants(result, encoding):
                    return False
                self.found.values[result] = None
        if is_free_convert(op):
            self.enqueue(op.operand_uses[0], encoding)
            return True
        if can_take_result_encoding(op, encoding) or (self.stop is not None and self.stop(op)):
            return True
        if op.name == "tt.cat":
            return False
        uses = op.operand_uses[1:] if op.name == "tt.gather" else op.operand_uses
        if not uses:
            return True
        source = infer_operand(op, encoding)
        if source is None:
            return False
        for use in uses:
            self.enqueue(use, source)
        return True
