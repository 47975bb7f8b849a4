"""Patterns that fold ``ttg.convert_layout`` into what produces or consumes its value.

``PATTERNS`` maps the name of an operation to its patterns, for ``smem_lint.tile.cleanup.rewriter.rewrite``. They belong to the
canonical form of ``ttg.convert_layout``: the canonicalizer applies them on tiles with layouts, and RemoveLayoutConversions alone.

Facts: ``ConvertLayoutOp::getCanonicalizationPatterns``, lib/Dialect/TritonGPU/IR/Ops.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from smem_lint.layout.distributed import same_layout, view_is_expensive
from smem_lint.layout.encodings import DotOperand, Mma
from smem_lint.layout.inference import infer_result
from smem_lint.passes.remat_rules import can_take_result_encoding
from smem_lint.tile.cleanup.rewriter import Pattern, Rewriter
from smem_lint.tile.ir import Op, Value

_CONVERT = "ttg.convert_layout"
_OWN = ("value", "start", "end", "axis", "order", "allow_reorder", "efficient_layout", "segments")


def _convert_behind(value: Value) -> Op | None:
    op = value.op
    return op if op is not None and op.name == _CONVERT else None


def _is_trivial(convert: Op) -> bool:
    """Whether a conversion leaves every element where it is."""
    source, target = convert.operands[0].type, convert.results[0].type
    return same_layout(source.encoding, target.encoding, source.shape)


def _own_attributes(op: Op) -> dict[str, Any]:
    """What belongs to the operation itself: a new one in its place gets no hints that someone attached."""
    return {name: op.attrs[name] for name in _OWN if name in op.attrs}


def _again(op: Op, rewriter: Rewriter, operands: Sequence[Value], attrs: dict[str, Any], name: str | None = None) -> bool:
    """Put ``name`` with other operands in the place of ``op``, results typed as before."""
    new = Op(op.name if name is None else name, operands, [result.type for result in op.results], attrs)
    rewriter.insert(op, new)
    rewriter.replace(op, new.results)
    return True


def fold_convert(op: Op, rewriter: Rewriter) -> bool:
    """A conversion to the same layout goes; one of something that could as well write the new layout goes into that."""
    source = op.operands[0]
    if source.type is op.results[0].type:
        rewriter.replace(op, (source,))
        return True
    target = op.results[0].type.encoding
    producer = source.op
    if producer is None or (isinstance(target, DotOperand) and isinstance(source.type.encoding, Mma)):
        return False
    name = producer.name
    if name in (_CONVERT, "tt.splat", "tt.make_range", "tt.histogram"):
        return _again(op, rewriter, producer.operands, _own_attributes(producer), name)
    if name == "arith.constant":
        return not isinstance(producer.attrs["value"], tuple) and _again(op, rewriter, (), dict(producer.attrs), name)
    if name == "ttg.local_load":
        new = Op(name, producer.operands, [op.results[0].type], _own_attributes(producer))
        rewriter.insert(producer, new)
        rewriter.replace(op, new.results)
        return True
    if name == "tt.cat":
        return can_take_result_encoding(producer, target) and _again(op, rewriter, producer.operands, {}, name)
    return name == "tt.reshape" and _fold_reshape(op, producer, rewriter)


def _fold_reshape(op: Op, reshape: Op, rewriter: Rewriter) -> bool:
    """A reshape that may reorder can also write the new layout (packed dot operands excepted)."""
    if not can_take_result_encoding(reshape, op.results[0].type.encoding):
        return False
    if isinstance(op.operands[0].type.encoding, DotOperand) or isinstance(op.results[0].type.encoding, DotOperand):
        return False
    return _again(op, rewriter, reshape.results, {"allow_reorder": True}, "tt.reshape")


def reshape_of_convert(op: Op, rewriter: Rewriter) -> bool:
    convert = _convert_behind(op.operands[0])
    if convert is None:
        return False
    if not _is_trivial(convert):
        source, result = convert.operands[0].type, op.results[0].type
        if view_is_expensive(source.encoding, source.shape, result.encoding, result.shape) or not op.attrs.get("allow_reorder"):
            return False
    return _again(op, rewriter, convert.operands, _own_attributes(op))


def trans_of_convert(op: Op, rewriter: Rewriter) -> bool:
    """A transposition that moves no dimension is a conversion; one of a trivial conversion reads through it."""
    order = op.attrs["order"]
    if all(place == dim for place, dim in enumerate(order)):
        return _again(op, rewriter, op.operands, {}, _CONVERT)
    convert = _convert_behind(op.operands[0])
    return convert is not None and _is_trivial(convert) and _again(op, rewriter, convert.operands, _own_attributes(op))


def histogram_of_convert(op: Op, rewriter: Rewriter) -> bool:
    """A histogram reads any layout; its mask follows the values."""
    convert = _convert_behind(op.operands[0])
    if convert is None:
        return False
    operands = [convert.operands[0]]
    if len(op.operands) > 1:
        mask = op.operands[1]
        operands.append(rewriter.make(op, _CONVERT, (mask,), mask.type.with_encoding(operands[0].type.encoding)))
    return _again(op, rewriter, operands, {})


def gather_of_convert(op: Op, rewriter: Rewriter) -> bool:
    """A gather through shared memory reads its source in any layout."""
    convert = None if op.attrs.get("efficient_layout") else _convert_behind(op.operands[0])
    return convert is not None and _again(op, rewriter, (convert.operands[0], *op.operands[1:]), _own_attributes(op))


def alloc_of_convert(op: Op, rewriter: Rewriter) -> bool:
    convert = _convert_behind(op.operands[0]) if op.operands else None
    return convert is not None and _again(op, rewriter, convert.operands, {})


def store_of_convert(op: Op, rewriter: Rewriter) -> bool:
    convert = _convert_behind(op.operands[0])
    if convert is None:
        return False
    op.set_operand(0, convert.operands[0])
    rewriter.modified(op)
    rewriter.modified(convert)
    return True


def split_of_convert(op: Op, rewriter: Rewriter) -> bool:
    """Several layouts can have the same halves."""
    convert = _convert_behind(op.operands[0])
    if convert is None or infer_result(op, convert.operands[0].type.encoding) is not op.results[0].type.encoding:
        return False
    return _again(op, rewriter, convert.operands, _own_attributes(op))


PATTERNS: dict[str, tuple[Pattern, ...]] = {
    _CONVERT: (fold_convert,),
    "tt.reshape": (reshape_of_convert,),
    "tt.trans": (trans_of_convert,),
    "tt.gather": (gather_of_convert,),
    "tt.histogram": (histogram_of_convert,),
    "ttg.local_alloc": (alloc_of_convert,),
    "ttg.local_store": (store_of_convert,),
    "tt.split": (split_of_convert,),
}
