"""One entry to all folds: what an operation comes to when its operands are known."""

from __future__ import annotations

from typing import Any

from smem_lint.tile.cleanup import fold_floats, fold_integers, fold_tiles
from smem_lint.tile.cleanup.numbers import constant_of
from smem_lint.tile.ir import Op

__all__ = ["COMMUTATIVE", "FOLDS", "IN_PLACE", "fold", "fold_floats", "fold_tiles"]

FOLDS = fold_integers.FOLDS
IN_PLACE = fold_integers.IN_PLACE
COMMUTATIVE = frozenset({
    "arith.addi", "arith.muli", "arith.andi", "arith.ori", "arith.xori", "arith.addf", "arith.mulf", "arith.maximumf", "arith.maxnumf",
    "arith.minimumf", "arith.minnumf", "arith.maxsi", "arith.maxui", "arith.minsi", "arith.minui", "arith.addui_extended",
    "arith.mulsi_extended", "arith.mului_extended",
})  # fmt: skip


def fold(op: Op) -> Any:
    """None, IN_PLACE, or a list of a value or ``Const`` for each result; commutative operations get their constants last."""
    function = FOLDS.get(op.name)
    found = function(op) if function is not None else None
    if found is None and op.name in COMMUTATIVE:
        a, b = op.operands
        if constant_of(a) is not None and constant_of(b) is None:
            op.set_operands((b, a))
            return IN_PLACE
    return found
