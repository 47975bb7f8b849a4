"""Widens the operands of dots that no instruction of the target takes as they are.

Facts: ``decomposeMixedModeDotOp`` in lib/Dialect/TritonGPU/Transforms/AccelerateMatmul.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from smem_lint.layout.encodings import Mma
from smem_lint.tile.ir import Module, Op
from smem_lint.tile.types import F16, Type
from smem_lint.tile.versions import decisions


def promote_operands(module: Module) -> None:
    """fp8 becomes fp16 where tensor cores have no fp8; without tensor cores operands take the type of the result."""
    for op in module.walk_post():
        if op.name == "tt.dot":
            wider = _wider(op, module.capability, decisions(module.version).one_consumer_chip)
            if wider is not None:
                for index in (0, 1):
                    _widen(op, index, wider)


def _wider(dot: Op, capability: int, one_chip: bool) -> Type | None:
    element, result = dot.operands[0].type.element, dot.results[0].type
    if isinstance(result.encoding, Mma):
        consumer = capability == 120 if one_chip else capability // 10 == 12
        native = capability == 89 or consumer or result.encoding.version_major == 3
        return F16 if element.name in ("f8E5M2", "f8E4M3FN") and not native else None
    return None if element is result.element else result.element


def _widen(dot: Op, index: int, element: Type) -> None:
    value = dot.operands[index]
    name = "tt.fp_to_fp" if value.type.element.name.startswith("f8") else "arith.extf"
    cast = Op(name, (value,), (value.type.with_element(element),), line=dot.line)
    assert dot.block is not None
    dot.block.insert_before(dot, cast)
    dot.set_operand(index, cast.results[0])
