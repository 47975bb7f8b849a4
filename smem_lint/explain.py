"""Where each byte of a kernel goes, and what changes it: the peak, sweeps over options, constexprs and types, the cliff, what fits."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from smem_lint.devices import Device
from smem_lint.engines import Buffer, Engine, Estimate, Loop
from smem_lint.specialization import Specialization
from smem_lint.tile.dtypes import parse_signature

OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
STAGES = "num_stages"
_NEAREST = 6
_SMALLEST_BLOCK = 16
_TUNED = re.compile(r"BLOCK_?(SIZE_?)?(M|N|K|Q|S|T|KV)\d?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Sweep:
    """Values to try: ``names`` are set together (the pointers of one cache), to each of ``values``."""

    names: tuple[str, ...]
    values: tuple[Any, ...]

    @property
    def label(self) -> str:
        return ", ".join(self.names)

    def changes(self) -> list[dict[str, Any]]:
        return [dict.fromkeys(self.names, value) for value in self.values]


@dataclass(frozen=True, slots=True)
class Row:
    """One variant: what was set apart from the base, and its estimate."""

    change: Mapping[str, Any]
    specialization: Specialization
    estimate: Estimate

    def fits(self, device: Device) -> bool | None:
        """Whether it does; None where bounds on both sides of the limit, or no estimate at all, leave that open."""
        one = self.estimate
        if one.bytes is None or (not one.exact and one.lower <= device.optin < (one.upper or device.optin + 1)):
            return None
        return one.bytes <= device.optin


@dataclass(frozen=True, slots=True)
class Cross:
    """A sweep against ``num_stages``: a line of a plot, or a row of a table, for each value."""

    sweep: Sweep
    stages: tuple[int, ...]
    rows: tuple[tuple[Row, ...], ...]


@dataclass(frozen=True, slots=True)
class Dtypes:
    """The base with types that host code launches it with: ``change`` gives each argument whose type varies its own."""

    change: Mapping[str, Any]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Peak:
    """The buffers that are live together where the most is in use, by offset; ``gaps`` are bytes between them that nobody holds."""

    buffers: tuple[Buffer, ...]
    total: int
    gaps: int
    position: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """``tables`` are sweeps of an option, by its name; ``cliffs`` name the step of a table at which the limit is crossed.

    ``crosses`` set what was asked for against ``num_stages``; ``fitting`` are the nearest variants that fit where the base does not.
    ``dtypes`` are the combinations of types by ``num_stages``, the base's first; empty where there is no other, or types are swept.
    """

    device: Device
    base: Row
    peak: Peak | None
    tables: Mapping[str, tuple[Row, ...]]
    cliffs: Mapping[str, tuple[Row, Row]]
    crosses: tuple[Cross, ...]
    fitting: tuple[Row, ...]
    assumed: tuple[str, ...] = ()
    origin: str = ""
    dtypes: tuple[Dtypes, ...] = ()

    @property
    def headroom(self) -> int | None:
        return None if self.base.estimate.bytes is None else self.device.optin - self.base.estimate.bytes


def explain(
    engine: Engine, base: Specialization, device: Device, sweeps: Sequence[Sweep] = (), assumed: Sequence[str] = (),
    origin: str = "",
) -> Explanation:  # fmt: skip
    """Estimate ``base`` and every variant of it.

    A sweep's names are options, constexprs or arguments (then its values are types); ``num_stages`` and ``num_warps`` are swept in any
    case, and what else is asked for is crossed with ``num_stages``. ``origin`` says where the base comes from.
    Raises KeyError for a name that the kernel does not have.
    """
    given = {sweep.label: sweep.values for sweep in sweeps}
    stages = tuple(given.get(STAGES, _stages(base)))
    options = (Sweep((STAGES,), stages), Sweep(("num_warps",), tuple(given.get("num_warps", _warps(base)))))
    others = [sweep for sweep in sweeps if sweep.label not in (STAGES, "num_warps")]
    asked: list[dict[str, Any]] = [{}, *(change for sweep in options for change in sweep.changes())]
    for change in (change for sweep in others for change in sweep.changes()):
        asked += [change, *({**change, STAGES: number} for number in stages)]
    rows = {_key(row.change): row for row in _answered(engine, base, asked)}
    tables = {sweep.label: tuple(rows[_key(change)] for change in sweep.changes()) for sweep in options}
    crosses = tuple(
        Cross(sweep, stages, tuple(tuple(rows[_key({**change, STAGES: number})] for number in stages) for change in sweep.changes()))
        for sweep in others
    )
    cliffs = {name: step for name, table in tables.items() if (step := _cliff(table, device)) is not None}
    first = rows[_key({})]
    candidates = list(rows.values())
    if first.fits(device) is False:
        candidates += _answered(engine, base, _smaller_blocks(base))
    fitting = _fitting(first, candidates, device)
    return Explanation(device, first, peak(first.estimate), tables, cliffs, crosses, fitting, tuple(assumed), origin)


def with_dtypes(engine: Engine, found: Explanation, others: Sequence[Mapping[str, Any]]) -> Explanation:
    """The explanation with the base's other types, each of ``others`` as for ``changed``; those that nothing is known of are left out."""
    stages = [row.change[STAGES] for row in found.tables[STAGES]]
    rows = _answered(engine, found.base.specialization, [{**change, STAGES: number} for change in others for number in stages])
    parts = [rows[index : index + len(stages)] for index in range(0, len(rows), len(stages))]
    kept = [own for own in parts if any(row.estimate.bytes is not None for row in own)]
    kept = kept if not kept else [list(found.tables[STAGES]), *kept]
    types = [_types(own[0].specialization) for own in kept]
    varying = [name for name in types[0] if any(one.get(name) != types[0][name] for one in types)] if types else []
    lines = (Dtypes({name: one.get(name) for name in varying}, tuple(own)) for one, own in zip(types, kept, strict=True))
    return replace(found, dtypes=tuple(lines))


