"""How many groups of asynchronous copies may still be on their way when a wait is passed; and fewer waits.

Facts: ``updateWaits`` in lib/Dialect/TritonGPU/Transforms/Pipeliner/WGMMAPipeline.cpp and ``combineRedundantWaitOps`` in
PipeliningUtility.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from smem_lint.passes.pipeliner.loops import operations_named
from smem_lint.tile.ir import Builder, Module, Op, Value
from smem_lint.tile.types import ASYNC_TOKEN

_WAIT, _COMMIT = "ttg.async_wait", "ttg.async_commit_group"
_REGIONS = frozenset(("scf.for", "scf.if", "scf.while", "ttg.warp_specialize", "tt.map_elementwise"))


def update_waits(module: Module) -> None:
    """Set ``num`` of every wait for asynchronous copies, and put waits that nothing stands between together."""
    waits = operations_named(module, _WAIT)
    for wait in waits:
        if wait.operands:
            wait.attrs["num"] = _History().least_of(wait)
    _combine(waits)


def _commits_between(first: Op | None, end: Op) -> int:
    count = 0
    while first is not end:
        assert first is not None
        count += first.name == _COMMIT
        first = first.next
    return count


class _History:
    """Follows tokens back to the copies that made them; counts later groups on the way that has fewest."""

    def __init__(self) -> None:
        self.least: int | None = None

    def least_of(self, wait: Op) -> int:
        best: int | None = None
        for value in wait.operands:
            at = wait
            while at.block is not value.parent_block:
                parent = at.parent
                assert parent is not None
                at = parent
            found = self._follow(value, at, 0)
            best = found if best is None else min(best, found)
        assert best is not None
        return best

    def _follow(self, value: Value, end: Op, count: int) -> int:
        if value.op is not None:
            count += _commits_between(value.op.next, end)
            self.least = count if self.least is None else min(self.least, count)
            return self.least
        block = value.block
        assert block is not None
        loop = block.parent_op
        if loop is None or loop.name != "scf.for":
            return 0
        count += _commits_between(block.first, end)
        if self.least is not None and count >= self.least:
            return self.least
        number = value.index - 1
        first = self._follow(loop.operands[3 + number], loop, count)
        again = self._follow(block.terminator.operands[number], block.terminator, count)
        return min(first, again) if self.least is None else min(first, again, self.least)


def _combine(waits: list[Op]) -> None:
    replaced: dict[Op, Op] = {}
    for wait in waits:
        if wait in replaced:
            continue
        group, at = [wait], wait.next
        while at is not None and at.name not in _REGIONS and at.name != _COMMIT:
            if at.name == _WAIT:
                group.append(at)
            at = at.next
        if len(group) > 1:
            tokens = [value for member in group for value in member.operands]
            least = min(member.attrs["num"] for member in group)
            combined = Builder(before=wait).op(_WAIT, tokens, (ASYNC_TOKEN,), {"num": least})
            replaced.update(dict.fromkeys(group, combined))
    for wait, combined in replaced.items():
        wait.result.replace_all_uses(combined.result)
        wait.erase()
