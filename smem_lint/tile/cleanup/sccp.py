"""Sparse conditional constant propagation: constants found through loops and branches.

Facts: ``mlir/lib/Transforms/SCCP.cpp`` and ``mlir/lib/Analysis/DataFlow/ConstantPropagationAnalysis.cpp`` as linked into Triton
3.8.0. What a loop carries is taken for its initial constant until an iteration is seen to change it; an arm that is never taken, or a
block that is never reached, says nothing. Folds that need no constant are left to the canonicalizer.
"""

from __future__ import annotations

from typing import Any

from smem_lint.tile.cleanup.fold import FOLDS, IN_PLACE, fold
from smem_lint.tile.cleanup.numbers import POISON, Const, constant_key, constant_of
from smem_lint.tile.cleanup.patterns_region import trip_count
from smem_lint.tile.cleanup.regions import successor_operands
from smem_lint.tile.cleanup.rewriter import Rewriter, constant_op
from smem_lint.tile.effects import CONSTANTS, would_be_trivially_dead
from smem_lint.tile.ir import Block, Module, Op, Region, Value


class _Varies:
    """The state of a value that is not one constant."""


_VARIES = _Varies()
_MAX_ROUNDS = 1000
_CHANGED_IN_PLACE = frozenset({
    "arith.extui", "arith.extsi", "arith.trunci", "arith.truncf", "tt.trans", "ttg.memdesc_trans", "ttg.memdesc_subslice",
})  # fmt: skip


