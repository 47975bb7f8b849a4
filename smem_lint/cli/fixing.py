"""``check --fix`` and ``--diff``: what ``proving`` holds to be right is written, or shown."""

from __future__ import annotations

import difflib
import os
import re
import sys
from pathlib import Path

from smem_lint.cli.errors import UsageError
from smem_lint.cli.linting import Lint
from smem_lint.cli.proving import Found, Work, planned, remembering
from smem_lint.findings import Finding, Report
from smem_lint.fixes.plans import Fix
from smem_lint.fixes.text import Text, write_atomically


def fix(report: Report, lint: Lint, diff: bool, unsafe: bool = False) -> bool:
    """Fix what the report names; with ``diff`` write nothing and print what would change. Whether something changed or would.

    What was done, and what could not be done and why, goes to standard error. Raises UsageError where a file cannot be written.
    """
    found = Found(report.findings, lint.judged)
    engine = remembering(lint.judged, lint)
    changed = 0
    for path, fixes in planned(found, lint, engine, lint.files(), unsafe):
        work = Work(lint, engine, path, found)
        for one in fixes:
            if work.gone(one.finding):
                _say_gone(one.finding, path, diff)
            else:
                _say(one, path, work.attempt(one), work.done, diff)
        if work.edits:
            changed += 1
            _show(path, work.text, work.result) if diff else _write(path, work.result)
    return bool(changed)


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
    before, after = (_lines(data.decode()) for data in (text.utf8, Text(result).utf8))
    name = _from_here(path)
    for line in difflib.unified_diff(before, after, name, name):
        sys.stdout.write(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    sys.stdout.flush()


def _lines(text: str) -> list[str]:
    """Lines as ``patch`` counts them: no form feed or other break ends one."""
    return re.findall(r"[^\n]*\n|[^\n]+\Z", text)


def _write(path: Path, result: bytes) -> None:
    try:
        write_atomically(path, result)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
