"""Split a dot whose left operand is in registers into two halves along K, so that one can run while the other is prepared.

Facts: ``splitRSDot`` in lib/Dialect/TritonGPU/Transforms/Pipeliner/WGMMAPipeline.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from smem_lint.layout.inference import reshape_result, split_result, trans_result
from smem_lint.tile.ir import Builder, Op, Value
from smem_lint.tile.types import MemDesc, Tensor

_PARTS = 2


def split_in_two(dot: Op) -> list[Op]:
    """The dots that take the place of ``dot``: itself unless A is in registers and deeper than one instruction."""
    a, b = dot.operands[:2]
    if not isinstance(a.type, Tensor) or a.type.shape[-1] <= dot.result.type.encoding.instr_shape[2]:
        return [dot]
    depth = a.type.shape[-1] // _PARTS
    builder = Builder(before=dot)
    lefts, rights = _split_left(builder, a), _split_right(builder, b, depth)
    dots: list[Op] = []
    accumulator, rest = dot.operands[2], dot.operands[3:]
    imprecise = dot.attrs.get("maxNumImpreciseAcc", 0)
    for left, right in zip(lefts, rights, strict=True):
        taken = min(imprecise, depth)
        imprecise -= taken
        attrs = dot.attrs | {"maxNumImpreciseAcc": 1 << 30 if taken == depth else taken}
        dots.append(builder.op(dot.name, (left, right, accumulator, *rest), (dot.result.type,), attrs))
        accumulator, rest = dots[-1].result, []
    dot.result.replace_all_uses(accumulator)
    dot.erase()
    return dots


def _split_left(builder: Builder, a: Value) -> list[Value]:
    """Both halves of the columns, by way of a dimension of two (M x K to M x K/2 x 2)."""
    type_ = a.type
    rows, depth = type_.shape[:-1], type_.shape[-1] // _PARTS
    rank = len(rows) + 1
    shape = (*rows, _PARTS, depth)
    encoding = reshape_result(type_.encoding, type_.shape, shape)
    reshaped = builder.value("tt.reshape", (a,), Tensor(shape, type_.element, encoding))
    order = (*range(rank - 1), rank, rank - 1)
    moved = Tensor(tuple(shape[dim] for dim in order), type_.element, trans_result(encoding, shape, order))
    turned = builder.value("tt.trans", (reshaped,), moved, order=order)
    half = Tensor((*rows, depth), type_.element, split_result(moved.encoding, moved.shape))
    halves = builder.op("tt.split", (turned,), (half, half)).results
    result = half.with_encoding(type_.encoding)
    return [builder.value("ttg.convert_layout", (value,), result) for value in halves]


def _split_right(builder: Builder, b: Value, depth: int) -> list[Value]:
    type_ = b.type
    shape = (*type_.shape[:-2], depth, type_.shape[-1])
    part = MemDesc(shape, type_.element, type_.encoding, type_.space, False, type_.alloc_shape)
    zeros = (0,) * (len(shape) - 2)
    return [
        builder.value("ttg.memdesc_subslice", (b,), part, offsets=(*zeros, index * depth, 0)) for index in range(type_.shape[-2] // depth)
    ]  # fmt: skip
