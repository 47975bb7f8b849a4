"""Compute a slice a second time, in the layouts found for it, and let the users of a conversion read the outcome.

Operations are copied in front of the old ones. Loops and branches that carry a value of the slice are replaced by ones that carry
it in both layouts. What is then unused goes with the next clean-up.

Facts: ``rewriteSlice`` in lib/Dialect/TritonGPU/Transforms/RemoveLayoutConversions.cpp and ``replaceForOpWithNewSignature`` in
Utility.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from smem_lint.passes.remove_layout_conversions.backward_slice import BackwardSlice
from smem_lint.passes.remove_layout_conversions.copies import Copies
from smem_lint.tile.ir import Op, Region, Value
from smem_lint.tile.slices import program_order
from smem_lint.tile.types import Tensor


def rewrite_slice(found: BackwardSlice, convert: Op, known: Copies, mapping: dict[Value, Value] | None = None) -> None:
    """Replace ``convert`` by a copy of ``found``; ``mapping`` names new values that stand for old ones already."""
    SliceRewrite(found, known, {} if mapping is None else mapping).run(convert)


def convert_after(value: Value, encoding: object) -> Value:
    """A conversion of ``value`` right behind its definition."""
    new = Op("ttg.convert_layout", (value,), (value.type.with_encoding(encoding),))
    definition, block = value.op, value.parent_block
    if definition is not None:
        new.line = definition.line
        block.insert_after(definition, new)
    else:
        block.prepend(new)
    return new.results[0]


def convert_before(value: Value, encoding: object, op: Op) -> Value:
    """A conversion of ``value`` right in front of ``op``."""
    new = Op("ttg.convert_layout", (value,), (value.type.with_encoding(encoding),), line=op.line)
    assert op.block is not None
    op.block.insert_before(op, new)
    return new.results[0]


class SliceRewrite:
    def __init__(self, found: BackwardSlice, known: Copies, mapping: dict[Value, Value]) -> None:
        self.values, self.layout, self.known, self.mapping = found.values, found.layout, known, mapping
        for value, encoding in found.layout.items():
            copy = found.copies.get((value, encoding))
            if copy is not None:
                mapping[value] = copy
        self.replacements: list[tuple[Value, Value]] = []
        self.dead: list[Op] = []
        self.carried: dict[Op, list[int]] = {}  # by terminator: which of its operands to pass on a second time

    def run(self, convert: Op) -> None:
        self.copy_all()
        self.replacements.append((convert.results[0], self.mapping[convert.operands[0]]))
        self.known.rename(self.replacements)
        for old, new in self.replacements:
            old.replace_all_uses(new)
        convert.erase()
        for op in self.dead:
            op.erase()

    def copy_all(self) -> None:
        for op in program_order(self.ops()):
            if op.name == "scf.for":
                self.rewrite_for(op)
            elif op.name == "scf.if":
                self.rewrite_if(op)
            elif op.name == "scf.yield":
                self.rewrite_yield(op)
            elif op.name == "arith.constant":
                self.rewrite_constant(op)
            else:
                self.copy(op)

    def ops(self) -> dict[Op, None]:
        found: dict[Op, None] = {}
        for value in self.values:
            op = value.op
            if op is not None:
                found[op] = None
                if op.name == "scf.if":
                    for region in op.regions:
                        self.carry(region.blocks[0].terminator, value.index, found)
            else:
                assert value.block is not None and value.block.parent_op is not None
                found[value.block.parent_op] = None
                self.carry(value.block.terminator, value.index - 1, found)
        return found

    def carry(self, terminator: Op, index: int, found: dict[Op, None]) -> None:
        found[terminator] = None
        self.carried.setdefault(terminator, []).append(index)

    def remember(self, old: Value, new: Value) -> None:
        self.known.add(old, self.layout[old], new)

    def copy(self, op: Op) -> None:
        new = op.clone(self.mapping)
        for old, result in zip(op.results, new.results, strict=True):
            encoding = self.layout.get(old)
            if encoding is not None:
                result.type = old.type.with_encoding(encoding)
                self.remember(old, result)
        assert op.block is not None
        op.block.insert_before(op, new)

    def rewrite_constant(self, op: Op) -> None:
        """A copy and a conversion, which the clean-up folds."""
        new = op.clone({})
        assert op.block is not None
        op.block.insert_before(op, new)
        old = op.results[0]
        converted = convert_before(new.results[0], self.layout[old], op)
        self.mapping[old] = converted
        self.remember(old, converted)

    def rewrite_yield(self, op: Op) -> None:
        extra = [self.mapping[op.operands[index]] for index in sorted(self.carried[op])]
        new = Op("scf.yield", (*op.operands, *extra), line=op.line)
        assert op.block is not None
        op.block.insert_before(op, new)
        op.erase()

    def rewrite_for(self, op: Op) -> None:
        body = op.body
        count = len(op.results)
        chosen = [index for index in range(count) if body.args[index + 1] in self.values]
        initial = [self.mapping[op.operands[index + 3]] for index in chosen]
        new = self.replace(op, [*op.operands, *initial], [value.type for value in initial])
        for value in initial:
            body.add_arg(value.type)
        for place, index in enumerate(chosen, count):
            argument = body.args[index + 1]
            self.mapping[op.results[index]] = new.results[place]
            self.mapping[argument] = body.args[place + 1]
            encoding = self.layout[argument]
            self.known.add(new.results[index], encoding, new.results[place])
            self.known.add(argument, encoding, body.args[place + 1])

    def rewrite_if(self, op: Op) -> None:
        chosen = [result for result in op.results if result in self.values]
        new = self.replace(op, op.operands, [result.type.with_encoding(self.layout[result]) for result in chosen])
        for result, twin in zip(chosen, new.results[len(op.results) :], strict=True):
            self.mapping[result] = twin
            self.remember(result, twin)

    def replace(self, op: Op, operands: list[Value], extra_types: list[Tensor]) -> Op:
        """An operation with more operands and results in front of ``op``, which loses its regions to it and dies later."""
        new = Op(op.name, operands, [*(result.type for result in op.results), *extra_types], dict(op.attrs), line=op.line)
        assert op.block is not None
        op.block.insert_before(op, new)
        new.regions = op.regions
        for region in new.regions:
            region.op = new
        op.regions = [Region(op) for _ in new.regions]
        self.replacements.extend(zip(op.results, new.results, strict=False))
        self.dead.append(op)
        return new
