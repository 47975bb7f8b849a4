"""Shape and type scenarios as data: what a size is worth where only the caller, far away, knows it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path as FilePath
from typing import Any

from smem_lint.host.paths import Path
from smem_lint.host.values import DType, Symbol, assumed
from smem_lint.toml import load_toml

_NAMES = 20_000
"""Names whose meaning is remembered."""

_FOLDER = FilePath(__file__).parent / "profiles"


class BadProfile(ValueError):
    """A profile that does not exist or does not read as one; the message says why."""


@dataclass(frozen=True)
class Group:
    """Roles that vary together. ``scenarios`` are labels with a value for each role that they fix.

    ``together`` are names that mean a role only where all of them are in use: a K beside a V. ``outer`` roles are never the rows'
    length of a matrix: its H is a hidden size, no number of heads.
    """

    name: str
    roles: tuple[tuple[str, re.Pattern[str]], ...]
    scenarios: tuple[tuple[str, Mapping[str, Any]], ...]
    together: frozenset[str] = frozenset()
    outer: bool = False

    _known: dict[str, str | None] = field(default_factory=dict, repr=False, compare=False)

    def role(self, names: Iterable[str]) -> str | None:
        """The role that the first name with one has; looked up once for each name."""
        for name in names:
            if name not in self._known:
                if len(self._known) > _NAMES:
                    self._known.clear()
                self._known[name] = next((role for role, pattern in self.roles if pattern.fullmatch(name)), None)
            found = self._known[name]
            if found is not None:
                return found
        return None

    def meant(self, path: Path, names: Iterable[str]) -> list[str]:
        """The names without those that stand alone on this path but mean something only together."""
        used = {name for key, found in path.notes.items() if key.startswith("names of ") for name in found} | set(names)
        return [name for name in names if name not in self.together or self.together <= used]


def _last(path: Path, symbol: Symbol) -> tuple[str, ...]:
    """``x.shape[-1]``, where the code has said that this is the size of a last dimension; of tensors of heads, so of three or more."""
    owner, found, place = symbol.text.removesuffix("]").rpartition(".shape[")
    rank = path.notes.get(f"rank {owner}") if found else None
    return (f"{owner}.shape[-1]",) if isinstance(rank, int) and rank > 2 and place == str(rank - 1) else ()


def is_row(path: Path, symbol: Symbol) -> bool:
    """Whether a size is that of the last dimension of a matrix."""
    owner, found, place = symbol.text.removesuffix("]").rpartition(".shape[")
    return bool(found) and path.notes.get(f"rank {owner}") == 2 and place in ("1", "-1")


@dataclass(frozen=True)
class Profile:
    name: str
    groups: tuple[Group, ...]
    pointers: tuple[tuple[re.Pattern[str], DType], ...]
    scalars: tuple[tuple[re.Pattern[str], str], ...]
    cache_names: re.Pattern[str]
    cache_scenarios: tuple[tuple[str, str], ...]
    model_dtype: DType
    aligned: re.Pattern[str]
    assume: Mapping[str, Any] = field(default_factory=dict)
    _by_name: dict[str, tuple[int, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __call__(self, path: Path, symbol: Symbol, extra: Iterable[str] = ()) -> bool:
        """Give a base symbol a value on a path, if an assumption or a scenario has one; whether it did."""
        names = [*extra, *path.notes.get(f"names of {symbol.text}", ()), symbol.text, symbol.text.rpartition(".")[2], *_last(path, symbol)]
        for name in names:
            if name in self.assume:
                path.fix(symbol, self.assume[name])
                return True
        domain = path.domains.get(symbol.text)
        for group in self._groups_of(names):
            if group.outer and is_row(path, symbol):
                continue
            role = group.role(names if group.together.isdisjoint(names) else group.meant(path, names))
            if role is not None and self._take(path, symbol, group, role, domain):
                return True
        if domain is not None and 0 < len(domain) <= 16:
            domain = tuple(sorted(domain, key=lambda value: value != self.model_dtype))
            path.fix(symbol, domain[path.choose(len(domain))])
            return True
        return False

    def _groups_of(self, names: Iterable[str]) -> list[Group]:
        """The groups in which one of the names has a role; looked up once for each name."""
        places: set[int] = set()
        for name in names:
            found = self._by_name.get(name)
            if found is None:
                if len(self._by_name) > _NAMES:
                    self._by_name.clear()
                found = self._by_name[name] = tuple(place for place, group in enumerate(self.groups) if group.role((name,)) is not None)
            places.update(found)
        return [self.groups[place] for place in sorted(places)] if places else []

    def _take(self, path: Path, symbol: Symbol, group: Group, role: str, domain: tuple[Any, ...] | None) -> bool:
        key = f"scenario {group.name}"
        if key not in path.notes:
            fitting = [
                scenario for scenario in group.scenarios if role in scenario[1] and self._fits(path, symbol, scenario[1][role], domain)
            ]
            if not fitting:
                return False
            chosen = fitting[path.choose(len(fitting))] if len(fitting) > 1 else fitting[0]
            path.notes[key] = chosen
            path.when.append(chosen[0])
        values = path.notes[key][1]
        if role not in values or not self._fits(path, symbol, values[role], domain):
            return False
        path.values[symbol.text] = assumed(values[role])
        return True

    def _fits(self, path: Path, symbol: Symbol, value: Any, domain: tuple[Any, ...] | None) -> bool:
        if domain is not None and value not in domain:
            return False
        if value in path.excluded.get(symbol.text, ()):
            return False
        low, high = path.bounds.get(symbol.text, (None, None))
        return not isinstance(value, int) or ((low is None or value >= low) and (high is None or value <= high))

    def pointer(self, names: Iterable[str]) -> DType | None:
        """The type of a pointer by the names it goes under; None where they say nothing."""
        for name in names:
            for pattern, dtype in self.pointers:
                if pattern.fullmatch(name):
                    return dtype
        return None

    def scalar(self, names: Iterable[str]) -> str | None:
        for name in names:
            for pattern, kind in self.scalars:
                if pattern.fullmatch(name):
                    return kind
        return None

    def is_aligned(self, names: Iterable[str]) -> bool:
        """Whether a size is one that a model fixes to a multiple of 16, by the names it goes under."""
        return any(self.aligned.fullmatch(name) for name in names)

    def is_cache(self, names: Iterable[str]) -> bool:
        return any(self.cache_names.fullmatch(name) for name in names)


def names() -> list[str]:
    """The profiles that are shipped."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def load(name: str, assume: Mapping[str, Any] | None = None) -> Profile:
    """A shipped profile, or a TOML file's; raises ``BadProfile``."""
    profile = _load(name)
    return profile if not assume else replace(profile, assume={**profile.assume, **assume})


