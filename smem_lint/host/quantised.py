"""Types of quantised operands: what ``fp8_w8a8`` and its like mean for the activations (left) and the weights (right) of a product."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

LEFT: Final = frozenset({"A", "a", "x", "input", "q_input", "inputs"})
RIGHT: Final = frozenset({"B", "b", "w", "weight"})
OPERANDS: Final = {
    "fp8_w8a8": ("float8e4nv", "float8e4nv"),
    "int8_w8a8": ("int8", "int8"),
    "int8_w8a16": ("bfloat16", "int8"),
    "int4_w4a16": ("bfloat16", "uint8"),
}
"""By scheme, the types of activations and weights: so many bits for weights (w) and activations (a)."""

_FLAG = re.compile(rf"(?:use_|is_)?({'|'.join(OPERANDS)})", re.IGNORECASE)


def scheme_of_flag(name: str) -> str:
    """The scheme that a flag is named for (``use_fp8_w8a8``); empty for any other name."""
    found = _FLAG.fullmatch(name)
    return found[1].lower() if found is not None else ""


def operand_type(scheme: str, names: Iterable[str]) -> str:
    """The type of the operand that goes by one of these names under a scheme; empty where none is an operand's."""
    plain = {name.removesuffix("_ptr") for name in names}
    left, right = OPERANDS[scheme]
    return left if plain & LEFT else right if plain & RIGHT else ""
