"""Rewrite patterns of Triton's operations on tiles, where they do not look at layouts.

Facts: ``lib/Dialect/Triton/IR/Ops.cpp`` and ``Canonicalize.td``, 3.8.0.
"""

from __future__ import annotations

from smem_lint.tile.cleanup.fold_integers import defined_by
from smem_lint.tile.cleanup.numbers import int_of, wrap
from smem_lint.tile.cleanup.rewriter import Pattern, Rewriter, registrar
from smem_lint.tile.ir import Op
from smem_lint.tile.types import Tensor, element_of

PATTERNS: dict[str, list[Pattern]] = {}
pattern = registrar(PATTERNS)


@pattern("tt.load")
def _load_with_known_mask(op: Op, rewriter: Rewriter) -> bool:
    """A load whose mask is all true needs none; all false, it is its ``other``."""
    _, masks, others = op.attrs.get("segments", (1, 0, 0))
    if not masks or not isinstance(op.operands[1].type, Tensor):
        return False
    known = int_of(op.operands[1])
    if known is None:
        return False
    if known:
        return rewriter.replace_with(op, "tt.load", op.operands[:1], attrs={**op.attrs, "segments": (1, 0, 0)})
    if not others:
        return False
    rewriter.replace(op, (op.operands[2],))
    return True


@pattern("tt.store")
def _store_with_known_mask(op: Op, rewriter: Rewriter) -> bool:
    if len(op.operands) < 3 or not isinstance(op.operands[2].type, Tensor):
        return False
    known = int_of(op.operands[2])
    if known is None:
        return False
    if known:
        attrs = {name: value for name, value in op.attrs.items() if name != "segments"}
        rewriter.insert(op, Op("tt.store", op.operands[:2], (), attrs))
    rewriter.erase(op)
    return True


@pattern("tt.expand_dims")
def _expand_dims(op: Op, rewriter: Rewriter) -> bool:
    """Splats take any shape; a broadcast is better after the new dimension."""
    source = op.operands[0].op
    if source is None:
        return False
    if source.name == "tt.splat":
        return rewriter.replace_with(op, "tt.splat", source.operands)
    if source.name != "tt.broadcast":
        return False
    narrow: Tensor = source.operands[0].type
    axis = op.attrs["axis"]
    encoding = None if narrow.encoding is None else rewriter.layouts.expand_dims(narrow.encoding, axis)
    type_ = Tensor((*narrow.shape[:axis], 1, *narrow.shape[axis:]), narrow.element, encoding)
    expanded = rewriter.make(op, "tt.expand_dims", source.operands, type_, {"axis": axis})
    return rewriter.replace_with(op, "tt.broadcast", (expanded,))


@pattern("tt.reshape")
def _reshape(op: Op, rewriter: Rewriter) -> bool:
    source = op.operands[0].op
    if source is None or op.attrs.get("efficient_layout"):
        return False
    if source.name == "tt.reshape":
        attrs = dict(op.attrs)
        if source.attrs.get("allow_reorder"):
            attrs["allow_reorder"] = True
        return rewriter.replace_with(op, "tt.reshape", source.operands, attrs=attrs)
    return source.name == "tt.splat" and rewriter.replace_with(op, "tt.splat", source.operands)


@pattern("tt.broadcast")
def _broadcast(op: Op, rewriter: Rewriter) -> bool:
    source = op.operands[0].op
    if source is None or source.name not in ("tt.splat", "tt.broadcast"):
        return False
    return rewriter.replace_with(op, source.name, source.operands)


@pattern("tt.int_to_ptr")
def _int_to_ptr(op: Op, rewriter: Rewriter) -> bool:
    inner = defined_by(op.operands[0], "tt.ptr_to_int")
    if inner is not None:
        return rewriter.replace_with(op, "tt.bitcast", inner.operands)
    add = defined_by(op.operands[0], "arith.addi")
    offset = int_of(add.operands[1]) if add is not None else None
    if add is None or offset is None:
        return False
    pointee = element_of(op.results[0].type).pointee
    size = max(1, (64 if hasattr(pointee, "pointee") else max(8, pointee.bits)) // 8)
    if offset % size:
        return False
    base = rewriter.make(op, "tt.int_to_ptr", add.operands[:1], op.results[0].type)
    type_ = add.operands[1].type
    elements = rewriter.constant(type_, wrap(offset // size, element_of(type_).bits))
    return rewriter.replace_with(op, "tt.addptr", (base, elements))
