"""From findings and the estimates behind them to fixes: what may be changed, in the order in which it is tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from smem_lint.findings import Finding
from smem_lint.fixes.autotune_lists import Tuned
from smem_lint.fixes.guard import conditions, shaping_of
from smem_lint.fixes.lower_num_stages import Launch, Lowering, Step
from smem_lint.fixes.query_device_limit import querying
from smem_lint.fixes.suppressions import dropping
from smem_lint.fixes.text import CannotEdit, Edit, Text
from smem_lint.judging import Judged
from smem_lint.source.modules import Repository

LOWER = "lower-num-stages"

Attempt = Callable[[Text], list[Edit]]


@dataclass(frozen=True, slots=True)
class Fix:
    """One fix of one finding; of its ``attempts`` the first is taken whose result the estimates prove.

    ``done`` says what it comes to, ``otherwise`` what each attempt after the first comes to where that is something else; ``refused``,
    why there is nothing to attempt. ``unsafe``: some of the attempts are not to be made without being asked for.
    """

    name: str
    finding: Finding
    attempts: tuple[Attempt, ...]
    done: str = ""
    refused: str = ""
    otherwise: tuple[str, ...] = ()
    unsafe: bool = False


def fixes_for(findings: Iterable[Finding], judged: Sequence[Judged], repository: Repository, *, unsafe: bool = False) -> Iterator[Fix]:
    """One fix for each place that has one, in the order of the findings. ``unsafe`` adds those that change when code runs."""
    seen: set[tuple[str, int, int, str]] = set()
    for finding in findings:
        place = (finding.file, finding.line, finding.column if finding.fix != "drop-dead-configs" else 0, finding.fix)
        if not finding.fix or place in seen:
            continue
        fix = _fix(finding, judged, repository, unsafe)
        if fix is not None:
            seen.add(place)
            yield fix


def _fix(finding: Finding, judged: Sequence[Judged], repository: Repository, unsafe: bool) -> Fix | None:
    if finding.fix == LOWER:
        return _lower(finding, judged, repository)
    if finding.fix == "drop-dead-configs":
        return _drop(finding, judged, unsafe)
    if finding.fix == "query-device-limit":
        attempt = (lambda text: querying(text, finding.line, finding.column),)
        return Fix(finding.fix, finding, attempt, "asks the device for its limit")
    if finding.fix == "drop-suppression":
        return Fix(finding.fix, finding, (lambda text: dropping(text, finding.line),), "removed a suppression that silences nothing")
    return None


def _lower(finding: Finding, judged: Sequence[Judged], repository: Repository) -> Fix | None:
    here = [one for one in judged if is_launch(one) and place_of(one) == (finding.file, finding.line, finding.column)]
    helped = [(one, stages) for one in here if one.overflows and not one.config.guarded and (stages := _most_stages(one))]
    if not helped:
        return Fix(finding.fix, finding, (), refused="no smaller num_stages fits, or is known to: a smaller tile is needed")
    config = helped[0][0].config
    pointers = tuple(name for name in config.arguments if config.types.get(name, "").startswith("*"))
    steps = _steps(helped)
    plan = Lowering(steps, pointers)
    limits = {one.device.optin for one, _ in helped}
    overflowing = [one.config for one, _ in helped]
    fitting = [
        one.config for one in here
        if one.device.optin in limits and one.answered and not one.overflows and _stages(one) > _at(steps, one.device.optin).stages
    ]  # fmt: skip
    module = repository.module(config.kernel_file)
    shaping = shaping_of(module.find_function(config.kernel)) if module is not None else frozenset[str]()

    def guarded(text: Text) -> list[Edit]:
        launch = Launch(text, finding.line, finding.column, config.arguments)
        return launch.lowered(plan, conditions(overflowing, fitting, launch.names(), shaping))

    def by_device(text: Text) -> list[Edit]:
        return Launch(text, finding.line, finding.column, config.arguments).lowered(plan, ())

    def plain(text: Text) -> list[Edit]:
        return Launch(text, finding.line, finding.column, config.arguments).lowered(plan, None)

    return Fix(finding.fix, finding, (guarded, by_device, plain), str(plan))


def _steps(helped: Sequence[tuple[Judged, int]]) -> tuple[Step, ...]:
    """The most stages that fit on each limit, one step for all limits where they cannot be told apart by what is asked for."""
    by_limit: dict[int, list[tuple[Judged, int]]] = {}
    for one, stages in helped:
        by_limit.setdefault(one.device.optin, []).append((one, stages))
    need = max(one.bytes for one, _ in helped)
    steps: list[Step] = []
    for limit in sorted(by_limit, reverse=True):
        step = _step(by_limit[limit])
        if steps and step.stages < steps[-1].stages and limit < step.below <= min(other for other in by_limit if other > limit):
            steps.append(step)
        elif not steps or step.stages != steps[-1].stages:
            if steps:
                return (replace(_step(helped), below=need),)
            steps.append(replace(step, below=need))
        else:
            steps[-1] = replace(steps[-1], bytes=max(steps[-1].bytes, step.bytes))
    return tuple(steps)


def _step(helped: Sequence[tuple[Judged, int]]) -> Step:
    """The most stages with which all of these fit; ``below`` is what one stage more would ask for."""
    stages = min(found for _, found in helped)
    return Step(stages, max(_bytes(one, stages) for one, _ in helped), max(_bytes(one, stages + 1) for one, _ in helped))


def _bytes(one: Judged, stages: int) -> int:
    estimate = one.neighbour(num_stages=stages)
    return one.bytes if estimate is None or estimate.bytes is None else estimate.bytes


def _at(steps: Sequence[Step], limit: int) -> Step:
    return [steps[0], *(step for step in steps[1:] if limit < step.below)][-1]


def place_of(one: Judged) -> tuple[str, int, int]:
    return (one.config.file, one.config.line, one.config.column)


def is_launch(one: Judged) -> bool:
    """Whether a config is one that a launch can have: a condition on bytes may keep it from some."""
    return one.config.origin == "launch" and not one.only_overruled


def _stages(one: Judged) -> int:
    return one.specialization.num_stages if one.specialization is not None else 0


def _most_stages(one: Judged) -> int | None:
    """The largest smaller ``num_stages`` whose exact estimate fits; None where there is none."""
    for stages in range(_stages(one) - 1, 0, -1):
        estimate = one.neighbour(num_stages=stages)
        if estimate is not None and estimate.exact and estimate.bytes is not None and estimate.bytes <= one.device.optin:
            return stages
    return None


def _drop(finding: Finding, judged: Sequence[Judged], unsafe: bool) -> Fix | None:
    entries: dict[int, list[Judged]] = {}
    for one in judged:
        at = one.config
        if at.origin == "autotune" and at.launch and (at.file, at.line, at.kernel) == (finding.file, finding.line, finding.kernel):
            entries.setdefault(at.index, []).append(one)
    of = max((one.config.of for found in entries.values() for one in found), default=0)
    dead = {index for index, found in entries.items() if all(map(_never_fits, found))}
    some_fits = any(one.answered and not one.overflows for found in entries.values() for one in found)
    targets = ", ".join(dict.fromkeys(one.device.target for found in entries.values() for one in found))

    def drop(text: Text) -> list[Edit]:
        if not dead or not some_fits:
            raise CannotEdit("no entry of the list is dead whatever the arguments")
        return Tuned(text, finding.line, finding.kernel).without(dead, of)

    attempts: list[Attempt] = [drop]
    if unsafe:
        attempts.append(lambda text: Tuned(text, finding.line, finding.kernel).with_pruning())
    kept = f"the list keeps what can launch on {targets}, for every GPU"
    return Fix(finding.fix, finding, tuple(attempts), kept, otherwise=("the list prunes itself when the program runs",), unsafe=unsafe)


def _never_fits(one: Judged) -> bool:
    """Whether an entry is known not to fit, to the byte, whatever sizes a profile might have supposed."""
    return one.overflows and one.estimate is not None and one.estimate.exact and not one.config.assumed and not one.config.guarded
