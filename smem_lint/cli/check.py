"""``smem-lint check``: repositories in, findings out."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from smem_lint import __version__
from smem_lint.cli.errors import UsageError
from smem_lint.cli.linting import Lint
from smem_lint.cli.recorded import roots_of
from smem_lint.cli.settings import existing, settings_of, use_color, write_output
from smem_lint.findings import Report
from smem_lint.report.from_here import from_here
from smem_lint.report.grouping import grouped
from smem_lint.report.style import printable


def run(arguments: argparse.Namespace) -> int:
    paths = _paths(arguments)
    if arguments.watch:
        from smem_lint.cli.watching import watch

        return watch(arguments, paths, lambda: _once(arguments, paths))
    return _once(arguments, paths)


FOR_PEOPLE = ("full", "concise", "github")
"""Formats that leave notes out unless they are asked for."""

COUNTING = ("full", "concise")
"""Formats that say how many findings can be fixed."""

AS_CHECKED = ("json", "json-lines")
"""Formats whose files stay relative to the path that was checked; in the others they are named from the current folder."""


def _paths(arguments: argparse.Namespace) -> list[Path]:
    """What is checked; for records the roots that are named, else those that the records name. Raises UsageError."""
    named = [*arguments.paths, *arguments.root]
    if arguments.root and not arguments.records:
        raise UsageError("--root is for --records")
    if arguments.records and not named:
        return roots_of(Path(arguments.records)) or existing([])
    return existing(named)


def _once(arguments: argparse.Namespace, paths: list[Path]) -> int:
    settings = settings_of(arguments, paths)
    lint = Lint(settings, paths, use_cache=not arguments.no_cache, records=arguments.records)
    lint.notes = arguments.show_info or settings.output_format not in FOR_PEOPLE
    lint.proves = settings.output_format in COUNTING and not arguments.fix and not arguments.diff
    lint.keeps_judged = False
    report = lint.report()
    if arguments.fix or arguments.diff:
        from smem_lint.cli.fixing import fix

        where = lint.only(report)
        changed = where is not None and fix(where.report(), where, arguments.diff, arguments.unsafe_fixes)
        if arguments.diff:
            return _told_problems(from_here(report, lint.roots)) or int(changed)
        if changed:
            before, lint = len(grouped(report.failing)), lint.again()
            report = lint.report()
            report.statistics["fixed"] = max(0, before - len(grouped(report.failing)))
    _write(report, arguments, settings.output_format, lint.roots)
    if arguments.html:
        from smem_lint.cli.paging import paged
        from smem_lint.report.html import render_page

        write_output(render_page(paged(report, lint), __version__), arguments.html)
    if any(problem.fatal for problem in report.problems):
        return 2
    return 0 if arguments.exit_zero or not report.failing else 1


def _told_problems(report: Report) -> int:
    """What could not be read, to standard error, where no report says it; 2 where that makes a run fail."""
    for one in report.problems:
        print(f"{printable(one.file)}:{one.line or 1}:1: problem {printable(one.message)}", file=sys.stderr)
    return 2 * any(one.fatal for one in report.problems)


def _write(report: Report, arguments: argparse.Namespace, output_format: str, folders: Sequence[Path]) -> None:
    from smem_lint.report import Options, render

    if output_format not in AS_CHECKED:
        report, folders = from_here(report, folders), [Path.cwd(), *folders]
    color = not arguments.output_file and use_color(sys.stdout)
    text = render(output_format, report, Options(color, arguments.show_info, __version__, tuple(folders)))
    try:
        write_output(text, arguments.output_file)
    except UnicodeEncodeError as error:
        raise UsageError(f"standard output cannot hold the report: {error}") from error
    if arguments.statistics:
        for name, value in report.summary().items():
            print(f"{name}: {value}", file=sys.stderr)
