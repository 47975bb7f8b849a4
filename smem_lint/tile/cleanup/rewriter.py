"""MLIR's greedy rewrite driver: fold and rewrite operations from a worklist until nothing changes.

Facts: ``mlir/lib/Transforms/Utils/GreedyPatternRewriteDriver.cpp`` and ``FoldUtils.cpp``, as linked into Triton 3.8.0. The worklist
is a stack without duplicates; an operation that is pushed brings the operations around it along. The canonicalizer starts with the
operations in program order, every other greedy rewrite with the last operation first. Constants are kept once for each function, at
the front of its entry block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from smem_lint.tile.cleanup.fold import COMMUTATIVE, FOLDS, IN_PLACE, fold
from smem_lint.tile.cleanup.numbers import POISON, Const, constant_key
from smem_lint.tile.cleanup.regions import simplify_region
from smem_lint.tile.effects import CONSTANTS, TERMINATORS, is_trivially_dead
from smem_lint.tile.ir import Block, Op, Value
from smem_lint.tile.types import Type

Pattern = Callable[[Op, "Rewriter"], bool]
Patterns = Mapping[str, Sequence[Pattern]]
_MAX_ITERATIONS = 10
_ALIVE = TERMINATORS | {"tt.store"}


def registrar(table: dict[str, list[Pattern]]) -> Callable[..., Callable[[Pattern], Pattern]]:
    """A decorator that adds a pattern to ``table`` for the operations it names, behind those already there."""

    def pattern(*names: str) -> Callable[[Pattern], Pattern]:
        def register(function: Pattern) -> Pattern:
            for name in names:
                table.setdefault(name, []).append(function)
            return function

        return register

    return pattern


def constant_op(type_: Type, value: Any) -> Op:
    name, attrs = ("ub.poison", {}) if value is POISON else ("arith.constant", {"value": value})
    return Op(name, (), (type_,), attrs)


def merged(*tables: Patterns) -> dict[str, tuple[Pattern, ...]]:
    """One table of several; the patterns of the first are tried first."""
    names = dict.fromkeys(name for table in tables for name in table)
    return {name: tuple(pattern for table in tables for pattern in table.get(name, ())) for name in names}


def _operations(op: Op, parents_first: bool, found: list[Op]) -> list[Op]:
    """All operations within ``op``, in program order."""
    for region in op.regions:
        for block in region.blocks:
            at = block.first
            while at is not None:
                if not at.regions:
                    found.append(at)
                elif parents_first:
                    found.append(at)
                    _operations(at, True, found)
                else:
                    _operations(at, False, found)
                    found.append(at)
                at = at.next
    return found


class Rewriter:
    """What patterns change the program with, so that what a change may enable is looked at again.

    ``layouts`` answers for encodings (``passes`` supplies it); None in programs that have none.
    """

    __slots__ = ("branching", "changed", "constants", "current", "entry", "function", "layouts", "list", "patterns", "place")

    def __init__(self, function: Op, patterns: Patterns, layouts: Any = None) -> None:
        self.function, self.patterns, self.layouts = function, patterns, layouts
        self.entry: Block = function.regions[0].blocks[0]
        self.constants: dict[Any, Op] = {}
        self.list: list[Op | None] = []
        self.place: dict[Op, int] = {}
        self.changed = False
        self.current: Op | None = None
        self.branching: list[Op] = []

    # The worklist

    def push(self, op: Op | None) -> None:
        """Look at ``op``, and at what is around it, again."""
        place, stack, function = self.place, self.list, self.function
        while op is not None and op is not function:
            if op not in place:
                place[op] = len(stack)
                stack.append(op)
            op = op.parent

    def _forget(self, op: Op) -> None:
        at = self.place.pop(op, None)
        if at is not None:
            self.list[at] = None

    # Changes to the program

    def constant(self, type_: Type, value: Any) -> Value:
        """A constant before the operation that is being rewritten; the next round moves it to the function's front."""
        new = constant_op(type_, value)
        if self.current is not None and self.current.block is not None:
            return self.insert(self.current, new).results[0]
        return self.unique_constant(type_, value)

    def unique_constant(self, type_: Type, value: Any) -> Value:
        """The function's constant of this type and value, at its front."""
        key = constant_key(type_, value)
        found = self.constants.get(key)
        if found is None:
            found = self.constants[key] = constant_op(type_, value)
            self.entry.prepend(found)
            self.push(found)
        return found.results[0]

    def insert(self, before: Op, op: Op) -> Op:
        """Put a new operation before another."""
        assert before.block is not None
        if op.line is None:
            op.line = before.line
        before.block.insert_before(before, op)
        self.changed = True
        self.push(op)
        return op

    def make(self, before: Op, name: str, operands: Iterable[Value], type_: Type, attrs: dict[str, Any] | None = None) -> Value:
        return self.insert(before, Op(name, operands, (type_,), attrs)).results[0]

    def replace_all_uses(self, value: Value, other: Value) -> None:
        for use in reversed(tuple(value.uses)):
            owner = use.owner
            use.set(other)
            self.push(owner)
        self.changed = True

    def replace(self, op: Op, values: Sequence[Value]) -> None:
        for result, value in zip(op.results, values, strict=True):
            if result.uses:
                self.replace_all_uses(result, value)
        self.erase(op)

    def replace_with(
        self, op: Op, name: str, operands: Iterable[Value], type_: Type | None = None, attrs: dict[str, Any] | None = None
    ) -> bool:
        """Put a new operation with one result in the place of ``op``."""
        new = self.make(op, name, operands, op.results[0].type if type_ is None else type_, attrs)
        self.replace(op, (new,))
        return True

    def modified(self, op: Op) -> None:
        """Say that ``op`` was changed in place."""
        self.changed = True
        self.push(op)

    def erase(self, op: Op) -> None:
        """Remove an operation whose results have no uses, with all that it holds."""
        self.changed = True
        for region in op.regions:
            for block in region.blocks:
                for inner in reversed(list(block)):
                    self.erase_dropping(inner)
        self._remove(op)

    def erase_dropping(self, op: Op) -> None:
        for region in op.regions:
            for block in region.blocks:
                for inner in reversed(list(block)):
                    self.erase_dropping(inner)
        self._remove(op)

    def _remove(self, op: Op) -> None:
        if op.name in CONSTANTS:
            key = constant_key(op.results[0].type, op.attrs.get("value", POISON))
            if self.constants.get(key) is op:
                del self.constants[key]
        operands = list(op.operands)
        self._forget(op)
        op.drop()
        for value in operands:
            if value.op is not None and len(value.uses) < 2:
                self.push(value.op)

    # The driver

    def _adopt_constant(self, op: Op) -> bool:
        """Keep a constant at the front of the function; a second one gives way to the first (answers False)."""
        key = constant_key(op.results[0].type, op.attrs.get("value", POISON))
        found = self.constants.get(key)
        if found is op:
            return True
        if found is not None:
            self.replace_all_uses(op.results[0], found.results[0])
            self._forget(op)
            op.drop()
            return False
        self.constants[key] = op
        if op.block is not self.entry or (op.prev is not None and op.prev.name not in CONSTANTS):
            assert op.block is not None
            op.block.remove(op)
            self.entry.prepend(op)
        return True

    def _populate(self, top_down: bool) -> None:
        self.list, self.place, self.branching = [], {}, []
        order: list[Op] = []
        for op in _operations(self.function, top_down, []):
            name = op.name
            if name in CONSTANTS and not self._adopt_constant(op):
                continue
            order.append(op)
            if name == "tt.map_elementwise":
                self.branching.append(op)
        if top_down:
            order.reverse()
        self.list = order  # type: ignore[assignment]
        self.place = {op: index for index, op in enumerate(order)}

    def _process(self) -> None:
        stack, place, patterns = self.list, self.place, self.patterns
        while stack:
            op = stack.pop()
            if op is None:
                continue
            del place[op]
            self.current = op
            name = op.name
            if name not in _ALIVE and is_trivially_dead(op):
                self.erase(op)
                continue
            if (name in FOLDS or name in COMMUTATIVE or name == "scf.if") and self._folded(op):
                continue
            for pattern in patterns.get(name, ()):
                if pattern(op, self):
                    self.changed = True
                    break

    def _folded(self, op: Op) -> bool:
        found = fold(op) if op.name != "scf.if" else fold_negated_if(op)
        if found is None:
            return False
        self.changed = True
        if found is IN_PLACE:
            self.push(op)
            return True
        values = [
            self.constant(result.type, new.value) if isinstance(new, Const) else new for result, new in zip(op.results, found, strict=True)
        ]
        self.replace(op, values)
        return True

    def settle(self, ops: Iterable[Op]) -> bool:
        """Try these operations alone, the last one first, and what their changes touch; whether anything changed.

        For programs in which nothing else is left to do. Constants are not merged: ``run`` once more if there was a change.
        """
        self.changed = False
        self.list = list(ops)
        self.place = {op: index for index, op in enumerate(self.list) if op is not None}
        self._process()
        return self.changed

    def _simplify_regions(self, merge_blocks: bool) -> None:
        regions = [self.function.regions[0]]
        regions += [region for op in self.branching if op.block is not None for region in op.regions]
        for region in regions:
            if len(region.blocks) > 1 and simplify_region(region, merge_blocks):
                self.changed = True
                self.constants = {key: op for key, op in self.constants.items() if op.block is not None}

    def run(self, top_down: bool, merge_blocks: bool) -> bool:
        """Rewrite until nothing changes (at most ten rounds, as MLIR does); whether anything did."""
        any_change = False
        for _ in range(_MAX_ITERATIONS):
            self.changed = False
            self._populate(top_down)
            self.changed = False
            self._process()
            self._simplify_regions(merge_blocks)
            if not self.changed:
                break
            any_change = True
        return any_change


def fold_negated_if(op: Op) -> Any:
    """``if (!c) A else B`` is ``if (c) B else A``."""
    if not op.regions[1].blocks:
        return None
    xor = op.operands[0].op
    if xor is None or xor.name != "arith.xori":
        return None
    mask = xor.operands[1].op
    if mask is None or mask.name != "arith.constant" or mask.attrs["value"] is not True:
        return None
    op.set_operand(0, xor.operands[0])
    then, other = op.regions
    then.blocks, other.blocks = other.blocks, then.blocks
    for region in op.regions:
        for block in region.blocks:
            block.region = region
    return IN_PLACE


def rewrite(function: Op, patterns: Patterns, top_down: bool = False, merge_blocks: bool = True, layouts: Any = None) -> bool:
    """Apply folds and ``patterns`` greedily to all operations of a function; whether anything changed.

    The defaults are those of MLIR's ``applyPatternsGreedily``; the canonicalizer goes top down and does not merge blocks.
    """
    if not function.regions[0].blocks:
        return False
    return Rewriter(function, patterns, layouts).run(top_down, merge_blocks)
