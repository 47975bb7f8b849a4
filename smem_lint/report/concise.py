"""One line a finding: ``path:line:col: CODE message``."""

from __future__ import annotations

from smem_lint.findings import Finding, Report
from smem_lint.report import Options
from smem_lint.report.grouping import Group, grouped
from smem_lint.report.style import SEVERITY_COLOR, Style, count, printable


def render(report: Report, options: Options) -> str:
    style = Style(options.color)
    groups = grouped(finding for finding in report.findings if options.show_info or finding.fails)
    lines = [line(group.first, style) + more(group) for group in groups]
    lines += [f"{printable(p.file)}:{p.line or 1}:1: {style.paint('problem', 'red')} {printable(p.message)}" for p in report.problems]
    lines.append(closing(report, options, style))
    return "\n".join(lines) + "\n"


def line(finding: Finding, style: Style) -> str:
    code = style.paint(finding.rule, SEVERITY_COLOR[finding.severity])
    return f"{printable(finding.file)}:{finding.line}:{finding.column}: {code} {printable(finding.message)}"


def more(group: Group) -> str:
    return f" [and {count(len(group.others), 'case')} more]" if group.others else ""


def _fixable(report: Report) -> str:
    kinds = [group.first.fixable for group in grouped(report.failing)]
    safe, unsafe = kinds.count("safe"), kinds.count("unsafe")
    if not safe:
        return f" {unsafe} can be fixed with --unsafe-fixes." if unsafe else ""
    return f" {safe} can be fixed (--diff shows how, --fix does it){f', {unsafe} more with --unsafe-fixes' if unsafe else ''}."


def closing(report: Report, options: Options, style: Style) -> str:
    """How many findings there are, and what was looked at: a lint of nothing is not a pass."""
    failing, hidden = len(grouped(report.failing)), len(report.findings) - len(report.failing)
    statistics = report.statistics
    configs, kernels = statistics.get("configs", 0), statistics.get("kernels", 0)
    looked = f"{count(configs, 'config')} of {count(kernels, 'kernel')} on {', '.join(report.targets)}"
    fixed = statistics.get("fixed", 0)
    if failing:
        text = f"Found {count(failing + fixed, 'problem')}{f' ({fixed} fixed, {failing} remaining)' if fixed else ''} in {looked}."
        text += _fixable(report)
    elif configs:
        text = style.paint(f"All checks passed: {looked}{f' ({fixed} fixed)' if fixed else ''}.", "green")
    else:
        text = f"Nothing was checked: no config of a Triton kernel was found in {count(statistics.get('files', 0), 'file')}."
    if hidden and not options.show_info:
        text += f" {count(hidden, 'note')} {'is' if hidden == 1 else 'are'} not shown (--show-info)."
    if known := statistics.get("in_baseline", 0):
        text += f" {count(known, 'finding')} of the baseline {'is' if known == 1 else 'are'} left out."
    cut = statistics.get("cut_launches", 0)
    if cut:
        text += f" {count(cut, 'launch site')} can be reached in more ways than were followed."
    if report.problems:
        text += f" {count(len({one.file for one in report.problems}), 'file')} could not be read whole."
    return text
