"""The paths through host code, in the order in which they are likely to matter."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Any

from smem_lint.host.limits import Abandoned, Limits, TooMuch, Undecided
from smem_lint.host.paths import Chooser, Path

_MORE = 64
"""Alternatives, followed or not, to a path that counts."""

_LAST = 1_000
"""More turns than a path has."""


def explore(
    limits: Limits, run: Callable[[Path], Any], chooser: Chooser | None = None, *, nothing_given: bool = False
) -> Iterator[tuple[Path, Any]]:
    """Run once for each path; yields each path with its result, or with the exception that ended it.

    Paths that differ from the first in one decision come before those that differ in two, so that a budget that ends
    early has seen each alternative once; a ladder of tests on one size counts as one decision. What
    comes of a path that the caller found ``fruitless`` waits longer. Stops at ``limits.paths``;
    the last yield is then ``TooMuch``. Entries that a table lists, and the ladders below them, are as good as written out:
    they do not count, and come last.
    """
    waiting: list[tuple[float, int, int, list[int], frozenset[str], bool]] = [(0, 0, 0, [], frozenset(), False)]
    number = spent = 0
    while waiting and number < limits.paths * _MORE:
        _, _, turns, prefix, sizes, listed = heapq.heappop(waiting)
        spent += not listed
        if spent > limits.paths and not listed:
            continue
        path = Path(limits, prefix, chooser=chooser, nothing_given=nothing_given)
        try:
            result: Any = run(path)
        except (Abandoned, TooMuch, Undecided, RecursionError) as ended:
            result = ended
        yield path, result
        taken = [decision.taken for decision in path.decisions]
        for place in range(len(prefix), len(taken)):
            decision = path.decisions[place]
            rung = listed and bool(decision.subject)
            free = rung or (decision.listed and not turns)
            further = rung or decision.subject in sizes
            more = sizes | {decision.subject} if decision.subject else sizes
            after = turns - 0.5 if further else turns + 1 + path.fruitless
            for other in range(decision.options):
                if other != taken[place]:
                    number += 1
                    heapq.heappush(waiting, (after + _LAST * free, number, turns + (not further), [*taken[:place], other], more, free))
    if waiting or spent > limits.paths:
        yield Path(limits), TooMuch(f"more than {limits.paths} paths")
