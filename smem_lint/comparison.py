"""Two trees held against each other: each kernel of one with its match in the other, and their configs' bytes before and after."""

from __future__ import annotations

import ast
import difflib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from smem_lint.judging import Judged
from smem_lint.source.modules import Repository

_ALIKE = 0.75
_FAR = 6
_MOST_PAIRS = 250_000
_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
Place = tuple[str, str]
"""A kernel: its file and its name."""


@dataclass(slots=True)
class Tree:
    """The configs of one tree, judged, and the text of each kernel without its name and docstring."""

    judged: Sequence[Judged]
    bodies: Mapping[Place, str]

    @staticmethod
    def of(judged: Sequence[Judged], repository: Repository) -> Tree:
        places = {_place(one): None for one in judged}
        return Tree(judged, {place: _body(repository, place) for place in places})


@dataclass(frozen=True, slots=True)
class Row:
    """One config on one target. ``before`` or ``after`` is None where the other tree has no such config.

    ``facts`` are the arguments and options that differ between the kernel's configs, ``changed`` those that differ between the
    trees.
    """

    target: str
    limit: int
    facts: tuple[str, ...]
    before: Judged | None
    after: Judged | None
    changed: tuple[str, ...] = ()

    @property
    def bytes(self) -> tuple[int | None, int | None]:
        return _bytes(self.before), _bytes(self.after)

    @property
    def is_new_overflow(self) -> bool:
        return _overflows(self.after) and not _overflows(self.before)

    @property
    def is_mended(self) -> bool:
        return _overflows(self.before) and not _overflows(self.after)

    @property
    def is_same(self) -> bool:
        return self.before is not None and self.after is not None and self.bytes[0] == self.bytes[1] and not self.changed


@dataclass(frozen=True, slots=True)
class Pair:
    """A kernel before and after; one of the two is None where it is new or gone. ``unresolved`` counts configs without an answer."""

    old: Place | None
    new: Place | None
    rows: tuple[Row, ...]
    unresolved: tuple[int, int] = (0, 0)

    @property
    def kernel(self) -> str:
        return (self.new or self.old or ("", ""))[1]

    @property
    def file(self) -> str:
        return (self.new or self.old or ("", ""))[0]

    @property
    def is_renamed(self) -> bool:
        return self.old is not None and self.new is not None and self.old != self.new


@dataclass(frozen=True, slots=True)
class Comparison:
    pairs: tuple[Pair, ...]
    targets: tuple[str, ...] = field(default=())

    @property
    def rows(self) -> list[tuple[Pair, Row]]:
        return [(pair, row) for pair in self.pairs for row in pair.rows]

    @property
    def new_overflows(self) -> list[tuple[Pair, Row]]:
        return [(pair, row) for pair, row in self.rows if row.is_new_overflow]


def compare(old: Tree, new: Tree, targets: Sequence[str] = ()) -> Comparison:
    """Every kernel that either tree has configs of, by file and name of the new tree, then of the old."""
    before, after = _by_place(old.judged), _by_place(new.judged)
    matched = match_kernels(old.bodies, new.bodies)
    pairs = [_pair(at, to, before[at], after[to]) for at, to in matched.items()]
    pairs += [_pair(at, None, found, ()) for at, found in before.items() if at not in matched]
    pairs += [_pair(None, to, (), found) for to, found in after.items() if to not in matched.values()]
    return Comparison(tuple(sorted(pairs, key=lambda one: (one.file, one.kernel))), tuple(targets))


def match_kernels(old: Mapping[Place, str], new: Mapping[Place, str]) -> dict[Place, Place]:
    """Which kernel became which: by file and name; of the rest by equal text, by name, then in one file by likeness."""
    matched = {place: place for place in old if place in new}

    def left() -> tuple[list[Place], list[Place]]:
        return [at for at in old if at not in matched], [to for to in new if to not in matched.values()]

    tests: list[Callable[[Place, Place], bool]] = [
        lambda at, to: at[1] == to[1] and old[at] == new[to],
        lambda at, to: old[at] == new[to] and bool(old[at]),
        lambda at, to: at[1] == to[1],
    ]
    for test in tests:
        _match_unambiguous(*left(), test, matched)
    for at, to in _likeliest(*left(), old, new):
        if at not in matched and to not in matched.values():
            matched[at] = to
    return matched


def _match_unambiguous(old: list[Place], new: list[Place], test: Callable[[Place, Place], bool], matched: dict[Place, Place]) -> None:
    for at in old:
        fitting = [to for to in new if test(at, to)]
        if len(fitting) == 1 and sum(test(other, fitting[0]) for other in old) == 1:
            matched[at] = fitting[0]


def _likeliest(old: Iterable[Place], new: Collection[Place], bodies: Mapping[Place, str], others: Mapping[Place, str]) -> list[Any]:
    found = []
    for at in old:
        for to in new:
            if at[0] == to[0]:
                likeness = difflib.SequenceMatcher(None, bodies[at].splitlines(), others[to].splitlines(), autojunk=False).ratio()
                if likeness >= _ALIKE:
                    found.append((likeness, at, to))
    return [(at, to) for _, at, to in sorted(found, reverse=True)]


def _place(one: Judged) -> Place:
    return one.config.kernel_file, one.config.kernel


def _body(repository: Repository, place: Place) -> str:
    module = repository.module(place[0])
    function = module.find_function(place[1]) if module is not None else None
    if function is None:
        return ""
    body = function.body
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and isinstance(body[0].value.value, str):
        body = body[1:]
    return "\n".join([ast.unparse(function.args), *(ast.unparse(statement) for statement in body)])


