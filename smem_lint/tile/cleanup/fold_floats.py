"""Folds of floating-point arithmetic and of casts, and of ``math``'s functions.

Facts: ``mlir/lib/Dialect/Arith/IR/ArithOps.cpp`` and ``mlir/lib/Dialect/Math/IR/MathOps.cpp``, as linked into Triton 3.8.0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from smem_lint.tile.cleanup.fold_integers import IN_PLACE, defined_by, fold_of
from smem_lint.tile.cleanup.numbers import (
    POISON,
    Const,
    constant_of,
    exact_in,
    float_bits,
    float_of_bits,
    round_float,
    signed,
    unsigned,
    width_of,
    wrap,
)
from smem_lint.tile.ir import Op, Value
from smem_lint.tile.types import Tensor, Type, element_of

_HOLDS = {
    "f64": {"f64", "f32", "f16", "bf16"}, "f32": {"f32", "f16", "bf16"},
    "f16": {"f16", "f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3B11FNUZ"}, "bf16": {"bf16"},
}  # fmt: skip
_EIGHT_BITS = {"f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3B11FNUZ"}


def _format(type_: Type) -> str:
    return str(element_of(type_).name)


def _float_of(value: Value) -> float | None:
    known = constant_of(value)
    return known if isinstance(known, float) else None


def _is_zero(value: Value, negative: bool) -> bool:
    known = _float_of(value)
    return known is not None and known == 0 and (math.copysign(1, known) < 0) == negative


def _rounded(op: Op, number: float | None) -> Any:
    if number is None:
        return None
    result = round_float(number, _format(op.results[0].type))
    return None if result is None else [Const(result)]


def _poisoned(op: Op) -> bool:
    return any(constant_of(value) is POISON for value in op.operands)


def _binary(op: Op, compute: Callable[[float, float], float | None]) -> Any:
    if _poisoned(op):
        return [Const(POISON)]
    a, b = _float_of(op.operands[0]), _float_of(op.operands[1])
    return None if a is None or b is None else _rounded(op, compute(a, b))


def _divide(a: float, b: float) -> float:
    if b == 0:
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)
    return a / b


@fold_of("arith.addf")
def _addf(op: Op) -> Any:
    return [op.operands[0]] if _is_zero(op.operands[1], negative=True) else _binary(op, lambda a, b: a + b)


@fold_of("arith.subf")
def _subf(op: Op) -> Any:
    return [op.operands[0]] if _is_zero(op.operands[1], negative=False) else _binary(op, lambda a, b: a - b)


@fold_of("arith.mulf")
def _mulf(op: Op) -> Any:
    return [op.operands[0]] if _float_of(op.operands[1]) == 1 else _binary(op, lambda a, b: a * b)


@fold_of("arith.divf")
def _divf(op: Op) -> Any:
    return [op.operands[0]] if _float_of(op.operands[1]) == 1 else _binary(op, _divide)


@fold_of("arith.remf")
def _remf(op: Op) -> Any:
    return _binary(op, lambda a, b: math.nan if b == 0 or math.isinf(a) else math.fmod(a, b))


@fold_of("arith.negf")
def _negf(op: Op) -> Any:
    inner = defined_by(op.operands[0], "arith.negf")
    if inner is not None:
        return [inner.operands[0]]
    if _poisoned(op):
        return [Const(POISON)]
    known = _float_of(op.operands[0])
    return None if known is None else [Const(-known)]


def _number_extremum(pick: Callable[[float, float], float]) -> Callable[[float, float], float]:
    def compute(a: float, b: float) -> float:
        return b if math.isnan(a) else a if math.isnan(b) else pick(a, b)

    return compute


def _propagating_extremum(pick: Callable[[float, float], float]) -> Callable[[float, float], float]:
    return lambda a, b: math.nan if math.isnan(a) or math.isnan(b) else pick(a, b)


_EXTREMA = {
    "arith.maxnumf": _number_extremum(max), "arith.minnumf": _number_extremum(min),
    "arith.maximumf": _propagating_extremum(max), "arith.minimumf": _propagating_extremum(min),
}  # fmt: skip
_NEUTRAL = {"arith.maximumf": -math.inf, "arith.minimumf": math.inf}


@fold_of(*_EXTREMA)
def _extremum(op: Op) -> Any:
    a, b = op.operands
    if a is b:
        return [b]
    known = _float_of(b)
    if known is not None:
        neutral = _NEUTRAL.get(op.name)
        if (math.isnan(known) if neutral is None else known == neutral):
            return [a]
    return _binary(op, _EXTREMA[op.name])


_ORDERED: dict[str, Callable[[float, float], bool]] = {
    "eq": lambda a, b: a == b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "ne": lambda a, b: a != b,
}  # fmt: skip


def compare_floats(predicate: str, a: float, b: float) -> bool:
    unordered = math.isnan(a) or math.isnan(b)
    if predicate in ("true", "false"):
        return predicate == "true"
    if predicate in ("ord", "uno"):
        return unordered == (predicate == "uno")
    return (predicate[0] == "u") if unordered else _ORDERED[predicate[1:]](a, b)


@fold_of("arith.cmpf")
def _cmpf(op: Op) -> Any:
    if isinstance(op.results[0].type, Tensor):
        return None
    a, b = _float_of(op.operands[0]), _float_of(op.operands[1])
    if a is not None and math.isnan(a):
        b = a
    if b is not None and math.isnan(b):
        a = b
    return None if a is None or b is None else [Const(compare_floats(op.attrs["predicate"], a, b))]


@fold_of("arith.extf")
def _extf(op: Op) -> Any:
    return _lossless(op)


def _lossless(op: Op) -> Any:
    if _poisoned(op):
        return [Const(POISON)]
    known = _float_of(op.operands[0])
    return [Const(known)] if known is not None and exact_in(known, _format(op.results[0].type)) else None


@fold_of("arith.truncf")
def _truncf(op: Op) -> Any:
    extension = defined_by(op.operands[0], "arith.extf")
    if extension is not None:
        source, between, result = _format(extension.operands[0].type), _format(extension.results[0].type), _format(op.results[0].type)
        if source in _HOLDS.get(between, ()) or (between in ("f32", "f64", "bf16") and source in _EIGHT_BITS):
            if width_of(extension.operands[0].type) > width_of(op.results[0].type):
                op.set_operand(0, extension.operands[0])
                return IN_PLACE
            if source == result:
                return [extension.operands[0]]
    return _lossless(op)


@fold_of("arith.sitofp", "arith.uitofp")
def _int_to_float(op: Op) -> Any:
    if _poisoned(op):
        return [Const(POISON)]
    known = constant_of(op.operands[0])
    if not isinstance(known, int):
        return None
    bits = width_of(op.operands[0].type)
    return _rounded(op, float(signed(known, bits) if op.name == "arith.sitofp" else unsigned(known, bits)))


@fold_of("arith.fptosi", "arith.fptoui")
def _float_to_int(op: Op) -> Any:
    if _poisoned(op):
        return [Const(POISON)]
    known = _float_of(op.operands[0])
    if known is None or math.isnan(known) or math.isinf(known):
        return None
    number, bits = math.trunc(known), width_of(op.results[0].type)
    low, high = (-(1 << (bits - 1)), 1 << (bits - 1)) if op.name == "arith.fptosi" else (0, 1 << bits)
    return [Const(wrap(number, bits))] if low <= number < high else None


@fold_of("arith.bitcast")
def _bitcast(op: Op) -> Any:
    if op.operands[0].type is op.results[0].type:
        return [op.operands[0]]
    known = constant_of(op.operands[0])
    if known is None or isinstance(known, tuple):
        return None
    if known is POISON:
        return None if isinstance(op.results[0].type, Tensor) else [Const(POISON)]
    result, bits = element_of(op.results[0].type), width_of(op.results[0].type)
    pattern = float_bits(known, _format(op.operands[0].type)) if isinstance(known, float) else unsigned(known, bits)
    if pattern is None:
        return None
    if not result.is_float:
        return [Const(wrap(pattern, bits))]
    number = float_of_bits(pattern, result.name)
    return None if number is None else [Const(number)]


def _guarded(function: Callable[[float], float]) -> Callable[[float], float | None]:
    def compute(number: float) -> float | None:
        try:
            return function(number)
        except (ValueError, OverflowError, ZeroDivisionError):
            return None

    return compute


def _log(number: float, function: Callable[[float], float]) -> float:
    return -math.inf if number == 0 else math.nan if number < 0 else function(number)


_FUNCTIONS: dict[str, Callable[[float], float | None]] = {
    "math.exp": _guarded(lambda x: math.exp(x)), "math.exp2": _guarded(lambda x: 2.0**x),
    "math.log": _guarded(lambda x: _log(x, math.log)), "math.log2": _guarded(lambda x: _log(x, math.log2)),
    "math.log10": _guarded(lambda x: _log(x, math.log10)), "math.sqrt": _guarded(math.sqrt),
    "math.rsqrt": _guarded(lambda x: 1.0 / math.sqrt(x)), "math.sin": _guarded(math.sin), "math.cos": _guarded(math.cos),
    "math.tanh": _guarded(math.tanh), "math.erf": _guarded(math.erf),
    "math.floor": _guarded(lambda x: x if math.isinf(x) or math.isnan(x) else float(math.floor(x))),
    "math.ceil": _guarded(lambda x: x if math.isinf(x) or math.isnan(x) else float(math.ceil(x))),
    "math.absf": _guarded(abs),
}  # fmt: skip
_ANY_FORMAT = frozenset({"math.absf", "math.ceil", "math.floor"})


@fold_of(*_FUNCTIONS)
def _function(op: Op) -> Any:
    known = _float_of(op.operands[0])
    if known is None or (op.name not in _ANY_FORMAT and _format(op.results[0].type) not in ("f32", "f64")):
        return None
    return _rounded(op, _FUNCTIONS[op.name](known))


@fold_of("math.absi")
def _absi(op: Op) -> Any:
    known = constant_of(op.operands[0])
    if not isinstance(known, int):
        return None
    bits = width_of(op.results[0].type)
    return [Const(wrap(abs(signed(known, bits)), bits))]
