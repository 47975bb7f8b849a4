"""Estimates, devices and rules to findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from smem_lint.devices import Device
from smem_lint.engines import Estimate
from smem_lint.findings import Finding, Fit, Related
from smem_lint.host.config import Config, Guard
from smem_lint.host.guards import hard_coded
from smem_lint.judging import Judged, by_site, differing, is_size, same_but_types
from smem_lint.rules import Rule
from smem_lint.source.modules import SourceModule
from smem_lint.tried import depends_on_size, fixed_conditions, threshold

_TOP_BUFFERS = 8
_ENTRY = "tuned for "


def findings(judged: Sequence[Judged], rules: Sequence[Rule], near_limit: int = 4096) -> list[Finding]:
    """What the rules say of the configs of one device."""
    by_scope: dict[str, list[Rule]] = {}
    for rule in rules:
        by_scope.setdefault(rule.scope, []).append(rule)
    return [finding for group in by_site(judged) for finding in _of_site(group, by_scope, near_limit)]


def _of_site(group: Sequence[Judged], by_scope: Mapping[str, Sequence[Rule]], near_limit: int) -> Iterator[Finding]:
    answered = [one for one in group if one.answered and not one.only_overruled]
    by_size = depends_on_size(answered)
    dropped = {id(one) for one, _ in by_size}
    answered = [one for one in answered if id(one) not in dropped]
    for rule in by_scope.get("config", ()):
        yield from _distinct(rule, [(one, _config_facts(one, near_limit)) for one in answered])
    for rule in by_scope.get("types", ()):
        yield from _distinct(rule, [(one, _types_facts(one, answered, near_limit)) for one in answered])
    for rule in by_scope.get("list", ()):
        yield from _of_lists(rule, group)
    for rule in by_scope.get("guard", ()):
        yield from _of_guards(rule, group)
    for rule in by_scope.get("unresolved", ()):
        yield from _unresolved(rule, group)
        yield from _open_sizes(rule, by_size)


def _distinct(rule: Rule, candidates: Sequence[tuple[Judged, dict[str, Any]]]) -> Iterator[Finding]:
    """One finding for each message; of the configs that say the same the one that assumes least."""
    alike: dict[str, list[tuple[Judged, dict[str, Any]]]] = {}
    for one, facts in candidates:
        if rule.when(facts):
            alike.setdefault(rule.message.fill(facts), []).append((one, facts))
    everyone = [one for one, _ in candidates]
    for members in alike.values():
        one, facts = min(members, key=lambda member: len(member[0].config.when))
        yield _finding(rule, one, facts, _because([member for member, _ in members], everyone))


def _because(members: Sequence[Judged], everyone: Sequence[Judged]) -> tuple[str, ...]:
    """What was assumed by all ``members`` and not by ``everyone``: what makes the difference."""
    common = [text for text in members[0].config.when if all(text in other.config.when for other in members)]
    return tuple(text for text in common if not all(text in other.config.when for other in everyone))


def _base_facts(one: Judged) -> dict[str, Any]:
    config = one.config
    return {
        "kernel": config.kernel, "file": config.file, "kernel_file": config.kernel_file, "origin": config.origin,
        "guarded": config.guarded, "target": one.device.target, "limit": one.device.optin, "per_sm": one.device.per_sm,
        "capability": one.device.capability, "when": config.when, "condition": "",
    }  # fmt: skip


def _config_facts(one: Judged, near_limit: int) -> dict[str, Any]:
    estimate, device, specialization = one.estimate, one.device, one.specialization
    assert estimate is not None and estimate.bytes is not None and specialization is not None
    stages = specialization.num_stages
    more, fewer = one.neighbour(num_stages=stages + 1), one.neighbour(num_stages=stages - 1)
    next_bytes = more.bytes if more is not None else None
    smaller_bytes = fewer.bytes if fewer is not None and not one.overflows else None
    cliff = ""
    if next_bytes is not None and next_bytes > device.optin:
        cliff = f"; num_stages={stages + 1} would need {next_bytes:,}"
    return {
        **_base_facts(one), "bytes": estimate.bytes, "lower": estimate.lower, "upper": estimate.upper, "exact": estimate.exact,
        "overflows": one.overflows, "over": estimate.bytes - device.optin, "headroom": device.optin - estimate.bytes,
        "num_stages": stages, "num_warps": specialization.num_warps, "next_stage_bytes": next_bytes, "near_limit": near_limit,
        "cliff": cliff, "blocks_by_shared_memory": device.blocks_by_shared_memory(estimate.bytes),
        "blocks_by_threads": device.blocks_by_threads(specialization.num_warps),
        "smaller": f"num_stages={stages - 1}", "smaller_bytes": smaller_bytes,
        "smaller_blocks": device.blocks_by_shared_memory(smaller_bytes) if smaller_bytes is not None else None,
    }  # fmt: skip


def _types_facts(one: Judged, answered: Sequence[Judged], near_limit: int) -> dict[str, Any]:
    facts = {**_config_facts(one, near_limit), "fitting_types": None, "fitting_bytes": None, "types": None}
    if not one.overflows:
        return facts
    twins = [other for other in answered if not other.overflows and same_but_types(one, other)]
    if twins:
        nearest = min(twins, key=lambda other: (len(differing(one, other)), -other.bytes))
        facts["fitting_types"] = _spell(nearest, differing(one, nearest))
        facts["types"] = _spell(one, differing(one, nearest))
        facts["fitting_bytes"] = nearest.bytes
    return facts


def _spell(one: Judged, names: Sequence[str]) -> str:
    return ", ".join(f"{name}: {one.config.types[name]}" for name in names)


def _of_lists(rule: Rule, group: Sequence[Judged]) -> Iterator[Finding]:
    """A list is judged once for each set of conditions under which its entries were evaluated."""
    lists: dict[tuple[Any, ...], list[Judged]] = {}
    for one in group:
        if one.config.origin in ("autotune", "tuned-json"):
            when = tuple(text for text in one.config.when if not text.startswith(_ENTRY))
            lists.setdefault((when, *sorted(one.config.types.items())), []).append(one)
    alike: dict[tuple[Any, ...], list[tuple[Judged, dict[str, Any]]]] = {}
    for members in _whatever_the_size(list(lists.values())):
        extreme, facts = _list_facts(members)
        if extreme is not None and rule.when(facts):
            alike.setdefault((facts["dead_configs"], facts["fitting"]), []).append((extreme, facts))
    everyone = [members[0] for members in lists.values()]
    for found in alike.values():
        extreme, facts = min(found, key=lambda one: len(one[0].config.when))
        because = tuple(text for text in _because([one for one, _ in found], everyone) if not text.startswith(_ENTRY))
        yield _finding(rule, extreme, facts, because)


def _whatever_the_size(lists: Sequence[list[Judged]]) -> list[list[Judged]]:
    """Of lists that differ in sizes which nobody knows the one that fits best: what is wrong with it is wrong for all."""
    found: dict[tuple[Any, ...], list[Judged]] = {}
    for place, members in enumerate(lists):
        config = members[0].config
        key = (place,) if not config.tried else (fixed_conditions(config), *sorted(config.types.items()))
        held = found.setdefault(key, members)
        if sum(one.overflows for one in members) < sum(one.overflows for one in held):
            found[key] = members
    return list(found.values())


def _list_facts(members: Sequence[Judged]) -> tuple[Judged | None, dict[str, Any]]:
    """The entry to show (the smallest where none fits, else the largest), and the facts of one list under one set of conditions.

    What the list's own pruning drops is never compiled: it is neither dead nor of use.
    """
    pruned = {one.config.index for one in members if one.config.pruned}
    answered = [one for one in members if one.answered and not one.config.pruned]
    if any(not one.overflows for one in answered):
        dropped = {one.config.index for one in answered if one.overflows and one.config.prunes_to_fit}
        pruned |= dropped
        answered = [one for one in answered if one.config.index not in dropped]
    if not answered:
        return None, {}
    dead = {one.config.index for one in answered if one.overflows}
    known = {one.config.index for one in answered}
    extreme = (min if dead == known else max)(answered, key=lambda one: one.bytes)
    of = max(one.config.of for one in members)
    before = f" of the {of} before pruning" if dead and pruned else ""  # numbers count in the list as it stands
    return extreme, {
        **_base_facts(extreme), "bytes": extreme.bytes, "of": of - len(pruned), "evaluated": len(known),
        "own": extreme.of_own_device, "named": f" ({extreme.config.device_name}, which it is named for)" if extreme.of_own_device else "",
        "fitting": len(known - dead), "dead": len(dead), "dead_configs": _spell_indices(dead) + before,
    }  # fmt: skip


def _of_guards(rule: Rule, group: Sequence[Judged]) -> Iterator[Finding]:
    """Guards are compared with the estimates; one finding for each thing that one gets wrong, where it stands."""
    guarded: dict[Guard, list[Judged]] = {}
    for one in group:
        if one.config.guard is not None and one.answered:
            guarded.setdefault(replace(one.config.guard, alone=False), []).append(one)
    for judged in guarded.values():
        yield from _of_guard(rule, judged)


def _of_guard(rule: Rule, judged: Sequence[Judged]) -> Iterator[Finding]:
    if judged[0].config.origin != "launch":
        judged = _where_some_fit(judged)
    through = [one for one in judged if one.overflows and not one.config.pruned]
    away = [one for one in judged if not one.overflows and one.config.pruned and one.config.guard is not None and one.config.guard.alone]
    for wrong, extreme in ((through, max), (away, min)):
        if wrong:
            one = extreme(wrong, key=lambda member: member.bytes)
            facts = _guard_facts(one)
            guard = one.config.guard
            assert guard is not None
            if rule.when(facts):
                because = _because(wrong, judged)
                found = _finding(rule, one, facts, because)
                yield replace(found, file=guard.file, line=guard.line, column=guard.column, elsewhere=True)


def _where_some_fit(judged: Sequence[Judged]) -> list[Judged]:
    """Without the lists, under one set of conditions each, of which nothing fits: a pruning function has to keep something."""
    lists: dict[tuple[Any, ...], list[Judged]] = {}
    for one in judged:
        lists.setdefault((one.config.launch, one.config.when, *sorted(one.config.types.items())), []).append(one)
    return [one for members in lists.values() if not all(one.overflows for one in members) for one in members]


def _guard_facts(one: Judged) -> dict[str, Any]:
    config, guard = one.config, one.config.guard
    assert guard is not None
    entry = f"config #{config.index} ({_spell_entry(config)})" if config.origin != "launch" else f"{_spell_launch(config)}"
    verdict = (
        f"it lets {entry} through, which asks for {one.bytes:,} of {one.device.optin:,} bytes"
        if one.overflows
        else f"it turns away {entry}, which asks for {one.bytes:,} of {one.device.optin:,} bytes"
    )
    return {
        **_base_facts(one), "bytes": one.bytes, "guard": guard.text, "pruner": guard.name, "verdict": verdict,
        "lets_through": config.index if one.overflows else None, "turns_away": None if one.overflows else config.index, "hard_coded": None,
    }  # fmt: skip


def _spell_launch(config: Config) -> str:
    """A launch by its sizes and its options."""
    sizes = {name: value for name, value in config.constexprs.items() if is_size(value) and value > 1}
    options = {name: value for name, value in config.options.items() if name in ("num_warps", "num_stages")}
    return ", ".join(f"{name}={value}" for name, value in {**dict(list(sizes.items())[:6]), **options}.items())


def _spell_entry(config: Config) -> str:
    options = {name: value for name, value in config.options.items() if name in config.tuned} or config.options
    return ", ".join(f"{name}={value}" for name, value in {**config.tuned, **options}.items() if name != "num_ctas")


def hard_coded_findings(module: SourceModule, rules: Iterable[Rule]) -> Iterator[Finding]:
    """What the rules say of limits and capability tests that are written into a module; asked of no device."""
    guards = [rule for rule in rules if rule.scope == "guard"]
    for fact in hard_coded(module) if guards else ():
        facts = {
            "file": fact.file, "kernel": "", "target": "", "bytes": None, "limit": None, "condition": "", "guard": fact.text, "pruner": "",
            "verdict": "", "lets_through": None, "turns_away": None, "hard_coded": fact.message,
        }  # fmt: skip
        for rule in guards:
            if rule.when(facts):
                yield Finding(
                    fact.file, fact.line, fact.column, rule.id, rule.name, rule.severity, rule.message.fill(facts),
                    fix=rule.fix if fact.kind == "limit" else "",
                )  # fmt: skip


def _spell_indices(dead: set[int]) -> str:
    indices = sorted(dead)
    shown = ", ".join(f"#{index}" for index in indices[:6])
    return shown + (f" and {len(indices) - 6} more" if len(indices) > 6 else "")


def _unresolved(rule: Rule, group: Sequence[Judged]) -> Iterator[Finding]:
    """One finding a site: the value that is missing most often, or why the engine has no answer."""
    missing = [one for one in group if not one.answered]
    if not missing or any(one.answered for one in group):
        return
    one = missing[0]
    if one.estimate is not None:
        reason = _doubt(one.estimate, one.device)
    else:
        reason = "; ".join(f"{gap.name}: {gap.reason}" for gap in one.config.unresolved[:3]) or "it is not resolved"
        if len(one.config.unresolved) > 3:
            reason += f" (and {len(one.config.unresolved) - 3} more)"
    facts = {**_base_facts(one), "reason": reason, "threshold": "", "bytes": None}
    if rule.when(facts):
        yield _finding(rule, one, facts)


def _open_sizes(rule: Rule, by_size: Sequence[tuple[Judged, Judged]]) -> Iterator[Finding]:
    """A launch that overflows for some of the sizes that nobody knows: from which on."""
    if by_size:
        one = min((one for one, _ in by_size), key=lambda one: one.bytes)
        names = dict.fromkeys(text for _, text in one.config.tried)
        facts = {**_base_facts(one), "reason": f"{', '.join(names)} is not known", "threshold": threshold(by_size), "bytes": None}
        if rule.when(facts):
            yield _finding(rule, one, facts)


def _doubt(estimate: Estimate, device: Device) -> str:
    if estimate.bytes is None:
        return estimate.error or "no estimate"
    upper = "an unknown number of" if estimate.upper is None else f"{estimate.upper:,}"
    why = f": {'; '.join(estimate.reasons[:2])}" if estimate.reasons else ""
    return f"between {estimate.lower:,} and {upper} bytes, where {device.target} has {device.optin:,}{why}"


def _finding(rule: Rule, one: Judged, facts: Mapping[str, Any], because: tuple[str, ...] = ()) -> Finding:
    estimate, config = one.estimate, one.config
    facts = {**facts, "condition": f" (when {'; '.join(because)})" if because else ""}
    told = bool(estimate is not None and estimate.bytes is not None)
    buffers = tuple(sorted(estimate.buffers, key=lambda one: -one.size)[:_TOP_BUFFERS]) if estimate is not None else ()
    return Finding(
        file=config.file, line=config.line, column=config.column, rule=rule.id, name=rule.name, severity=rule.severity,
        message=rule.message.fill(facts), confidence=one.confidence, kernel=config.kernel, kernel_file=config.kernel_file,
        target=one.device.target, bytes=estimate.bytes if told and estimate else None,
        lower=estimate.lower if told and estimate else None, upper=estimate.upper if told and estimate else None, limit=one.device.optin,
        when=tuple(config.when), because=because, config=_config_json(config), buffers=buffers, fits=_fits(one, facts),
        related=_related(config, buffers),
        fix=rule.fix, engine=estimate.engine if estimate is not None else "", estimate=estimate, specialization=one.specialization,
    )  # fmt: skip


def _config_json(config: Config) -> dict[str, Any]:
    return {
        "constexprs": dict(config.constexprs), "options": dict(config.options), "types": dict(config.types), "index": config.index,
        "of": config.of, "origin": config.origin,
    }  # fmt: skip


def _fits(one: Judged, facts: Mapping[str, Any]) -> tuple[Fit, ...]:
    if not one.overflows:
        return ()
    limit = one.device.optin
    found = [
        Fit(dict(options), estimate.bytes, estimate.exact)
        for options, estimate in one.neighbours.items()
        if estimate.bytes is not None and estimate.bytes <= limit
    ]
    if facts.get("fitting_types"):
        found.append(Fit({"types": facts["fitting_types"]}, facts["fitting_bytes"]))
    return tuple(found)


def _related(config: Config, buffers: Iterable[Any]) -> tuple[Related, ...]:
    places = {one.line: f"{one.size:,} bytes: {one.kind} {one.what}".rstrip() for one in buffers if one.line}
    first = [Related(config.kernel_file, config.kernel_line, f"the kernel {config.kernel}")] if config.kernel_line else []
    return (*first, *(Related(config.kernel_file, line, message) for line, message in places.items()))
