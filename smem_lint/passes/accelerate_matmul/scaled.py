"""Dots with block scales: native on sm_120 where both operands are fp8 or both fp4, else operands are scaled in registers.

Facts: ``ScaledBlockedToMMA`` and ``transposeDots`` in lib/Dialect/TritonGPU/Transforms/AccelerateMatmul.cpp and
lib/Dialect/TritonGPU/Transforms/DecomposeScaledBlocked.cpp, ``deduceScaleFactor`` in lib/Dialect/Triton/IR/Ops.cpp and
``getSM120DotScaledScaleLayout`` in lib/Dialect/TritonGPU/IR/LinearLayoutConversions.cpp, Triton 3.8.0.
"""

from __future__ import annotations

import math
from typing import Any

from smem_lint.layout.distributed import default_blocked
from smem_lint.layout.encodings import DotOperand, Linear, Slice
from smem_lint.layout.inference import fp4_to_fp_result, reshape_result, trans_result
from smem_lint.layout.linear import Dims
from smem_lint.passes.accelerate_matmul.dots import mma_encoding, operand_in_registers, replace_dot
from smem_lint.passes.rewriting import convert_value
from smem_lint.tile.ir import Builder, Module, Op, Value
from smem_lint.tile.types import BF16, F16, F32, I1, Scalar, Tensor

_FP8 = ("e4m3", "e5m2")


