"""CSE that also finds loop-carried values that are always the same.

Facts: ``lib/Dialect/Triton/Transforms/LoopAwareCSE.cpp``, 3.8.0.
"""

from __future__ import annotations

from smem_lint.tile.cleanup import cse
from smem_lint.tile.cleanup.cse import frozen
from smem_lint.tile.cleanup.fold import COMMUTATIVE
from smem_lint.tile.cleanup.patterns_region import PATTERNS as REGION_PATTERNS
from smem_lint.tile.cleanup.rewriter import rewrite
from smem_lint.tile.effects import is_memory_effect_free
from smem_lint.tile.ir import Module, Op, Value

PATTERNS = {"scf.for": tuple(REGION_PATTERNS["scf.for"])}


class _Loop:
    """Tells whether two values of one loop's body hold the same in every iteration."""

    def __init__(self, loop: Op) -> None:
        self.body = loop.body
        self.inits = loop.operands[3:]
        self.yields = loop.body.terminator.operands
        self.assumed: list[tuple[int, int]] = []
        self.different: set[tuple[Value, Value]] = set()

    def carried_alike(self, i: int, j: int) -> bool:
        if i == j or (i, j) in self.assumed:
            return i == j or self.inits[i] is self.inits[j]
        if self.inits[i] is not self.inits[j]:
            return False
        self.assumed.append((i, j))
        alike = self.alike(self.yields[i], self.yields[j])
        self.assumed.pop()
        return alike

    def alike(self, a: Value, b: Value) -> bool:
        if a is b:
            return True
        if a.type is not b.type or a.parent_block is not self.body or b.parent_block is not self.body:
            return False
        if (a.op is None) != (b.op is None):
            return False
        if (a, b) in self.different:
            return False
        if a.op is None or b.op is None:
            found = a.index > 0 and b.index > 0 and self.carried_alike(a.index - 1, b.index - 1)
        else:
            found = a.index == b.index and self._operations_alike(a.op, b.op)
        if not found:  # what differs under the assumptions made on the way differs without them
            self.different.add((a, b))
        return found

    def _operations_alike(self, a: Op, b: Op) -> bool:
        if a.name != b.name or a.regions or len(a.operands) != len(b.operands):
            return False
        if not is_memory_effect_free(a) or not is_memory_effect_free(b) or frozen(a.attrs) != frozen(b.attrs):
            return False
        if [result.type for result in a.results] != [result.type for result in b.results]:
            return False
        if all(self.alike(x, y) for x, y in zip(a.operands, b.operands, strict=True)):
            return True
        return a.name in COMMUTATIVE and self.alike(a.operands[0], b.operands[1]) and self.alike(a.operands[1], b.operands[0])


def _merge_carried(loop: Op) -> bool:
    """Of carried values that are alike the first takes the uses; the others are made to carry themselves. Whether there were any."""
    count = len(loop.results)
    if count < 2:
        return False
    values = _Loop(loop)
    leader = list(range(count))
    for i in range(count):
        for j in range(i + 1, count):
            if values.carried_alike(i, j):
                low, high = sorted((leader[i], leader[j]))
                leader = [low if at == high else at for at in leader]
    for j, first in enumerate(leader):
        if first == j:
            continue
        other = loop.body.args[j + 1]
        other.replace_all_uses(loop.body.args[first + 1])
        loop.body.terminator.set_operand(j, other)
        loop.results[j].replace_all_uses(loop.results[first])
    return leader != list(range(count))


def run(module: Module) -> None:
    for function in module.functions:
        changed = cse.eliminate(function)
        for loop in [op for op in function.walk_post() if op.name == "scf.for"]:
            changed |= _merge_carried(loop)
        if changed:
            cse.eliminate(function)
        rewrite(function, PATTERNS)
