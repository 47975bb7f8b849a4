"""Dots of fp32 that are made of several dots of narrower numbers: ``tf32x3``, ``bf16x3``, ``bf16x6``.

Facts: lib/Dialect/TritonGPU/Transforms/F32DotTC.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from typing import Any

from smem_lint.tile.cleanup.rewriter import Rewriter, rewrite
from smem_lint.tile.ir import Builder, Module, Op, Value
from smem_lint.tile.types import BF16, F32, I1

_PARTS = {"bf16x3": 2, "bf16x6": 3}


def run(module: Module) -> None:
    """Split such dots; what else MLIR's greedy driver folds or finds dead goes with it."""

    def pattern(op: Op, rewriter: Rewriter) -> bool:
        precision = op.attrs.get("inputPrecision")
        if op.operands[0].type.element is not F32 or op.operands[1].type.element is not F32:
            return False
        if precision == "tf32x3" and module.capability >= 80:
            rewriter.replace(op, [_tf32x3(op)])
        elif precision in _PARTS:
            rewriter.replace(op, [_bf16(op, precision)])
        else:
            return False
        return True

    for function in module.functions:
        rewrite(function, {"tt.dot": (pattern,)})


def _zero_if_nan(build: Builder, value: Value) -> Value:
    nans = build.value("arith.cmpf", (value, value), value.type.with_element(I1), predicate="uno")
    return build.value("arith.select", (nans, build.constant(value.type, 0.0), value), value.type)


def _tf32x3(dot: Op) -> Value:
    """Three dots of tf32: small x big, big x small, and big x big on top."""
    build = Builder(before=dot)
    a, b, c = dot.operands
    big, small = [], []
    for value in (a, b):
        attrs = {"text": "cvt.rna.tf32.f32 $0, $1;", "constraints": "=r,r", "packed_element": 1, "pure": True}
        big.append(build.value("tt.elementwise_inline_asm", (value,), value.type, **attrs))
        small.append(build.value("arith.subf", (value, big[-1]), value.type))
    attributes: dict[str, Any] = {"inputPrecision": "tf32"}
    if "maxNumImpreciseAcc" in dot.attrs:
        attributes["maxNumImpreciseAcc"] = dot.attrs["maxNumImpreciseAcc"]
    result = build.value("tt.dot", (small[0], big[1], build.constant(c.type, 0.0)), c.type, **attributes)
    result = build.value("tt.dot", (big[0], small[1], result), c.type, **attributes)
    result = build.value("tt.dot", (big[0], big[1], _zero_if_nan(build, result)), c.type, **attributes)
    return build.value("arith.addf", (result, c), c.type)


def _bf16(dot: Op, precision: str) -> Value:
    """Dots of the bf16 parts of each number, the least significant products first."""
    build = Builder(before=dot)
    a, b, c = dot.operands
    left, right = (_split(build, value, _PARTS[precision]) for value in (a, b))
    pairs = [(1, 0), (0, 1)]
    if precision == "bf16x6":
        pairs = [(1, 1), (2, 0), (0, 2), *pairs]
    result = build.constant(c.type, 0.0)
    for i, j in pairs:
        result = build.value("tt.dot", (left[i], right[j], result), c.type)
    result = build.value("tt.dot", (left[0], right[0], _zero_if_nan(build, result)), c.type)
    return build.value("arith.addf", (result, c), c.type)


def _split(build: Builder, value: Value, parts: int) -> list[Value]:
    """The number as a sum of ``parts`` bf16 numbers, the largest first."""
    found = []
    for part in range(parts):
        found.append(build.value("arith.truncf", (value,), value.type.with_element(BF16)))
        if part < parts - 1:
            rounded = build.value("arith.extf", (found[-1],), value.type)
            value = build.value("arith.subf", (value, rounded), value.type)
    return found
