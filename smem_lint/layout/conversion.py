"""What it takes to bring a tensor from one layout into another: nothing, moves between registers, shuffles, or shared memory.

The cheapest means is found by looking for the slowest input (warp, then lane, then register) that the conversion leaves alone.
If no element changes its warp or its lane, each thread renames its registers. If no element changes its warp, lanes exchange
registers by shuffles, provided that few enough exchanges do it. All else goes through shared memory.

Example, 32 elements in one warp: from lane (1, 2, 4, 8, 16) to lane (2, 1, 4, 8, 16) is a shuffle. From register (1, 2),
lane (4, 8, 16, 0, 0) to lane (1, 2, 4, 8, 16) two register bits become lane bits; two such exchanges are one too many.

Facts: ``minimalCvtLayout``, ``cvtReordersRegisters``, ``cvtNeedsWarpShuffle``, ``cvtNeedsSharedMemory`` and
``getWarpLayoutConvertDecomposition`` in lib/Analysis/Utility.cpp, Triton 3.8.0 (the same rules since 3.5).
"""

from __future__ import annotations

from functools import cache

from smem_lint.layout.encodings import Distributed, Shared
from smem_lint.layout.linear import Dims, LinearLayout
from smem_lint.layout.to_linear import linear_layout

_SHUFFLE_LIMIT = 2  # from this many exchanges between register and lane bits on, shared memory is used


def conversion_needs_shared(source: Distributed, target: Distributed, shape: Dims) -> bool:
    """Whether the conversion goes through shared memory (``cvtNeedsSharedMemory``)."""
    return _means(linear_layout(source, shape), linear_layout(target, shape)) == "shared"


def conversion_needs_shuffle(source: Distributed, target: Distributed, shape: Dims) -> bool:
    """Whether lanes exchange registers, and nothing more is needed (``cvtNeedsWarpShuffle``)."""
    return _means(linear_layout(source, shape), linear_layout(target, shape)) == "shuffle"


def conversion_is_reorder(source: Distributed, target: Distributed, shape: Dims) -> bool:
    """Whether every thread has all it needs in its own registers (``cvtReordersRegisters``)."""
    return _means(linear_layout(source, shape), linear_layout(target, shape)) == "registers"


def min_conversion_dims(source: Distributed, target: Distributed, shape: Dims) -> tuple[str, ...]:
    """The inputs that take part in the conversion, after those it leaves alone (``minimalCvtLayout``)."""
    return _moving_inputs(linear_layout(source, shape), linear_layout(target, shape))


@cache
def shared_vector(encoding: Distributed, shared: Shared, shape: Dims) -> int:
    """How many neighbouring elements a thread can move at once between its registers and a buffer, however many bits that is.

    The pipeliner copies asynchronously only what is at least 4 bytes this way (``getCopyVecBytes`` in
    lib/Dialect/TritonGPU/Transforms/Pipeliner/PipeliningUtility.cpp).
    """
    return linear_layout(encoding, shape).invert_and_compose(linear_layout(shared, shape)).consecutive()


@cache
def _means(source: LinearLayout, target: LinearLayout) -> str:
    moving = _moving_inputs(source, target)
    if moving in ((), ("register",)):
        return "registers"
    if moving == ("register", "lane") and _register_lane_exchanges(source, target) < _SHUFFLE_LIMIT:
        return "shuffle"
    return "shared"


@cache
def _moving_inputs(source: LinearLayout, target: LinearLayout) -> tuple[str, ...]:
    """Drop warp, then lane, then register, as long as the conversion keeps each of its bits to itself."""
    moves = target.invert_and_compose(source)
    remaining = list(moves.inputs)
    while remaining and _is_left_alone(moves, remaining[-1], remaining):
        remaining.pop()
    return tuple(remaining)


def _is_left_alone(moves: LinearLayout, name: str, among: list[str]) -> bool:
    """Whether ``name`` maps to itself bit by bit and no other input of ``among`` maps into it."""
    at = moves.inputs.index(name)
    low, size = moves.shifts[at], moves.shape[at]
    if moves.size(name) != size or any(basis != 1 << low + bit for bit, basis in enumerate(moves[name])):
        return False
    mask = size - 1 << low
    return not any(basis & mask for other in among if other != name for basis in moves[other])


def _register_lane_exchanges(source: LinearLayout, target: LinearLayout) -> int:
    """How many register bits trade places with lane bits, seen as the cycles of a permutation of all register and lane bits."""
    step = _bit_permutation(source, target)
    if step is None:
        return _SHUFFLE_LIMIT
    registers = max(len(source.without_zeros().register), len(target.without_zeros().register))
    # Every run of lane bits in a cycle costs one exchange; it ends where a lane bit steps to a register bit.
    return sum(bit >= registers > following for bit, following in enumerate(step))


def _bit_permutation(source: LinearLayout, target: LinearLayout) -> list[int] | None:
    """For each register and lane bit of ``source`` the bit of ``target`` that stands for the same element.

    Both get the same number of bits by appending broadcast ones. Broadcast bits stay in place where both layouts have them;
    the rest are matched in order. None if the layouts do not permute bits.
    """
    source, target = source.without_zeros(), target.without_zeros()
    counts = {name: max(len(source[name]), len(target[name])) for name in ("register", "lane")}
    before, after = _padded(source, counts), _padded(target, counts)
    step: list[int] = [place.bit_length() - 1 for place in before.invert_and_compose(after).all_bases()]
    here, there = list(before.all_bases()), list(after.all_bases())
    free_here = [bit for bit, basis in enumerate(here) if not basis and there[bit]]
    free_there = [bit for bit, basis in enumerate(there) if not basis and here[bit]]
    for bit, (basis, other) in enumerate(zip(here, there, strict=True)):
        if not basis and not other:
            step[bit] = bit
    for bit, other in zip(free_here, free_there, strict=False):
        step[bit] = other
    return step if sorted(step) == list(range(len(step))) else None


def _padded(layout: LinearLayout, counts: dict[str, int]) -> LinearLayout:
    return LinearLayout(counts, (layout[name] + (0,) * (count - len(layout[name])) for name, count in counts.items()), layout.shape)
