"""One text of an editor, checked: what the linter says of it, and every config that it launches with its estimate."""

from __future__ import annotations

import argparse
import io
import tokenize
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from smem_lint.cli.engines import half_the_limit, the_limit
from smem_lint.cli.errors import UsageError
from smem_lint.cli.files import absolute, root_of
from smem_lint.cli.linting import Lint
from smem_lint.cli.settings import settings_of
from smem_lint.engines import SCREENED, Engine, ScreeningEngine
from smem_lint.findings import Finding, Report
from smem_lint.judging import Judged
from smem_lint.model import ModelEngine
from smem_lint.model_pool import ModelPool
from smem_lint.source.modules import Repository

SUFFIXES = (".py", ".json")


@dataclass(eq=False)
class Analysis:
    """``report`` and ``judged`` of ``path`` as the text says; ``texts`` are all open ones, as they would be saved."""

    path: Path
    text: str
    texts: Mapping[Path, bytes]
    lint: Lint | None = None
    report: Report = field(default_factory=Report)
    engine: Engine | None = None
    failure: str = ""
    notes: bool = False

    @cached_property
    def file(self) -> str:
        """The file as findings name it."""
        return self.lint.name(self.path) if self.lint is not None else self.path.name

    @property
    def findings(self) -> list[Finding]:
        """What is shown: notes only where they are asked for."""
        return [one for one in self.report.findings if one.file == self.file and (one.fails or self.notes)]

    @property
    def judged(self) -> list[Judged]:
        return self.lint.judged if self.lint is not None else []

    def exactly(self, wanted: Iterable[Judged]) -> None:
        """Exact bytes in place of the bounds that were enough to see that these fit."""
        asked = [one for one in wanted if one.specialization is not None and one.estimate is not None and SCREENED in one.estimate.reasons]
        if not asked or not isinstance(self.engine, ScreeningEngine):
            return
        answers = self.engine.exactly([one.specialization for one in asked if one.specialization is not None])
        for one, estimate in zip(asked, answers, strict=True):
            one.estimate = estimate


def analyse(
    arguments: argparse.Namespace, path: Path, texts: Mapping[Path, str], folders: Sequence[Path] = (), *, exact: bool = False
) -> Analysis:
    """Check one open text against the others and what lies on the disk. Settings that cannot be used are its ``failure``.

    ``folders`` are those that the editor has open: the innermost that holds the file is its project. ``exact`` asks for the bytes of
    what surely fits, too, as fixes need them.
    """
    path = absolute(path)
    saved = {absolute(other): as_saved(text) for other, text in texts.items()}
    analysis = Analysis(path, texts.get(path, ""), saved, notes=bool(arguments.show_info))
    if path.suffix not in SUFFIXES or not path.is_file():
        return analysis
    try:
        lint = _lint(arguments, path, folders)
        lint.repository = Repository(lint.roots, edited=saved)
        model = ModelEngine(lint.roots, version=lint.settings.triton)
        model.repository = lint.repository
        below = half_the_limit if lint.notes else the_limit
        screened = ModelPool(lint.roots, lint.settings.triton, 1, below, keep=True, _kept=model)
        lint.engine = analysis.engine = model if exact else screened
        analysis.lint, analysis.report = lint, lint.report()
    except (UsageError, ValueError) as error:
        analysis.failure = str(error)
    return analysis


def _lint(arguments: argparse.Namespace, path: Path, folders: Sequence[Path]) -> Lint:
    lint = Lint(settings_of(arguments, [path]), [path], use_cache=False)
    holding = [folder for folder in map(Path.resolve, folders) if path.is_relative_to(folder)]
    lint.roots = [max(holding, key=lambda folder: len(folder.parts)) if holding else root_of(path)]
    lint.notes = bool(arguments.show_info)  # without them less has to be known exactly
    return lint


def as_saved(text: str) -> bytes:
    """A text in the encoding that it declares, as Python would read it from the disk."""
    data = text.encode("utf-8", "replace")
    try:
        return text.encode(tokenize.detect_encoding(io.BytesIO(data).readline)[0])
    except (SyntaxError, LookupError, UnicodeError):
        return data
