"""Tensor descriptors become pointers, shapes and strides where the hardware has no TMA (below sm_90).

Facts: ``lib/Dialect/Triton/Transforms/RewriteTensorDescriptorToPointer.cpp``, 3.8.0. A descriptor of rank r is handed around as 2r + 3
values: the base pointer, r sizes, r strides, whether to pad with NaN, and whether to round fp32 to TF32.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from smem_lint.tile.cleanup.numbers import int_of
from smem_lint.tile.ir import Block, Builder, Module, Op, Value
from smem_lint.tile.types import F32, I1, I32, I64, Pointer, Scalar, Tensor, TensorDesc, Type

_ATOMIC = {"add": ("add", "fadd"), "min": ("min", ""), "max": ("max", ""), "and": ("and", ""), "or": ("or", ""), "xor": ("xor", "")}


class _Descriptor(NamedTuple):
    base: Value
    shape: Sequence[Value]
    strides: Sequence[Value]
    pads_nan: Value
    rounds: Value


def _element(type_: TensorDesc) -> Scalar:
    """The element as pointers have it, without a sign."""
    name: str = type_.element.name
    return Scalar(name.lstrip("us")) if name.startswith(("ui", "si")) else type_.element


def _part_types(type_: TensorDesc) -> list[Type]:
    return [Pointer(_element(type_)), *[I64] * (2 * len(type_.shape)), I1, I1]


class _Rewriting:
    """One function's descriptors, by the values that stand for them."""

    def __init__(self, function: Op) -> None:
        self.parts: dict[Value, list[Value]] = {}
        block = function.regions[0].blocks[0]
        facts = list(function.attrs.get("arg_attrs", ()))
        self._expand_args(block, facts)
        if facts:
            function.attrs["arg_attrs"] = tuple(facts)

    def _expand_args(self, block: Block, facts: list[Any] | None = None) -> None:
        """Give a block's arguments of descriptor type their parts as arguments; the old ones stay until nothing uses them."""
        args: list[Value] = []
        attrs: list[Any] = []
        for number, arg in enumerate(block.args):
            if isinstance(arg.type, TensorDesc):
                self.parts[arg] = [Value(type_, None, block, 0) for type_ in _part_types(arg.type)]
                args += self.parts[arg]
                attrs += [{}] * len(self.parts[arg])
            else:
                args.append(arg)
                attrs.append(facts[number] if facts else {})
        block.args = args
        for index, arg in enumerate(args):
            arg.index = index
        if facts:
            facts[:] = attrs

    def _expanded(self, values: Sequence[Value]) -> list[Value]:
        return [part for value in values for part in self.parts.get(value, [value])]

    def descriptor(self, value: Value) -> _Descriptor:
        parts, rank = self.parts[value], len(value.type.shape)
        return _Descriptor(parts[0], parts[1 : 1 + rank], parts[1 + rank : 1 + 2 * rank], parts[-2], parts[-1])

    def block(self, block: Block) -> None:
        for op in list(block):
            rewrite = _REWRITES.get(op.name)
            if rewrite is not None:
                rewrite(self, op)
                continue
            if any(value in self.parts for value in op.operands):
                op.set_operands(self._expanded(op.operands))
            for region in op.regions:
                for inner in region.blocks:
                    self._expand_args(inner)
                    self.block(inner)
            self._expand_results(op)

    def _expand_results(self, op: Op) -> None:
        if not any(isinstance(result.type, TensorDesc) for result in op.results):
            return
        results: list[Value] = []
        for result in op.results:
            if isinstance(result.type, TensorDesc):
                self.parts[result] = [Value(type_, op, None, 0) for type_ in _part_types(result.type)]
                results += self.parts[result]
            else:
                results.append(result)
        op.results = results
        for index, result in enumerate(results):
            result.index = index


def _to_i64(builder: Builder, values: Sequence[Value]) -> list[Value]:
    known = [int_of(value) for value in values]
    return [
        builder.constant(I64, number) if number is not None else builder.value("arith.extsi", (value,), I64)
        for value, number in zip(values, known, strict=True)
    ]


def _make(rewriting: _Rewriting, op: Op) -> None:
    builder = Builder(before=op)
    rank = len(op.results[0].type.shape)
    shape = _to_i64(builder, op.operands[1 : 1 + rank])
    pads = builder.constant(I1, op.attrs.get("padding") in ("nan", "pad_nan", 2))
    rounds = builder.constant(I1, False)
    rewriting.parts[op.results[0]] = [op.operands[0], *shape, *op.operands[1 + rank : 1 + 2 * rank], pads, rounds]
    _retire(op)


def _retire(op: Op) -> None:
    """Take an operation away whose results are read through ``parts`` from now on."""
    op.drop()


