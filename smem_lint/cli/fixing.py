"""``check --fix`` and ``--diff``: each fix is tried on the file's text, linted again, and kept only where the estimates prove it."""

from __future__ import annotations

import difflib
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from smem_lint.check import Judged
from smem_lint.cli.engines import engine_of
from smem_lint.cli.errors import UsageError
from smem_lint.cli.linting import Lint, absolute
from smem_lint.engines import Engine, Estimate
from smem_lint.findings import Finding, Report
from smem_lint.fixes.plans import Fix, fixes_for, is_launch, place_of
from smem_lint.fixes.text import CannotEdit, Edit, Text, write_atomically
from smem_lint.source.reading import Unreadable
from smem_lint.specialization import Specialization

Place = tuple[str, int, int]


def fix(report: Report, lint: Lint, diff: bool, unsafe: bool = False) -> int:
    """Fix what the report names; with ``diff`` write nothing and print what would change. 1 where something changed or would.

    What was done, and what could not be done and why, goes to standard error. Raises UsageError where a file cannot be written.
    """
    engine = Remembering(engine_of(lint.settings, lint.roots, use_cache=lint.use_cache))
    engine.remember(lint.judged)
    changed = 0
    for path, fixes in planned(report, lint, unsafe):
        work = Work(lint, engine, path, report)
        for one in fixes:
            if work.gone(one.finding):
                _say_gone(one.finding, path, diff)
            else:
                _say(one, path, work.attempt(one), work.done, diff)
        if work.edits:
            changed += 1
            _show(path, work.text, work.result) if diff else _write(path, work.result)
    return int(bool(changed))


def planned(report: Report, lint: Lint, unsafe: bool = False) -> list[tuple[Path, list[Fix]]]:
    """The fixes to try in each file that is checked."""
    checked = {lint.repository.relative(absolute(path)): absolute(path) for path in lint.files()}
    by_file: dict[str, list[Fix]] = {}
    for one in fixes_for(report.findings, lint.judged, lint.repository, unsafe=unsafe):
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
            if one.specialization is not None and one.estimate is not None and one.estimate.exact:
                self.known[repr(one.specialization)] = one.estimate

    def estimate(self, specializations: Iterable[Specialization]) -> Iterator[Estimate]:
        listed = list(specializations)
        wanted = {repr(one): one for one in listed}
        new = {key: one for key, one in wanted.items() if key not in self.known}
        self.known.update(zip(new, self.engine.estimate(list(new.values())), strict=True))
        return (self.known[repr(one)] for one in listed)


class Work:
    """The fixes of one file, one after the other; ``result`` is its content with those that were kept."""

    def __init__(self, lint: Lint, engine: Engine, path: Path, report: Report) -> None:
        self.lint, self.engine, self.path = lint, engine, path
        self.file = lint.repository.relative(path)
        self.edits: list[Edit] = []
        self.now: tuple[list[Finding], list[Judged]] = (
            [one for one in report.findings if one.file == self.file], [one for one in lint.judged if one.config.file == self.file],
        )  # fmt: skip
        self._sites = _sites(self.now[1])
        try:
            self.text: Text | None = Text(lint.repository.read(self.file, path))
        except (Unreadable, CannotEdit):
            self.text = None
        self.result = b""
        self.done = ""

    def gone(self, finding: Finding) -> bool:
        """Whether an earlier fix of the file took the finding along."""
        return bool(self.edits) and not _counted(self.now[0])[_key(finding)]

    def attempt(self, one: Fix) -> str | None:
        """Try a fix's ways; None where one is kept, else why none is."""
        if self.text is None or one.refused:
            return one.refused or "the file cannot be read"
        if one.name == "lower-num-stages" and self._partly_known(one.finding):
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
        place = self._place(finding, _sites(self.now[1]))
        return any(not found.answered for found in self.now[1] if place_of(found) == place and is_launch(found))

    def _proof(self, one: Fix, result: bytes) -> str | None:
        """Lint the file as it would be; None where the finding is gone and nothing else has come up, else what speaks against it."""
        again = self.lint.over({self.path: result}, self.engine)
        report = again.report()
        judged = [found for found in again.judged if found.config.file == self.file]
        before, after = _counted(self.now[0]), _counted(report.findings)
        key = _key(one.finding)
        if after[key] >= before[key]:
            return "the finding would not go away"
        worse = [key for key in after if after[key] > before[key]]
        if worse:
            return f"{worse[0][0]} would come up"
        if report.problems and not self.lint.repository.problems:
            return report.problems[0].message
        if one.name == "lower-num-stages" and (doubt := self._doubt(one, judged)):
            return doubt
        self.now = (report.findings, judged)
        return None

    def _doubt(self, one: Fix, judged: Sequence[Judged]) -> str | None:
        """Whether each config that the launch would have is known, to the byte, to fit."""
        place = self._place(one.finding, _sites(judged))
        if place is None:
            return "the launches of the file could not be followed as before"
        before = {repr(found.specialization) for found in self.now[1]}
        for found in judged:
            if place_of(found) == place and is_launch(found):
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
    return Counter(_key(one) for one in findings if one.fails or one.rule == "SMEM011")


def _key(finding: Finding) -> tuple[str, str, str]:
    return finding.rule, finding.kernel, finding.target


def _from_here(path: Path) -> str:
    """A file as people find it from the current folder."""
    name = os.path.relpath(path)
    return str(path) if name.startswith("..") else Path(name).as_posix()


def _say_gone(finding: Finding, path: Path, diff: bool) -> None:
    goes = "would go" if diff else "went"
    print(f"{_from_here(path)}:{finding.line}: {finding.rule} {goes} with an earlier fix of the file", file=sys.stderr)


def _say(one: Fix, path: Path, refused: str | None, done: str, diff: bool) -> None:
    where = f"{_from_here(path)}:{one.finding.line}"
    if refused is None:
        print(f"{where}: {'would fix' if diff else 'fixed'} {one.finding.rule}: {done}", file=sys.stderr)
    else:
        print(f"{where}: {one.finding.rule} is not fixed by {one.name}: {refused}", file=sys.stderr)


def _show(path: Path, text: Text | None, result: bytes) -> None:
    assert text is not None
    before, after = (data.decode().splitlines(keepends=True) for data in (text.utf8, Text(result).utf8))
    name = _from_here(path)
    for line in difflib.unified_diff(before, after, name, name):
        sys.stdout.write(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    sys.stdout.flush()


def _write(path: Path, result: bytes) -> None:
    try:
        write_atomically(path, result)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
