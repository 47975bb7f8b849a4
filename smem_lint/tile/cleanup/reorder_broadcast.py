"""Elementwise operations move before the splats and broadcasts of their operands.

Facts: ``lib/Dialect/Triton/Transforms/ReorderBroadcast.cpp``, 3.8.0.
"""

from __future__ import annotations

from smem_lint.tile.cleanup import patterns_tiles
from smem_lint.tile.cleanup.numbers import constant_of
from smem_lint.tile.cleanup.rewriter import Pattern, Rewriter, rewrite
from smem_lint.tile.effects import is_memory_effect_free
from smem_lint.tile.ir import Module, Op, Value
from smem_lint.tile.types import Tensor, element_of

_ELEMENTWISE = (
    "arith.addf", "arith.addi", "arith.andi", "arith.bitcast", "arith.ceildivsi", "arith.ceildivui", "arith.cmpf", "arith.cmpi",
    "arith.divf", "arith.divsi", "arith.divui", "arith.extf", "arith.extsi", "arith.extui", "arith.floordivsi", "arith.fptosi",
    "arith.fptoui", "arith.maximumf", "arith.maxnumf", "arith.maxsi", "arith.maxui", "arith.minimumf", "arith.minnumf", "arith.minsi",
    "arith.minui", "arith.mulf", "arith.muli", "arith.negf", "arith.ori", "arith.remf", "arith.remsi", "arith.remui", "arith.select",
    "arith.shli", "arith.shrsi", "arith.shrui", "arith.sitofp", "arith.subf", "arith.subi", "arith.truncf", "arith.trunci",
    "arith.uitofp", "arith.xori", "math.absf", "math.absi", "math.ceil", "math.cos", "math.erf", "math.exp", "math.exp2", "math.floor",
    "math.fma", "math.log", "math.log2", "math.rsqrt", "math.sin", "math.sqrt", "math.tanh", "tt.addptr", "tt.bitcast", "tt.clampf",
    "tt.elementwise_inline_asm", "tt.extern_elementwise", "tt.fp_to_fp", "tt.int_to_ptr", "tt.mulhiui", "tt.precise_divf",
    "tt.precise_sqrt", "tt.ptr_to_int",
)  # fmt: skip


def _splat_number(value: Value) -> object:
    """The number of a constant splat, None for anything else."""
    known = constant_of(value)
    return known if isinstance(known, (int, float)) and isinstance(value.type, Tensor) else None


def _is_splat(value: Value) -> bool:
    return (value.op is not None and value.op.name == "tt.splat") or _splat_number(value) is not None


def _spread(op: Op, new: Op, by: str, rewriter: Rewriter) -> bool:
    """Read the results of ``new``, spread to the shape of ``op``'s, in the place of ``op``'s."""
    rewriter.insert(op, new)
    for result, narrow in zip(op.results, new.results, strict=True):
        rewriter.replace_all_uses(result, rewriter.make(op, by, (narrow,), result.type))
    rewriter.push(op)
    return True


def _before_splat(op: Op, rewriter: Rewriter) -> bool:
    if not op.operands or not all(_is_splat(value) for value in op.operands) or not is_memory_effect_free(op):
        return False
    operands = []
    for value in op.operands:
        assert value.op is not None
        number = _splat_number(value)
        operands.append(rewriter.constant(element_of(value.type), number) if number is not None else value.op.operands[0])
    new = Op(op.name, operands, [element_of(result.type) for result in op.results], dict(op.attrs))
    return _spread(op, new, "tt.splat", rewriter)


def _before_broadcast(op: Op, rewriter: Rewriter) -> bool:
    source: Tensor | None = None
    for value in op.operands:
        if value.op is not None and value.op.name == "tt.broadcast":
            narrow = value.op.operands[0].type
            if source is not None and narrow.shape != source.shape:
                return False
            source = source or narrow
        elif not _is_splat(value):
            return False
    if source is None or not is_memory_effect_free(op):
        return False
    operands = []
    for value in op.operands:
        assert value.op is not None
        number = _splat_number(value)
        type_ = source.with_element(element_of(value.type))
        if number is not None:
            operands.append(rewriter.constant(type_, number))
        elif value.op.name == "tt.splat":
            operands.append(rewriter.make(op, "tt.splat", value.op.operands, type_))
        else:
            operands.append(value.op.operands[0])
    new = Op(op.name, operands, [source.with_element(element_of(result.type)) for result in op.results], dict(op.attrs))
    return _spread(op, new, "tt.broadcast", rewriter)


_MOVES: tuple[Pattern, ...] = (_before_broadcast, _before_splat)
PATTERNS: dict[str, tuple[Pattern, ...]] = {
    **dict.fromkeys(_ELEMENTWISE, _MOVES),
    "tt.broadcast": tuple(patterns_tiles.PATTERNS["tt.broadcast"]),
    "tt.expand_dims": tuple(patterns_tiles.PATTERNS["tt.expand_dims"]),
}


def run(module: Module) -> None:
    for function in module.functions:
        rewrite(function, PATTERNS)