class _Propagation:
    """States of values: absent (nothing known yet), a number of a constant, or _VARIES."""

    def __init__(self, function: Op) -> None:
        self.state: dict[Value, Any] = {}
        self.changed = False
        self.reached: set[Block] = set()
        self.known: dict[Value, Value] = {}
        for region in function.regions:
            for arg in region.blocks[0].args:
                self.state[arg] = _VARIES
            self.region(region)

    def join(self, value: Value, state: Any) -> None:
        """Let ``value`` also hold what ``state`` says."""
        before = self.state.get(value)
        if state is None or before is _VARIES:
            return
        if before is not None and (state is _VARIES or constant_key(value.type, state) != constant_key(value.type, before)):
            state = _VARIES
        elif before is not None:
            return
        self.state[value] = state
        self.changed = True

    def join_value(self, value: Value, other: Value) -> None:
        self.join(value, self.state.get(other))

    def region(self, region: Region) -> None:
        """Follow the blocks of a function's body until nothing more is learnt."""
        self.reached.add(region.blocks[0])
        for _ in range(_MAX_ROUNDS):
            self.changed = False
            for block in region.blocks:
                if block in self.reached:
                    self.block(block)
                    self._branch(block.terminator)
            if not self.changed:
                break

    def _branch(self, terminator: Op) -> None:
        decided = self.state.get(terminator.operands[0]) if terminator.name == "cf.cond_br" else _VARIES
        for index, successor in enumerate(terminator.successors):
            if decided is None or (decided is not _VARIES and decided is not POISON and index != (0 if decided else 1)):
                continue
            if successor not in self.reached:
                self.reached.add(successor)
                self.changed = True
            for arg, value in zip(successor.args, successor_operands(terminator, index), strict=True):
                self.join_value(arg, value)

    def block(self, block: Block) -> None:
        self.reached.add(block)
        for op in block:
            self.operation(op)

    def operation(self, op: Op) -> None:
        name = op.name
        if name in CONSTANTS:
            self.join(op.results[0], constant_of(op.results[0]))
        elif name == "scf.for":
            self._for(op)
        elif name == "scf.if":
            self._if(op)
        elif name == "scf.while":
            self._while(op)
        elif op.results:
            self._plain(op)

    def _plain(self, op: Op) -> None:
        state, results = self.state, op.results
        if state.get(results[0]) is _VARIES and (len(results) == 1 or all(state.get(result) is _VARIES for result in results)):
            return
        varies = True
        for value in op.operands:
            known = state.get(value)
            if known is None:
                return
            if known is not _VARIES:
                varies = False
        if op.regions:
            self._opaque_regions(op)
        elif not varies and op.name in FOLDS:
            found = self._fold(op, [state[value] for value in op.operands])
            if found is not None:
                for result, new in zip(results, found, strict=True):
                    self.join(result, new.value if isinstance(new, Const) else state.get(new, _VARIES))
                return
        for result in results:
            state[result] = _VARIES
        self.changed = True

    def _opaque_regions(self, op: Op) -> None:
        for region in op.regions:
            for block in region.blocks:
                for arg in block.args:
                    self.join(arg, _VARIES)
                self.block(block)

    def _known(self, value: Value, state: Any) -> Value:
        """A constant that stands for ``value`` in a trial fold, the same one each time."""
        found = self.known.get(value)
        if found is None:
            found = self.known[value] = constant_op(value.type, state).results[0]
            self.state[found] = state
        return found

    def _fold(self, op: Op, states: list[Any]) -> Any:
        """The operation's fold with known operands put in; None also where the fold would change the operation."""
        if op.name in _CHANGED_IN_PLACE and self._folded_copy(op, op.operands) is IN_PLACE:
            return None
        operands = [value if state is _VARIES else self._known(value, state) for value, state in zip(op.operands, states, strict=True)]
        found = self._folded_copy(op, operands)
        return None if found is IN_PLACE else found

    @staticmethod
    def _folded_copy(op: Op, operands: list[Value]) -> Any:
        copy = Op(op.name, operands, [result.type for result in op.results], dict(op.attrs))
        found = fold(copy)
        copy.drop()
        return found

    def _for(self, op: Op) -> None:
        body, inits, count = op.body, op.operands[3:], trip_count(op)
        if count == 0:
            for result, value in zip(op.results, inits, strict=True):
                self.join_value(result, value)
            return
        self.join(body.args[0], _VARIES)
        for arg, value in zip(body.args[1:], inits, strict=True):
            self.join_value(arg, value)
        outer = self.changed
        for _ in range(_MAX_ROUNDS):
            self.block(body)
            outer |= self.changed
            self.changed = False  # the body says the same again unless what it is handed changes
            if count != 1:
                for arg, value in zip(body.args[1:], body.terminator.operands, strict=True):
                    self.join_value(arg, value)
            outer |= self.changed
            if not self.changed:
                break
        self.changed = outer
        for result, initial, value in zip(op.results, inits, body.terminator.operands, strict=True):
            if count is None:
                self.join_value(result, initial)
            self.join_value(result, value)

    def _if(self, op: Op) -> None:
        condition = self.state.get(op.operands[0])
        if condition is None:
            return
        for index, region in enumerate(op.regions):
            taken = condition is _VARIES or condition is POISON or index == (0 if condition else 1)
            if not taken or not region.blocks:
                continue
            self.block(region.blocks[0])
            for result, value in zip(op.results, region.blocks[0].terminator.operands, strict=True):
                self.join_value(result, value)

    def _while(self, op: Op) -> None:
        before, after = (region.blocks[0] for region in op.regions)
        for arg, value in zip(before.args, op.operands, strict=True):
            self.join_value(arg, value)
        outer = self.changed
        for _ in range(_MAX_ROUNDS):
            self.changed = False
            self.block(before)
            condition, *handed = before.terminator.operands
            goes_on = self.state.get(condition)
            for result, arg, value in zip(op.results, after.args, handed, strict=True):
                if goes_on is not None and goes_on is not True:
                    self.join_value(result, value)
                if goes_on is not None and goes_on is not False:
                    self.join_value(arg, value)
            if goes_on is not None and goes_on is not False:
                self.block(after)
                for arg, value in zip(before.args, after.terminator.operands, strict=True):
                    self.join_value(arg, value)
            outer |= self.changed
            if not self.changed:
                break
        self.changed = outer


def _replace(function: Op, found: _Propagation) -> None:
    """Read constants where they were found, and drop what computed them."""
    constants = Rewriter(function, {})
    for op in list(function.walk()):
        for region in op.regions:
            for block in region.blocks:
                if block in found.reached:
                    for arg in block.args:
                        _replace_value(arg, found, constants)
        if op.block is None or op.name in CONSTANTS or not op.results or op.block not in found.reached:
            continue
        known = [_replace_value(result, found, constants) for result in op.results]
        if all(known) and would_be_trivially_dead(op):
            op.erase()


def _replace_value(value: Value, found: _Propagation, constants: Rewriter) -> bool:
    state = found.state.get(value)
    if state is None or state is _VARIES or (value.op is not None and value.op.name in CONSTANTS):
        return False
    if value.uses:
        value.replace_all_uses(constants.unique_constant(value.type, state))
    return True


def run(module: Module) -> None:
    for function in module.functions:
        if function.regions[0].blocks:
            _replace(function, _Propagation(function))
