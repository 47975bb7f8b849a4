"""Triton's own peephole rewrites of the tile program.

Facts: ``lib/Dialect/Triton/Transforms/Combine.cpp`` and ``Combine.td``, 3.8.0.
"""

from __future__ import annotations

from typing import Any

from smem_lint.tile.cleanup.fold_integers import defined_by
from smem_lint.tile.cleanup.numbers import constant_of, int_of
from smem_lint.tile.cleanup.rewriter import Pattern, Rewriter, registrar, rewrite
from smem_lint.tile.ir import Module, Op, Value
from smem_lint.tile.types import F32, Tensor, element_of
from smem_lint.tile.versions import decisions

PATTERNS: dict[str, list[Pattern]] = {}
pattern = registrar(PATTERNS)
_HINTS = ("tt.divisibility", "tt.contiguity", "tt.constancy", "tt.pointee_type")


def is_zero(value: Value) -> bool:
    """An integer zero or a floating-point zero of either sign, scalar or splat."""
    known = constant_of(value)
    return isinstance(known, (int, float)) and known == 0




@pattern("arith.addi", "arith.addf")
def _dot_and_add(op: Op, rewriter: Rewriter) -> bool:
    """x + dot(a, b, 0) is dot(a, b, x)."""
    dot, other = defined_by(op.operands[1], "tt.dot"), op.operands[0]
    if dot is None:
        dot, other = defined_by(op.operands[0], "tt.dot"), op.operands[1]
    if dot is None or not _takes_accumulator(dot) or (op.name == "arith.addf" and dot.attrs.get("maxNumImpreciseAcc", 0)):
        return False
    return _accumulate(op, dot, other, rewriter)


@pattern("arith.addf")
def _scaled_dot_and_add(op: Op, rewriter: Rewriter) -> bool:
    dot, other = defined_by(op.operands[1], "tt.dot_scaled"), op.operands[0]
    if dot is None:
        dot, other = defined_by(op.operands[0], "tt.dot_scaled"), op.operands[1]
    return dot is not None and _takes_accumulator(dot) and _accumulate(op, dot, other, rewriter)


def _takes_accumulator(dot: Op) -> bool:
    return dot.results[0].has_one_use and is_zero(dot.operands[2])


def _accumulate(op: Op, dot: Op, other: Value, rewriter: Rewriter) -> bool:
    dot.set_operand(2, other)
    dot.move_before(op)
    rewriter.modified(dot)
    rewriter.replace_all_uses(op.results[0], dot.results[0])
    rewriter.push(op)
    return True


@pattern("arith.select")
def _select_of_load(op: Op, rewriter: Rewriter) -> bool:
    """select(c, load(p, splat(c)), x) is load(p, splat(c), x)."""
    load = defined_by(op.operands[1], "tt.load")
    if load is None or not load.attrs.get("segments", (1, 0, 0))[1]:
        return False
    splat = defined_by(load.operands[1], "tt.splat")
    if splat is None or splat.operands[0] is not op.operands[0]:
        return False
    operands = (load.operands[0], load.operands[1], op.operands[2])
    return rewriter.replace_with(op, "tt.load", operands, attrs={**load.attrs, "segments": (1, 1, 1)})


def _constant_offset(value: Value) -> Any:
    splat = defined_by(value, "tt.splat")
    return int_of(splat.operands[0] if splat is not None else value)


def _offsets_add_up(first: Value, second: Value) -> bool:
    """Whether the sum of two offsets surely does not overflow."""
    if first.type is not second.type:
        return False
    bits = element_of(first.type).bits
    if bits == 64:
        return True
    a, b = _constant_offset(first), _constant_offset(second)
    return a is not None and b is not None and -(1 << (bits - 1)) <= a + b < (1 << (bits - 1))


@pattern("tt.addptr")
def _nested_offsets(op: Op, rewriter: Rewriter) -> bool:
    inner = defined_by(op.operands[0], "tt.addptr")
    if inner is None or not _offsets_add_up(inner.operands[1], op.operands[1]):
        return False
    offset = rewriter.make(op, "arith.addi", (inner.operands[1], op.operands[1]), op.operands[1].type)
    hints = {name: value for name, value in op.attrs.items() if name in _HINTS}
    return rewriter.replace_with(op, "tt.addptr", (inner.operands[0], offset), attrs=hints)


