"""``smem-lint baseline``: today's findings to a file; what it holds, ``check --baseline`` leaves out."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from smem_lint.cli.errors import UsageError
from smem_lint.cli.linting import Lint
from smem_lint.cli.settings import existing, settings_of, write_output
from smem_lint.findings import Finding
from smem_lint.report.style import count

VERSION = 1


def run(arguments: argparse.Namespace) -> int:
    paths = existing(arguments.paths)
    settings = settings_of(arguments, paths)
    lint = Lint(settings, paths, use_cache=not arguments.no_cache)
    lint.keeps_judged = False
    report = lint.report(whole=True)
    write_output(to_text(report.findings), arguments.output)
    if arguments.output not in ("", "-"):
        notes = len(report.findings) - len(report.failing)
        told = f", {count(notes, 'note')} among them" if notes else ""
        print(f"{arguments.output}: {count(len(report.findings), 'finding')}{told}")
    return 0


def to_text(findings: list[Finding]) -> str:
    """A baseline as JSON: sorted, one finding a line, so that it reads well under version control."""
    entries = sorted(
        (_entry(one) for one in findings), key=lambda entry: (entry["file"], entry["line"], entry["rule"], entry["fingerprint"])
    )
    lines = ",\n".join("  " + json.dumps(entry) for entry in entries)
    return f'{{"version": {VERSION}, "findings": [\n{lines}\n]}}\n'


def _entry(one: Finding) -> dict[str, Any]:
    return {"fingerprint": one.content, "rule": one.rule, "file": one.file, "line": one.line, "message": one.message}


def not_in(known: Counter[str], findings: Iterable[Finding]) -> list[Finding]:
    """The findings that a baseline does not hold; one that it holds once stands for one finding, not for its later copies."""
    left = Counter(known)
    new = []
    for one in findings:
        if left[one.content] > 0:
            left[one.content] -= 1
        else:
            new.append(one)
    return new


def read_baseline(path: Path) -> Counter[str]:
    """The fingerprints that a baseline holds, and how often; raises UsageError."""
    try:
        table: Any = json.loads(path.read_text("utf8"))
        if table["version"] != VERSION:
            raise ValueError(f"version {table['version']!r} is not {VERSION}")
        return Counter(str(one["fingerprint"]) for one in table["findings"])
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(f"{path}: not a baseline: {error!r}") from error
