"""Rewrite patterns of integer and floating-point arithmetic.

Facts: ``mlir/lib/Dialect/Arith/IR/ArithCanonicalization.td``, ``ArithOps.cpp``, as linked into Triton 3.8.0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from smem_lint.tile.cleanup.fold_integers import INVERTED, defined_by
from smem_lint.tile.cleanup.numbers import constant_of, int_of, is_all_ones, scalar_int_of, unsigned, width_of, wrap
from smem_lint.tile.cleanup.rewriter import Pattern, Rewriter, registrar
from smem_lint.tile.ir import Op, Value
from smem_lint.tile.types import Tensor

PATTERNS: dict[str, list[Pattern]] = {}
pattern = registrar(PATTERNS)


def _number(rewriter: Rewriter, like: Value, number: int) -> Value:
    return rewriter.constant(like.type, wrap(number, width_of(like.type)))


def _sum_with_constant(value: Value) -> tuple[str, Value, int] | None:
    """``value`` as ``x + c``, ``x - c`` or ``c - x`` ("add", "sub", "from") with a constant scalar."""
    op = value.op
    if op is None or op.name not in ("arith.addi", "arith.subi"):
        return None
    right = scalar_int_of(op.operands[1])
    if right is not None:
        return ("add" if op.name == "arith.addi" else "sub", op.operands[0], int(right))
    left = scalar_int_of(op.operands[0])
    if left is not None and op.name == "arith.subi":
        return ("from", op.operands[1], int(left))
    return None


@pattern("arith.addi")
def _add_constants(op: Op, rewriter: Rewriter) -> bool:
    """(x + a) + b, (x - a) + b and (a - x) + b need one constant."""
    b = scalar_int_of(op.operands[1])
    inner = _sum_with_constant(op.operands[0])
    if b is None or inner is None:
        return False
    kind, x, a = inner
    if kind == "from":
        return rewriter.replace_with(op, "arith.subi", (_number(rewriter, x, a + b), x))
    return rewriter.replace_with(op, "arith.addi", (x, _number(rewriter, x, b + a if kind == "add" else b - a)))


@pattern("arith.addi")
def _add_negated(op: Op, rewriter: Rewriter) -> bool:
    """x + y * -1 is x - y."""
    a, b = op.operands
    for minuend, product in ((a, b), (b, a)):
        multiply = defined_by(product, "arith.muli")
        if multiply is not None and is_all_ones(int_of(multiply.operands[1]), width_of(a.type)):
            return rewriter.replace_with(op, "arith.subi", (minuend, multiply.operands[0]))
    return False


@pattern("arith.subi")
def _subtract_constants(op: Op, rewriter: Rewriter) -> bool:
    a, b = op.operands
    right = scalar_int_of(b)
    inner = _sum_with_constant(a)
    if right is not None and inner is not None:
        kind, x, known = inner
        if kind == "add":
            return rewriter.replace_with(op, "arith.addi", (x, _number(rewriter, x, known - right)))
        if kind == "sub":
            return rewriter.replace_with(op, "arith.subi", (x, _number(rewriter, x, known + right)))
        return rewriter.replace_with(op, "arith.subi", (_number(rewriter, x, known - right), x))
    left = scalar_int_of(a)
    inner = _sum_with_constant(b)
    if left is not None and inner is not None:
        kind, x, known = inner
        if kind == "from":
            return rewriter.replace_with(op, "arith.addi", (x, _number(rewriter, x, left - known)))
        return rewriter.replace_with(op, "arith.subi", (_number(rewriter, x, left - known if kind == "add" else left + known), x))
    return False


@pattern("arith.subi")
def _subtract_minuend(op: Op, rewriter: Rewriter) -> bool:
    """(a - b) - a is 0 - b."""
    inner = defined_by(op.operands[0], "arith.subi")
    if inner is None or inner.operands[0] is not op.operands[1]:
        return False
    return rewriter.replace_with(op, "arith.subi", (_number(rewriter, inner.operands[1], 0), inner.operands[1]))


_MERGED: dict[str, Callable[[int, int], int]] = {
    "arith.muli": lambda a, b: a * b,
    "arith.andi": lambda a, b: a & b,
    "arith.ori": lambda a, b: a | b,
    "arith.xori": lambda a, b: a ^ b,
}


@pattern(*_MERGED)
def _merge_constants(op: Op, rewriter: Rewriter) -> bool:
    """(x . a) . b is x . (a . b)."""
    b = scalar_int_of(op.operands[1])
    inner = defined_by(op.operands[0], op.name)
    if b is None or inner is None:
        return False
    a = scalar_int_of(inner.operands[1])
    if a is None:
        return False
    return rewriter.replace_with(op, op.name, (inner.operands[0], _number(rewriter, inner.operands[0], _MERGED[op.name](int(a), int(b)))))


@pattern("arith.xori")
def _invert_comparison(op: Op, rewriter: Rewriter) -> bool:
    """not (a < b) is a >= b."""
    compare = defined_by(op.operands[0], "arith.cmpi")
    if compare is None or isinstance(op.results[0].type, Tensor) or int_of(op.operands[1]) is not True:
        return False
    return rewriter.replace_with(op, "arith.cmpi", compare.operands, attrs={"predicate": INVERTED[compare.attrs["predicate"]]})


@pattern("arith.andi", "arith.ori", "arith.xori")
def _of_extensions(op: Op, rewriter: Rewriter) -> bool:
    """A bitwise operation of two extensions is the extension of the narrow operation."""
    for extension in ("arith.extui", "arith.extsi"):
        a, b = defined_by(op.operands[0], extension), defined_by(op.operands[1], extension)
        if a is not None and b is not None and a.operands[0].type is b.operands[0].type:
            narrow = rewriter.make(op, op.name, (a.operands[0], b.operands[0]), a.operands[0].type)
            return rewriter.replace_with(op, extension, (narrow,))
    return False


def _extended_to_plain(op: Op, rewriter: Rewriter, plain: str) -> bool:
    if op.results[1].uses:
        return False
    low = rewriter.make(op, plain, op.operands, op.results[0].type)
    rewriter.replace(op, (low, op.operands[0] if op.results[1].type is op.operands[0].type else low))
    return True


@pattern("arith.mulsi_extended", "arith.mului_extended")
def _multiply_low_only(op: Op, rewriter: Rewriter) -> bool:
    return _extended_to_plain(op, rewriter, "arith.muli")


@pattern("arith.addui_extended")
def _add_low_only(op: Op, rewriter: Rewriter) -> bool:
    if op.results[1].uses:
        return False
    total = rewriter.make(op, "arith.addi", op.operands, op.results[0].type)
    rewriter.replace_all_uses(op.results[0], total)
    rewriter.erase(op)
    return True


@pattern("arith.cmpi")
def _compare_extensions(op: Op, rewriter: Rewriter) -> bool:
    """Equality of two extensions is equality of what is extended."""
    if op.attrs["predicate"] not in ("eq", "ne"):
        return False
    for extension in ("arith.extsi", "arith.extui"):
        a, b = defined_by(op.operands[0], extension), defined_by(op.operands[1], extension)
        if a is not None and b is not None and a.operands[0].type is b.operands[0].type:
            return rewriter.replace_with(op, "arith.cmpi", (a.operands[0], b.operands[0]), attrs=dict(op.attrs))
    return False


@pattern("arith.select")
def _nested_select(op: Op, rewriter: Rewriter) -> bool:
    """A select among the arms of a select with the same condition is decided."""
    condition, a, b = op.operands
    inner = defined_by(b, "arith.select")
    if inner is not None and inner.operands[0] is condition:
        return rewriter.replace_with(op, "arith.select", (condition, a, inner.operands[2]))
    inner = defined_by(a, "arith.select")
    if inner is not None and inner.operands[0] is condition:
        return rewriter.replace_with(op, "arith.select", (condition, inner.operands[1], b))
    return False


@pattern("arith.select")
def _select_of_negation(op: Op, rewriter: Rewriter) -> bool:
    condition, a, b = op.operands
    xor = defined_by(condition, "arith.xori")
    if xor is None or not is_all_ones(int_of(xor.operands[1]), 1):
        return False
    return rewriter.replace_with(op, "arith.select", (xor.operands[0], b, a))


@pattern("arith.select")
def _select_of_truths(op: Op, rewriter: Rewriter) -> bool:
    """A select between 0 and 1 is its condition, negated or extended."""
    condition, a, b = op.operands
    type_ = op.results[0].type
    if isinstance(type_, Tensor) or type_.is_float or not hasattr(type_, "name"):
        return False
    one, other = int_of(a), int_of(b)
    if one is None or other is None or {int(one), int(other)} != {0, 1}:
        return False
    if type_.bits == 1:
        if one:
            return False
        return rewriter.replace_with(op, "arith.xori", (condition, rewriter.constant(condition.type, True)))
    if not one:
        condition = rewriter.make(op, "arith.xori", (condition, rewriter.constant(condition.type, True)), condition.type)
    return rewriter.replace_with(op, "arith.extui", (condition,))


@pattern("arith.extsi")
def _sign_of_zero_extension(op: Op, rewriter: Rewriter) -> bool:
    inner = defined_by(op.operands[0], "arith.extui")
    return inner is not None and rewriter.replace_with(op, "arith.extui", inner.operands)


@pattern("arith.bitcast")
def _bitcast_of_bitcast(op: Op, rewriter: Rewriter) -> bool:
    inner = defined_by(op.operands[0], "arith.bitcast")
    return inner is not None and rewriter.replace_with(op, "arith.bitcast", inner.operands)


@pattern("arith.index_cast", "arith.index_castui")
def _index_cast_of_extension(op: Op, rewriter: Rewriter) -> bool:
    inner = defined_by(op.operands[0], "arith.extsi" if op.name == "arith.index_cast" else "arith.extui")
    return inner is not None and rewriter.replace_with(op, op.name, inner.operands)


@pattern("arith.trunci")
def _truncate_extension(op: Op, rewriter: Rewriter) -> bool:
    """A truncation that only takes extended bits away is a shorter extension."""
    inner = defined_by(op.operands[0], "arith.extsi") or defined_by(op.operands[0], "arith.extui")
    if inner is None or width_of(op.results[0].type) <= width_of(inner.operands[0].type):
        return False
    return rewriter.replace_with(op, inner.name, inner.operands)


@pattern("arith.trunci")
def _truncate_shift(op: Op, rewriter: Rewriter) -> bool:
    shift = defined_by(op.operands[0], "arith.shrsi")
    if shift is None:
        return False
    amount, bits = int_of(shift.operands[1]), width_of(shift.results[0].type)
    if amount is None or bits - width_of(op.results[0].type) != unsigned(amount, bits):
        return False
    logical = rewriter.make(op, "arith.shrui", shift.operands, shift.results[0].type)
    return rewriter.replace_with(op, "arith.trunci", (logical,))


@pattern("arith.truncf")
def _truncate_converted(op: Op, rewriter: Rewriter) -> bool:
    inner = defined_by(op.operands[0], "arith.sitofp") or defined_by(op.operands[0], "arith.uitofp")
    if inner is None or "roundingmode" in op.attrs:
        return False
    return rewriter.replace_with(op, inner.name, inner.operands)


@pattern("arith.sitofp", "arith.uitofp")
def _convert_extension(op: Op, rewriter: Rewriter) -> bool:
    inner = defined_by(op.operands[0], "arith.extui")
    if inner is not None:
        return rewriter.replace_with(op, "arith.uitofp", inner.operands)
    inner = defined_by(op.operands[0], "arith.extsi")
    if inner is not None and op.name == "arith.sitofp":
        return rewriter.replace_with(op, "arith.sitofp", inner.operands)
    return False


@pattern("arith.mulf", "arith.divf")
def _of_negations(op: Op, rewriter: Rewriter) -> bool:
    a, b = defined_by(op.operands[0], "arith.negf"), defined_by(op.operands[1], "arith.negf")
    if a is None or b is None:
        return False
    return rewriter.replace_with(op, op.name, (a.operands[0], b.operands[0]), attrs=dict(op.attrs))


@pattern("arith.subf")
def _negation(op: Op, rewriter: Rewriter) -> bool:
    """-0.0 - x is a negation."""
    known = constant_of(op.operands[0])
    if not isinstance(known, float) or known != 0 or math.copysign(1, known) > 0:
        return False
    return rewriter.replace_with(op, "arith.negf", (op.operands[1],))


_MANTISSA = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}


@pattern("arith.cmpf")
def _compare_converted(op: Op, rewriter: Rewriter) -> bool:
    """A comparison of a converted integer with a constant can be made on the integer."""
    known: Any = constant_of(op.operands[1])
    inner = defined_by(op.operands[0], "arith.sitofp") or defined_by(op.operands[0], "arith.uitofp")
    if inner is None or not isinstance(known, float) or math.isnan(known) or isinstance(op.operands[0].type, Tensor):
        return False
    is_unsigned, source = inner.name == "arith.uitofp", inner.operands[0]
    bits = width_of(source.type)
    mantissa = _MANTISSA.get(op.operands[0].type.name, 0)
    if bits > mantissa:
        exponent = math.frexp(known)[1] - 1 if known and not math.isinf(known) else -1
        if not mantissa or math.isinf(known) or mantissa <= exponent <= bits - (not is_unsigned):
            return False
    low, high = (0, (1 << bits) - 1) if is_unsigned else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    answer = _integer_comparison(op.attrs["predicate"], known, low, high, "u" if is_unsigned else "s")
    if isinstance(answer, bool):
        rewriter.replace(op, (rewriter.constant(op.results[0].type, answer),))
        return True
    predicate, number = answer
    return rewriter.replace_with(op, "arith.cmpi", (source, _number(rewriter, source, number)), attrs={"predicate": predicate})


def _integer_comparison(predicate: str, known: float, low: int, high: int, sign: str) -> bool | tuple[str, int]:
    """The comparison of an integer in ``[low, high]`` with ``known``: decided, or a predicate and an integer."""
    if predicate in ("ord", "uno"):
        return predicate == "ord"
    kind = predicate[1:]
    if known > high:
        return kind in ("ne", "lt", "le")
    if known < low:
        return kind in ("ne", "gt", "ge")
    number = math.trunc(known)
    if number != known:
        if kind in ("eq", "ne"):
            return kind == "ne"
        negative = known < 0
        kind = {("le", True): "lt", ("lt", False): "le", ("gt", True): "ge", ("ge", False): "gt"}.get((kind, negative), kind)
    return (kind if kind in ("eq", "ne") else sign + kind), number
