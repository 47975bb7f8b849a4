"""Conversions to a dot's operand that cannot stay in registers go through a shared-memory buffer of their own.

Facts: lib/Dialect/TritonGPU/Transforms/ReduceDataDuplication.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from smem_lint.layout.conversion import conversion_needs_shared
from smem_lint.layout.distributed import memory_order
from smem_lint.layout.encodings import DotOperand
from smem_lint.layout.operand_shared import swizzle_for_dot
from smem_lint.tile.ir import Builder, Module, Op
from smem_lint.tile.types import MemDesc


def run(module: Module) -> None:
    """Replace such conversions by a store to and a load from shared memory."""
    for op in module.walk_post():
        if op.name == "ttg.convert_layout" and isinstance(op.results[0].type.encoding, DotOperand):
            _stage(op)


def _stage(convert: Op) -> None:
    source, target = convert.operands[0].type, convert.results[0].type
    if not conversion_needs_shared(source.encoding, target.encoding, source.shape):
        return
    order = memory_order(source.encoding, source.shape)
    encoding = swizzle_for_dot(target.encoding, source.shape, order, source.element.bits)
    build = Builder(before=convert)
    buffer = build.value("ttg.local_alloc", (convert.operands[0],), MemDesc(target.shape, target.element, encoding))
    convert.results[0].replace_all_uses(build.value("ttg.local_load", (buffer,), target))
    convert.erase()
