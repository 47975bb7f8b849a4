"""What is taken of strides and sizes that host code leaves open: tensors are contiguous and aligned, and a model's own sizes are
multiples of 16 (a number of tokens is not).

Triton 3.8.0, ``runtime/jit.py``: an integer argument of 1 becomes a constexpr, one divisible by 16 says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from smem_lint.host.kernel_facts import KernelFacts
from smem_lint.host.paths import Path
from smem_lint.host.profile import Profile
from smem_lint.host.values import Symbol

_PLACE = re.compile(r"(.*)\.(?:stride\(|stride\(\)\[|shape\[)(-?\d+)[)\]]", re.DOTALL)


class Contiguous:
    """The strides and sizes among one launch's arguments, on one path."""

    def __init__(self, path: Path, facts: KernelFacts, profile: Profile, values: Iterable[Any]) -> None:
        self.path, self.facts, self.profile = path, facts, profile
        self._last: dict[str, int] = {}
        for value in values:
            for base in value.bases() if isinstance(value, Symbol) else ():
                owner, place = _place(base.text)
                if place is not None:
                    self._last[owner] = max(place, self._last.get(owner, 0))

    def is_last_stride(self, name: str, value: Any) -> bool:
        """Whether an argument is the stride of a last dimension, which is 1.

        Where nothing tells the rank, the last stride that is passed is taken, if the kernel leaves no index without a stride.
        """
        owner, place = _place(value.text) if isinstance(value, Symbol) and ".stride(" in value.text else ("", None)
        if place is None:
            return False
        rank = self._rank(owner)
        if place == -1 or rank is not None:
            return place == -1 or place + 1 == rank
        return place == self._last.get(owner) and name in self.facts.last_strides

    def aligned(self, name: str, value: Any, depth: int = 0) -> bool:
        """Whether an argument that is no last stride is taken for a multiple of 16."""
        if isinstance(value, int):
            return value % 16 == 0
        if not isinstance(value, Symbol) or depth > 8:
            return False
        if value.kind == "*":
            return any(self.aligned("", operand, depth + 1) for operand in value.operands)
        if value.kind in ("+", "-"):
            return all(self.aligned("", operand, depth + 1) for operand in value.operands)
        if not value.is_base:
            return False
        owner, place = _place(value.text)
        if ".stride(" in value.text:
            return place is None or not self._is_one(owner, place)
        if place is not None and (place == -1 or place + 1 == self._rank(owner)):
            return True
        known = (name, value.text, *self.path.notes.get(f"names of {value.text}", ()))
        return (place is not None or value.low is not None) and self.profile.is_aligned(one for one in known if one)

    def _is_one(self, owner: str, place: int) -> bool:
        return place == -1 or place + 1 == self._rank(owner)

    def _rank(self, owner: str) -> int | None:
        found = self.path.notes.get(f"rank {owner}", self.path.values.get(f"{owner}.ndim"))
        return found if isinstance(found, int) else None


def _place(text: str) -> tuple[str, int | None]:
    """A size or a stride by its tensor and its place; None for anything else."""
    match = _PLACE.fullmatch(text)
    return (match.group(1), int(match.group(2))) if match else ("", None)
