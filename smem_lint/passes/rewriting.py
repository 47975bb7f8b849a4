"""Small rewrites that several passes share."""

from __future__ import annotations

from typing import Any

from smem_lint.tile.effects import is_trivially_dead
from smem_lint.tile.ir import Op, Value
from smem_lint.tile.types import Tensor


def convert_value(value: Value, encoding: Any, before: Op) -> Value:
    """``value`` in ``encoding``, by a conversion in front of ``before``, also if it changes nothing."""
    convert = Op("ttg.convert_layout", (value,), (value.type.with_encoding(encoding),), line=before.line)
    assert before.block is not None
    before.block.insert_before(before, convert)
    return convert.results[0]


def convert_operation(op: Op, encoding: Any, skip: tuple[int, ...] = ()) -> Op:
    """Replace ``op`` by one that works in ``encoding``: every tensor operand but those of ``skip`` is converted, results back.

    Facts: ``convertDistributedOpEncoding`` in lib/Dialect/TritonGPU/Transforms/Utility.cpp, Triton 3.8.0.
    """
    operands = [
        convert_value(value, encoding, op) if isinstance(value.type, Tensor) and index not in skip else value
        for index, value in enumerate(op.operands)
    ]
    types = [result.type.with_encoding(encoding) if isinstance(result.type, Tensor) else result.type for result in op.results]
    new = Op(op.name, operands, types, dict(op.attrs), line=op.line)
    assert op.block is not None and not op.regions
    op.block.insert_before(op, new)
    for old, result in zip(op.results, new.results, strict=True):
        back = result if result.type is old.type else convert_value(result, old.type.encoding, op)
        old.replace_all_uses(back)
    op.erase()
    return new


def erase_dead(value: Value) -> None:
    """Erase the operation behind ``value`` if nothing uses it and it does nothing else, and so on for its operands."""
    stack = [value]
    while stack:
        op = stack.pop().op
        if op is not None and op.block is not None and op.is_unused and is_trivially_dead(op):
            operands = list(op.operands)
            op.erase()
            stack += operands