def _broadcast_of_expansion(value: Value, expanded: int, along: int) -> Value | None:
    """What ``value`` broadcasts along dimension ``along`` alone, after a new dimension ``expanded``."""
    broadcast = defined_by(value, "tt.broadcast")
    expand = defined_by(broadcast.operands[0], "tt.expand_dims") if broadcast is not None else None
    if broadcast is None or expand is None or expand.attrs["axis"] != expanded:
        return None
    source, target = broadcast.operands[0].type.shape, broadcast.results[0].type.shape
    if any((a != b) != (dim == along) for dim, (a, b) in enumerate(zip(source, target, strict=True))):
        return None
    return expand.operands[0]


@pattern("tt.reduce")
def _sum_of_products(op: Op, rewriter: Rewriter) -> bool:
    """sum(x[:, :, None] * y[None, :, :], 1) is a dot."""
    return _product(op, rewriter, "ieee")


def _earlier_sum_of_products(op: Op, rewriter: Rewriter) -> bool:
    """The same before 3.8."""
    return _product(op, rewriter, "tf32")


def _product(op: Op, rewriter: Rewriter, precision: str) -> bool:
    type_ = op.operands[0].type
    if type_.rank != 3 or op.attrs["axis"] != 1:
        return False
    first = op.body.first
    if first is None or first.name != "arith.addf" or first.next is not op.body.last or first.results[0].type.bits > 32:
        return False
    product = defined_by(op.operands[0], "arith.mulf")
    if product is None:
        return False
    a = _broadcast_of_expansion(product.operands[0], 2, 2)
    b = _broadcast_of_expansion(product.operands[1], 0, 0)
    if a is None or b is None or type_.shape[2] < 16 or type_.shape[0] < 16:
        return False
    result = Tensor((type_.shape[0], type_.shape[2]), type_.element)
    zero = rewriter.constant(result, 0.0) if type_.element is F32 else rewriter.make(op, "tt.splat", (rewriter.constant(F32, 0.0),), result)
    attrs = {"inputPrecision": precision, "maxNumImpreciseAcc": 0}
    return rewriter.replace_with(op, "tt.dot", (a, b, zero), result, attrs)


@pattern("tt.reshape")
def _reshape_for_reduction(op: Op, rewriter: Rewriter) -> bool:
    """The order of elements does not matter to a reduction of all of them."""
    if op.attrs.get("allow_reorder") or op.results[0].type.rank != 1:
        return False
    if any(use.owner.name not in ("tt.reduce", "tt.histogram") for use in op.results[0].uses):
        return False
    op.attrs["allow_reorder"] = True
    rewriter.modified(op)
    return True


@pattern("tt.reshape")
def _reshape_of_descriptor_load(op: Op, rewriter: Rewriter) -> bool:
    """A descriptor can load a block without its leading dimensions of size 1."""
    load = defined_by(op.operands[0], "tt.descriptor_load")
    if load is None or not load.results[0].has_one_use:
        return False
    loaded, wanted = load.results[0].type.shape, op.results[0].type.shape
    extra = len(loaded) - len(wanted)
    if extra <= 0 or any(size != 1 for size in loaded[:extra]) or loaded[extra:] != wanted:
        return False
    load.results[0].retype(op.results[0].type)
    rewriter.modified(load)
    rewriter.replace(op, load.results)
    return True


def run(module: Module) -> None:
    patterns = PATTERNS if decisions(module.version).sums_of_products_are_ieee else _EARLIER
    for function in module.functions:
        rewrite(function, patterns)


_EARLIER: dict[str, list[Pattern]] = {
    **PATTERNS,
    "arith.addf": [one for one in PATTERNS["arith.addf"] if one is not _scaled_dot_and_add],
    "tt.reduce": [_earlier_sum_of_products],
}
