"""Buffers that outlive an operation: staged loads of loops, operands of dots, tiles of descriptors.

Source: lib/Analysis/Allocation.cpp (which operations own buffers, and how long), AssignLatencies.cpp (only loads that feed a dot, or
those of a loop with a ``num_stages`` of its own, are staged), Triton 3.8.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import prod

from smem_lint.bounds.loops import LOOPS, copies, may_vanish, parents
from smem_lint.bounds.operands import made_of_loads
from smem_lint.bounds.staging import DOTS, LOADS, most_stages, read_in_branch
from smem_lint.tile.ir import Op, Value
from smem_lint.tile.types import Tensor, bits_of

_DESCRIPTORS = (
    "tt.descriptor_load", "tt.descriptor_store", "tt.descriptor_reduce", "tt.descriptor_gather", "tt.descriptor_scatter",
)  # fmt: skip
_PARTS = 3
"""A dot of three times the precision splits each operand."""

_OF_ZERO_ZERO = (
    "tt.splat", "tt.fp_to_fp", "arith.truncf", "arith.extf", "arith.trunci", "arith.extsi", "arith.extui", "arith.sitofp", "arith.uitofp",
)  # fmt: skip
LEAST_BITS = 16
"""Operands of 8 bits are widened where the device has no instruction for them."""

_UNPACKED = 4
"""A scaled dot's operand may hold two elements a byte, and is unpacked to two bytes each."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What of a function and its specialization decides how much is held.

    ``alignment`` (bytes) is that of any of its buffers, ``stages`` says which loads may be staged, in how many stages.
    """

    num_stages: int
    num_warps: int
    capability: int
    near_dots: bool
    alignment: int
    stages: Mapping[Op, int]

    @staticmethod
    def of(ops: Sequence[Op], num_stages: int, num_warps: int, capability: int) -> Facts:
        names = {op.name for op in ops}
        # What a tensor memory accelerator or a warp group reads is swizzled in rows of 128 bytes, eight to a period.
        wide = 90 <= capability < 120 or not names.isdisjoint(_DESCRIPTORS)
        return Facts(num_stages, num_warps, capability, not names.isdisjoint(DOTS), 1024 if wide else 128, most_stages(ops, num_stages))

    def slots(self, num_stages: int) -> int:
        """Buffers in the ring of a staged load: the distance to its use, and where a dot reads the buffers itself one more."""
        return max(1, num_stages if 90 <= self.capability < 120 else num_stages - 1)


@dataclass(slots=True)
class Held:
    """Bytes that are held in innermost loops, by loop, and outside of them."""

    outside: int = 0
    within: dict[Op, int] = field(default_factory=dict)

    @property
    def together(self) -> int:
        """Bytes that may be live together, or keep others from sharing their place.

        Loops that follow one another share theirs, unless a buffer outside of them is live in several: what one loop has left free
        may then be too small for the next.
        """
        return self.outside + sum(self.within.values()) if self.outside else max(self.within.values(), default=0)


def owned(function: Op, facts: Facts) -> dict[Op, list[int]]:
    """The operations that own lasting buffers, in order, with the bytes of each buffer in all the copies that there may be of it."""
    found: dict[Op, list[int]] = {}
    for op in function.walk():
        sizes = [size + facts.alignment for size in lasting(op, facts)]
        if sizes:
            times = prod(copies(one) for one in parents(op) if one.name in LOOPS)
            found[op] = [size * times for size in sizes]
    return found


def held(function: Op, facts: Facts, owners: Mapping[Op, list[int]]) -> Held:
    """What a function holds, of what its ``owners`` own (``owned``).

    An operand that no iteration changes is moved out of its loop, and its buffer outlives it there.
    """
    depths = _depths(function) if facts.near_dots else {}
    found = Held()
    for op, sizes in owners.items():
        loops = [one for one in parents(op) if one.name in LOOPS]
        if not loops or may_vanish(loops[0]) or _has_loops(loops[0]) or _leaves(op, len(loops), depths):
            found.outside += sum(sizes)
        else:
            found.within[loops[0]] = found.within.get(loops[0], 0) + sum(sizes)
    return found


def _has_loops(loop: Op) -> bool:
    return any(op.name in LOOPS for op in loop.walk() if op is not loop)


def _leaves(dot: Op, depth: int, depths: dict[Value, int]) -> bool:
    """Whether an operand of a dot ``depth`` loops deep may be moved out of the innermost."""
    return dot.name in DOTS and any(depths.get(value, 0) < depth for value in (*dot.operands[:2], *dot.operands[3:]))


def _depths(function: Op) -> dict[Value, int]:
    """For each value how many loops deep the innermost is whose iterations change it; nothing for what none changes."""
    found: dict[Value, int] = {}

    def visit(owner: Op, deep: int) -> int:
        """The depth on which an operation rests: that of its operands, and of what its regions read."""
        rests = max((found.get(value, 0) for value in owner.operands), default=0)
        inner = deep + (owner.name in LOOPS)
        for region in owner.regions:
            for block in region.blocks:
                if owner.name in LOOPS:
                    found.update(dict.fromkeys(block.args, inner))
                for op in block:
                    below = visit(op, inner)
                    rests = max(rests, below if below <= deep else 0)
                    if below:
                        found.update(dict.fromkeys(op.results, below))
        return rests

    visit(function, 0)
    return found


def lasting(op: Op, facts: Facts) -> Iterator[int]:
    """Bytes of each buffer that an operation may come to own for longer than it runs."""
    if op.name in LOADS:
        depth = staged(op, facts)
        if depth:
            yield depth * (bytes_of(op.results[0].type) + 16)
            return
    if op.name in _DESCRIPTORS:
        yield from (bytes_of(value.type) for value in (*op.operands, *op.results) if isinstance(value.type, Tensor))
    elif op.name == "tt.dot":
        split = _PARTS if "x" in str(op.attrs.get("inputPrecision", "")) else 1
        yield from (operand(value, facts, split) for value in op.operands[:2])
    elif op.name == "tt.dot_scaled":
        yield from (_UNPACKED * bytes_of(value.type) for value in op.operands)


def operand(value: Value, facts: Facts, split: int) -> int:
    """Bytes of a dot's operand in a buffer of its own, or of the loads that it is made of; 0 where it is read from its staged load."""
    made = value.op
    if split == 1 and made is not None and made.name in LOADS and staged(made, facts) and read_as_it_is(made):
        return 0
    return split * max(_widened(value), sum(_widened(load.results[0]) for load in made_of_loads(value) if not staged(load, facts)))


