"""What one process finds in some of the files of a check."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from smem_lint.cli.errors import UsageError
from smem_lint.cli.parts import CACHED_SOURCE_BYTES
from smem_lint.cli.progress import Progress
from smem_lint.cli.proving import FindingPlace
from smem_lint.config import Settings
from smem_lint.findings import Finding, Problem
from smem_lint.judging import Judged
from smem_lint.processes import Workers
from smem_lint.source.modules import Repository

if TYPE_CHECKING:
    from smem_lint.cli.linting import Lint


@dataclass(slots=True)
class Part:
    """What was found in some files. ``judged`` is empty where it was not asked for, ``fixable`` too (``proving.fixable``); ``cut`` are
    launches not followed on every path."""

    findings: list[Finding] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    kernels: set[tuple[str, str]] = field(default_factory=set)
    answered: int = 0
    unanswered: int = 0
    cut: set[object] = field(default_factory=set)
    judged: list[Judged] = field(default_factory=list)
    fixable: dict[FindingPlace, str] = field(default_factory=dict)

    def add(self, other: Part) -> None:
        self.findings += other.findings
        self.problems += other.problems
        self.kernels |= other.kernels
        self.answered += other.answered
        self.unanswered += other.unanswered
        self.cut |= other.cut
        self.judged += other.judged
        self.fixable.update(other.fixable)


def workers(lint: Lint) -> Workers[Path, Part]:
    """Processes that each do parts of a run."""

    def lost(path: Path) -> Part:
        return Part(problems=[Problem(lint.name(path), 0, "the process that checked it died")])

    return Workers(_start, (lint.settings, lint.paths, lint.use_cache, lint.screened, lint.notes, lint.proves), _part, lost)


_lint: Lint | None = None


def _start(settings: Settings, paths: Sequence[Path], use_cache: bool, screened: bool, notes: bool, proves: bool) -> None:
    from smem_lint.cli.linting import Lint

    global _lint
    Progress.quiet = True
    _lint = Lint(replace(settings, jobs=1), paths, use_cache=use_cache)
    _lint.repository = Repository(_lint.roots, cached_bytes=CACHED_SOURCE_BYTES)
    _lint.screened, _lint.notes, _lint.proves, _lint.keeps_judged, _lint.keeps_sources = screened, notes, proves, False, True


def _part(files: list[Path]) -> Part:
    assert _lint is not None
    return kept_part(_lint, files)


def kept_part(lint: Lint, files: Sequence[Path]) -> Part:
    """What is found in some files. A defect of ours costs the file that shows it, is told, and makes the run fail."""
    try:
        return lint.part(files)
    except UsageError:
        raise
    except Exception as error:
        if os.environ.get("SMEM_LINT_DEBUG"):
            raise
        if len(files) == 1:
            told = " ".join(str(error).split())[:300]
            what = f"internal error: {type(error).__name__}: {told} (SMEM_LINT_DEBUG=1 shows where); please report this file"
            return Part(problems=[Problem(lint.name(files[0]), 0, what, fatal=True)])
    found = Part()
    for file in files:
        found.add(kept_part(lint, [file]))
    return found
