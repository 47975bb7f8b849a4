"""What each operation makes of the facts about its operands: one function per kind, found by the operation's name.

Facts: the visitors of lib/Analysis/AxisInfo.cpp, Triton 3.8.0. Operations that are not named here know nothing of their results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd

from smem_lint.passes.axis_info.lattice import (
    MAX_DIVISOR,
    AxisInfo,
    Dims,
    joint_divisibility,
    made,
    power_of_two_divisor,
    product_divisor,
    unknown,
)
from smem_lint.passes.axis_info.reshape import reshaped
from smem_lint.tile.ir import Op
from smem_lint.tile.types import Scalar, Tensor, element_of

Transfer = Callable[[Op, Sequence[AxisInfo]], AxisInfo | None]


def _shape(op: Op) -> Dims | None:
    type_ = op.results[0].type
    return type_.shape if isinstance(type_, Tensor) else None


def constant_facts(op: Op, rank: int, value: int) -> AxisInfo:
    ones = (1,) * rank
    return AxisInfo(ones, (power_of_two_divisor(value),) * rank, _shape(op) or ones, value)


def _gcds(a: Dims, b: Dims) -> Dims:
    return tuple(map(gcd, a, b))


def _cast(op: Op, operands: Sequence[AxisInfo]) -> AxisInfo | None:
    shape = _shape(op)
    return None if shape is not None and len(shape) != len(operands[0].contiguity) else operands[0]


def _make_range(op: Op, operands: Sequence[AxisInfo]) -> AxisInfo:
    start = op.attrs["start"]
    return AxisInfo((op.attrs["end"] - start,), (start & -start if start else 1 << 30,), (1,))


def _arith_constant(op: Op, operands: Sequence[AxisInfo]) -> AxisInfo | None:
    type_ = op.results[0].type
    element = element_of(type_)
    value = op.attrs["value"]
    if not isinstance(element, Scalar) or element.is_float or not isinstance(value, int):
        return None
    if element.name == "i1":
        value = -1 if value else 0
    return constant_facts(op, type_.rank if isinstance(type_, Tensor) else 1, int(value))


def _poison(op: Op, operands: Sequence[AxisInfo]) -> AxisInfo:
    most = (MAX_DIVISOR,) * len(_shape(op) or (1,))
    return AxisInfo(most, most, most)


def sum_constant(op: Op, a: AxisInfo, b: AxisInfo, size: int) -> int | None:
    if a.constant is None or b.constant is None:
        return None
    return a.constant - b.constant if op.name == "arith.subi" else a.constant + b.constant * size


def _sum(op: Op, operands: Sequence[AxisInfo]) -> AxisInfo:
    """Sums, differences, and pointers moved by elements (``size`` bytes each)."""
    a, b = operands
    size = max(1, element_of(op.results[0].type).pointee.bits // 8) if op.name == "tt.addptr" else 1
    constant = sum_constant(op, a, b, size)
    rank = len(a.contiguity)
    if constant is not None:
        return constant_facts(op, rank, constant)
    difference = op.name == "arith.subi"
    contiguity, divisibility = [], []
    for dim in range(rank):
        run_a, run_b = a.contiguity[dim], b.contiguity[dim]
        run = run_of_sum(op, a, b, dim)
        contiguity.append(run)
        divisor_a, divisor_b = a.divisibility[dim], product_divisor(b.divisibility[dim], size)
        if run_a > 1 and run_b > 1:
            if difference and run_a == run_b:
                divisibility.append(gcd(divisor_a, divisor_b))
            else:
                divisibility.append(2 if divisor_a % 2 == 0 and divisor_b % 2 == 0 else 1)
        elif run_a > 1 or run_b > 1:
            divisibility.append(gcd(divisor_a, divisor_b, product_divisor(run, size)))
        else:
            divisibility.append(gcd(divisor_a, divisor_b))
    return made(tuple(contiguity), tuple(divisibility), _gcds(a.constancy, b.constancy))


def run_of_sum(op: Op, a: AxisInfo, b: AxisInfo, dim: int) -> int:
    run = gcd(a.contiguity[dim], b.constancy[dim])
    return run if op.name == "arith.subi" else max(gcd(a.constancy[dim], b.contiguity[dim]), run)


def _product(op: Op, operands: Sequence[AxisInfo]) -> AxisInfo:
    a, b = operands
    rank = len(a.contiguity)
    if a.constant is not None and b.constant is not None:
        return constant_facts(op, rank, a.constant * b.constant)
    if a.constant == 0 or b.constant == 0:
        return constant_facts(op, rank, 0)
    contiguity, divisibility = [], []
    for dim in range(rank):
        contiguity.append(max(a.contiguity[dim] if b.constant == 1 else 1, b.contiguity[dim] if a.constant == 1 else 1))
        divisor_a = 1 if a.contiguity[dim] > 1 and b.constant != 1 else a.divisibility[dim]
        divisor_b = 1 if b.contiguity[dim] > 1 and a.constant != 1 else b.divisibility[dim]
        divisibility.append(product_divisor(divisor_a, divisor_b))
    return made(tuple(contiguity), tuple(divisibility), _gcds(a.constancy, b.constancy))


def _run_over_constant(a: AxisInfo, b: AxisInfo, shape: Dims, dim: int) -> int:
    """How far a quotient stays the same, and a remainder consecutive, for a run over the whole dimension and one divisor; else 1."""
    if a.contiguity[dim] == shape[dim] and b.constancy[dim] == shape[dim]:
        return gcd(a.contiguity[dim], a.divisibility[dim], b.divisibility[dim])
    return 1


def _truncated(a: int, b: int) -> int:
    """The quotient of C++: towards zero."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _quotient(op: Op, operands: Sequence[AxisInfo]) -> AxisInfo:
    a, b = operands
    rank, shape = len(a.contiguity), _shape(op)
    if a.constant is not None and b.constant:
        return constant_facts(op, rank, _truncated(a.constant, b.constant))
    contiguity = a.contiguity if b.constant == 1 else (1,) * rank
    constancy = list(_gcds(a.constancy, b.constancy))
    if shape is not None:
        constancy = [max(constancy[dim], _run_over_constant(a, b, shape, dim)) for dim in range(rank)]
    divisor = abs(b.constant) if b.constant is not None else 0
    if a.constant == 0 or b.constant == 1:
        divisibility = a.divisibility
    elif divisor and divisor & (divisor - 1) == 0:
        divisibility = tuple([max(1, d // divisor) if c == 1 else 1 for c, d in zip(a.contiguity, a.divisibility, strict=True)])
    else:
        divisibility = (1,) * rank
    return made(contiguity, divisibility, tuple(constancy))


def _remainder(op: Op, operands: Sequence[AxisInfo]) -> AxisInfo:
    a, b = operands
    rank, shape = len(a.contiguity), _shape(op)
    if a.constant is not None and b.constant:
        return constant_facts(op, rank, a.constant - b.constant * _truncated(a.constant, b.constant))
    if b.constant == 1:
        return constant_facts(op, rank, 0)
    contiguity = (1,) * rank if shape is None else tuple([_run_over_constant(a, b, shape, dim) for dim in range(rank)])
    divisibility = tuple([gcd(a.divisibility[dim], b.divisibility[dim]) if b.constancy[dim] > 1 else 1 for dim in range(rank)])
    return made(contiguity, divisibility, _gcds(a.constancy, b.constancy))


def _splat(op: Op, operands: Sequence[AxisInfo]) -> AxisInfo:
    shape = op.results[0].type.shape
    rank = len(shape)
    return AxisInfo((1,) * rank, (operands[0].divisibility[0],) * rank, shape, operands[0].constant)


def _load(op: Op, operands: Sequence[AxisInfo]) -> AxisInfo:
    pointer = operands[0]
    ones = (1,) * len(pointer.contiguity)
    constancy = pointer.constancy if len(operands) < 2 else _gcds(pointer.constancy, operands[1].constancy)
    return AxisInfo(ones, ones, constancy)


def _expand_dims(op: Op, operands: Sequence[AxisInfo]) -> AxisInfo:
    info, axis = operands[0], op.attrs["axis"]
    if info.constant is not None:
        divisor = power_of_two_divisor(info.constant)
    else:
        divisor = gcd(*(1 if c > 1 else d for c, d in zip(info.contiguity, info.divisibility, strict=True)))

    def insert(values: Dims, value: int) -> Dims:
        return (*values[:axis], value, *values[axis:])

    return made(insert(info.contiguity, 1), insert(info.divisibility, divisor), insert(info.constancy, 1), info.constant)


def _broadcast(op: Op, operands: Sequence[AxisInfo]) -> AxisInfo:
    info, source, target = operands[0], op.operands[0].type.shape, op.results[0].type.shape
    contiguity = tuple([1 if size == 1 else c for size, c in zip(source, info.contiguity, strict=True)])
    constancy = tuple([new if size == 1 else c for size, new, c in zip(source, target, info.constancy, strict=True)])
    return made(contiguity, info.divisibility, constancy, info.constant)


def _reshape(op: Op, operands: Sequence[AxisInfo]) -> AxisInfo:
    info, shape = operands[0], op.results[0].type.shape
    if info.constant is not None:
        return constant_facts(op, len(shape), info.constant)
    return reshaped(info, op.operands[0].type.shape, shape)


_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
    "slt": lambda a, b: a < b, "sle": lambda a, b: a <= b, "sgt": lambda a, b: a > b, "sge": lambda a, b: a >= b,
    "ult": lambda a, b: a % (1 << 64) < b % (1 << 64), "ule": lambda a, b: a % (1 << 64) <= b % (1 << 64),
    "ugt": lambda a, b: a % (1 << 64) > b % (1 << 64), "uge": lambda a, b: a % (1 << 64) >= b % (1 << 64),
}  # fmt: skip


def _comparison(op: Op, operands: Sequence[AxisInfo]) -> AxisInfo | None:
    """A run compared with a constant gives equal answers up to the boundary that both divisors allow."""
    shape = _shape(op)
    if shape is None:
        return None
    a, b = operands
    ones, predicate = (1,) * len(shape), op.attrs["predicate"]
    if a.constant is not None and b.constant is not None:
        return AxisInfo(ones, ones, shape, int(_COMPARE[predicate](a.constant, b.constant)))
    constancy = []
    for dim, size in enumerate(shape):
        run = gcd(a.constancy[dim], b.constancy[dim])
        if predicate[1:] in ("gt", "le") and a.constancy[dim] == size:
            run = max(run, gcd(b.contiguity[dim], a.divisibility[dim], b.divisibility[dim]))
        elif predicate[1:] in ("lt", "ge") and b.constancy[dim] == size:
            run = max(run, gcd(a.contiguity[dim], a.divisibility[dim], b.divisibility[dim]))
        constancy.append(run)
    return AxisInfo(ones, ones, tuple(constancy))


def _select(op: Op, operands: Sequence[AxisInfo]) -> AxisInfo:
    condition, a, b = operands
    if condition.constant is not None:
        return b if condition.constant == 0 else a
    rank = len(a.contiguity)
    constancy, contiguity = _gcds(a.constancy, b.constancy), _gcds(a.contiguity, b.contiguity)
    divisibility = tuple([joint_divisibility(a, b, dim) for dim in range(rank)])
    if isinstance(op.operands[0].type, Tensor):
        constancy, contiguity = _gcds(constancy, condition.constancy), _gcds(contiguity, condition.constancy)
        divisibility = _gcds(divisibility, contiguity)
    constant = a.constant if a.constant == b.constant else None
    if constant is not None:
        constancy = _shape(op) or (1,) * rank
    return made(contiguity, divisibility, constancy, constant)


def _logical(op: Op, operands: Sequence[AxisInfo]) -> AxisInfo:
    a, b = operands
    rank = len(a.contiguity)
    if a.constant is not None and b.constant is not None:
        value = {"arith.andi": a.constant & b.constant, "arith.ori": a.constant | b.constant}.get(op.name, a.constant ^ b.constant)
        return constant_facts(op, rank, value)
    ones = (1,) * rank
    return AxisInfo(ones, ones, _gcds(a.constancy, b.constancy))


def _shift_left(op: Op, operands: Sequence[AxisInfo]) -> AxisInfo:
    a, b = operands
    rank = len(a.contiguity)
    shift = min(max(b.constant or 0, 0), 62)
    if a.constant is not None and b.constant is not None:
        return constant_facts(op, rank, a.constant << shift)
    contiguity = a.contiguity if b.constant == 0 else (1,) * rank
    divisibility = tuple(
        [product_divisor(1 if c > 1 and shift else d, 1 << shift) for c, d in zip(a.contiguity, a.divisibility, strict=True)]
    )
    return made(contiguity, divisibility, _gcds(a.constancy, b.constancy))


def _shift_right(op: Op, operands: Sequence[AxisInfo]) -> AxisInfo:
    a, b = operands
    rank = len(a.contiguity)
    shift = min(max(b.constant or 0, 0), 63)
    if a.constant is not None and b.constant is not None:
        return constant_facts(op, rank, a.constant >> shift)
    contiguity, divisibility = (1,) * rank, (1,) * rank
    if b.constant is not None:
        contiguity = a.contiguity if b.constant == 0 else contiguity
        divisibility = tuple(
            [max(1, (1 if c > 1 and shift else d) >> shift) for c, d in zip(a.contiguity, a.divisibility, strict=True)]
        )
    return made(contiguity, divisibility, _gcds(a.constancy, b.constancy))


def _extremum(op: Op, operands: Sequence[AxisInfo]) -> AxisInfo:
    a, b = operands
    rank = len(a.contiguity)
    if a.constant is not None and b.constant is not None:
        return constant_facts(op, rank, (max if op.name.startswith("arith.max") else min)(a.constant, b.constant))
    divisibility = tuple([joint_divisibility(a, b, dim) for dim in range(rank)])
    return made(_gcds(a.contiguity, b.contiguity), divisibility, _gcds(a.constancy, b.constancy))


def _trans(op: Op, operands: Sequence[AxisInfo]) -> AxisInfo:
    info, order = operands[0], op.attrs["order"]
    contiguity, divisibility, constancy = (tuple([facts[dim] for dim in order]) for facts in info[:3])
    return AxisInfo(contiguity, divisibility, constancy, info.constant)


TRANSFER: dict[str, Transfer] = {
    **dict.fromkeys(("arith.extsi", "arith.extui", "arith.trunci", "ttg.convert_layout", "tt.bitcast"), _cast),
    "tt.make_range": _make_range, "arith.constant": _arith_constant, "ub.poison": _poison,
    "tt.addptr": _sum, "arith.addi": _sum, "arith.subi": _sum, "arith.muli": _product,
    "arith.divsi": _quotient, "arith.divui": _quotient, "arith.remsi": _remainder, "arith.remui": _remainder,
    "tt.broadcast": _broadcast, "tt.splat": _splat, "tt.expand_dims": _expand_dims, "tt.reshape": _reshape, "tt.trans": _trans,
    "arith.cmpi": _comparison, "arith.select": _select, "arith.andi": _logical, "arith.ori": _logical, "arith.xori": _logical,
    "arith.shli": _shift_left, "arith.shrui": _shift_right, "arith.shrsi": _shift_right,
    **dict.fromkeys(("arith.maxsi", "arith.maxui", "arith.minsi", "arith.minui"), _extremum),
    "tt.load": _load,
}  # fmt: skip

__all__ = ["TRANSFER", "unknown"]