class Scaled:
    """The named parts of a ``tt.dot_scaled``."""

    def __init__(self, op: Op) -> None:
        self.op = op
        groups = iter(op.operands)
        parts = [[next(groups) for _ in range(count)] for count in op.attrs["segments"]]
        self.values: tuple[Value, Value] = (parts[0][0], parts[1][0])
        self.accumulator = parts[2][0]
        self.scales: tuple[Value | None, Value | None] = (parts[3][0] if parts[3] else None, parts[4][0] if parts[4] else None)
        self.formats: tuple[str, str] = (op.attrs["lhs"], op.attrs["rhs"])
        self.k_packs = (op.attrs.get("lhs_k_pack", True), op.attrs.get("rhs_k_pack", True))

    def k_dim(self, index: int) -> int:
        rank = len(self.values[index].type.shape)
        return rank - 1 if index == 0 else rank - 2

    def scale_factor(self) -> int:
        """Elements along K that share a scale."""
        for index in (0, 1):
            scale = self.scales[index]
            if scale is not None and math.prod(scale.type.shape) != 1:
                depth = self.values[index].type.shape[self.k_dim(index)]
                packed = self.formats[index] == "e2m1" and self.k_packs[index]
                return int(depth * (2 if packed else 1) // scale.type.shape[-1])
        return 32


def transpose_scaled_dots(module: Module) -> bool:
    """A dot whose only scales are those of B is turned over, so that they become those of A; whether there is any scaled dot."""
    dots = [op for op in module.walk_post() if op.name == "tt.dot_scaled"]
    for op in dots:
        dot = Scaled(op)
        if dot.scales[0] is not None or dot.scales[1] is None:
            continue
        build = Builder(before=op)
        a, b, c = (transposed(build, value) for value in (*dot.values, dot.accumulator))
        attrs = {"lhs": dot.formats[1], "rhs": dot.formats[0], "fastMath": op.attrs.get("fastMath", False), "segments": (1, 1, 1, 1, 0)}
        new = build.op("tt.dot_scaled", (b, a, c, dot.scales[1]), (c.type,), attrs)
        op.results[0].replace_all_uses(transposed(build, new.results[0]))
        op.erase()
    return bool(dots)


def transposed(build: Builder, value: Value, order: Dims = (1, 0)) -> Value:
    """A transposition, also one that changes nothing: it is folded later, and until then it parts dots from one another."""
    type_ = value.type
    shape = tuple(type_.shape[dim] for dim in order)
    return build.value("tt.trans", (value,), Tensor(shape, type_.element, trans_result(type_.encoding, type_.shape, order)), order=order)


def is_native(op: Op, capability: int) -> bool:
    """Whether sm_12x multiplies with these scales in one instruction."""
    dot = Scaled(op)
    a, b = dot.scales
    if capability // 10 != 12 or a is None or b is None or a.type.element is not b.type.element:
        return False
    if isinstance(a.type.encoding, Linear) or isinstance(b.type.encoding, Linear):
        return False
    both_fp8 = all(name in _FP8 for name in dot.formats)
    return both_fp8 or dot.formats == ("e2m1", "e2m1")


def rewrite_native(op: Op, num_warps: int, capability: int) -> None:
    """Accumulator, operands and scales in the registers where the instruction wants them."""
    dot = Scaled(op)
    encoding = mma_encoding(op, 2, num_warps, capability, uniform=False)
    accumulator = convert_value(dot.accumulator, encoding, op)
    bits = min(value.type.element.bits for value in dot.values)
    operands = [operand_in_registers(value, index, bits, encoding, op) for index, value in enumerate(dot.values)]
    scales = [
        convert_value(scale, scale_encoding(scale.type.shape, index, encoding.warps_per_cta), op)
        for index, scale in enumerate(dot.scales)
        if scale is not None
    ]
    replace_dot(op, "tt.dot_scaled", [*operands, accumulator, *scales], encoding, dict(op.attrs))


def scale_encoding(shape: Dims, index: int, warps: Dims) -> Linear:
    """Scales of operand ``index``, one row of them per row of A or column of B; every lane of a quad pair holds the same.

    All of a row is in one thread; eight (B) or sixteen (A) rows make an instruction, warps of the other operand repeat them.
    """
    lanes = [8, 0, 1, 2, 4] if index == 0 else [0, 0, 1, 2, 4]
    along, across = (warps[0], warps[1]) if index == 0 else (warps[1], warps[0])
    rows = 16 if index == 0 else 8
    own = [rows << bit for bit in range(along.bit_length() - 1)]
    repeated = [0] * (across.bit_length() - 1)
    warp_rows = repeated + own if index == 0 else own + repeated
    registers = [(0, 1 << bit) for bit in range(shape[1].bit_length() - 1)]
    covered = rows * along
    while covered < shape[0]:
        registers.append((covered, 0))
        covered *= 2

    def column(steps: list[int]) -> tuple[Dims, ...]:
        return tuple((step if step < shape[0] else 0, 0) for step in steps)

    return Linear(tuple(registers), column(lanes), column(warp_rows))


def decompose(op: Op, num_warps: int) -> Op:
    """Multiply by the scales in 16 bits, then a plain dot, which is returned."""
    dot = Scaled(op)
    compute = F16 if "fp16" in dot.formats else BF16
    build = Builder(before=op)
    steps = _Decomposition(build, dot, compute, num_warps)
    encoding = op.results[0].type.encoding
    operands = []
    for index in (0, 1):
        value = steps.operand(index)
        k_width = 0 if not hasattr(encoding, "instr_shape") else max(32 // value.type.element.bits, 1)
        operands.append(build.value("ttg.convert_layout", (value,), value.type.with_encoding(DotOperand(index, encoding, k_width))))
    plain = build.op("tt.dot", (*operands, dot.accumulator), (dot.accumulator.type,))
    back = build.value("ttg.convert_layout", (plain.results[0],), op.results[0].type)
    op.results[0].replace_all_uses(back)
    op.erase()
    return plain


class _Decomposition:
    def __init__(self, build: Builder, dot: Scaled, compute: Scalar, num_warps: int) -> None:
        self.build, self.dot, self.compute, self.num_warps = build, dot, compute, num_warps

    def cast(self, name: str, value: Value, element: Scalar) -> Value:
        return self.build.value(name, (value,), value.type.with_element(element))

    def operand(self, index: int) -> Value:
        """A or B in 16 bits, multiplied by its scales."""
        dot = self.dot
        value = self.widened(index)
        scale = dot.scales[index]
        if scale is None:
            return value
        dim = dot.k_dim(index)
        if index == 1:
            rank = len(scale.type.shape)
            scale = transposed(self.build, scale, (*range(rank - 2), rank - 1, rank - 2))
        factors = self.spread(self.in_16_bits(scale), dim)
        factors = self.build.value("ttg.convert_layout", (factors,), value.type)
        product = self.build.value("arith.mulf", (value, factors), value.type)
        return product if dot.op.attrs.get("fastMath") else self.with_nans(product, scale, dim)

    def widened(self, index: int) -> Value:
        dot, value = self.dot, self.dot.values[index]
        if dot.formats[index] == "e2m1":
            rank = len(value.type.shape)
            other = rank - 2 if index == 0 else rank - 1
            axis = dot.k_dim(index) if dot.k_packs[index] else other
            shape = tuple(2 * size if at == axis else size for at, size in enumerate(value.type.shape))
            encoding = fp4_to_fp_result(value.type.encoding, shape, axis)  # Triton asks with the result's shape here
            return self.build.value("ttg.fp4_to_fp", (value,), Tensor(shape, self.compute, encoding), axis=axis)
        return self.cast("tt.fp_to_fp", value, self.compute)

    def in_16_bits(self, scale: Value) -> Value:
        """The scale as a number: an exponent is moved into place, a float is converted."""
        if scale.type.element.is_float:
            return self.cast("tt.fp_to_fp", scale, self.compute)
        wide, mantissa = (F32, 23) if self.compute is F16 else (BF16, 7)
        bits = self.cast("arith.extui", scale, Scalar(f"i{wide.bits}"))
        shift = self.build.constant(bits.type, mantissa)
        exponent = self.build.value("arith.shli", (bits, shift), bits.type)
        number = self.cast("tt.bitcast", exponent, wide)
        return number if wide is self.compute else self.cast("arith.truncf", number, self.compute)

    def spread(self, scale: Value, dim: int) -> Value:
        """Each scale repeated along ``dim`` for the elements that share it."""
        type_, build = scale.type, self.build
        rank, factor = len(type_.shape), self.dot.scale_factor()
        blocked = default_blocked((*type_.shape, 1), self.num_warps)
        scale = build.value("ttg.convert_layout", (scale,), type_.with_encoding(Slice(rank, blocked)))
        scale = build.value("tt.expand_dims", (scale,), Tensor((*type_.shape, 1), type_.element, blocked), axis=rank)
        scale = build.value("tt.broadcast", (scale,), Tensor((*type_.shape, factor), type_.element, blocked))
        scale = transposed(build, scale, (*range(dim + 1), rank, *range(dim + 1, rank)))
        shape = tuple(size * factor if at == dim else size for at, size in enumerate(type_.shape))
        encoding: Any = reshape_result(scale.type.encoding, scale.type.shape, shape)
        return build.value("tt.reshape", (scale,), Tensor(shape, type_.element, encoding))

    def with_nans(self, product: Value, scale: Value, dim: int) -> Value:
        """NaN where the scale is."""
        build, type_ = self.build, product.type
        if scale.type.element.is_float:
            number = self.in_16_bits(scale)
            is_nan = build.value("arith.cmpf", (number, number), number.type.with_element(I1), predicate="uno")
        else:
            all_ones = build.constant(scale.type, -1)
            is_nan = build.value("arith.cmpi", (scale, all_ones), scale.type.with_element(I1), predicate="eq")
        condition = self.spread(is_nan, dim)
        condition = build.value("ttg.convert_layout", (condition,), condition.type.with_encoding(type_.encoding))
        return build.value("arith.select", (condition, build.constant(type_, math.nan), product), type_)
