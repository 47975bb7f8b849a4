"""What an editor offers at a finding: its fix, where the estimates prove it, and a comment that silences it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from smem_lint.cli.editor.analysis import Analysis
from smem_lint.cli.editor.places import Place, Places
from smem_lint.cli.proving import Found, Remembering, Work, planned
from smem_lint.findings import Finding
from smem_lint.fixes.plans import Fix
from smem_lint.fixes.text import Edit


@dataclass(frozen=True, slots=True)
class Change:
    """``text`` in place of what stands between two places."""

    start: Place
    end: Place
    text: str


@dataclass(frozen=True, slots=True)
class Action:
    """What can be done about findings; ``disabled`` says why it cannot. ``whole`` is for every finding of the text."""

    title: str
    findings: tuple[Finding, ...]
    changes: tuple[Change, ...] = ()
    disabled: str = ""
    preferred: bool = False
    whole: bool = False


def fixes(analysis: Analysis, places: Places, lines: range, *, whole: bool = False) -> list[Action]:
    """The fixes of findings on these lines (counted from 1), or with ``whole`` one action that holds all fixes of the text.

    ``analysis`` has to be exact. Its text is what the changes are made to.
    """
    if analysis.lint is None or analysis.engine is None or not any(one.fix for one in analysis.findings):
        return []
    engine = Remembering(analysis.engine)
    engine.remember(analysis.judged)
    found = Found(analysis.report.findings, analysis.judged)
    wanted = [one for path, fixes in planned(found, analysis.lint, engine, analysis.lint.files()) if path == analysis.path for one in fixes]

    def work() -> Work:
        assert analysis.lint is not None
        return Work(analysis.lint, engine, analysis.path, found)

    if whole:
        return _together(work(), wanted, places)
    return [_alone(work(), one, places) for one in wanted if one.finding.line in lines]


def _alone(work: Work, one: Fix, places: Places) -> Action:
    refused = work.attempt(one)
    if refused is not None:
        return Action(f"Fix {one.finding.rule} ({one.name})", (one.finding,), disabled=refused)
    title = f"Fix {one.finding.rule}: {work.done}"
    return Action(title, (one.finding,), _changes(work.edits, places), preferred=True)


def _together(work: Work, wanted: Sequence[Fix], places: Places) -> list[Action]:
    done = [one.finding for one in wanted if not work.gone(one.finding) and work.attempt(one) is None]
    if not work.edits:
        return []
    return [Action("Fix all smem-lint findings that can be fixed", tuple(done), _changes(work.edits, places), whole=True)]


def _changes(edits: Sequence[Edit], places: Places) -> tuple[Change, ...]:
    return tuple(Change(places.offset(one.start), places.offset(one.end), one.text) for one in sorted(set(edits)))


def silences(analysis: Analysis, places: Places, lines: range) -> list[Action]:
    """For each rule that speaks of these lines a comment behind the code that makes it silent there."""
    found: dict[tuple[int, str], list[Finding]] = {}
    for one in analysis.findings:
        if one.line in lines and one.rule != "SMEM011" and one.file.endswith(".py"):
            found.setdefault((one.line, one.rule), []).append(one)
    actions = []
    for (line, rule), findings in found.items():
        code = places.lines[line - 1].rstrip()
        if not code.endswith("\\") and "smem-lint:" not in code:
            end = places.end(line)
            change = Change(end, end, f"  # smem-lint: ignore[{rule}]")
            actions.append(Action(f"Ignore {rule} on this line", tuple(findings), (change,)))
    return actions
