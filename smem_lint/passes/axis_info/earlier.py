"""Facts as versions before 3.8 found them: the transfer functions that have changed since.

Facts: lib/Analysis/AxisInfo.cpp on the branches release/3.5.x to release/3.7.x.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import gcd

from smem_lint.passes.axis_info.lattice import MAX_DIVISOR, AxisInfo, joint_divisibility, made, product_divisor
from smem_lint.passes.axis_info.transfer import TRANSFER, Transfer, constant_facts, run_of_sum, sum_constant
from smem_lint.tile.ir import Op, Value
from smem_lint.tile.types import Scalar, Tensor, element_of
from smem_lint.tile.versions import Decisions

_REGIONS = frozenset({"scf.for", "scf.if", "scf.while"})


@cache
def transfers(version: Decisions) -> Mapping[str, Transfer]:
    """The transfer function of each operation that has one."""
    table = dict(TRANSFER)
    if not version.reshape_keeps_facts:
        del table["tt.reshape"]
    if not version.sums_minding_runs:
        table.update(dict.fromkeys(("tt.addptr", "arith.addi", "arith.subi"), _sum))
    if not version.selections_minding_runs:
        table["arith.select"] = _selection
    if version.constants_unsigned:
        table["arith.constant"] = _constant
    return table


def unready(value: Value, rank: int) -> AxisInfo:
    """What is taken to be known of a value that nothing is known of yet: of what branches and loops make, the best."""
    owner = value.op if value.op is not None else value.block.parent_op if value.block is not None else None
    facts = (MAX_DIVISOR if owner is not None and owner.name in _REGIONS else 1,) * rank
    return AxisInfo(facts, facts, facts)


def _constant(op: Op, operands: Sequence[AxisInfo]) -> AxisInfo | None:
    type_, value = op.results[0].type, op.attrs["value"]
    element = element_of(type_)
    if not isinstance(element, Scalar) or element.is_float or not isinstance(value, int):
        return None
    value = int(value) & ((1 << element.bits) - 1)
    if value >> 63:
        value -= 1 << 64
    return constant_facts(op, type_.rank if isinstance(type_, Tensor) else 1, value)


def _sum(op: Op, operands: Sequence[AxisInfo]) -> AxisInfo:
    a, b = operands
    size = max(1, element_of(op.results[0].type).pointee.bits // 8) if op.name == "tt.addptr" else 1
    constant = sum_constant(op, a, b, size)
    rank = len(a.contiguity)
    if constant is not None:
        return constant_facts(op, rank, constant)
    contiguity = tuple([run_of_sum(op, a, b, dim) for dim in range(rank)])
    divisibility = tuple([gcd(a.divisibility[dim], product_divisor(b.divisibility[dim], size)) for dim in range(rank)])
    return made(contiguity, divisibility, tuple(map(gcd, a.constancy, b.constancy)))


def _selection(op: Op, operands: Sequence[AxisInfo]) -> AxisInfo:
    info = TRANSFER["arith.select"](op, operands)
    condition, a, b = operands
    if info is None or condition.constant is not None:
        assert info is not None
        return info
    divisibility = tuple([joint_divisibility(a, b, dim) for dim in range(len(a.contiguity))])
    return made(info.contiguity, divisibility, info.constancy, info.constant)