def _by_place(judged: Iterable[Judged]) -> dict[Place, list[Judged]]:
    found: dict[Place, list[Judged]] = {}
    for one in judged:
        found.setdefault(_place(one), []).append(one)
    return found


def _pair(at: Place | None, to: Place | None, before: Sequence[Judged], after: Sequence[Judged]) -> Pair:
    unresolved = (_unresolved(before), _unresolved(after))
    rows: list[Row] = []
    old, new = _known(before), _known(after)
    names = _common_names(old, new)
    varying = _varying([*old, *new], names)
    for target in dict.fromkeys(one.device.target for one in (*old, *new)):
        was, now = ([one for one in side if one.device.target == target] for side in (old, new))
        rows += _rows(was, now, names, varying)
    return Pair(at, to, tuple(rows), unresolved)


def _known(judged: Iterable[Judged]) -> list[Judged]:
    return [one for one in judged if one.estimate is not None and one.estimate.bytes is not None and not one.config.pruned]


def _unresolved(judged: Iterable[Judged]) -> int:
    return sum(one.config.launch != "" and (one.estimate is None or one.estimate.bytes is None) for one in judged)


def _common_names(old: Sequence[Judged], new: Sequence[Judged]) -> frozenset[str]:
    """Arguments that both trees' configs have: a parameter that came or went does not make every config another one."""
    sides = [{name for one in side for name in (*one.config.constexprs, *one.config.types)} for side in (old, new)]
    return frozenset(sides[0] & sides[1] if all(sides) else sides[0] | sides[1])


def _facts(one: Judged, names: Collection[str]) -> dict[str, Any]:
    config = one.config
    return {name: value for name, value in {**config.types, **config.constexprs}.items() if name in names}


def _options(one: Judged) -> dict[str, Any]:
    specialization = one.specialization
    assert specialization is not None
    return {name: getattr(specialization, name) for name in _OPTIONS}


def _varying(judged: Sequence[Judged], names: Collection[str]) -> frozenset[str]:
    """What differs between the configs of a kernel."""
    values: dict[str, set[str]] = {}
    for one in judged:
        for name, value in {**_facts(one, names), **_options(one)}.items():
            values.setdefault(name, set()).add(repr(value))
    return frozenset(name for name, found in values.items() if len(found) > 1)


def _rows(old: Sequence[Judged], new: Sequence[Judged], names: Collection[str], varying: Collection[str]) -> Iterator[Row]:
    """Configs of one kernel on one target: first those that are the same, then those that are each other's nearest, then the rest."""

    def whole(one: Judged) -> str:
        attrs = {name: dict(facts) for name, facts in one.config.attrs.items() if name in names}
        return json.dumps([_facts(one, names), _options(one), attrs], sort_keys=True, default=repr)

    before, after = ({whole(one): one for one in reversed(side)} for side in (old, new))
    both = [key for key in after if key in before]
    yield from (_row(before[key], after[key], names, varying) for key in both)
    gone = [one for key, one in before.items() if key not in after]
    come = [one for key, one in after.items() if key not in before]
    pairs = _nearest(gone, come, names)
    yield from (_row(gone[at], come[to], names, varying) for at, to in pairs.items())
    yield from (_row(None, one, names, varying) for to, one in enumerate(come) if to not in pairs.values())
    yield from (_row(one, None, names, varying) for at, one in enumerate(gone) if at not in pairs)


def _nearest(gone: Sequence[Judged], come: Sequence[Judged], names: Collection[str]) -> dict[int, int]:
    """Configs of the same types that differ from each other in less than from any other, by place; options differ lightly."""
    if len(gone) * len(come) > _MOST_PAIRS:
        return {}
    facts = [[{**_facts(one, names), **_options(one)} for one in side] for side in (gone, come)]
    apart = [
        [_distance(one, other, was, now) for other, now in zip(come, facts[1], strict=True)]
        for one, was in zip(gone, facts[0], strict=True)
    ]
    found: dict[int, int] = {}
    for at, distances in enumerate(apart):
        to = _least(distances)
        if to is not None and distances[to] <= _FAR and _least([row[to] for row in apart]) == at:
            found[at] = to
    return found


def _distance(one: Judged, other: Judged, was: Mapping[str, Any], now: Mapping[str, Any]) -> int:
    if one.config.origin != other.config.origin or one.config.types != other.config.types:
        return _FAR + 1
    return sum((1 if name in _OPTIONS else 2) for name in now if was.get(name) != now[name])


def _least(distances: Sequence[int]) -> int | None:
    """The place of the least of some distances; None where there are two."""
    least = min(distances, default=0)
    return distances.index(least) if distances.count(least) == 1 else None


def _row(before: Judged | None, after: Judged | None, names: Collection[str], varying: Collection[str]) -> Row:
    shown = after or before
    assert shown is not None
    changed: list[str] = []
    told = {**_facts(shown, names), **_options(shown)}
    if before is not None and after is not None:
        was = {**_facts(before, names), **_options(before)}
        changed = [f"{name} {_spelled(was.get(name))} → {_spelled(value)}" for name, value in told.items() if was.get(name) != value]
        told = {name: value for name, value in told.items() if was.get(name) == value}
    facts = tuple(f"{name}={_spelled(value)}" for name, value in told.items() if name in varying)
    return Row(shown.device.target, shown.device.optin, facts, before, after, tuple(changed))


def _spelled(value: Any) -> str:
    return str(value["dtype"]) if isinstance(value, dict) and "dtype" in value else str(value)


def _bytes(one: Judged | None) -> int | None:
    return one.estimate.bytes if one is not None and one.estimate is not None else None


def _overflows(one: Judged | None) -> bool:
    """Whether it is known not to fit, and nothing catches that."""
    return one is not None and one.overflows and not one.config.guarded
