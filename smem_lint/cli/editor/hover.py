"""What stands under the cursor: the bytes of a launch, of an autotune list, or of one of its entries, against the limit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from smem_lint.cli.editor.analysis import Analysis
from smem_lint.cli.editor.spans import Lines, Spans
from smem_lint.judging import Judged
from smem_lint.report.style import count, printable

_ROWS, _BUFFERS, _CONDITIONS = 6, 5, 4
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~&])")


def hover(analysis: Analysis, line: int) -> tuple[str, Lines] | None:
    """Markdown for a line (counted from 1) and the lines that it speaks of; None where nothing is launched or tuned there."""
    spans = Spans(analysis.text)
    found, lines = _at(analysis, spans, line)
    found = list(_followed(found))
    if not found:
        return None
    analysis.exactly(_largest(found))
    return "\n\n".join(part for one in _by_kernel(found) if (part := _told(one))), lines


def _at(analysis: Analysis, spans: Spans, line: int) -> tuple[list[Judged], Lines]:
    """The configs that a line speaks of: of the entry, launch or list that stands there, else of the kernel that begins there."""
    lists: list[Judged] = []
    whole: Lines = range(0)
    for one in analysis.judged:
        config = one.config
        if config.origin == "autotune" and config.file == analysis.file:
            tuned = spans.tuned(config.line)
            if not tuned.holds(line):
                continue
            entry = tuned.entry(line)
            if entry is None or len(tuned.entries) != config.of:
                lists.append(one)
                whole = whole or tuned.lines
            elif entry == config.index:
                lists.append(one)
                whole = tuned.entries[entry]
        elif config.origin == "tuned-json" and config.file == analysis.file and config.line == line:
            lists.append(one)
            whole = range(line, line + 1)
    if lists:
        return lists, whole
    launched, lines = _launched(analysis, spans, line)
    if launched:
        return launched, lines
    for one in analysis.judged:
        heading = spans.heading(one.config.kernel_line) if one.config.kernel_file == analysis.file else range(0)
        if line in heading:
            return [other for other in analysis.judged if _kernel(other) == _kernel(one)], heading
    return [], range(0)


def _launched(analysis: Analysis, spans: Spans, line: int) -> tuple[list[Judged], Lines]:
    """The configs of the launch on a line: its own, or those of the list that it launches with."""
    found, lines = [], range(0)
    for one in analysis.judged:
        config = one.config
        if config.origin == "launch" and config.file == analysis.file:
            call = spans.call(config.line, config.column)
        else:
            file, _, at = config.launch.rpartition(":")
            call = range(int(at), int(at) + 1) if file == analysis.file and at.isdigit() else range(0)
        if line in call and not one.only_overruled:
            found.append(one)
            lines = max(lines, call, key=len)
    return found, lines


def _followed(found: Sequence[Judged]) -> Iterator[Judged]:
    """Without the entries of lists as they stand, where their launches were followed."""
    launched = {(_kernel(one), one.device.target) for one in found if one.config.launch}
    for one in found:
        if one.config.origin != "autotune" or one.config.launch or (_kernel(one), one.device.target) not in launched:
            yield one


def _kernel(one: Judged) -> tuple[str, str]:
    return one.config.kernel_file, one.config.kernel


def _by_kernel(found: Iterable[Judged]) -> list[list[Judged]]:
    groups: dict[tuple[object, ...], list[Judged]] = {}
    for one in found:
        groups.setdefault((*_kernel(one), one.device.target), []).append(one)
    return list(groups.values())


def _size(one: Judged) -> int:
    return one.estimate.bytes or 0 if one.estimate is not None else 0


def _largest(found: Iterable[Judged]) -> list[Judged]:
    """Of each kernel and device the configs that are shown, and whose exact bytes are wanted."""
    return [one for group in _by_kernel(found) for one in sorted(group, key=_size, reverse=True)[: 2 * _ROWS]]


def _told(group: Sequence[Judged]) -> str:
    """One kernel on one device: the verdict, a row for each number of bytes, and the buffers of the largest."""
    device = group[0].device
    head = f"{_code(group[0].config.kernel)} on {device.target}, which has {device.optin:,} bytes of shared memory a block"
    sized = [one for one in group if one.estimate is not None and one.estimate.bytes is not None]
    rows = _rows(sized)
    lines = [head, "", *_verdict(group, sized), ""]
    if rows:
        lines += ["| bytes | | config | when |", "|---:|---|---|---|", *(_row(one) for one in rows[:_ROWS])]
        if len(rows) > _ROWS:
            lines.append(f"| … | | {len(rows) - _ROWS} more | |")
        lines += ["", *_buffers(rows[0])]
    return "\n".join(lines).rstrip()


def _verdict(group: Sequence[Judged], sized: Sequence[Judged]) -> Iterator[str]:
    over = sum(one.overflows for one in sized)
    fits = sum(one.answered for one in sized) - over
    left = len(group) - fits - over
    parts = [f"{fits} " + ("fits" if fits == 1 else "fit")] if fits else []
    parts += [f"{over} " + ("overflows" if over == 1 else "overflow")] if over else []
    parts += [f"{left} could not be evaluated"] if left else []
    yield f"{count(len(group), 'config')}: {', '.join(parts)}."
    missing = sorted({missing.name for one in group for missing in one.config.unresolved})
    if missing:
        yield f"Not known: {', '.join(map(_code, missing[:_ROWS]))}."


def _rows(sized: Sequence[Judged]) -> list[Judged]:
    """The largest first, one for each number of bytes and options: the one that assumes least."""
    found: dict[tuple[object, ...], Judged] = {}
    for one in sorted(sized, key=lambda one: (-_size(one), len(one.config.when))):
        found.setdefault((_size(one), _set(one)), one)
    return list(found.values())


def _set(one: Judged) -> str:
    """What the source sets itself: an entry's values, or the options of the launch."""
    values = one.config.tuned or one.config.options
    return ", ".join(f"{name}={value}" for name, value in values.items())


def _row(one: Judged) -> str:
    estimate = one.estimate
    assert estimate is not None
    spare = one.device.optin - _size(one)
    number = f"{_size(one):,}" if estimate.exact else f"≤ {estimate.upper:,}" if estimate.upper is not None else f"≥ {estimate.lower:,}"
    verdict = f"**{-spare:,} too many**" if spare < 0 else f"{spare:,} to spare"
    when = "; ".join(one.config.when[:_CONDITIONS]) + ("; …" if len(one.config.when) > _CONDITIONS else "")
    return f"| {number} | {verdict} | {_code(_set(one))} | {_quoted(when)} |"


def _buffers(one: Judged) -> Iterator[str]:
    estimate = one.estimate
    if estimate is None or not estimate.exact or not estimate.buffers:
        return
    yield f"The largest buffers of the {_size(one):,} bytes (one offset is used in turn):"
    yield ""
    for buffer in sorted(estimate.buffers, key=lambda buffer: -buffer.size)[:_BUFFERS]:
        line = f", line {buffer.line}" if buffer.line else ""
        yield f"- {buffer.size:,} at {buffer.offset:,}: {_quoted(f'{buffer.kind} {buffer.what}')}{line}"


def _code(text: str) -> str:
    """Text of linted code set as code, also within a table."""
    plain = printable(text).replace("`", "'").replace("|", "\\|")
    return f"`{plain}`" if plain else ""


def _quoted(text: str) -> str:
    """Text of linted code as Markdown that shows it and does nothing else."""
    return _SPECIAL.sub(r"\\\1", printable(text))