def _expand_other_dims(builder: Builder, value: Value, rank: int, dim: int) -> Value:
    for axis in range(rank):
        if axis != dim:
            type_ = value.type
            shape = (*type_.shape[:axis], 1, *type_.shape[axis:])
            value = builder.value("tt.expand_dims", (value,), Tensor(shape, type_.element), axis=axis)
    return value


def _range_at(builder: Builder, shape: Sequence[int], offset: Value, dim: int) -> Value:
    size = shape[dim]
    row = Tensor((size,), I64)
    start = builder.value("tt.splat", (offset,), row)
    steps = builder.value("tt.make_range", (), Tensor((size,), I32), start=0, end=size)
    wide = builder.value("arith.extsi", (steps,), row)
    return _expand_other_dims(builder, builder.value("arith.addi", (start, wide), row), len(shape), dim)


def _pointers(builder: Builder, shape: tuple[int, ...], desc: _Descriptor, ranges: Sequence[Value]) -> Value:
    type_ = Tensor(shape, desc.base.type)
    pointer = builder.value("tt.splat", (desc.base,), type_)
    for offsets, stride in zip(ranges, desc.strides, strict=True):
        steps = builder.value("tt.splat", (stride,), offsets.type)
        product = builder.value("arith.muli", (offsets, steps), offsets.type)
        spread = builder.value("tt.broadcast", (product,), Tensor(shape, I64))
        pointer = builder.value("tt.addptr", (pointer, spread), type_)
    return pointer


def _inside(builder: Builder, shape: tuple[int, ...], desc: _Descriptor, ranges: Sequence[Value]) -> Value:
    type_ = Tensor(shape, I1)
    mask: Value | None = None
    for offsets, size in zip(ranges, desc.shape, strict=True):
        row = offsets.type.with_element(I1)
        zero = builder.value("tt.splat", (builder.constant(I64, 0),), offsets.type)
        low = builder.value("arith.cmpi", (offsets, zero), row, predicate="sge")
        end = builder.value("tt.splat", (size,), offsets.type)
        high = builder.value("arith.cmpi", (offsets, end), row, predicate="slt")
        spread = builder.value("tt.broadcast", (builder.value("arith.andi", (low, high), row),), type_)
        mask = spread if mask is None else builder.value("arith.andi", (mask, spread), type_)
    assert mask is not None
    return mask


def _padding(builder: Builder, type_: Tensor, pads_nan: Value) -> Value:
    if not type_.element.is_float:
        return builder.constant(type_, False if type_.element is I1 else 0)
    values = (pads_nan, builder.constant(type_, math.nan), builder.constant(type_, 0.0))
    return builder.value("arith.select", values, type_)


def _rounded_to_tf32(builder: Builder, value: Value) -> Value:
    type_ = value.type.with_element(I32)

    def make(name: str, a: Value, b: Value) -> Value:
        return builder.value(name, (a, b), type_)

    bits = builder.value("tt.bitcast", (value,), type_)
    exponent_mask = builder.constant(type_, 0x7F800000)
    exponent = make("arith.andi", bits, exponent_mask)
    special = builder.value("arith.cmpi", (exponent, exponent_mask), value.type.with_element(I1), predicate="eq")
    lowest = make("arith.andi", make("arith.shrui", bits, builder.constant(type_, 13)), builder.constant(type_, 1))
    bias = make("arith.addi", lowest, builder.constant(type_, 0x00000FFF))
    rounded = make("arith.andi", make("arith.addi", bits, bias), builder.constant(type_, 0xFFFFE000 - (1 << 32)))
    chosen = builder.value("arith.select", (special, bits, rounded), type_)
    return builder.value("tt.bitcast", (chosen,), value.type)


def _emit_load(builder: Builder, op: Op, pointer: Value, mask: Value, other: Value, result: Tensor) -> Value:
    attrs = {name: value for name, value in op.attrs.items() if name != "segments"}
    return builder.value("tt.load", (pointer, mask, other), result, **attrs, segments=(1, 1, 1))


def _select(rewriting: _Rewriting, op: Op) -> None:
    """A choice between descriptors is one between each of their parts."""
    if op.results[0] in rewriting.parts or not isinstance(op.results[0].type, TensorDesc):
        return
    builder, (condition, *either) = Builder(before=op), op.operands
    pairs = zip(*(rewriting.parts[value] for value in either), strict=True)
    rewriting.parts[op.results[0]] = [builder.value("arith.select", (condition, a, b), a.type) for a, b in pairs]
    _retire(op)


