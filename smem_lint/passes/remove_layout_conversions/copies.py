"""Values that exist in a second layout already: converted, or computed again for an earlier conversion.

Facts: ``rematMapping``, ``mappedValues`` and ``updateRematMapping`` in
lib/Dialect/TritonGPU/Transforms/RemoveLayoutConversions.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from typing import Any

from smem_lint.passes.remove_layout_conversions.dominance import value_dominates
from smem_lint.tile.ir import Use, Value


class Copies:
    __slots__ = ("_copies", "_latest")

    def __init__(self) -> None:
        self._copies: dict[tuple[Value, Any], Value] = {}
        self._latest: dict[Value, Any] = {}

    def add(self, value: Value, encoding: Any, copy: Value) -> None:
        self._copies[value, encoding] = copy
        self._latest[value] = encoding

    def at(self, value: Value, encoding: Any) -> Value | None:
        """The copy of ``value``, wherever it is."""
        return self._copies.get((value, encoding))

    def readable(self, use: Use, encoding: Any) -> tuple[bool, Value | None]:
        """Whether ``use``'s value exists in ``encoding``, and that copy if it is defined early enough for ``use``."""
        copy = self._copies.get((use.value, encoding))
        if copy is None:
            return False, None
        return True, copy if value_dominates(copy, use.owner) else None

    def rename(self, replacements: list[tuple[Value, Value]]) -> None:
        """Values were replaced by others; only the latest copy of each moves along."""
        for old, new in replacements:
            encoding = self._latest.pop(old, None)
            if encoding is None:
                continue
            copy = self._copies.pop((old, encoding))
            copy = next((after for before, after in replacements if before is copy), copy)
            self._copies[new, encoding] = copy
            self._latest[new] = encoding
