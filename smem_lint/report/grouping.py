"""What one rule says of one launch under several conditions, together: people read a launch once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from smem_lint.findings import Finding


@dataclass(frozen=True, slots=True)
class Group:
    """``first`` assumes least; ``others`` are the same rule at the same place on the same target, with other numbers."""

    first: Finding
    others: tuple[Finding, ...] = ()


def grouped(findings: Iterable[Finding]) -> list[Group]:
    """Findings by place, rule, kernel and target, in the order of the first of each."""
    places: dict[tuple[object, ...], list[Finding]] = {}
    for one in findings:
        places.setdefault((one.file, one.line, one.column, one.rule, one.kernel, one.target), []).append(one)
    groups = []
    for members in places.values():
        ordered = sorted(members, key=lambda one: (len(one.when), one.bytes or 0))
        groups.append(Group(ordered[0], tuple(ordered[1:])))
    return groups
