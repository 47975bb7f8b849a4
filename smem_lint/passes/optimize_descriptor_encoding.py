"""Shared-memory encodings of tensor descriptors, from what is loaded and stored with them; all uses of one must agree.

Facts: lib/Dialect/TritonGPU/Transforms/DescriptorMemoryLayouts.cpp and
lib/Dialect/TritonNvidiaGPU/Transforms/OptimizeDescriptorEncoding.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from smem_lint.layout.encodings import NvmmaShared, SharedLinear
from smem_lint.layout.linear import Dims
from smem_lint.layout.nvmma import nvmma_shared_for
from smem_lint.layout.shared import shared_layout, shared_order
from smem_lint.tile.ir import Module, Op, Value
from smem_lint.tile.traits import DESCRIPTOR_LOADS
from smem_lint.tile.types import MemDesc, Tensor, TensorDesc
from smem_lint.tile.unsupported import Unsupported

_STORES = frozenset({"tt.descriptor_store", "tt.descriptor_reduce", "tt.descriptor_scatter"})
_BOUNDARIES = frozenset({"tt.call", "tt.return", "ttng.reinterpret_tensor_descriptor"})


class _Wish(NamedTuple):
    """What the uses of a descriptor ask for; ``shape`` is () while nothing is known."""

    encoding: NvmmaShared | None = None
    shape: Dims = ()
    forced: bool = False


def run(module: Module) -> None:
    """Give every descriptor of ``module`` an encoding."""
    for function in module.functions:
        if function.regions[0].blocks:
            _Assignment(function).run()


def _combined(a: _Wish, b: _Wish) -> _Wish:
    if a.forced or b.forced:
        return _Wish(forced=True)
    shape = tuple(map(min, a.shape, b.shape)) if a.shape and b.shape else a.shape or b.shape
    if a.encoding is not None and b.encoding is not None and a.encoding is not b.encoding:
        return _Wish(None, shape, True)
    return _Wish(a.encoding or b.encoding, shape)


class _Assignment:
    def __init__(self, function: Op) -> None:
        self.function = function
        self.wishes: dict[Value, _Wish] = {}
        self.queue: list[Value] = []

    def run(self) -> None:
        kernel = self.function.attrs.get("visibility") == "public"
        for arg in self.function.body.args:
            if isinstance(arg.type, TensorDesc):
                self.update([arg], _Wish(forced=not kernel))
        for op in self.function.walk_post():
            if op is not self.function:
                self.seed(op)
        while self.queue:
            self.spread(self.queue.pop())
        for value, wish in self.wishes.items():
            value.retype(_with_encoding(value.type, wish))

    def update(self, values: Iterable[Value], wish: _Wish) -> None:
        """Let all these values agree with one another and with ``wish``."""
        values = [value for value in values if isinstance(value.type, TensorDesc)]
        for value in values:
            found = self.wishes.get(value)
            if found is not None:
                wish = _combined(found, wish)
        for value in values:
            if self.wishes.get(value) != wish:
                self.wishes[value] = wish
                self.queue.append(value)

    def seed(self, op: Op) -> None:
        if op.name in DESCRIPTOR_LOADS:
            self.update(op.operands[:1], _Wish(_encoding_of_users(op), _expanded(op.results[0].type.shape, op.operands[0].type)))
        elif op.name in _STORES:
            stored = [value.type for value in op.operands if isinstance(value.type, Tensor)][-1]
            self.update(op.operands[:1], _Wish(None, _expanded(stored.shape, op.operands[0].type)))
        else:
            wish = _Wish(forced=op.name in _BOUNDARIES)
            for value in (*op.results, *op.operands):
                if isinstance(value.type, TensorDesc):
                    self.wishes.setdefault(value, wish)
                    if wish.forced:
                        self.queue.append(value)

    def spread(self, value: Value) -> None:
        for use in list(value.uses):
            op = use.owner
            if op.name in ("scf.for", "scf.while"):
                self.update(_tied(op, use.index - (3 if op.name == "scf.for" else 0)), _Wish())
            elif op.name == "scf.yield" and op.parent is not None:
                self.update(_tied(op.parent, use.index), _Wish())
        op_behind = value.op
        if op_behind is not None:
            if op_behind.name in ("scf.for", "scf.while", "scf.if"):
                self.update(_tied(op_behind, value.index), _Wish())
        elif value.block is not None and value.block.parent_op is not None:
            parent = value.block.parent_op
            if parent.name in ("scf.for", "scf.while"):
                self.update(_tied(parent, value.index - (1 if parent.name == "scf.for" else 0)), _Wish())


def _tied(op: Op, index: int) -> list[Value]:
    """The values that a loop or conditional makes one of: argument, result, what is yielded, what comes in."""
    if op.name == "scf.for":
        return [op.body.args[index + 1], op.results[index], op.body.terminator.operands[index], op.operands[index + 3]]
    if op.name == "scf.while":
        return [op.body.args[index], op.results[index], op.body.terminator.operands[index + 1], op.operands[index]]
    yields = [block.terminator.operands[index] for region in op.regions for block in region.blocks]
    return [*yields, op.results[index]]


def _expanded(shape: Dims, descriptor: TensorDesc) -> Dims:
    return (1,) * (len(descriptor.shape) - len(shape)) + shape


def _encoding_of_users(load: Op) -> NvmmaShared | None:
    """The first encoding of a buffer that the load goes to as it is and that the copy engine can write."""
    for user in load.results[0].users:
        if user.name in ("ttg.local_alloc", "ttg.local_store"):
            buffer = user.results[0].type if user.name == "ttg.local_alloc" else user.operands[1].type
            found = _for_copy_engine(buffer)
            if found is not None:
                return found
    return None


def _for_copy_engine(buffer: MemDesc) -> NvmmaShared | None:
    encoding = buffer.encoding
    if isinstance(encoding, NvmmaShared):
        return None if encoding.transposed else encoding
    if not isinstance(encoding, SharedLinear):
        return None
    order, bits = shared_order(encoding, len(buffer.shape)), buffer.element.bits
    tried = [nvmma_shared_for(buffer.shape, order, bits, padded) for padded in (False, True)]
    tried += [NvmmaShared(width, False, max(8, bits), padded) for padded in (False, True) for width in (0, 32, 64, 128)]
    return next((candidate for candidate in dict.fromkeys(tried) if _same(candidate, encoding, buffer.shape)), None)


def _same(candidate: NvmmaShared, encoding: SharedLinear, shape: Dims) -> bool:
    try:
        return shared_layout(candidate, shape) is shared_layout(encoding, shape)
    except Unsupported:
        return False


def _with_encoding(type_: TensorDesc, wish: _Wish) -> TensorDesc:
    encoding = wish.encoding
    if encoding is None or wish.forced:
        shape = type_.shape if wish.forced or not wish.shape else wish.shape
        encoding = nvmma_shared_for(shape, tuple(range(len(shape) - 1, -1, -1)), type_.element.bits)
    return TensorDesc(type_.shape, type_.element, encoding)