def _load(rewriting: _Rewriting, op: Op) -> None:
    builder = Builder(before=op)
    type_: TensorDesc = op.operands[0].type
    desc, shape = rewriting.descriptor(op.operands[0]), type_.shape
    offsets = _to_i64(builder, op.operands[1:])
    tile = Tensor(shape, _element(type_))
    other = _padding(builder, tile, desc.pads_nan)
    pointer = _pointers(builder, shape, desc, [_range_at(builder, shape, offset, dim) for dim, offset in enumerate(offsets)])
    mask = _inside(builder, shape, desc, [_range_at(builder, shape, offset, dim) for dim, offset in enumerate(offsets)])
    result = _emit_load(builder, op, pointer, mask, other, tile)
    if type_.element is F32:
        branch = builder.op("scf.if", (desc.rounds,), (tile,), regions=2)
        inner = Builder(branch.regions[0].add_block())
        inner.op("scf.yield", (_rounded_to_tf32(inner, result),))
        branch.regions[1].add_block().append(Op("scf.yield", (result,)))
        result = branch.results[0]
    if op.results[0].type is not result.type:
        result = builder.value("tt.reshape", (result,), op.results[0].type)
    op.results[0].replace_all_uses(result)
    op.erase()


def _store(rewriting: _Rewriting, op: Op) -> None:
    builder = Builder(before=op)
    shape = op.operands[0].type.shape
    desc = rewriting.descriptor(op.operands[0])
    source, *at = op.operands[1:]
    offsets = _to_i64(builder, at)
    pointer = _pointers(builder, shape, desc, [_range_at(builder, shape, offset, dim) for dim, offset in enumerate(offsets)])
    mask = _inside(builder, shape, desc, [_range_at(builder, shape, offset, dim) for dim, offset in enumerate(offsets)])
    builder.op("tt.store", (pointer, source, mask))
    op.erase()


def _reduce(rewriting: _Rewriting, op: Op) -> None:
    builder = Builder(before=op)
    type_: TensorDesc = op.operands[0].type
    desc, shape = rewriting.descriptor(op.operands[0]), type_.shape
    source, *at = op.operands[1:]
    offsets = _to_i64(builder, at)
    kind = _ATOMIC[op.attrs["kind"]][1 if type_.element.is_float else 0]
    if kind in ("min", "max") and type_.element.name.startswith("ui"):
        kind = "u" + kind
    pointer = _pointers(builder, shape, desc, [_range_at(builder, shape, offset, dim) for dim, offset in enumerate(offsets)])
    mask = _inside(builder, shape, desc, [_range_at(builder, shape, offset, dim) for dim, offset in enumerate(offsets)])
    attrs = {"rmw_op": kind, "sem": "release", "scope": "gpu"}
    builder.op("tt.atomic_rmw", (pointer, source, mask), (Tensor(shape, _element(type_)),), attrs)
    op.erase()


def _rows(builder: Builder, shape: Sequence[int], x: Value, y: Value) -> list[Value]:
    """The offsets of a gather or scatter: given rows, and a run of columns."""
    rows = _expand_other_dims(builder, x, 2, 0)
    (start,) = _to_i64(builder, (y,))
    wide = builder.value("arith.extsi", (rows,), rows.type.with_element(I64))
    return [wide, _range_at(builder, shape, start, 1)]


def _gather(rewriting: _Rewriting, op: Op) -> None:
    builder = Builder(before=op)
    type_: TensorDesc = op.operands[0].type
    desc, shape = rewriting.descriptor(op.operands[0]), op.results[0].type.shape
    ranges = _rows(builder, shape, *op.operands[1:])
    pointer, mask = _pointers(builder, shape, desc, ranges), _inside(builder, shape, desc, ranges)
    tile = Tensor(shape, _element(type_))
    other = _padding(builder, tile, desc.pads_nan)
    result = _emit_load(builder, op, pointer, mask, other, tile)
    if _element(type_) is F32:
        result = builder.value("arith.select", (desc.rounds, _rounded_to_tf32(builder, result), result), tile)
    op.results[0].replace_all_uses(result)
    op.erase()


def _scatter(rewriting: _Rewriting, op: Op) -> None:
    builder = Builder(before=op)
    x, y, source = op.operands[1:]
    desc, shape = rewriting.descriptor(op.operands[0]), source.type.shape
    ranges = _rows(builder, shape, x, y)
    pointer, mask = _pointers(builder, shape, desc, ranges), _inside(builder, shape, desc, ranges)
    builder.op("tt.store", (pointer, source, mask))
    op.erase()


_REWRITES: dict[str, Callable[[_Rewriting, Op], None]] = {
    "tt.make_tensor_descriptor": _make, "tt.descriptor_load": _load, "tt.descriptor_store": _store, "tt.descriptor_reduce": _reduce,
    "tt.descriptor_gather": _gather, "tt.descriptor_scatter": _scatter, "arith.select": _select,
}  # fmt: skip


def run(module: Module) -> None:
    for function in module.functions:
        if any(isinstance(value.type, TensorDesc) for op in function.walk() for value in (*op.operands, *op.results)) or any(
            isinstance(arg.type, TensorDesc) for arg in function.regions[0].blocks[0].args
        ):
            rewriting = _Rewriting(function)
            for block in function.regions[0].blocks:
                rewriting.block(block)
