"""Bounds for what the model does not cover: wide, and always true."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from smem_lint.engines import Estimate, unanswered
from smem_lint.specialization import Specialization
from smem_lint.tile.ir import Module, Op, Value
from smem_lint.tile.types import Tensor, bits_of

NAME = "model"
_DOTS = ("tt.dot", "tt.dot_scaled")
_DESCRIPTORS = (
    "tt.descriptor_load", "tt.descriptor_store", "tt.descriptor_reduce", "tt.descriptor_gather", "tt.descriptor_scatter",
)  # fmt: skip
_LOOPS = ("scf.for", "scf.while")
_LOADS = ("tt.load", "tt.descriptor_load", "tt.descriptor_gather")
_ALIGNMENT = 1024
_PARTS = 3
"""A dot of three times the precision splits each operand."""

_NARROWING = ("arith.truncf", "arith.trunci", "tt.fp_to_fp")
_LEAST_BITS = 16
"""Operands of 8 bits are widened where the device has no instruction for them."""

_UNPACKED = 4
"""A scaled dot's operand may hold two elements a byte, and is unpacked to two bytes each."""


def bounded(module: Module | None, specialization: Specialization, reason: str, seconds: float = 0.0) -> Estimate:
    """An estimate that is not exact: between nothing and every tile that the compiler could place at once.

    The guess in between is what pipelined dot operands take (``num_stages - 1`` copies). Without a tile program nothing is known.
    """
    if module is None:
        return unanswered(NAME, reason, seconds)
    upper = upper_bound(module, specialization)
    guess = min(_operands(module, specialization.num_stages), upper)
    return Estimate(guess, 0, upper, False, NAME, reasons=(reason,), seconds=seconds)


def upper_bound(module: Module, specialization: Specialization) -> int:
    """Bytes that no allocation of the front end's program exceeds.

    Buffers that outlive an operation are added up: staged loads of loops, operands of dots, tiles of descriptors. The scratch of one
    operation (a conversion, a reduction) is gone before the next one needs its own, so only the largest counts.

    Source: lib/Analysis/Allocation.cpp (which operations own buffers, and how long), AssignLatencies.cpp (only loads that feed a
    dot, or those of a loop with a ``num_stages`` of its own, are staged), Triton 3.8.0.
    """
    total = 0
    for function in module.functions:
        ops = list(function.walk())
        near_dots = any(op.name in _DOTS for op in ops)
        facts = _Facts(specialization.num_stages, specialization.capability, near_dots)
        if (near_dots and _in_tensor_memory(specialization.capability)) or any("tt.warp_specialize" in op.attrs for op in ops):
            # Partitions run at the same time, each with its scratch, and what tensor memory takes in passes through shared memory.
            total += sum(_passing(op) + sum(_lasting(op, facts)) for op in ops) + _ALIGNMENT
        else:
            total += _held(function, facts) + max(map(_passing, ops), default=0) + _ALIGNMENT
    return total


@dataclass(frozen=True, slots=True)
class _Facts:
    num_stages: int
    capability: int
    near_dots: bool

    def slots(self, num_stages: int) -> int:
        """Buffers in the ring of a staged load: the distance to its use, and where a dot reads the buffers itself one more."""
        return max(1, num_stages if 90 <= self.capability < 120 else num_stages - 1)


def _held(owner: Op, facts: _Facts) -> int:
    """Bytes of the buffers that may be live together in an operation's regions. Loops that follow one another share theirs."""
    own, loops = 0, 0
    for region in owner.regions:
        for block in region.blocks:
            for op in block:
                if op.name in _LOOPS:
                    loops = max(loops, _held(op, facts))
                elif op.regions:
                    own += _held(op, facts)
                own += sum(size + _ALIGNMENT for size in _lasting(op, facts))
    return own + loops


def _lasting(op: Op, facts: _Facts) -> Iterator[int]:
    """Bytes of each buffer that an operation may come to own for longer than it runs."""
    if op.name in _LOADS:
        depth = _staged(op, facts)
        if depth:
            yield depth * (_bytes(op.results[0].type) + 16)
    if op.name in _DESCRIPTORS:
        yield from (_bytes(value.type) for value in (*op.operands, *op.results) if isinstance(value.type, Tensor))
    elif op.name == "tt.dot":
        parts = _PARTS if "x3" in str(op.attrs.get("inputPrecision", "")) else 1
        yield from (parts * _operand(value, facts) for value in op.operands[:2])
    elif op.name == "tt.dot_scaled":
        yield from (_UNPACKED * _bytes(value.type) for value in op.operands)


def _operand(value: Value, facts: _Facts) -> int:
    """Bytes of a dot's operand in a buffer of its own, before or after it is narrowed; 0 where it is read from its staged load."""
    made = value.op
    if made is not None and made.name in _LOADS and _staged(made, facts):
        return 0
    tile = value.type
    sources = made.operands if made is not None and made.name in _NARROWING else ()
    return int(tile.numel) * max([_LEAST_BITS, bits_of(tile.element), *(bits_of(one.type.element) for one in sources)]) // 8


def _staged(load: Op, facts: _Facts) -> int:
    """Copies of a load's tile that its loop may keep; 0 where it keeps none."""
    at = load.parent
    while at is not None and at.name != "scf.for":
        at = at.parent
    if at is None:
        return 0
    own = at.attrs.get("tt.num_stages")
    if own is None and not facts.near_dots:
        return 0
    stages = facts.num_stages if own is None else own
    if load.name != "tt.load":
        return max(1, stages)
    return facts.slots(stages) if stages > 1 else 0


def _passing(op: Op) -> int:
    """Bytes that an operation, or a change of layout of what it gives, may need while it runs."""
    if not op.results and op.name not in _STORES:
        return 0
    results = [_bytes(result.type) for result in op.results]
    if op.name in _SHUFFLING:
        return sum(results) + sum(_bytes(value.type) for value in op.operands)
    return max((*results, *(_bytes(value.type) for value in op.operands))) if results or op.operands else 0


_STORES = ("tt.store", "tt.descriptor_store", "tt.descriptor_reduce", "tt.descriptor_scatter")
_SHUFFLING = (
    "tt.reduce", "tt.scan", "tt.trans", "tt.reshape", "tt.join", "tt.split", "tt.gather", "tt.histogram", "tt.atomic_rmw",
    "tt.atomic_cas", "tt.cat", "tt.map_elementwise",
)  # fmt: skip


def _in_tensor_memory(capability: int) -> bool:
    return 100 <= capability < 120


def _bytes(type_: object) -> int:
    return type_.numel * bits_of(type_.element) // 8 if isinstance(type_, Tensor) else 8


def _operands(module: Module, num_stages: int) -> int:
    dots = [op for op in module.walk() if op.name in _DOTS]
    return sum(max(1, num_stages - 1) * _bytes(value.type) for op in dots for value in op.operands[:2])
