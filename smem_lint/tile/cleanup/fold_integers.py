"""Folds of integer arithmetic: what ``arith``'s integer operations come to when an operand is known.

Facts: MLIR's ``mlir/lib/Dialect/Arith/IR/ArithOps.cpp`` (``fold`` of each operation), as linked into Triton 3.8.0. A fold answers
None (nothing known), IN_PLACE (it changed the operation) or a list with a value or a constant for each result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smem_lint.tile.cleanup.numbers import POISON, Const, constant_of, int_of, is_all_ones, signed, unsigned, width_of, wrap
from smem_lint.tile.ir import Op, Value
from smem_lint.tile.types import Tensor

IN_PLACE = "in place"
Fold = Callable[[Op], Any]
FOLDS: dict[str, Fold] = {}


def fold_of(*names: str) -> Callable[[Fold], Fold]:
    def register(function: Fold) -> Fold:
        for name in names:
            FOLDS[name] = function
        return function

    return register


def constants(op: Op, compute: Callable[[int, int, int], int | None]) -> Any:
    """Fold two constant integers (or equal-shaped splats) with ``compute(a, b, bits)``; None from it means that it cannot."""
    a, b = constant_of(op.operands[0]), constant_of(op.operands[1])
    if a is POISON or b is POISON:
        return [Const(POISON)]
    if not isinstance(a, int) or not isinstance(b, int):
        return None
    bits = width_of(op.operands[0].type)
    number = compute(a, b, bits)
    return None if number is None else [Const(wrap(number, width_of(op.results[0].type)))]


def defined_by(value: Value, name: str) -> Op | None:
    return value.op if value.op is not None and value.op.name == name else None


def _is(value: Value, number: int) -> bool:
    known = int_of(value)
    return known is not None and known == number


@fold_of("arith.addi")
def _addi(op: Op) -> Any:
    a, b = op.operands
    if _is(b, 0):
        return [a]
    sub = defined_by(a, "arith.subi")
    if sub is not None and b is sub.operands[1]:
        return [sub.operands[0]]
    sub = defined_by(b, "arith.subi")
    if sub is not None and a is sub.operands[1]:
        return [sub.operands[0]]
    return constants(op, lambda x, y, bits: x + y)


@fold_of("arith.subi")
def _subi(op: Op) -> Any:
    a, b = op.operands
    if a is b:
        return [Const(wrap(0, width_of(op.results[0].type)))]
    if _is(b, 0):
        return [a]
    add = defined_by(a, "arith.addi")
    if add is not None:
        if b is add.operands[1]:
            return [add.operands[0]]
        if b is add.operands[0]:
            return [add.operands[1]]
    sub = defined_by(b, "arith.subi")
    if sub is not None and a is sub.operands[0]:
        return [sub.operands[1]]
    return constants(op, lambda x, y, bits: x - y)


@fold_of("arith.muli")
def _muli(op: Op) -> Any:
    a, b = op.operands
    if _is(b, 0):
        return [b]
    if _is(b, 1):
        return [a]
    return constants(op, lambda x, y, bits: x * y)


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _in_range(number: int, bits: int) -> int | None:
    return number if -(1 << (bits - 1)) <= number < (1 << (bits - 1)) else None


def _divide_signed(a: int, b: int, bits: int) -> int | None:
    a, b = signed(a, bits), signed(b, bits)
    return None if b == 0 else _in_range(_truncated(a, b), bits)


def _ceil_signed(a: int, b: int, bits: int) -> int | None:
    a, b = signed(a, bits), signed(b, bits)
    return None if b == 0 else _in_range(-(-a // b), bits)


def _floor_signed(a: int, b: int, bits: int) -> int | None:
    a, b = signed(a, bits), signed(b, bits)
    return None if b == 0 else _in_range(a // b, bits)


_DIVISIONS: dict[str, Callable[[int, int, int], int | None]] = {
    "arith.divsi": _divide_signed,
    "arith.ceildivsi": _ceil_signed,
    "arith.floordivsi": _floor_signed,
    "arith.divui": lambda a, b, bits: None if b == 0 else unsigned(a, bits) // unsigned(b, bits),
    "arith.ceildivui": lambda a, b, bits: None if b == 0 else -(-unsigned(a, bits) // unsigned(b, bits)),
}
_REMAINDERS: dict[str, Callable[[int, int, int], int | None]] = {
    "arith.remsi": lambda a, b, bits: None if b == 0 else signed(a, bits) - _truncated(signed(a, bits), signed(b, bits)) * signed(b, bits),
    "arith.remui": lambda a, b, bits: None if b == 0 else unsigned(a, bits) % unsigned(b, bits),
}


@fold_of(*_DIVISIONS)
def _division(op: Op) -> Any:
    a, b = op.operands
    return [a] if _is(b, 1) else constants(op, _DIVISIONS[op.name])


@fold_of(*_REMAINDERS)
def _remainder(op: Op) -> Any:
    if _is(op.operands[1], 1):
        return [Const(wrap(0, width_of(op.results[0].type)))]
    return constants(op, _REMAINDERS[op.name])


def _negates(value: Value, other: Value) -> Op | None:
    """The operation behind ``value`` when it is ``xor(other, all ones)``."""
    xor = defined_by(value, "arith.xori")
    if xor is not None and xor.operands[0] is other and is_all_ones(int_of(xor.operands[1]), width_of(value.type)):
        return xor
    return None


@fold_of("arith.andi")
def _andi(op: Op) -> Any:
    a, b = op.operands
    bits = width_of(op.results[0].type)
    if _is(b, 0):
        return [b]
    if is_all_ones(int_of(b), bits):
        return [a]
    if _negates(b, a) or _negates(a, b):
        return [Const(wrap(0, bits))]
    for inner, other in ((a, b), (b, a)):
        before = defined_by(inner, "arith.andi")
        if before is not None and other in before.operands:
            return [before.results[0]]
    return [a] if a is b else constants(op, lambda x, y, n: x & y)


@fold_of("arith.ori")
def _ori(op: Op) -> Any:
    a, b = op.operands
    bits = width_of(op.results[0].type)
    if _is(b, 0):
        return [a]
    if is_all_ones(int_of(b), bits):
        return [b]
    negation = _negates(b, a) or _negates(a, b)
    if negation is not None:
        return [negation.operands[1]]
    return [a] if a is b else constants(op, lambda x, y, n: x | y)


@fold_of("arith.xori")
def _xori(op: Op) -> Any:
    a, b = op.operands
    if _is(b, 0):
        return [a]
    if a is b:
        return [Const(wrap(0, width_of(op.results[0].type)))]
    for inner, other in ((a, b), (b, a)):
        before = defined_by(inner, "arith.xori")
        if before is not None:
            if before.operands[1] is other:
                return [before.operands[0]]
            if before.operands[0] is other:
                return [before.operands[1]]
    return constants(op, lambda x, y, n: x ^ y)


_EXTREMA: dict[str, Callable[[int, int, int], int | None]] = {
    "arith.maxsi": lambda a, b, bits: max(signed(a, bits), signed(b, bits)),
    "arith.minsi": lambda a, b, bits: min(signed(a, bits), signed(b, bits)),
    "arith.maxui": lambda a, b, bits: max(unsigned(a, bits), unsigned(b, bits)),
    "arith.minui": lambda a, b, bits: min(unsigned(a, bits), unsigned(b, bits)),
}


@fold_of(*_EXTREMA)
def _extremum(op: Op) -> Any:
    a, b = op.operands
    if a is b:
        return [b]
    known = int_of(b)
    if known is not None:
        bits = width_of(op.results[0].type)
        if op.name.endswith("si"):
            low, high, number = -(1 << (bits - 1)), (1 << (bits - 1)) - 1, signed(known, bits)
        else:
            low, high, number = 0, (1 << bits) - 1, unsigned(known, bits)
        absorbing, neutral = (high, low) if "max" in op.name else (low, high)
        if number == absorbing:
            return [b]
        if number == neutral:
            return [a]
    return constants(op, _EXTREMA[op.name])


_SHIFTS: dict[str, Callable[[int, int, int], int | None]] = {
    "arith.shli": lambda a, b, bits: unsigned(a, bits) << b,
    "arith.shrui": lambda a, b, bits: unsigned(a, bits) >> b,
    "arith.shrsi": lambda a, b, bits: signed(a, bits) >> b,
}


@fold_of(*_SHIFTS)
def _shift(op: Op) -> Any:
    a, b = op.operands
    if _is(b, 0):
        return [a]
    compute = _SHIFTS[op.name]
    return constants(op, lambda x, y, bits: compute(x, unsigned(y, bits), bits) if unsigned(y, bits) < bits else None)


SWAPPED = {
    "slt": "sgt", "sgt": "slt", "sle": "sge", "sge": "sle", "ult": "ugt", "ugt": "ult", "ule": "uge", "uge": "ule", "eq": "eq", "ne": "ne",
}  # fmt: skip
INVERTED = {
    "slt": "sge", "sge": "slt", "sle": "sgt", "sgt": "sle", "ult": "uge", "uge": "ult", "ule": "ugt", "ugt": "ule", "eq": "ne", "ne": "eq",
}  # fmt: skip
_TRUE_WHEN_EQUAL = frozenset({"eq", "sle", "sge", "ule", "uge"})


def compare_integers(predicate: str, a: int, b: int, bits: int) -> bool:
    if predicate[0] == "u":
        a, b = unsigned(a, bits), unsigned(b, bits)
    else:
        a, b = signed(a, bits), signed(b, bits)
    kind = predicate[-2:]
    if kind in ("eq", "ne"):
        return (a == b) == (kind == "eq")
    return {"lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[kind]


@fold_of("arith.cmpi")
def _cmpi(op: Op) -> Any:
    a, b = op.operands
    predicate: str = op.attrs["predicate"]
    if a is b:
        return [Const(predicate in _TRUE_WHEN_EQUAL)]
    right = constant_of(b)
    bits = width_of(a.type)
    if isinstance(right, int):
        if right == 0 and predicate == "ne":
            extension = defined_by(a, "arith.extsi") or defined_by(a, "arith.extui")
            if extension is not None and not isinstance(a.type, Tensor) and width_of(extension.operands[0].type) == 1:
                return [extension.operands[0]]
            if bits == 1:
                return [a]
        if right == 1 and bits == 1 and predicate == "eq":
            return [a]
    left = constant_of(a)
    if left is not None and right is None:
        op.attrs["predicate"] = SWAPPED[predicate]
        op.set_operands((b, a))
        return IN_PLACE
    if left is POISON or right is POISON:
        return [Const(POISON)] if left is not None else None
    if isinstance(left, int) and isinstance(right, int):
        return [Const(compare_integers(predicate, left, right, bits))]
    return None


@fold_of("arith.select")
def _select(op: Op) -> Any:
    condition, a, b = op.operands
    if a is b:
        return [a]
    known = int_of(condition)
    if known is not None:
        return [a] if known else [b]
    if constant_of(a) is POISON:
        return [b]
    if constant_of(b) is POISON:
        return [a]
    if not isinstance(op.results[0].type, Tensor) and width_of(op.results[0].type) == 1 and _is(a, 1) and _is(b, 0):
        return [condition]
    compare = defined_by(condition, "arith.cmpi")
    if compare is not None and compare.attrs["predicate"] in ("eq", "ne"):
        x, y = compare.operands
        if (x is a and y is b) or (y is a and x is b):
            return [a] if compare.attrs["predicate"] == "ne" else [b]
    return None


@fold_of("arith.extui", "arith.extsi")
def _extend(op: Op) -> Any:
    inner = defined_by(op.operands[0], op.name)
    if inner is not None:
        op.set_operand(0, inner.operands[0])
        return IN_PLACE
    known = constant_of(op.operands[0])
    if known is POISON:
        return [Const(POISON)]
    if not isinstance(known, int):
        return None
    bits = width_of(op.operands[0].type)
    return [Const(wrap(unsigned(known, bits) if op.name == "arith.extui" else signed(known, bits), width_of(op.results[0].type)))]


@fold_of("arith.trunci")
def _truncate(op: Op) -> Any:
    inner = defined_by(op.operands[0], "arith.extui") or defined_by(op.operands[0], "arith.extsi")
    result_bits = width_of(op.results[0].type)
    if inner is not None:
        source = inner.operands[0]
        if width_of(source.type) > result_bits:
            op.set_operand(0, source)
            return IN_PLACE
        if width_of(source.type) == result_bits:
            return [source]
    inner = defined_by(op.operands[0], "arith.trunci")
    if inner is not None:
        op.set_operand(0, inner.operands[0])
        return IN_PLACE
    known = constant_of(op.operands[0])
    if known is POISON:
        return [Const(POISON)]
    return [Const(wrap(known, result_bits))] if isinstance(known, int) else None


@fold_of("arith.index_cast", "arith.index_castui")
def _index_cast(op: Op) -> Any:
    known = constant_of(op.operands[0])
    if isinstance(known, int):
        bits = width_of(op.operands[0].type)
        number = signed(known, bits) if op.name == "arith.index_cast" else unsigned(known, bits)
        return [Const(wrap(number, width_of(op.results[0].type)))]
    inner = defined_by(op.operands[0], op.name)
    if inner is None or inner.operands[0].type is not op.results[0].type:
        return None
    return [inner.operands[0]] if width_of(inner.results[0].type) >= width_of(inner.operands[0].type) else None


@fold_of("arith.mulsi_extended", "arith.mului_extended")
def _multiply_extended(op: Op) -> Any:
    a, b = op.operands
    bits = width_of(a.type)
    known_a, known_b = int_of(a), int_of(b)
    if known_b is not None and known_b == 0:
        return [Const(wrap(0, bits)), Const(wrap(0, bits))]
    if op.name == "arith.mului_extended" and known_b is not None and known_b == 1:
        return [a, Const(wrap(0, bits))]
    if known_a is None or known_b is None:
        return None
    view = signed if op.name == "arith.mulsi_extended" else unsigned
    product = view(known_a, bits) * view(known_b, bits)
    return [Const(wrap(product, bits)), Const(wrap(product >> bits, bits))]


@fold_of("arith.addui_extended")
def _add_extended(op: Op) -> Any:
    a, b = op.operands
    if _is(b, 0):
        return [a, Const(False)]
    known_a, known_b = int_of(a), int_of(b)
    if known_a is None or known_b is None:
        return None
    bits = width_of(a.type)
    total = unsigned(known_a, bits) + unsigned(known_b, bits)
    return [Const(wrap(total, bits)), Const(total >> bits == 1)]
