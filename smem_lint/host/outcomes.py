"""What an option comes to for each size that is tried, so that none of the values which it can have is missed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from smem_lint.host.paths import apply
from smem_lint.host.values import UNKNOWN, Symbol

_POWERS = tuple(1 << power for power in range(15, 3, -1))
_DEPTH = 16


def more_sizes(option: Symbol, size: Symbol, tried: Iterable[int], settle: Callable[[Any], Any]) -> list[int]:
    """Powers of two for an open size that give an option values which the sizes that are tried anyway do not."""
    seen = {outcome(option, size.text, one, settle) for one in tried}
    found = []
    for power in _POWERS:
        value = outcome(option, size.text, power, settle)
        if value is not None and value not in seen:
            seen.add(value)
            found.append(power)
    return found


def outcome(value: Any, text: str, size: int, settle: Callable[[Any], Any], depth: int = 0) -> int | None:
    """The number that an expression comes to with ``size`` for the symbol of this text; None where it stays open."""
    if isinstance(value, Symbol):
        value = size if value.text == text else settle(value)
    if not isinstance(value, Symbol):
        return int(value) if isinstance(value, int) else None
    if value.is_base or depth > _DEPTH:
        return None
    if value.kind == "if":
        condition = outcome(value.operands[0], text, size, settle, depth + 1)
        return None if condition is None else outcome(value.operands[1 if condition else 2], text, size, settle, depth + 1)
    operands = [outcome(operand, text, size, settle, depth + 1) for operand in value.operands]
    made = apply(value, operands) if None not in operands else UNKNOWN
    return int(made) if isinstance(made, int) else None