def _types(one: Specialization) -> dict[str, Any]:
    return {name: kind for name, kind in one.signature.items() if kind != "constexpr"}


def changed(base: Specialization, change: Mapping[str, Any]) -> Specialization:
    """``base`` with options, constexprs or argument types set; raises KeyError for a name that the kernel does not have."""
    options = {name: value for name, value in change.items() if name in OPTIONS and name not in base.signature}
    constexprs, signature = dict(base.constexprs), dict(base.signature)
    attrs = dict(base.attrs)
    for name, value in change.items():
        if name in options:
            continue
        if name not in signature:
            raise KeyError(name)
        if signature[name] == "constexpr" and not is_type(value):
            constexprs[name] = value
        elif signature[name] == "constexpr" and isinstance(constexprs.get(name), dict):
            constexprs[name] = {"dtype": value}
        elif is_type(value):
            signature[name] = value
            constexprs.pop(name, None)
        else:
            signature[name], constexprs[name] = "constexpr", value
            attrs.pop(name, None)
    return replace(base, signature=signature, constexprs=constexprs, attrs=attrs, **options)


def is_type(value: Any) -> bool:
    """Whether a value is a type in the notation of signatures: ``*bf16``, ``i32``."""
    if not isinstance(value, str):
        return False
    try:
        parse_signature(value)
    except ValueError:
        return False
    return True


def merged(sweeps: Iterable[Sweep]) -> tuple[Sweep, ...]:
    """Arguments that are swept over the same types are the same data's, and change together."""
    found: dict[Any, Sweep] = {}
    for sweep in sweeps:
        key = sweep.values if all(map(is_type, sweep.values)) else sweep.names
        known = found.get(key)
        found[key] = sweep if known is None else Sweep((*known.names, *sweep.names), known.values)
    return tuple(found.values())


def lifetime(buffer: Buffer, loops: Sequence[Loop]) -> str:
    """When a buffer is live, in words: ``through the loop at line 37``. Empty where the program's loops are not known."""
    through = [loop for loop in loops if buffer.start < loop.start < buffer.end]
    within = [loop for loop in loops if loop.start <= buffer.start and buffer.end <= loop.end]
    if through:
        return f"through {_spelled(through)}"
    if within:
        return f"within {_spelled([min(within, key=lambda one: one.end - one.start)])}"
    after = [loop for loop in loops if loop.end <= buffer.start]
    if after:
        return f"after {_spelled(after[-1:])}"
    return f"before {_spelled(loops[:1])}" if loops else ""


def _spelled(loops: Sequence[Loop]) -> str:
    lines = sorted({loop.line for loop in loops if loop.line})
    if not lines:
        return "the loop"
    plural = "s" if len(lines) > 1 else ""
    return f"the loop{plural} at line{plural} {', '.join(map(str, lines))}"


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


def _key(change: Mapping[str, Any]) -> str:
    return repr(sorted(change.items(), key=lambda one: one[0]))


def _answered(engine: Engine, base: Specialization, changes: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Each variant's row; what comes to the same specialization is estimated once."""
    variants = [changed(base, change) for change in changes]
    wanted = {repr(one): one for one in variants}
    answers = dict(zip(wanted, engine.estimate(wanted.values()), strict=True))
    return [Row(change, one, answers[repr(one)]) for change, one in zip(changes, variants, strict=True)]


def _stages(base: Specialization) -> list[int]:
    return list(range(1, max(5, base.num_stages + 1) + 1))


def _warps(base: Specialization) -> list[int]:
    return sorted({1, 2, 4, 8, 16, base.num_warps})


def _cliff(rows: Sequence[Row], device: Device) -> tuple[Row, Row] | None:
    for before, after in itertools.pairwise(rows):
        if before.fits(device) is True and after.fits(device) is False:
            return before, after
    return None


def _smaller_blocks(base: Specialization) -> list[dict[str, Any]]:
    """Each block size halved, by the names that tuners give them: what a person would try when fewer stages are not enough."""
    found: list[dict[str, Any]] = []
    for name, value in base.constexprs.items():
        if _TUNED.match(name) and type(value) is int and value > _SMALLEST_BLOCK and value & (value - 1) == 0:
            found.append({name: value // 2})
    return found


def _fitting(base: Row, others: Sequence[Row], device: Device) -> tuple[Row, ...]:
    """Variants that fit where the base does not: fewest changes first, options before blocks before types, then the nearest."""
    if base.fits(device) is not False:
        return ()
    fits = {repr(one.specialization): one for one in reversed(others) if one.fits(device)}

    def distance(one: Row) -> tuple[int, int, int, int]:
        changes = differing(base.specialization, one)
        kind = sum(2 if is_type(value) else name not in OPTIONS for name, value in changes.items())
        stages = abs(one.specialization.num_stages - base.specialization.num_stages)
        return len(changes), kind, stages, -(one.estimate.bytes or 0)

    return tuple(sorted(fits.values(), key=distance)[:_NEAREST])


def differing(base: Specialization, row: Row) -> dict[str, Any]:
    """What a variant changes in truth: not what it sets to the value that the base has."""
    now = {**base.constexprs, **{name: kind for name, kind in base.signature.items() if kind != "constexpr"}}
    now |= {name: getattr(base, name) for name in OPTIONS}
    return {name: value for name, value in row.change.items() if now.get(name) != value}
