"""What is known of a load that is copied into a ring of buffers, and the counters that walk around rings of one size."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from smem_lint.passes.pipeliner.loops import top_level_users
from smem_lint.passes.pipeliner.schedule import Schedule
from smem_lint.tile.ir import Op, Value


class AsyncLoad:
    """``slots`` buffers of ``encoding``, filled by ``cp.async`` (else by bulk copies, which ``barrier`` and ``wait`` guard)."""

    __slots__ = ("slots", "encoding", "contiguity", "is_cp_async", "ring", "barrier", "wait")
    ring: Value
    barrier: Value
    wait: Op

    def __init__(self, slots: int, encoding: Any, contiguity: int = 1, is_cp_async: bool = True) -> None:
        self.slots, self.encoding, self.contiguity, self.is_cp_async = slots, encoding, contiguity, is_cp_async


class Counters(NamedTuple):
    """The slots to copy to and to read from; ``phase`` tells apart two rounds of a ring that barriers guard."""

    insert: Value
    extract: Value
    phase: Value | None


def first_use(ops: Iterable[Op], loop: Op, schedule: Schedule) -> Op:
    """The user of any of the operations that runs first."""
    first: Op | None = None
    for op in ops:
        for user in top_level_users(op, loop):
            if first is None or schedule.is_before(user, first):
                first = user
    assert first is not None, "a scheduled load is used"
    return first
