"""Where each byte of a kernel goes, and what changes it: the peak, sweeps over options, constexprs and types, the cliff, what fits."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from smem_lint.devices import Device
from smem_lint.engines import Buffer, Engine, Estimate
from smem_lint.specialization import Specialization

_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
_NEAREST = 6
_SCALARS = ("i1", "u1", "i8", "i16", "i32", "i64", "u32", "u64", "fp32", "fp64")


@dataclass(frozen=True, slots=True)
class Row:
    """One variant: what was set apart from the base, and its estimate."""

    change: Mapping[str, Any]
    specialization: Specialization
    estimate: Estimate

    def fits(self, device: Device) -> bool | None:
        return None if self.estimate.bytes is None else self.estimate.bytes <= device.optin


@dataclass(frozen=True, slots=True)
class Peak:
    """The buffers that are live together where the most is in use, by offset; ``gaps`` are bytes between them that nobody holds."""

    buffers: tuple[Buffer, ...]
    total: int
    gaps: int
    position: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """``tables`` are sweeps, by the name that is swept; ``cliffs`` name the step of a table at which the limit is crossed."""

    device: Device
    base: Row
    peak: Peak | None
    tables: Mapping[str, tuple[Row, ...]]
    cliffs: Mapping[str, tuple[Row, Row]]
    fitting: tuple[Row, ...]
    assumed: tuple[str, ...] = ()

    @property
    def headroom(self) -> int | None:
        return None if self.base.estimate.bytes is None else self.device.optin - self.base.estimate.bytes


def explain(
    engine: Engine, base: Specialization, device: Device, sweeps: Mapping[str, Sequence[Any]], assumed: Sequence[str] = (),
) -> Explanation:  # fmt: skip
    """Estimate ``base`` and every variant of it.

    ``sweeps`` maps an option, a constexpr or an argument to values (types for an argument); ``num_stages`` and ``num_warps`` are
    swept in any case. The nearest fitting variants change as little as possible.
    """
    every: dict[str, Sequence[Any]] = {"num_stages": _stages(base), "num_warps": _warps(base), **sweeps}
    wanted: dict[str, list[tuple[dict[str, Any], Specialization]]] = {}
    for name, values in every.items():
        wanted[name] = [({name: value}, changed(base, {name: value})) for value in values]
    crossed = _crossed(base, every, sweeps)
    flat = [base, *(one for pairs in wanted.values() for _, one in pairs), *(one for _, one in crossed)]
    answers = dict(zip(map(repr, flat), engine.estimate(flat), strict=True))

    def row(change: Mapping[str, Any], one: Specialization) -> Row:
        return Row(change, one, answers[repr(one)])

    tables = {name: tuple(row(change, one) for change, one in pairs) for name, pairs in wanted.items()}
    cliffs = {name: step for name, rows in tables.items() if (step := _cliff(rows, device)) is not None}
    first = row({}, base)
    others = [row(change, one) for change, one in crossed] + [one for rows in tables.values() for one in rows]
    return Explanation(device, first, peak(first.estimate), tables, cliffs, _fitting(first, others, device), tuple(assumed))


def changed(base: Specialization, change: Mapping[str, Any]) -> Specialization:
    """``base`` with options, constexprs or argument types set; raises KeyError for a name that the kernel does not have."""
    options = {name: value for name, value in change.items() if name in _OPTIONS and name not in base.signature}
    constexprs, signature = dict(base.constexprs), dict(base.signature)
    attrs = dict(base.attrs)
    for name, value in change.items():
        if name in options:
            continue
        if name not in signature:
            raise KeyError(name)
        if signature[name] == "constexpr" and not _is_type(value):
            constexprs[name] = value
        elif _is_type(value):
            signature[name] = value
            constexprs.pop(name, None)
        else:
            signature[name], constexprs[name] = "constexpr", value
            attrs.pop(name, None)
    return replace(base, signature=signature, constexprs=constexprs, attrs=attrs, **options)


def _is_type(value: Any) -> bool:
    return isinstance(value, str) and (value.startswith("*") or value in _SCALARS)


def _stages(base: Specialization) -> list[int]:
    return list(range(1, max(5, base.num_stages + 1) + 1))


def _warps(base: Specialization) -> list[int]:
    return sorted({1, 2, 4, 8, 16, base.num_warps})


def _crossed(
    base: Specialization, every: Mapping[str, Sequence[Any]], sweeps: Mapping[str, Sequence[Any]]
) -> list[tuple[dict[str, Any], Specialization]]:
    """``num_stages`` together with each value that was asked for: a plot has a line for each."""
    found = []
    for name, value in ((name, value) for name, values in sweeps.items() if name != "num_stages" for value in values):
        for stages in every["num_stages"]:
            change = {name: value, "num_stages": stages}
            found.append((change, changed(base, change)))
    return found


def _cliff(rows: Sequence[Row], device: Device) -> tuple[Row, Row] | None:
    for before, after in itertools.pairwise(rows):
        if before.fits(device) is True and after.fits(device) is False:
            return before, after
    return None


def _fitting(base: Row, others: Sequence[Row], device: Device) -> tuple[Row, ...]:
    """Variants that fit where the base does not: fewest changes first, then the most memory used."""
    if base.fits(device) is not False:
        return ()
    fits = {repr(one.specialization): one for one in others if one.fits(device)}
    return tuple(sorted(fits.values(), key=lambda one: (len(one.change), -(one.estimate.bytes or 0)))[:_NEAREST])


def peak(estimate: Estimate) -> Peak | None:
    """The place in the program where the highest address is in use; None where the engine gives no buffers."""
    if not estimate.buffers or not estimate.bytes:
        return None
    top = max(estimate.buffers, key=lambda one: (one.offset + one.size, one.size))
    candidates = sorted({one.start for one in estimate.buffers if top.start <= one.start < top.end} | {top.start})

    def live(position: int) -> list[Buffer]:
        return [one for one in estimate.buffers if one.start <= position < one.end]

    position = max(candidates, key=lambda at: sum(one.size for one in live(at)))
    together = sorted(live(position), key=lambda one: one.offset)
    held = sum(one.size for one in together)
    return Peak(tuple(together), estimate.bytes, max(0, estimate.bytes - held), position)
