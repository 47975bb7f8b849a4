"""One sweep over the conversions: compute what leads up to each again in its target's layout, where possible and worth it.

Facts: ``LayoutRematerialization::backwardRematerialization`` in lib/Dialect/TritonGPU/Transforms/RemoveLayoutConversions.cpp,
Triton 3.8.0. (Conversions to dot operands are left to the hoisting of ``hoist.py``, for the sake of pipelining.)
"""

from __future__ import annotations

from smem_lint.layout.encodings import DotOperand
from smem_lint.passes.remove_layout_conversions.backward_slice import BackwardSlice
from smem_lint.passes.remove_layout_conversions.copies import Copies
from smem_lint.passes.remove_layout_conversions.cost import pays_off
from smem_lint.passes.remove_layout_conversions.slice_rewrite import rewrite_slice
from smem_lint.tile.ir import Op


def operations(function: Op) -> list[Op]:
    """All operations within a function, those within another one before it."""
    found: list[Op] = []
    _collect(function, found)
    return found


def _collect(around: Op, found: list[Op]) -> None:
    for region in around.regions:
        for block in region.blocks:
            op = block.first
            while op is not None:
                if op.regions:
                    _collect(op, found)
                found.append(op)
                op = op.next


def conversions(function: Op) -> list[Op]:
    return [op for op in operations(function) if op.name == "ttg.convert_layout"]


def rematerialize(function: Op, num_warps: int) -> bool:
    """Whether any conversion could be removed."""
    known, changed = Copies(), False
    for convert in conversions(function):
        if _remove(convert, known, num_warps):
            changed = True
        else:
            known.add(convert.operands[0], convert.results[0].type.encoding, convert.results[0])
    return changed


def _remove(convert: Op, known: Copies, num_warps: int) -> bool:
    encoding = convert.results[0].type.encoding
    if isinstance(encoding, DotOperand):
        return False
    found = BackwardSlice().grown(convert.operand_uses[0], encoding, known, num_warps)
    if found is None or not pays_off(convert, found, 0):
        return False
    rewrite_slice(found, convert, known)
    return True
