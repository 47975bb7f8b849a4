"""Configs with their estimates on one device, and with those of their neighbours that findings will name."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from smem_lint.devices import Device
from smem_lint.engines import SCREENED, Engine, Estimate, ScreeningEngine, is_refusal
from smem_lint.host.config import Config
from smem_lint.host.tuned import device_of
from smem_lint.rules import Rule
from smem_lint.specialization import Specialization

_ORIGINS = frozenset({"launch", "autotune", "tuned-json"})


@dataclass(slots=True)
class Judged:
    """One config on one device, with its estimate (None: unresolved) and the estimates of its neighbours by change."""

    config: Config
    device: Device
    specialization: Specialization | None
    estimate: Estimate | None = None
    neighbours: dict[tuple[tuple[str, Any], ...], Estimate] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        assert self.estimate is not None and self.estimate.bytes is not None
        return self.estimate.bytes

    @property
    def answered(self) -> bool:
        """Whether it is known that it fits or that it does not: bounds on both sides of the limit are no answer."""
        one, limit = self.estimate, self.device.optin
        if one is None or one.bytes is None:
            return False
        return one.exact or one.lower > limit or (one.upper is not None and one.upper <= limit)

    @property
    def refused(self) -> bool:
        """Whether Triton does not compile it, for this device, so that it can be launched in no case."""
        return self.estimate is not None and self.estimate.bytes is None and is_refusal(self.estimate.error or "")

    @property
    def overflows(self) -> bool:
        return self.answered and self.bytes > self.device.optin

    @property
    def site(self) -> tuple[Any, ...]:
        """What is judged together: a launch, a list, or all entries of a tuned file that one kernel takes."""
        line = 0 if self.config.origin == "tuned-json" else self.config.line
        return (self.config.file, line, self.config.column, self.config.kernel, self.config.origin)

    @property
    def only_overruled(self) -> bool:
        """Whether a condition on bytes keeps the launch from this config, so that only that condition is judged by it."""
        return self.config.origin == "launch" and self.config.pruned

    @property
    def of_own_device(self) -> bool:
        """Whether a tuned file's entry is judged on the device that the file is named for."""
        return self.config.origin == "tuned-json" and device_of(self.config.device_name) == self.device

    @property
    def confidence(self) -> str:
        if self.config.when:
            return "assumed"
        return "exact" if self.estimate is not None and self.estimate.exact else "bounded"

    def neighbour(self, **options: Any) -> Estimate | None:
        return self.neighbours.get(tuple(sorted(options.items())))


NEIGHBOURS = frozenset({"next_stage_bytes", "cliff", "smaller_bytes", "smaller_blocks"})
"""Facts that rest on estimates of other ``num_stages``."""


def origins_of(rules: Iterable[Rule]) -> frozenset[str]:
    """The origins of the configs that the rules judge: what no rule asks for need not be estimated."""
    scopes = {rule.scope for rule in rules}
    launch = {"launch"} if scopes & {"config", "types", "guard", "unresolved"} else set()
    lists = {"autotune", "tuned-json"} if scopes & {"list", "guard", "unresolved"} else set()
    return frozenset(launch | lists)


def judge(
    configs: Iterable[Config], device: Device, engine: Engine, near_limit: int = 4096, origins: Container[str] = _ORIGINS,
    *, neighbours_of_all: bool = False,
) -> list[Judged]:  # fmt: skip
    """Estimate every resolved config for ``device``, then the neighbours (other ``num_stages``) that its findings will name.

    Configs of other than the ``origins`` are left out. ``neighbours_of_all``: those of configs far from any limit, too.
    """
    judged = estimated(configs, device, engine, origins)
    _ask_again(judged, engine)
    wanted: list[tuple[Judged, dict[str, Any], Specialization]] = []
    for one in judged:
        for options in _neighbours(one, near_limit, neighbours_of_all):
            assert one.specialization is not None
            wanted.append((one, options, replace(one.specialization, **options)))
    known = {_key(one.specialization): one.estimate for one in judged if one.specialization and one.estimate and one.estimate.exact}
    answers = _answers(engine, [specialization for _, _, specialization in wanted], known)
    for (one, options, _), estimate in zip(wanted, answers, strict=True):
        one.neighbours[tuple(sorted(options.items()))] = estimate
    return judged


