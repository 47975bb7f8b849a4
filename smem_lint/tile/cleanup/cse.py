"""Common-subexpression elimination.

Facts: ``mlir/lib/Transforms/CSE.cpp`` as linked into Triton 3.8.0. An operation goes when an equal one dominates it and neither
touches memory; two equal reads of one block are one when nothing between them writes. Operations with regions are equal when their
regions are. What nothing uses goes too.
"""

from __future__ import annotations

from typing import Any

from smem_lint.tile.cleanup.fold import COMMUTATIVE
from smem_lint.tile.cleanup.numbers import constant_key
from smem_lint.tile.dominance import dominator_tree
from smem_lint.tile.effects import TERMINATORS, WRITE, is_memory_effect_free, is_trivially_dead, only_reads, recursive_effects
from smem_lint.tile.ir import Block, Module, Op, Region, Value

_MISSING: Any = object()


def frozen(value: Any) -> Any:
    """An attribute's value as something that can be hashed."""
    if isinstance(value, dict):
        return tuple(sorted((name, frozen(part)) for name, part in value.items()))
    if isinstance(value, (list, tuple)):
        return tuple(frozen(part) for part in value)
    return value


def _attributes(op: Op) -> Any:
    attrs = op.attrs
    if not attrs:
        return ()
    if op.name == "arith.constant":
        return constant_key(op.results[0].type, attrs["value"])
    if len(attrs) == 1:
        return tuple(attrs.items())
    return tuple(sorted(attrs.items()))


def equivalence_key(op: Op, local: dict[Value, int] | None = None) -> Any:
    """What two operations share exactly when they compute the same; ``local`` numbers the values of enclosing regions compared."""
    operands: Any = tuple(op.operands) if local is None else tuple([local.get(value, value) for value in op.operands])
    if len(operands) == 2 and op.name in COMMUTATIVE and id(operands[0]) > id(operands[1]):
        operands = (operands[1], operands[0])
    results = op.results
    types: Any = results[0].type if len(results) == 1 else tuple([result.type for result in results])
    key = (op.name, operands, _attributes(op), types)
    if not op.regions:
        return key
    local = {} if local is None else local
    return (*key, tuple(_region_key(region, local) for region in op.regions))


def _region_key(region: Region, local: dict[Value, int]) -> Any:
    keys = []
    for block in region.blocks:
        for arg in block.args:
            local[arg] = len(local)
        keys.append(tuple(arg.type for arg in block.args))
        for op in block:
            keys.append(equivalence_key(op, local))
            for result in op.results:
                local[result] = len(local)
    return tuple(keys)


class _Scope:
    """Operations seen so far by key; what a nested scope adds is forgotten with it."""

    def __init__(self) -> None:
        self.known: dict[Any, Op] = {}
        self.added: list[list[tuple[Any, Any]]] = [[]]

    def enter(self) -> None:
        self.added.append([])

    def leave(self) -> None:
        for key, before in reversed(self.added.pop()):
            if before is _MISSING:
                del self.known[key]
            else:
                self.known[key] = before

    def add(self, key: Any, op: Op) -> None:
        self.added[-1].append((key, self.known.get(key, _MISSING)))
        self.known[key] = op


def _writes_between(first: Op, last: Op) -> bool:
    """Whether something between two operations of a block writes, or may."""
    op = first.next
    while op is not None and op is not last:
        effects = recursive_effects(op)
        if effects is None or WRITE in effects:
            return True
        op = op.next
    return False


class _Elimination:
    def __init__(self) -> None:
        self.scope = _Scope()
        self.dead: list[Op] = []

    def region(self, region: Region) -> None:
        if len(region.blocks) == 1:
            self.scope.enter()
            self.block(region.blocks[0])
            self.scope.leave()
        elif region.blocks:
            self.dominated(region.blocks[0], dominator_tree(region))

    def dominated(self, block: Block, tree: dict[Block, list[Block]]) -> None:
        self.scope.enter()
        self.block(block)
        for child in tree[block]:
            self.dominated(child, tree)
        self.scope.leave()

    def block(self, block: Block) -> None:
        for op in block:
            for region in op.regions:
                self.region(region)
            self.operation(op)

    def operation(self, op: Op) -> None:
        if op.name in TERMINATORS:
            return
        if is_trivially_dead(op):
            self.dead.append(op)
            return
        if op.regions and any(len(region.blocks) > 1 for region in op.regions):
            return
        free = is_memory_effect_free(op)
        if not free and not only_reads(op):
            return
        key = equivalence_key(op)
        existing = self.scope.known.get(key)
        if existing is None or (not free and (existing.block is not op.block or _writes_between(existing, op))):
            self.scope.add(key, op)
            return
        for result, value in zip(op.results, existing.results, strict=True):
            result.replace_all_uses(value)
        self.dead.append(op)


def eliminate(function: Op) -> bool:
    """Run on one function; whether an operation went."""
    elimination = _Elimination()
    for region in function.regions:
        elimination.region(region)
    for op in reversed(elimination.dead):
        op.drop()
    return bool(elimination.dead)


def run(module: Module) -> None:
    for function in module.functions:
        eliminate(function)
