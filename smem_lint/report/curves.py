"""The lines of a plot of bytes by ``num_stages``: what each stands for, and which of its points are over its own device's limit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from smem_lint.devices import Device
from smem_lint.explain import STAGES, Explanation, Row, Sweep
from smem_lint.report.explanation import value_text
from smem_lint.specialization import Specialization

COLORS, STYLES = 8, 4
_MOST_LINES = 12
_MOST_NAMES = 3
_LONGEST = 72
Over = Literal["", "some", "all"]


@dataclass(frozen=True, slots=True)
class Point:
    """Bytes at one ``num_stages``; ``over`` the limit of ``all`` targets that the line stands for, or of ``some``; ``here``: the base."""

    stages: int
    bytes: int
    over: Over = ""
    here: bool = False


@dataclass(frozen=True, slots=True)
class Curve:
    """No two lines of a plot have both the same ``color`` and the same ``style``."""

    label: str
    points: tuple[Point, ...]
    color: int = 0
    style: int = 0


def curves_of(found: Sequence[Explanation]) -> list[Curve]:
    """One for each value that is swept, or each combination of types that is launched, on each target; those that coincide are one."""
    together: dict[Any, list[tuple[str, Explanation, Sequence[Row]]]] = {}
    varying = tuple(dict.fromkeys(name for one in found for line in one.dtypes[:1] for name in line.change))
    for one in found:
        for label, rows in _lines(one, varying):
            shape = tuple((row.specialization.num_stages, row.estimate.bytes, row.estimate.exact) for row in rows)
            if any(row.estimate.bytes is not None for row in rows):
                together.setdefault(shape, []).append((label, one, rows))
    targets = [one.device.target for one in found]
    names = list(dict.fromkeys(parts[0][0] for parts in together.values()))
    made: list[Curve] = []
    for parts in list(together.values())[:_MOST_LINES]:
        color, style = names.index(parts[0][0]), targets.index(parts[0][1].device.target)
        label = _told([(label, one.device.target) for label, one, _ in parts], targets)
        made.append(Curve(label, _points(parts), *_distinct(color, style, made)))
    return made


def legend_of(curves: Sequence[Curve], targets: Sequence[tuple[str, int]]) -> dict[str, str]:
    """What the marks on the lines say: ``all``, ``some`` and ``here``, those that there are. ``targets`` with their limits in bytes."""
    points = [point for one in curves for point in one.points]
    limits = sorted({limit: name for name, limit in reversed(targets)}.items())
    told = {
        "all": f"over the limit of {targets[0][0]}" if len(limits) == 1 else "over the limit of its target",
        "some": f"over the limit of {limits[0][1]} alone" if len(limits) == 2 else "over the limit of some of its targets",
        "here": "this config",
    }
    present = {point.over for point in points} | ({"here"} if any(point.here for point in points) else set())
    return {mark: text for mark, text in told.items() if mark in present}


def _distinct(color: int, style: int, made: Sequence[Curve]) -> tuple[int, int]:
    """That colour and style, or the next that no line has yet."""
    taken = {(one.color, one.style) for one in made}
    for step in range(COLORS * STYLES):
        pair = (color + step // STYLES) % COLORS, (style + step) % STYLES
        if pair not in taken:
            return pair
    return color % COLORS, style % STYLES


def _points(parts: Sequence[tuple[str, Explanation, Sequence[Row]]]) -> tuple[Point, ...]:
    devices = {one.device.target: one.device for _, one, _ in parts}
    points = []
    for index, row in enumerate(parts[0][2]):
        if row.estimate.bytes is None:
            continue
        here = any(rows[index].specialization == one.base.specialization for _, one, rows in parts)
        points.append(Point(row.specialization.num_stages, row.estimate.bytes, _over(row, devices.values()), here))
    return tuple(sorted(points, key=lambda one: one.stages))


def _over(row: Row, devices: Iterable[Device]) -> Over:
    judged = [row.fits(device) is False for device in devices]
    return "all" if all(judged) else "some" if any(judged) else ""


def _told(parts: Sequence[tuple[str, str]], targets: Sequence[str]) -> str:
    """The labels of lines that coincide, each with its targets where it does not stand for all."""
    by_label: dict[str, list[str]] = {}
    for label, target in parts:
        by_label.setdefault(label, []).append(target)
    by_targets: dict[tuple[str, ...], list[str]] = {}
    for label, own in by_label.items():
        by_targets.setdefault(tuple(dict.fromkeys(own)), []).append(label)
    told = [(" or ".join(labels), names) for names, labels in by_targets.items()]
    return "; ".join(labels if set(names) == set(targets) else f"{labels} ({', '.join(names)})" for labels, names in told)


def _lines(found: Explanation, varying: Sequence[str]) -> list[tuple[str, Sequence[Row]]]:
    """Labelled by all that varies among them: by each sweep's value, and by the types (``varying``: of these arguments, on any target)."""
    sweeps = [cross.sweep for cross in found.crosses]
    lines: list[tuple[str, Sequence[Row]]] = []
    own = [_types_of_base(found, varying)] if varying else []
    for cross in found.crosses:
        for value, rows in zip(cross.sweep.values, cross.rows, strict=True):
            told = [f"{one.label} = {value_text(value if one is cross.sweep else _base_value(one, found))}" for one in sweeps]
            lines.append((", ".join([*told, *own]), rows))
    base = [f"{one.label} = {value_text(_base_value(one, found))}" for one in sweeps]
    for other in found.dtypes:
        types = {name: other.change.get(name, found.base.specialization.signature.get(name)) for name in varying}
        lines.append((", ".join([*base, types_text(types)]), other.rows))
    return lines or [(own[0] if own else dtypes_text(found.base.specialization), found.tables[STAGES])]


def _types_of_base(found: Explanation, names: Sequence[str]) -> str:
    return types_text({name: found.base.specialization.signature.get(name) for name in names})


def _base_value(sweep: Sweep, found: Explanation) -> Any:
    one = found.base.specialization
    name = sweep.names[0]
    if hasattr(one, name) and name not in one.signature:
        return getattr(one, name)
    return one.constexprs.get(name) if one.signature.get(name) == "constexpr" else one.signature.get(name, sweep.values[0])


def types_text(change: Mapping[str, Any]) -> str:
    """``k, v = *bf16``: arguments of one type together."""
    by_type: dict[str, list[str]] = {}
    for name, value in change.items():
        by_type.setdefault(value_text(value), []).append(name)
    return ", ".join(f"{_names(names)} = {kind}" for kind, names in by_type.items())


def dtypes_text(one: Specialization) -> str:
    """The types of the tiles that a kernel reads and writes; integers (tables, lengths) are left out where there is anything else."""
    return types_of({name: kind for name, kind in one.signature.items() if kind != "constexpr"})


def types_of(signature: Mapping[str, Any]) -> str:
    """The same of names and types; only the types' names where all would be too long."""
    pointers = {name: kind for name, kind in signature.items() if str(kind).startswith("*") or "<" in str(kind)}
    chosen = {name: kind for name, kind in pointers.items() if not str(kind).startswith(("*i", "*u"))} or pointers
    told = types_text(chosen)
    return told if len(told) <= _LONGEST else ", ".join(dict.fromkeys(map(value_text, chosen.values())))


def _names(names: Sequence[str]) -> str:
    if len(names) <= _MOST_NAMES:
        return ", ".join(names)
    return f"{', '.join(names[: _MOST_NAMES - 1])} and {len(names) - _MOST_NAMES + 1} more"
