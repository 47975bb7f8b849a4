"""Layouts of memory accesses: neighbouring lanes take neighbouring addresses, each as many as one instruction can move.

Facts: lib/Dialect/TritonGPU/Transforms/Coalesce.cpp, CoalesceUtils.cpp and Utility.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from math import prod
from typing import Any

from smem_lint.layout.distributed import blocked_for
from smem_lint.layout.encodings import Blocked
from smem_lint.layout.to_linear import row_major
from smem_lint.passes.axis_info import ModuleAxisInfo
from smem_lint.passes.rewriting import convert_operation
from smem_lint.tile.ir import Module, Op, Value
from smem_lint.tile.slices import Reach
from smem_lint.tile.types import Pointer, Tensor
from smem_lint.tile.versions import decisions

_VECTOR_BITS = 128
_THREADS_PER_WARP = 32
_ACCESSES = frozenset(("tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas"))
ASYNC_COPY = "ttg.async_copy_global_to_local"
_DESCRIPTOR_LOADS = frozenset(("tt.descriptor_load", "tt.descriptor_gather"))
_DESCRIPTOR_STORES = frozenset(("tt.descriptor_store", "tt.descriptor_reduce", "tt.descriptor_scatter"))


def run(module: Module) -> None:
    """Convert the operands and results of every access of global memory to the layout that suits it."""
    accesses, descriptors = [], []
    for op in module.walk_post():
        if op.name in _ACCESSES and isinstance(op.operands[0].type, Tensor):
            accesses.append(op)
        elif op.name in _DESCRIPTOR_LOADS or op.name in _DESCRIPTOR_STORES:
            descriptors.append(op)
    layouts: list[tuple[Op, Blocked]] = []
    if accesses:
        choice = Choice(module, accesses)
        layouts += [(op, choice.encoding(op)) for op in accesses]
    layouts += [(op, _descriptor_encoding(op, module.num_warps)) for op in descriptors]
    for op, encoding in layouts:
        convert_operation(op, encoding, skip=(1,) if op.name in ("tt.descriptor_gather", "tt.descriptor_scatter") else ())


def accesses_of(module: Module) -> list[Op]:
    """Every access of memory through a tensor of pointers, asynchronous copies included."""
    return [op for op in module.walk_post() if (op.name in _ACCESSES or op.name == ASYNC_COPY) and isinstance(op.operands[0].type, Tensor)]


def order_by_contiguity(contiguity: tuple[int, ...], first_first: bool = False) -> tuple[int, ...]:
    """Dimensions by falling contiguity, the last dimension first among equals, or (``first_first``) the first one."""
    dims = range(len(contiguity)) if first_first else row_major(len(contiguity))
    return tuple(sorted(dims, key=lambda dim: -contiguity[dim]))


class Choice:
    """The layout for each of ``accesses`` (all of the program whose pointers are tensors; the pointer is their first operand)."""

    def __init__(self, module: Module, accesses: list[Op]) -> None:
        self.module, self.axes, self.reach = module, ModuleAxisInfo(module), Reach(module)
        self.alike: dict[tuple[Op, object, tuple[int, ...]], list[Op]] = {}
        first = decisions(module.version).first_dimension_first
        self.orders = {op: order_by_contiguity(self.axes.info(op.operands[0]).contiguity, first) for op in accesses}
        for op in accesses:
            key = (self.reach.component(op), op.operands[0].type.shape, self.orders[op])
            self.alike.setdefault(key, []).append(op)

    def encoding(self, op: Op) -> Blocked:
        """The widest access among those that depend on one another, of one shape and order; a store keeps to its own width."""
        pointer = op.operands[0]
        shape, order = pointer.type.shape, self.orders[op]
        own = widest = self.width(op, order)
        if pointer.op is not None:
            for component in self.reach.components(op):
                for other in self.alike.get((component, shape, order), ()):
                    widest = max(widest, self.width(other, order))
        widest = min(widest, max(prod(shape) // (self.module.num_warps * _THREADS_PER_WARP), 1))
        if op.name != "tt.load":
            widest = min(widest, own)
        sizes = [1] * len(shape)
        sizes[order[0]] = widest
        return blocked_for(shape, tuple(sizes), order, self.module.num_warps)

    def width(self, op: Op, order: tuple[int, ...]) -> int:
        module = self.module
        return elements_per_access(op, order, self.axes, module.capability, decisions(module.version).atomics_have_widths)


def elements_per_access(op: Op, order: tuple[int, ...], axes: ModuleAxisInfo, capability: int, mind_atomics: bool) -> int:
    """How many elements along ``order[0]`` one thread can take at once, by alignment and by the width of an instruction."""
    pointer: Value = op.operands[0]
    type_ = pointer.type
    element: Any = type_.element.pointee if isinstance(type_.element, Pointer) else type_.element
    bits = element.bits
    info = axes.info(pointer)
    aligned = max((info.divisibility[order[0]] & 0xFFFFFFFF) // max(bits // 8, 1), 1)
    contiguous: int = min(info.contiguity[order[0]], type_.shape[order[0]])
    width = _atomic_width(op, element, capability) if mind_atomics else _VECTOR_BITS
    return int(min(aligned, contiguous, _VECTOR_BITS // bits, width))


def _atomic_width(op: Op, element: Any, capability: int) -> int:
    """How many elements one atomic operation takes: integers and doubles one, before sm_90 no more than 32 bits of a sum."""
    if op.name == "tt.atomic_cas":
        return 1
    if op.name != "tt.atomic_rmw":
        return _VECTOR_BITS
    if not element.is_float or element.name == "f64":
        return 1
    if op.attrs["rmw_op"] != "fadd" or capability >= 90:
        return _VECTOR_BITS
    return {"f32": 1, "bf16": 1, "f16": 2}.get(element.name, _VECTOR_BITS)


def _descriptor_encoding(op: Op, num_warps: int) -> Blocked:
    """Row-major, so that the copy to or from shared memory is as wide as it can be."""
    tensors = [value.type for value in (op.results or op.operands) if isinstance(value.type, Tensor)]
    type_ = tensors[-1]
    shape = type_.shape
    width = min(max(prod(shape) // (num_warps * _THREADS_PER_WARP), 1), _VECTOR_BITS // type_.element.bits)
    return blocked_for(shape, (*(1 for _ in shape[:-1]), width), row_major(len(shape)), num_warps)
