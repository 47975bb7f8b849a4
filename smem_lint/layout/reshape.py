"""Reshapes of blocked encodings that give blocked encodings again.

The shapes are cut into the smallest groups of dimensions that have the same number of elements; within a group dimensions are
merged or cut. 2 x 4 x 8 -> 8 x 8 has the groups (2 x 4 -> 8) and (8 -> 8). A blocked encoding survives if the dimensions of each
group lie side by side in memory order, and if a major one of them is only subdivided once the minor ones are used up::

    4 x 4 x 4, size_per_thread (1, 2, 4) -> 64    fine: dimension 2 is whole, then comes part of dimension 1
    4 x 4 x 4, size_per_thread (1, 2, 2) -> 64    no: a thread would have 0, 1, 4, 5

Facts: ``inferReshapeOpLegacyEncoding`` in lib/Dialect/TritonGPU/IR/Dialect.cpp and ``getReshapeDecomposition`` in
lib/Analysis/Utility.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from math import prod

from smem_lint.layout.distributed import default_blocked
from smem_lint.layout.encodings import Blocked
from smem_lint.layout.linear import Dims

Groups = list[tuple[list[int], list[int]]]


def blocked_reshape(encoding: Blocked, shape: Dims, target: Dims) -> Blocked | None:
    """The blocked encoding of the reshaped tensor that keeps every element in place, or None."""
    if shape == target:
        return encoding
    threads = prod(encoding.warps_per_cta), prod(encoding.threads_per_warp)
    if encoding is default_blocked(shape, *threads):
        return default_blocked(target, *threads)
    fields = encoding.sizes
    groups = reshape_groups(shape, target)
    minor_rank = {dim: place for place, dim in enumerate(encoding.order)}
    if any(not _side_by_side(source, minor_rank) or not _filled_minor_first(source, shape, fields) for source, _ in groups):
        return None
    remaining = list(target)
    size, lanes, warps = (_redistribute(field, groups, remaining) for field in fields)
    groups.sort(key=lambda group: minor_rank[group[0][0]])
    order = tuple(dim for _, dims in groups for dim in reversed(dims))
    return Blocked(size, lanes, warps, order)


def reshape_groups(shape: Dims, target: Dims) -> Groups:
    """The smallest groups of consecutive dimensions with equal numbers of elements; a size of 1 joins the group before it."""
    groups: Groups = [([], [])]
    at, to = 0, 0
    elements, wanted = 1, 1
    while at < len(shape) or to < len(target):
        more = at < len(shape)
        if elements < wanted or (more and elements == 1) or (more and shape[at] == 1):
            elements *= shape[at]
            groups[-1][0].append(at)
            at += 1
        elif wanted < elements or (to < len(target) and target[to] == 1):
            wanted *= target[to]
            groups[-1][1].append(to)
            to += 1
        else:
            groups.append(([], []))
            elements = wanted = 1
    return groups


def _side_by_side(dims: list[int], minor_rank: dict[int, int]) -> bool:
    places = [minor_rank[dim] for dim in reversed(dims)]
    return places == list(range(places[0], places[0] + len(places)))


def _filled_minor_first(dims: list[int], shape: Dims, fields: tuple[Dims, ...]) -> bool:
    """Registers, then lanes, then warps use up the minor dimensions before they touch a major one.

    They may reach beyond the tensor in the most major dimension alone.
    """
    remaining = {dim: shape[dim] for dim in dims}
    for field in fields:
        for place in range(len(dims) - 1, -1, -1):
            dim = dims[place]
            if field[dim] == 1:
                continue
            if any(remaining[minor] != 1 for minor in dims[place + 1 :]):
                return False
            remaining[dim] = remaining[dim] // field[dim] if remaining[dim] >= field[dim] else 0
            if remaining[dim] == 0 and place != 0:
                return False
    return True


def _redistribute(field: Dims, groups: Groups, remaining: list[int]) -> Dims:
    """Spread the registers (lanes, warps) of each group over its new dimensions, minor first; an excess goes to the major one."""
    sizes = [1] * len(remaining)
    for source, target in groups:
        left = prod(field[dim] for dim in source)
        for dim in reversed(target):
            sizes[dim] = min(left, remaining[dim])
            left //= sizes[dim]
            remaining[dim] //= sizes[dim]
        sizes[target[0]] *= left
    return tuple(sizes)
