"""Annotations of GitHub Actions (workflow commands ``::error file=…``)."""

from __future__ import annotations

from smem_lint.findings import Report
from smem_lint.report import Options
from smem_lint.report.grouping import grouped
from smem_lint.report.style import printable

_LEVEL = {"error": "error", "warning": "warning", "info": "notice"}


def render(report: Report, options: Options) -> str:
    lines = []
    for group in grouped(report.findings):
        finding = group.first
        if finding.fails or options.show_info:
            place = f"file={_property(finding.file)},line={finding.line},col={finding.column}"
            title = _property(f"{finding.rule} {finding.name}")
            lines.append(f"::{_LEVEL[finding.severity]} {place},title={title}::{_data(f'{finding.rule} {finding.message}')}")
    for problem in report.problems:
        lines.append(f"::warning file={_property(problem.file)},line={problem.line or 1}::{_data(problem.message)}")
    return "".join(f"{line}\n" for line in lines)


def _data(text: str) -> str:
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return printable(escaped)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
