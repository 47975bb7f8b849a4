"""From the bytes that a log tells to the config that asks for them, and to one that would fit."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from smem_lint.engines import Engine, Estimate
from smem_lint.host.config import Config
from smem_lint.specialization import Specialization

_BUDGET = 90.0  # seconds of estimating
_VARIANTS = 4_000
_TYPES = ("bf16", "fp16", "fp32", "fp8e4nv", "fp8e5", "i8", "u8")
_TILE = re.compile(r"(?i)(?:BLOCK|TILE)(?:_?SIZE)?_?[MNKQ]\d?|B[MNKQT]")
_FLOATS = frozenset(_TYPES)


@dataclass(frozen=True, slots=True)
class Match:
    """A config whose estimate is exactly what the log says; ``changed`` is what differs from what the host code sets."""

    config: Config
    specialization: Specialization
    bytes: int
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """What would fit: the settings to change, and the bytes then (exact)."""

    settings: dict[str, Any]
    bytes: int


@dataclass(slots=True)
class Search:
    """What was found in the source, and how far it was looked.

    ``nearest`` is the closest number where nothing asks for the very bytes, ``near`` the closest of what the host code itself
    sets; ``place`` the first match's, as ``explain`` finds it from here.
    """

    matches: list[Match] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    tried: int = 0
    unresolved: int = 0
    nearest: int | None = None
    near: Match | None = None
    place: str = ""

    def take(self, match: Match, required: int) -> None:
        if match.bytes == required:
            self.matches.append(match)
            return
        away = abs(match.bytes - required)
        if self.nearest is None or away < abs(self.nearest - required):
            self.nearest = match.bytes
        if not match.changed and (self.near is None or away < abs(self.near.bytes - required)):
            self.near = match


def search(configs: Iterable[Config], required: int, limit: int, engine: Engine, capability: int) -> Search:
    """Configs that ask for exactly ``required`` bytes on a device of that capability, and what fits into ``limit``.

    First what the host code sets; then other types of its pointers; then other ``num_stages``.
    """
    found, bases, until = Search(), _bases(configs, capability), time.monotonic() + _BUDGET
    found.unresolved = bases.unresolved
    for variants in (((one, spec, ()) for one, spec in bases.pairs), _other_types(bases.pairs), _other_stages(bases.pairs)):
        for config, specialization, changed in variants:
            if found.tried >= _VARIANTS or time.monotonic() > until:
                break
            estimate = _one(engine, specialization)
            found.tried += 1
            if estimate is None or not estimate.exact or estimate.bytes is None:
                continue
            found.take(Match(config, specialization, estimate.bytes, changed), required)
        if found.matches:
            break
    if found.matches:
        found.changes = list(_fitting(found.matches[0].specialization, limit, engine))
    return found


@dataclass(slots=True)
class _Bases:
    pairs: list[tuple[Config, Specialization]] = field(default_factory=list)
    unresolved: int = 0


def _bases(configs: Iterable[Config], capability: int) -> _Bases:
    found, seen = _Bases(), set()
    for config in configs:
        specialization = config.specialization(capability)
        if specialization is None:
            found.unresolved += 1
            continue
        key = repr(specialization.to_record())
        if key not in seen:
            seen.add(key)
            found.pairs.append((config, specialization))
    return found


_Variant = tuple[Config, Specialization, tuple[str, ...]]


def _other_types(pairs: Sequence[tuple[Config, Specialization]]) -> Iterator[_Variant]:
    """Each type that several pointers share changed for each other one: a cache of fp8, activations of fp16."""
    seen: set[str] = set()
    for config, one in pairs:
        for old in dict.fromkeys(kind for kind in one.signature.values() if kind.lstrip("*") in _FLOATS and kind.startswith("*")):
            for new in _TYPES:
                if f"*{new}" == old:
                    continue
                signature = {name: f"*{new}" if kind == old else kind for name, kind in one.signature.items()}
                made = replace(one, signature=signature)
                key = repr(made.to_record())
                if key not in seen:
                    seen.add(key)
                    yield config, made, (f"{old} as *{new}",)


def _other_stages(pairs: Sequence[tuple[Config, Specialization]]) -> Iterator[_Variant]:
    for stages in range(1, 7):
        for config, one in pairs:
            if one.num_stages != stages:
                yield config, replace(one, num_stages=stages), (f"num_stages={stages}",)


def _fitting(one: Specialization, limit: int, engine: Engine) -> Iterator[Change]:
    """The largest ``num_stages`` that fits; each block size halved until it does."""
    for stages in range(one.num_stages - 1, 0, -1):
        estimate = _one(engine, replace(one, num_stages=stages))
        if estimate and estimate.exact and estimate.bytes is not None and estimate.bytes <= limit:
            yield Change({"num_stages": stages}, estimate.bytes)
            break
    for name, value in one.constexprs.items():
        if type(value) is not int or not _TILE.fullmatch(name):  # other blocks must cover a whole dimension
            continue
        smaller = value // 2
        while smaller >= 16:
            estimate = _one(engine, replace(one, constexprs={**one.constexprs, name: smaller}))
            if estimate and estimate.exact and estimate.bytes is not None and estimate.bytes <= limit:
                yield Change({name: smaller}, estimate.bytes)
                break
            smaller //= 2


def _one(engine: Engine, specialization: Specialization) -> Estimate | None:
    return next(iter(engine.estimate([specialization])), None)
