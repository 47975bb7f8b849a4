"""Give every value the layout chosen for it, with conversions where an operation needs another one.

Operations are changed in place, region by region, outer ones first. A value's old layout is remembered for the operations that
do not follow it.

Facts: ``LayoutPropagation::rewriteRegion`` and what it calls in lib/Dialect/TritonGPU/Transforms/RemoveLayoutConversions.cpp,
Triton 3.8.0.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from smem_lint.layout.inference import infer_operand, infer_result
from smem_lint.passes.remat_rules import can_take_result_encoding
from smem_lint.passes.remove_layout_conversions.propagation import Layouts
from smem_lint.passes.remove_layout_conversions.slice_rewrite import convert_after
from smem_lint.tile.ir import Op, Region, Value
from smem_lint.tile.types import Tensor
from smem_lint.tile.unsupported import Unsupported


def apply_layouts(function: Op, layouts: Layouts) -> None:
    """Rewrite a function so that each value of ``layouts`` has that layout."""
    _Rewriting(layouts).run(function.regions[0])


def _in_encoding(value: Value, encoding: Any) -> Value:
    if not isinstance(value.type, Tensor) or value.type.encoding is encoding:
        return value
    return convert_after(value, encoding)


class _Rewriting:
    def __init__(self, layouts: Layouts) -> None:
        self.layouts = layouts
        self.original: dict[Value, Any] = {}

    def run(self, root: Region) -> None:
        queue = deque((root,))
        while queue:
            for block in queue.popleft().blocks:
                for op in block:
                    if self.visit(op):
                        queue.extend(op.regions)

    def visit(self, op: Op) -> bool:
        """Rewrite one operation; whether what it holds is to be visited."""
        name = op.name
        if any((wanted := self.layouts.get(result)) is not None and wanted is not result.type.encoding for result in op.results):
            self.rewrite(op)
        elif name == "scf.yield":
            self.rewrite_yield(op)
            return False
        elif name == "scf.condition":
            self.rewrite_condition(op)
            return False
        elif name == "tt.reduce" and not isinstance(op.results[0].type, Tensor):
            self.rewrite_full_reduce(op)
            return False
        elif name == "tt.assert":
            self.rewrite_assert(op)
            return False
        else:
            self.keep(op)
        return bool(op.regions)

    def relabel(self, value: Value, encoding: Any) -> None:
        self.original.setdefault(value, value.type.encoding)
        value.retype(value.type.with_encoding(encoding))

    def keep(self, op: Op) -> None:
        """The operation stays as it is: its operands come back in their old layouts."""
        for use in op.operand_uses:
            value = use.value
            if value in self.layouts:
                use.renew(_in_encoding(value, self.original.get(value, value.type.encoding)))

    def rewrite(self, op: Op) -> None:
        name = op.name
        if name == "scf.for":
            self.rewrite_for(op)
        elif name == "scf.while":
            self.rewrite_while(op)
        elif name == "scf.if":
            for result in op.results:
                if result in self.layouts:
                    self.relabel(result, self.layouts[result])
        else:
            encoding = self.layouts.get(op.results[0])
            if encoding is None:
                raise Unsupported(f"layouts of {name}", op.line)
            if can_take_result_encoding(op, encoding):
                self.relabel(op.results[0], encoding)
            else:
                self.rewrite_generic(op, encoding)

    def rewrite_generic(self, op: Op, encoding: Any) -> None:
        """All operands in the layout that gives ``encoding``, all results in ``encoding``."""
        uses = op.operand_uses
        if uses:
            needed = self.operand_encoding(op, encoding)
            for use in uses:
                use.renew(_in_encoding(use.value, needed))
        for result in op.results:
            if isinstance(result.type, Tensor):
                self.relabel(result, encoding)

    def operand_encoding(self, op: Op, encoding: Any) -> Any:
        for value in op.operands:
            candidate = self.layouts.get(value)
            if candidate is not None and infer_result(op, candidate) is encoding:
                return candidate
        needed = infer_operand(op, encoding)
        if needed is None:
            raise Unsupported(f"the operand layout of {op.name}", op.line)
        return needed

    def rewrite_for(self, op: Op) -> None:
        for result in op.results:
            encoding = self.layouts.get(result)
            if encoding is not None:
                use = op.operand_uses[result.index + 3]
                use.renew(_in_encoding(use.value, encoding))
                self.relabel(result, encoding)
                self.relabel(op.body.args[result.index + 1], encoding)

    def rewrite_while(self, op: Op) -> None:
        for use, arg in zip(op.operand_uses, op.regions[0].blocks[0].args, strict=True):
            encoding = self.layouts.get(arg)
            if encoding is not None:
                use.renew(_in_encoding(use.value, encoding))
                self.relabel(arg, encoding)
        for result, arg in zip(op.results, op.regions[1].blocks[0].args, strict=True):
            encoding = self.layouts.get(result)
            if encoding is not None:
                self.relabel(result, encoding)
                self.relabel(arg, encoding)

    def rewrite_yield(self, op: Op) -> None:
        parent = op.parent
        assert parent is not None
        for use in op.operand_uses:
            wanted: Any = use.value.type
            if parent.name in ("scf.for", "scf.if"):
                wanted = parent.results[use.index].type
            elif parent.name == "scf.while":
                wanted = parent.regions[0].blocks[0].args[use.index].type
            if isinstance(wanted, Tensor):
                use.renew(_in_encoding(use.value, wanted.encoding))

    def rewrite_condition(self, op: Op) -> None:
        parent = op.parent
        assert parent is not None
        for use in op.operand_uses[1:]:
            wanted: Any = parent.results[use.index - 1].type
            if isinstance(wanted, Tensor):
                use.renew(_in_encoding(use.value, wanted.encoding))

    def rewrite_full_reduce(self, op: Op) -> None:
        """Nothing is left of the layout of a reduction to a number: it takes its first operand's new one."""
        encoding = next((self.layouts[value] for value in op.operands if value in self.layouts), None)
        if encoding is not None:
            for use in op.operand_uses:
                use.renew(_in_encoding(use.value, encoding))

    def rewrite_assert(self, op: Op) -> None:
        encoding = self.layouts.get(op.operands[0])
        if encoding is not None:
            op.operand_uses[0].renew(_in_encoding(op.operands[0], encoding))