@cache
def _load(name: str) -> Profile:
    path = FilePath(name) if name.endswith(".toml") else _FOLDER / f"{name}.toml"
    try:
        table = load_toml(path)
    except (OSError, ValueError) as error:
        raise BadProfile(f"no profile {name!r}; there are {', '.join(names())}" if not path.exists() else f"{name}: {error}") from None
    base = _load(table["extends"]) if "extends" in table else None
    try:
        return _build(table, base)
    except (KeyError, TypeError, AttributeError, re.error) as error:
        raise BadProfile(f"{name}: {error}") from None


def _build(table: Mapping[str, Any], base: Profile | None) -> Profile:
    groups = {group.name: group for group in (base.groups if base else ())}
    for row in table.get("group", ()):
        roles = tuple((role, _any(patterns)) for role, patterns in row["roles"].items())
        groups[row["name"]] = Group(
            row["name"],
            roles,
            tuple((s["label"], s["values"]) for s in row["scenario"]),
            frozenset(row.get("together", ())),
            bool(row.get("outer", False)),
        )
    pointers = tuple((_any(row["names"]), DType(row["dtype"])) for row in table.get("pointer", ()))
    scalars = tuple((_any(row["names"]), row["type"]) for row in table.get("scalar", ()))
    cache_table = table.get("kv_cache")
    if cache_table is None and base is None:
        raise KeyError("kv_cache")
    return Profile(
        name=table["name"],
        groups=tuple(groups.values()),
        pointers=(*pointers, *(base.pointers if base else ())),
        scalars=(*scalars, *(base.scalars if base else ())),
        cache_names=_any(cache_table["names"]) if cache_table else base.cache_names,  # type: ignore[union-attr]
        cache_scenarios=(
            tuple((row["dtype"], row["label"]) for row in cache_table["scenarios"]) if cache_table else base.cache_scenarios  # type: ignore[union-attr]
        ),
        model_dtype=DType(table.get("model_dtype", base.model_dtype.name if base else "bfloat16")),
        aligned=_any(table["aligned"]["names"]) if "aligned" in table else base.aligned if base else _any(()),
        assume=dict(table.get("assume", base.assume if base else {})),
    )


def _any(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))
