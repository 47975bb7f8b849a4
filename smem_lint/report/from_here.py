"""Files named from the current folder, as people's terminals and code hosts look for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from smem_lint.findings import Finding, Report


def from_here(report: Report, folders: Sequence[Path]) -> Report:
    """The report with its files named from the current folder where they lie below it; ``folders`` are what they were relative to."""
    here = Path.cwd().resolve()
    names: dict[str, str] = {}

    def name(file: str) -> str:
        if file not in names:
            found = next((folder / file for folder in folders if file and (folder / file).is_file()), None)
            path = found.parent.resolve() / found.name if found is not None else None
            names[file] = path.relative_to(here).as_posix() if path is not None and path.is_relative_to(here) else file
        return names[file]

    problems = [replace(one, file=name(one.file)) for one in report.problems]
    return replace(report, findings=[_named(one, name) for one in report.findings], problems=problems)


def _named(finding: Finding, name: Callable[[str], str]) -> Finding:
    related = tuple(replace(one, file=name(one.file)) for one in finding.related)
    return replace(finding, file=name(finding.file), kernel_file=name(finding.kernel_file), related=related)
