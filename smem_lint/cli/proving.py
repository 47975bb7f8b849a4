"""Fixes on trial: each is made to the file's text, the file is linted again, and the fix is kept only where the estimates prove it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from smem_lint.cli.engines import engine_of
from smem_lint.cli.files import absolute
from smem_lint.engines import Engine, Estimate
from smem_lint.findings import Finding
from smem_lint.fixes.plans import LOWER, Fix, fixes_for, is_launch, place_of
from smem_lint.fixes.text import CannotEdit, Edit, Text
from smem_lint.judging import Judged
from smem_lint.source.reading import Unreadable
from smem_lint.specialization import Specialization

if TYPE_CHECKING:
    from smem_lint.cli.linting import Lint

Place = tuple[str, int, int]
FindingPlace = tuple[str, int, int, str]


@dataclass(frozen=True, slots=True)
class Found:
    """What a run has found in some files, and the estimates behind it."""

    findings: Sequence[Finding]
    judged: Sequence[Judged]


def fixable(found: Found, lint: Lint, files: Sequence[Path]) -> dict[FindingPlace, str]:
    """The findings that fixes take away, with ``safe`` or ``unsafe`` (``--unsafe-fixes``); nothing is written."""
    held: dict[FindingPlace, str] = {}
    if not any(one.fix for one in found.findings):
        return held
    engine = remembering(found.judged, lint)
    for path, fixes in planned(found, lint, engine, files):
        held.update(dict.fromkeys(_taken_along(Work(lint, engine, path, found), fixes), "safe"))
    for path, fixes in planned(found, lint, engine, files, unsafe=True):
        left = [one for one in fixes if one.unsafe and finding_place(one.finding) not in held]
        held = {**dict.fromkeys(_taken_along(Work(lint, engine, path, found), left), "unsafe"), **held}
    return held


def _taken_along(work: Work, fixes: Iterable[Fix]) -> Iterator[FindingPlace]:
    """The findings of a file that are gone when all of its fixes have been tried."""
    before = list(work.now.findings)
    for one in fixes:
        if work.gone(one.finding) or work.attempt(one) is None:
            yield finding_place(one.finding)
    left = _counted(work.now.findings)
    if work.edits:
        yield from (finding_place(one) for one in before if _counts(one) and not left[_key(one)])


def remembering(judged: Iterable[Judged], lint: Lint) -> Remembering:
    """The engine of a run, which knows what has been judged."""
    engine = Remembering(engine_of(lint.settings, lint.roots, use_cache=lint.use_cache))
    engine.remember(judged)
    return engine


def finding_place(one: Finding) -> FindingPlace:
    return one.file, one.line, one.column, one.rule


def planned(
    found: Found, lint: Lint, engine: Remembering, files: Iterable[Path], unsafe: bool = False
) -> list[tuple[Path, list[Fix]]]:
    """The fixes to try in each of the files."""
    lowered = {(one.file, one.line, one.column) for one in found.findings if one.fix == LOWER}
    engine.to_the_byte(one for one in found.judged if one.overflows and is_launch(one) and place_of(one) in lowered)
    checked = {lint.name(path): absolute(path) for path in files}
    by_file: dict[str, list[Fix]] = {}
    for one in fixes_for(found.findings, found.judged, lint.repository, unsafe=unsafe):
        if one.finding.file in checked and one.finding.file.endswith(".py"):
            by_file.setdefault(one.finding.file, []).append(one)
    return [(checked[file], fixes) for file, fixes in by_file.items()]


@dataclass(eq=False)
class Remembering:
    """An engine that is asked once for each specialization."""

    engine: Engine
    known: dict[str, Estimate] = field(default_factory=dict)
    name: str = "remembering"

    def remember(self, judged: Iterable[Judged]) -> None:
        for one in judged:
            if one.specialization is not None and one.answered and one.estimate is not None:
                self.known[repr(one.specialization)] = one.estimate

    def estimate(self, specializations: Iterable[Specialization]) -> Iterator[Estimate]:
        listed = list(specializations)
        wanted = {repr(one): one for one in listed}
        new = {key: one for key, one in wanted.items() if key not in self.known}
        self.known.update(zip(new, self.engine.estimate(list(new.values())), strict=True))
        return (self.known[repr(one)] for one in listed)

    def to_the_byte(self, judged: Iterable[Judged]) -> None:
        """Have exact neighbours of these configs, where bounds were enough so far."""
        wanted = [
            (one, options, replace(one.specialization, **dict(options)))
            for one in judged for options, estimate in one.neighbours.items() if one.specialization and not estimate.exact
        ]  # fmt: skip
        new = {repr(specialization): specialization for _, _, specialization in wanted}
        self.known.update(zip(new, self.engine.estimate(list(new.values())), strict=True))
        for one, options, specialization in wanted:
            one.neighbours[options] = self.known[repr(specialization)]


class Work:
    """The fixes of one file, one after the other; ``result`` is its content with those that were kept."""

    def __init__(self, lint: Lint, engine: Engine, path: Path, found: Found) -> None:
        self.lint, self.engine, self.path = lint, engine, path
        self.file = lint.name(path)
        self.edits: list[Edit] = []
        self.now = Found(
            [one for one in found.findings if one.file == self.file], [one for one in found.judged if one.config.file == self.file]
        )
        self._sites = _sites(self.now.judged)
        try:
            self.text: Text | None = Text(lint.repository.read(self.file, path))
        except (Unreadable, CannotEdit):
            self.text = None
        self.result = b""
        self.done = ""

    def gone(self, finding: Finding) -> bool:
        """Whether an earlier fix of the file took the finding along."""
        return bool(self.edits) and not _counted(self.now.findings)[_key(finding)]

    def attempt(self, one: Fix) -> str | None:
        """Try a fix's ways; None where one is kept, else why none is."""
        if self.text is None or one.refused:
            return one.refused or "the file cannot be read"
        if one.name == LOWER and self._partly_known(one.finding):
            return "the launch can also be reached in a way that could not be evaluated"
        reason = "nothing to try"
        tried: set[bytes] = set()
        for way, done in zip(one.attempts, (one.done, *one.otherwise, *(one.done for _ in one.attempts)), strict=False):
            try:
                edits = way(self.text)
                result = self.text.edited([*self.edits, *edits])
            except CannotEdit as refused:
                reason = str(refused)
                continue
            if result in tried:
                continue
            tried.add(result)
            told = self._proof(one, result)
            if told is None:
                self.edits, self.result, self.done = [*self.edits, *edits], result, done
                return None
            reason = told
        return reason

    def _partly_known(self, finding: Finding) -> bool:
        """Whether a launch has configs without an answer: what a fix does to them no estimate can prove."""
        place = self._place(finding, _sites(self.now.judged))
        return any(not found.answered and not found.refused for found in self.now.judged if place_of(found) == place and is_launch(found))

    def _proof(self, one: Fix, result: bytes) -> str | None:
        """Lint the file as it would be; None where the finding is gone and nothing else has come up, else what speaks against it."""
        again = self.lint.over({self.path: result}, self.engine)
        report = again.report()
        judged = [found for found in again.judged if found.config.file == self.file]
        before, after = _counted(self.now.findings), _counted(report.findings)
        key = _key(one.finding)
        if after[key] >= before[key]:
            return "the finding would not go away"
        worse = [key for key in after if after[key] > before[key]]
        if worse:
            return f"{worse[0][0]} would come up"
        if report.problems and not self.lint.repository.problems:
            return report.problems[0].message
        if one.name == LOWER and (doubt := self._doubt(one, judged)):
            return doubt
        self.now = Found(report.findings, judged)
        return None

    def _doubt(self, one: Fix, judged: Sequence[Judged]) -> str | None:
        """Whether each config that the launch would have is known, to the byte, to fit."""
        place = self._place(one.finding, _sites(judged))
        if place is None:
            return "the launches of the file could not be followed as before"
        before = {repr(found.specialization) for found in self.now.judged}
        for found in judged:
            if place_of(found) == place and is_launch(found) and not found.refused:
                if not found.answered:
                    return "the result could not be evaluated"
                if found.overflows and repr(found.specialization) not in before:
                    return "the result would not fit"
                if repr(found.specialization) not in before and not (found.estimate is not None and found.estimate.exact):
                    return "the result is not known to the byte"
        return None

    def _place(self, finding: Finding, sites: Sequence[Place]) -> Place | None:
        """Where the launch of a finding stands now: fixes move lines, but add and remove no launches."""
        return sites[self._sites.index((finding.file, finding.line, finding.column))] if len(sites) == len(self._sites) else None


def _sites(judged: Iterable[Judged]) -> list[Place]:
    return sorted({place_of(one) for one in judged if is_launch(one)})


def _counted(findings: Iterable[Finding]) -> Counter[tuple[str, str, str]]:
    return Counter(map(_key, filter(_counts, findings)))


def _counts(finding: Finding) -> bool:
    return finding.fails or finding.rule == "SMEM011"


def _key(finding: Finding) -> tuple[str, str, str]:
    return finding.rule, finding.kernel, finding.target
