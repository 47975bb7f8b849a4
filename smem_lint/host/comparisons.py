"""Comparisons of an unknown value with a constant: their parts, and their opposites in words."""

from __future__ import annotations

from typing import Any

from smem_lint.host.values import Symbol, Tensor

KINDS = ("==", "!=", "<", "<=", ">", ">=", "is", "is not")
_MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!=", "is": "is", "is not": "is not"}


def parts_of(symbol: Symbol) -> tuple[str, Symbol, Any] | None:
    """``x < 3`` as its kind, the symbol and the constant; None for anything else."""
    if symbol.kind not in KINDS:
        return None
    left, right = symbol.operands
    if isinstance(left, Symbol) and not isinstance(right, (Symbol, Tensor, list, dict)):
        return symbol.kind, left, right
    if isinstance(right, Symbol) and not isinstance(left, (Symbol, Tensor, list, dict)):
        return _MIRROR[symbol.kind], right, left
    return None


_OPPOSITE = {"==": "!=", "is": "is not", "<": ">=", "<=": ">", ">": "<=", ">=": "<", "in": "not in"}


def negated(text: str) -> str:
    """The opposite of a condition, in words."""
    for kind, opposite in _OPPOSITE.items():
        left, found, right = text.rpartition(f" {kind} ")
        plain = right.count("(") == right.count(")") and not right.startswith("not ")
        if found and plain and " and " not in left and " or " not in left:
            return f"{left} {opposite} {right}"
    return f"not ({text})" if " " in text else f"not {text}"