def _widened(value: Value) -> int:
    tile = value.type
    return int(tile.numel) * max(LEAST_BITS, bits_of(tile.element)) // 8


def read_as_it_is(load: Op) -> bool:
    """Whether a dot alone reads a staged load, and takes it from the buffer: not widened, and with nothing filled in."""
    value = load.results[0]
    if len(value.uses) != 1 or next(iter(value.uses)).owner.name != "tt.dot":
        return False
    filled = load.name == "tt.load" and len(load.operands) > 2 and not _zero(load.operands[2])
    return not filled and bits_of(value.type.element) >= LEAST_BITS


def _zero(value: Value) -> bool:
    made = value.made_through(_OF_ZERO_ZERO)
    return made is not None and made.name == "arith.constant" and made.attrs["value"] == 0


def staged(load: Op, facts: Facts) -> int:
    """Copies of a load's tile that its loop may keep; 0 where it keeps none."""
    most = facts.stages.get(load, 0)
    if load.name != "tt.load":
        return most
    return facts.slots(most) + read_in_branch(load) if most > 1 else 0


@cache
def bytes_of(type_: object) -> int:
    """Bytes of a tile; 8 for anything else."""
    return type_.numel * bits_of(type_.element) // 8 if isinstance(type_, Tensor) else 8
