"""One line a finding: ``path:line:col: CODE message``."""

from __future__ import annotations

from smem_lint.findings import Finding, Report
from smem_lint.report import Options
from smem_lint.report.style import SEVERITY_COLOR, Style, printable


def render(report: Report, options: Options) -> str:
    style = Style(options.color)
    lines = [line(finding, style) for finding in report.findings if options.show_info or finding.fails]
    lines += [f"{printable(p.file)}:{p.line or 1}:1: {style.paint('problem', 'red')} {printable(p.message)}" for p in report.problems]
    lines.append(closing(report, options, style))
    return "\n".join(lines) + "\n"


def line(finding: Finding, style: Style) -> str:
    code = style.paint(finding.rule, SEVERITY_COLOR[finding.severity])
    return f"{printable(finding.file)}:{finding.line}:{finding.column + 1}: {code} {printable(finding.message)}"


def closing(report: Report, options: Options, style: Style) -> str:
    """How many findings there are, and what was looked at: a lint of nothing is not a pass."""
    failing, hidden = len(report.failing), len(report.findings) - len(report.failing)
    statistics = report.statistics
    looked = f"{statistics.get('configs', 0)} configs of {statistics.get('kernels', 0)} kernels on {', '.join(report.targets)}"
    if failing:
        text = f"Found {failing} {'problem' if failing == 1 else 'problems'} in {looked}."
    elif statistics.get("configs", 0):
        text = style.paint(f"All checks passed: {looked}.", "green")
    else:
        text = f"Nothing was checked: no config of a Triton kernel was found in {statistics.get('files', 0)} files."
    if hidden and not options.show_info:
        text += f" {hidden} notes are not shown (--show-info)."
    if report.problems:
        text += f" {len(report.problems)} files could not be read whole."
    return text
