"""Findings for people: the source line, the numbers, what costs most, and what would fit."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator

from smem_lint.findings import Finding, Report
from smem_lint.report import Options
from smem_lint.report.concise import closing, line
from smem_lint.report.grouping import Group, grouped
from smem_lint.report.style import Style, count, printable

_BUFFERS, _OTHERS = 5, 4


def render(report: Report, options: Options) -> str:
    style = Style(options.color)
    groups = grouped(finding for finding in report.findings if options.show_info or finding.fails)
    parts = []
    for before, group in zip([None, *groups], groups, strict=False):
        lines = [*_finding(group.first, before.first if before else None, style), *_others(group, style)]
        if len(lines) > 1 and (place := _launch(group.first, options)):
            lines.append(f"  {style.paint('explain:', 'bold')} smem-lint explain {printable(place)}")
        parts.append("\n".join(lines))
    for problem in report.problems:
        parts.append(f"{printable(problem.file)}:{problem.line or 1}:1: {style.paint('problem', 'red')} {printable(problem.message)}")
    parts.append(closing(report, options, style))
    return "\n\n".join(parts) + "\n"


def _finding(finding: Finding, before: Finding | None, style: Style) -> Iterator[str]:
    """A finding's lines; of the same launch and config as the one ``before``, only what is new."""
    yield line(finding, style)
    if before is not None and (finding.file, finding.line, finding.config, finding.bytes) == (
        before.file,
        before.line,
        before.config,
        before.bytes,
    ):
        return
    if finding.source_line:
        gutter = style.paint(f"{finding.line:>6} |", "cyan")
        yield f"{gutter} {printable(finding.source_line.rstrip())}"
    for label, text in _details(finding):
        yield f"  {style.paint(label + ':', 'bold')} {printable(text)}"


def _others(group: Group, style: Style) -> Iterator[str]:
    """The other numbers of the same launch, with what leads to them."""
    for one in group.others[:_OTHERS]:
        size = f"{one.bytes:,} bytes" if one.bytes is not None else one.message
        condition = f" when {'; '.join(one.because)}" if one.because else ""
        yield f"  {style.paint('also:', 'bold')} {printable(size + condition)}"
    if len(group.others) > _OTHERS:
        yield f"  {style.paint('also:', 'bold')} {count(len(group.others) - _OTHERS, 'case')} more (--output-format json has them all)"


def _launch(finding: Finding, options: Options) -> str:
    """Where ``explain`` finds the config: the file as it is named from here with its line, or the kernel with the config's own values."""
    if finding.bytes is None or not finding.kernel or not finding.file.endswith(".py"):
        return ""
    file = finding.kernel_file if finding.elsewhere else finding.file
    found = next((folder / file for folder in options.folders if (folder / file).is_file()), None)
    if found is None:
        return ""
    if not finding.elsewhere:
        return shlex.quote(f"{os.path.relpath(found)}:{finding.line}")
    given = {**finding.config.get("constexprs", {}), **finding.config.get("options", {})}
    values = [shlex.quote(f"{name}={value}") for name, value in given.items() if _decides(name, value) and type(value) is int]
    return " ".join([shlex.quote(f"{os.path.relpath(found)}::{finding.kernel}"), *values])


def _subject(finding: Finding) -> tuple[object, ...]:
    return (finding.file, finding.line, finding.target, finding.config, finding.bytes)


def _details(finding: Finding) -> Iterator[tuple[str, str]]:
    constexprs = finding.config.get("constexprs", {})
    options = finding.config.get("options", {})
    if finding.bytes is not None and finding.limit is not None:
        yield "needs", _needs(finding)
    if finding.when:
        yield "when", "; ".join(finding.when)
    told = ", ".join(f"{name}={value}" for name, value in {**constexprs, **options}.items() if _decides(name, value))
    if told:
        yield "config", told
    types = ", ".join(f"{name}: {kind}" for name, kind in finding.config.get("types", {}).items() if str(kind).startswith("*"))
    if types:
        yield "types", types
    for buffer in finding.buffers[:_BUFFERS]:
        place = f"{finding.kernel_file}:{buffer.line}" if buffer.line else buffer.op
        yield "buffer", f"{buffer.size:,} bytes at {buffer.offset:,}: {f'{buffer.kind} {buffer.what}'.strip()} ({place})"
    if finding.fits:
        yield "fits", "; ".join(map(str, finding.fits))


def _needs(finding: Finding) -> str:
    assert finding.bytes is not None and finding.limit is not None
    difference = finding.bytes - finding.limit
    word = f"{difference:,} too many" if difference > 0 else f"{-difference:,} to spare"
    bounds = "" if finding.lower == finding.upper else f" (between {finding.lower:,} and {_upper(finding)})"
    return f"{finding.bytes:,} bytes{bounds} of {finding.limit:,}: {word} [{finding.confidence}]"


def _upper(finding: Finding) -> str:
    return f"{finding.upper:,}" if finding.upper is not None else "unknown"


def _decides(name: str, value: object) -> bool:
    return value is not None and not isinstance(value, dict) and not (isinstance(value, int) and value == 1 and name.startswith("stride"))
