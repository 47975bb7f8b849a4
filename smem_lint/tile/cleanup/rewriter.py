"""MLIR's greedy rewrite driver: fold and rewrite operations from a worklist until nothing changes.

Facts: ``mlir/lib/Transforms/Utils/GreedyPatternRewriteDriver.cpp`` and ``FoldUtils.cpp``, as linked into Triton 3.8.0. The worklist
is a stack without duplicates; an operation that is pushed brings the operations around it along. The canonicalizer starts with the
operations in program order, every other greedy rewrite with the last operation first. Constants are kept once for each function, at
the front of its entry block.

Most rounds find nothing, so an operation that folds had nothing for stays ``settled`` until it or what its operands come from changes
(``Op.unsettled``), and the worklist is written down only when something happens: until then what would be taken from it without any
effect is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from smem_lint.tile.cleanup.fold import COMMUTATIVE, FOLDS, IN_PLACE, fold
from smem_lint.tile.cleanup.numbers import POISON, Const, constant_key
from smem_lint.tile.cleanup.regions import simplify_region
from smem_lint.tile.effects import CONSTANTS, TERMINATORS, would_be_trivially_dead
from smem_lint.tile.ir import Block, Op, Value
from smem_lint.tile.types import Type

Pattern = Callable[[Op, "Rewriter"], bool]
Patterns = Mapping[str, Sequence[Pattern]]
_MAX_ITERATIONS = 10
_ALIVE = TERMINATORS | {"tt.store"}
_FOLDING = frozenset((*FOLDS, *COMMUTATIVE))


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

    __slots__ = (
        "at", "branching", "busy", "changed", "constants", "current", "entry", "function", "layouts", "list", "order", "patterns", "place",
        "top_down",
    )  # fmt: skip

    def __init__(self, function: Op, patterns: Patterns, layouts: Any = None) -> None:
        self.function, self.patterns, self.layouts = function, patterns, layouts
        self.entry: Block = function.regions[0].blocks[0]
        self.constants: dict[Any, Op] = {}
        self.list: list[Op | None] | None = []  # None: as ``order`` says, but for what comes before ``at``
        self.order: list[Op] = []
        self.busy: list[int] = []
        self.at = 0
        self.top_down = False
        self.place: dict[Op, int] = {}
        self.changed = False
        self.current: Op | None = None
        self.branching: list[Op] = []

    # The worklist

    def push(self, op: Op | None) -> None:
        """Look at ``op``, and at what is around it, again."""
        stack = self._written() if self.list is None else self.list
        place, function = self.place, self.function
        while op is not None and op is not function:
            if op not in place:
                place[op] = len(stack)
                stack.append(op)
            op = op.parent

    def _forget(self, op: Op) -> None:
        stack = self._written() if self.list is None else self.list
        at = self.place.pop(op, None)
        if at is not None:
            stack[at] = None

    def _written(self) -> list[Op | None]:
        """Write the worklist down, as it is when the operation at ``at`` has just been taken from it."""
        order = self.order
        stack: list[Any] = order[: self.at : -1] if self.top_down else order[: self.at]
        self.list = stack
        self.place = {op: index for index, op in enumerate(stack)}
        for op in order:
            if op.name in CONSTANTS and op.block is not None:
                self.constants.setdefault(constant_key(op.results[0].type, op.attrs.get("value", POISON)), op)
        return stack

    # Changes to the program

    def constant(self, type_: Type, value: Any) -> Value:
        """A constant before the operation that is being rewritten; the next round moves it to the function's front."""
        new = constant_op(type_, value)
        if self.current is not None and self.current.block is not None:
            return self.insert(self.current, new).results[0]
        return self.unique_constant(type_, value)

    def unique_constant(self, type_: Type, value: Any) -> Value:
        """The function's constant of this type and value, at its front."""
        if self.list is None:
            self._written()
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
        if self.list is None:
            self._written()
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
        """Find the operations and, in ``busy``, the places of those that something may come of."""
        self.list, self.place, self.branching, self.top_down = [], {}, [], top_down
        order = _operations(self.function, top_down, [])
        if not self._constants_in_order(order):
            order = [op for op in order if op.name not in CONSTANTS or self._adopt_constant(op)]
        self.order, busy, patterns = order, [], self.patterns
        for index, op in enumerate(order):
            name = op.name
            if op.unsettled or name in patterns or name == "scf.if":
                busy.append(index)
            elif name not in _ALIVE:
                for result in op.results:
                    if result.uses:
                        break
                else:
                    busy.append(index)
            if name == "tt.map_elementwise":
                self.branching.append(op)
        self.busy, self.list = busy, None

    def _constants_in_order(self, order: list[Op]) -> bool:
        entry = self.entry
        for op in order:
            if op.name in CONSTANTS:
                before = op.prev
                if op.unsettled or op.block is not entry or (before is not None and before.name not in CONSTANTS):
                    return False
        return True

    def _look(self) -> None:
        """Try the busy operations, and when one changes something all that follow."""
        order = self.order
        for at in self.busy if self.top_down else reversed(self.busy):
            self.at = at
            self._try(order[at])
            if self.changed and self.list is None:
                self._written()
            if self.list is not None:
                self._process()
                return

    def _process(self) -> None:
        stack, place = self.list, self.place
        assert stack is not None
        patterns = self.patterns
        while stack:
            op = stack.pop()
            if op is None:
                continue
            del place[op]
            if not op.unsettled and not op.regions and op.name not in patterns and op.results and op.results[0].uses:
                continue
            self._try(op)

    def _try(self, op: Op) -> None:
        self.current = op
        name = op.name
        if name not in _ALIVE:
            for result in op.results:
                if result.uses:
                    break
            else:
                if would_be_trivially_dead(op):
                    self.erase(op)
                    return
        if ((op.unsettled and name in _FOLDING) or name == "scf.if") and self._folded(op):
            return
        for pattern in self.patterns.get(name, ()):
            if pattern(op, self):
                self.changed = True
                return

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
        stack: list[Any] = list(ops)
        self.list = stack
        self.place = {op: index for index, op in enumerate(stack)}
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
            self._look()
            self._simplify_regions(merge_blocks)
            if not self.changed:
                for at in self.busy:
                    self.order[at].unsettled = 0
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
