"""The facts about one value, and how facts of several paths join.

Facts: include/triton/Analysis/AxisInfo.h and lib/Analysis/AxisInfo.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

Dims = tuple[int, ...]

MAX_DIVISOR = 1 << 62  # what zero is divisible by


class AxisInfo(NamedTuple):
    """Facts along each dimension; a scalar counts as one dimension.

    ``contiguity``: the shortest run of consecutive integers (or of consecutive elements of memory, for pointers).
    ``divisibility``: the power of two that divides the first element of each such run (bytes, for pointers).
    ``constancy``: the shortest run of equal elements. ``constant``: the value of all elements, if known.
    """

    contiguity: Dims
    divisibility: Dims
    constancy: Dims
    constant: int | None = None


def power_of_two_divisor(value: int) -> int:
    """The largest power of two that divides ``value``."""
    return value & -value if value else MAX_DIVISOR


def product_divisor(a: int, b: int) -> int:
    """The divisor of a product, kept within 64 bits."""
    return MAX_DIVISOR if a > MAX_DIVISOR // b else a * b


def made(contiguity: Dims, divisibility: Dims, constancy: Dims, constant: int | None = None) -> AxisInfo:
    """The facts, with each divisor raised to what is known of all elements.

    Along a dimension without contiguous runs every element starts a run, so its divisor holds for the whole tensor.
    """
    if len(contiguity) > 1:
        everywhere = max((d for c, d in zip(contiguity, divisibility, strict=True) if c == 1), default=1)
        divisibility = tuple([max(d, everywhere) for d in divisibility])
    return AxisInfo(contiguity, divisibility, constancy, constant)


def unknown(rank: int) -> AxisInfo:
    ones = (1,) * rank
    return AxisInfo(ones, ones, ones)


def joint_divisibility(a: AxisInfo, b: AxisInfo, dim: int) -> int:
    """The divisor of a value that is one of two: where runs get shorter, new ones start inside the old."""
    x, y = a.contiguity[dim], b.contiguity[dim]
    if x in (y, MAX_DIVISOR) or y == MAX_DIVISOR:
        return gcd(a.divisibility[dim], b.divisibility[dim])
    return gcd(a.divisibility[dim], b.divisibility[dim], x, y)


def join(a: AxisInfo, b: AxisInfo) -> AxisInfo:
    """What holds for both."""
    if a == b:
        return a
    return made(
        tuple(map(gcd, a.contiguity, b.contiguity)),
        tuple([joint_divisibility(a, b, dim) for dim in range(len(a.contiguity))]),
        tuple(map(gcd, a.constancy, b.constancy)),
        a.constant if a.constant == b.constant else None,
    )
