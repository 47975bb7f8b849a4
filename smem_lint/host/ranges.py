"""How large an expression over sizes can be, from the ranges that a path has fixed for the sizes themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smem_lint.host.values import Symbol

Range = tuple[int | None, int | None]
_ANY: Range = (None, None)
_DEPTH = 12


def range_of(value: Any, of_base: Callable[[Symbol], Range], depth: int = 0) -> Range:
    """The least and the greatest value (None: no bound) of an expression of ``+``, ``-``, ``*``, ``//``, ``min``, ``max`` and ``cdiv``.

    ``of_base`` gives the range of a symbol that is no expression.
    """
    if isinstance(value, int):
        return int(value), int(value)
    if not isinstance(value, Symbol) or depth > _DEPTH:
        return _ANY
    known = of_base(value)
    if value.is_base:
        return known
    low, high = _of_operation(value, [range_of(operand, of_base, depth + 1) for operand in value.operands])
    return _higher(low, known[0]), _lower(high, known[1])


def _of_operation(value: Symbol, parts: list[Range]) -> Range:
    name = value.kind if value.kind != "call" else value.text.partition("(")[0]
    if name == "if":
        return _least([low for low, _ in parts[1:]]), _greatest([high for _, high in parts[1:]])
    if len(parts) == 2 and name in _BINARY:
        return _BINARY[name](*parts)
    if name == "max":
        lows = [low for low, _ in parts if low is not None]
        return (max(lows) if lows else None), _greatest([high for _, high in parts])
    if name == "min":
        highs = [high for _, high in parts if high is not None]
        return _least([low for low, _ in parts]), (min(highs) if highs else None)
    return _ANY


def _sum(left: Range, right: Range) -> Range:
    return _both(left[0], right[0], lambda a, b: a + b), _both(left[1], right[1], lambda a, b: a + b)


def _difference(left: Range, right: Range) -> Range:
    return _both(left[0], right[1], lambda a, b: a - b), _both(left[1], right[0], lambda a, b: a - b)


def _product(left: Range, right: Range) -> Range:
    if not (_positive(left, 0) and _positive(right, 0)):
        return _ANY
    return _both(left[0], right[0], lambda a, b: a * b), _both(left[1], right[1], lambda a, b: a * b)


def _quotient(left: Range, right: Range) -> Range:
    if not (_positive(left, 0) and _positive(right, 1)):
        return _ANY
    low = 0 if left[0] is None or right[1] is None else left[0] // right[1]
    return low, _both(left[1], right[0], lambda a, b: a // b)


def _cdiv(left: Range, right: Range) -> Range:
    if not (_positive(left, 0) and _positive(right, 1)):
        return _ANY
    low = 0 if left[0] is None or right[1] is None else -(-left[0] // right[1])
    return low, _both(left[1], right[0], lambda a, b: -(-a // b))


_BINARY: dict[str, Callable[[Range, Range], Range]] = {"+": _sum, "-": _difference, "*": _product, "//": _quotient, "cdiv": _cdiv}


def _positive(of: Range, least: int) -> bool:
    return of[0] is not None and of[0] >= least


def _both(first: int | None, second: int | None, function: Callable[[int, int], int]) -> int | None:
    return None if first is None or second is None else function(first, second)


def _least(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return min(known) if known and len(known) == len(values) else None


def _greatest(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return max(known) if known and len(known) == len(values) else None


def _higher(first: int | None, second: int | None) -> int | None:
    return second if first is None else first if second is None else max(first, second)


def _lower(first: int | None, second: int | None) -> int | None:
    return second if first is None else first if second is None else min(first, second)