def estimated(configs: Iterable[Config], device: Device, engine: Engine, origins: Container[str] = _ORIGINS) -> list[Judged]:
    """Every config of these origins with its estimate, where it is resolved."""
    judged = [Judged(config, device, config.specialization(device.capability)) for config in configs if config.origin in origins]
    resolved = [one for one in judged if one.specialization is not None]
    answers = _answers(engine, [one.specialization for one in resolved if one.specialization is not None])
    for one, estimate in zip(resolved, answers, strict=True):
        one.estimate = estimate
    return judged


def _ask_again(judged: Sequence[Judged], engine: Engine) -> None:
    """Exact bytes, in place of bounds, for what a finding will hold an overflow or a guard against."""
    if not isinstance(engine, ScreeningEngine):
        return
    wanted = [one for group in by_site(judged) for one in _compared(group)]
    answers = engine.exactly([one.specialization for one in wanted if one.specialization is not None])
    for one, estimate in zip(wanted, answers, strict=True):
        one.estimate = estimate


def _compared(group: Sequence[Judged]) -> Iterator[Judged]:
    over = [one for one in group if one.overflows and one.config.origin == "launch"]
    for one in group:
        screened = one.estimate is not None and SCREENED in one.estimate.reasons
        if screened and (one.config.guard is not None or any(same_but_types(other, one) for other in over)):
            yield one


def _answers(
    engine: Engine, specializations: Sequence[Specialization], known: Mapping[str, Estimate] = MappingProxyType({})
) -> list[Estimate]:
    """One answer each, asking only once for what is the same, and not for what is ``known``."""
    keys = [_key(one) for one in specializations]
    unique = {key: one for key, one in zip(keys, specializations, strict=True) if key not in known}
    found = {**known, **dict(zip(unique, engine.estimate(list(unique.values())), strict=True))}
    return [found[key] for key in keys]


def _key(one: Specialization) -> str:
    return repr(one)


def _neighbours(one: Judged, near_limit: int, of_all: bool) -> Iterator[dict[str, Any]]:
    if not one.answered or one.specialization is None or one.config.origin != "launch" or one.only_overruled:
        return
    stages = one.specialization.num_stages
    if not one.overflows and not (one.estimate is not None and one.estimate.exact):
        return
    if one.overflows:
        for fewer in range(stages - 1, 0, -1):
            yield {"num_stages": fewer}
        return
    if of_all or 2 * one.bytes > one.device.optin or one.device.optin - one.bytes < near_limit:
        yield {"num_stages": stages + 1}
    if (of_all or one.device.blocks_by_shared_memory(one.bytes) == 1) and stages > 1:
        yield {"num_stages": stages - 1}


def by_site(judged: Sequence[Judged]) -> Iterable[list[Judged]]:
    """What is judged together, in the order in which it came."""
    sites: dict[tuple[Any, ...], list[Judged]] = {}
    for one in judged:
        sites.setdefault(one.site, []).append(one)
    return sites.values()


def same_but_types(one: Judged, other: Judged) -> bool:
    a, b = one.config, other.config
    if dict(a.options) != dict(b.options) or not differing(one, other):
        return False
    return all(a.constexprs[name] == b.constexprs[name] for name in set(a.constexprs) & set(b.constexprs) if is_size(a.constexprs[name]))


def is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def differing(one: Judged, other: Judged) -> list[str]:
    """The arguments of other types; one that is a constant (1, None) in one of the two is of no other type."""
    return [name for name, kind in one.config.types.items() if other.config.types.get(name, kind) != kind]
