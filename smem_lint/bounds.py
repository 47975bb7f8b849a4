"""Bounds for what the model does not cover: wide, and always true."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

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
            total += sum(_passing(op) + sum(_lasting(op, facts)) for op in ops) * prod(map(_copies, ops)) + _ALIGNMENT
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


def _held(function: Op, facts: _Facts) -> int:
    """Bytes of the buffers of a function that may be live together, or that keep others from sharing their place.

    Loops that follow one another share theirs, unless a buffer outside of them is live in several: what one loop has left free may
    then be too small for the next. An operand that no iteration changes is moved out of its loop, and its buffer outlives it there.
    """
    depths = _depths(function)
    outside, within = 0, dict[Op, int]()
    for op in function.walk():
        held = sum(size + _ALIGNMENT for size in _lasting(op, facts))
        if not held:
            continue
        loops = [one for one in _parents(op) if one.name in _LOOPS]
        held *= prod(map(_copies, loops))
        if not loops or _may_vanish(loops[0]) or _has_loops(loops[0]) or _leaves(op, len(loops), depths):
            outside += held
        else:
            within[loops[0]] = within.get(loops[0], 0) + held
    return outside + sum(within.values()) if outside else max(within.values(), default=0)


def _parents(op: Op) -> Iterator[Op]:
    at = op.parent
    while at is not None:
        yield at
        at = at.parent


def _has_loops(loop: Op) -> bool:
    return any(op.name in _LOOPS for op in loop.walk() if op is not loop)


def _leaves(dot: Op, depth: int, depths: dict[Value, int]) -> bool:
    """Whether an operand of a dot ``depth`` loops deep may be moved out of the innermost."""
    return dot.name in _DOTS and any(depths.get(value, 0) < depth for value in (*dot.operands[:2], *dot.operands[3:]))


def _depths(function: Op) -> dict[Value, int]:
    """For each value how many loops deep the innermost is whose iterations change it; nothing for what none changes."""
    found: dict[Value, int] = {}

    def visit(owner: Op, deep: int) -> int:
        """The depth on which an operation rests: that of its operands, and of what its regions read."""
        rests = max((found.get(value, 0) for value in owner.operands), default=0)
        inner = deep + (owner.name in _LOOPS)
        for region in owner.regions:
            for block in region.blocks:
                if owner.name in _LOOPS:
                    found.update(dict.fromkeys(block.args, inner))
                for op in block:
                    below = visit(op, inner)
                    rests = max(rests, below if below <= deep else 0)
                    if below:
                        found.update(dict.fromkeys(op.results, below))
        return rests

    visit(function, 0)
    return found


def _copies(loop: Op) -> int:
    """How often a loop's body may stand in the program: unrolled, and once more for the iterations that are left."""
    factor = int(loop.attrs.get("tt.loop_unroll_factor") or 1)
    return factor + 1 if factor > 1 else 1


def _may_vanish(loop: Op) -> bool:
    """Whether a loop may be found to run once, and be replaced by its body: its bounds are made of constants."""
    return loop.name == "scf.for" and all(map(_constant, loop.operands[:3]))


def _constant(value: Value) -> bool:
    made = value.op
    return made is not None and not made.regions and made.name.startswith("arith.") and all(map(_constant, made.operands))


def _lasting(op: Op, facts: _Facts) -> Iterator[int]:
    """Bytes of each buffer that an operation may come to own for longer than it runs."""
    if op.name in _LOADS:
        depth = _staged(op, facts)
        if depth:
            yield depth * (_bytes(op.results[0].type) + 16)
    if op.name in _DESCRIPTORS:
        yield from (_bytes(value.type) for value in (*op.operands, *op.results) if isinstance(value.type, Tensor))
    elif op.name == "tt.dot":
        split = _PARTS if "x" in str(op.attrs.get("inputPrecision", "")) else 1
        yield from (_operand(value, facts, split) for value in op.operands[:2])
    elif op.name == "tt.dot_scaled":
        yield from (_UNPACKED * _bytes(value.type) for value in op.operands)


def _operand(value: Value, facts: _Facts, split: int) -> int:
    """Bytes of a dot's operand in a buffer of its own, before or after it is narrowed; 0 where it is read from its staged load."""
    made = value.op
    if split == 1 and made is not None and made.name in _LOADS and _staged(made, facts) and _read_as_it_is(made):
        return 0
    tile = value.type
    sources = made.operands if made is not None and made.name in _NARROWING else ()
    bits = max([_LEAST_BITS, bits_of(tile.element), *(bits_of(one.type.element) for one in sources)])
    return split * int(tile.numel) * bits // 8


def _read_as_it_is(load: Op) -> bool:
    """Whether the one dot that reads a staged load takes it from the buffer: not widened, and with nothing filled in."""
    value = load.results[0]
    filled = load.name == "tt.load" and len(load.operands) > 2 and not _zero(load.operands[2])
    return len(value.uses) == 1 and not filled and bits_of(value.type.element) >= _LEAST_BITS


def _zero(value: Value) -> bool:
    made = value.op
    if made is not None and made.name == "tt.splat":
        made = made.operands[0].op
    return made is not None and made.name == "arith.constant" and made.attrs["value"] == 0


def _staged(load: Op, facts: _Facts) -> int:
    """Copies of a load's tile that its loop may keep; 0 where it keeps none."""
    loops = _loops_around(load)
    if not loops:
        return 0
    stages = [int(loop.attrs["tt.num_stages"]) for loop in loops if loop.attrs.get("tt.num_stages") is not None]
    if not stages and not facts.near_dots:
        return 0
    most = max([*stages, *([facts.num_stages] if len(loops) > len(stages) or len(loops) > 1 else [])])
    if load.name != "tt.load":
        return max(1, most)
    return facts.slots(most) if most > 1 else 0


def _loops_around(op: Op) -> list[Op]:
    """The loop that an operation is in, with all that may be made one loop with it."""
    around = [one for one in _parents(op) if one.name == "scf.for"]
    flat = [loop for loop in around if loop.attrs.get("tt.flatten")]
    if flat:
        return [flat[-1], *(inner for inner in flat[-1].walk() if inner.name == "scf.for" and inner is not flat[-1])]
    return around[:1]


def _passing(op: Op) -> int:
    """Bytes that an operation, or a change of layout of what it gives, may need while it runs."""
    if not op.results and op.name not in _STORES:
        return 0
    results = [_bytes(result.type) for result in op.results]
    if op.name == "tt.dot":
        results += [value.type.numel * _LEAST_BITS // 8 for value in op.operands[:2]]
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
