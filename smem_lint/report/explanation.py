"""An explanation as text: the peak, the tables with the cliff marked, and what would fit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from smem_lint.engines import Buffer, Estimate
from smem_lint.explain import STAGES, Cross, Explanation, Row, differing, lifetime
from smem_lint.report.style import Style, printable
from smem_lint.report.tokens import shortened

_SHOWN = 8
_CODE = 58
_CALL = re.compile(r"((?:[\w\[\], ]+?\s*[+\-*/]?=\s*)?[A-Za-z_][\w.]*)\(")
_TILE = re.compile(r"(?<=\d)x(?=\d)")


def render(found: Explanation, style: Style, source: Sequence[str] = (), others: Sequence[Explanation] = ()) -> str:
    """``source`` are the lines of the kernel's file, shown beside what comes from them; ``others`` are the same on other devices."""
    return "\n".join(_lines(found, style, source, others)) + "\n"


def _lines(found: Explanation, style: Style, source: Sequence[str], others: Sequence[Explanation]) -> Iterator[str]:
    yield from _heading(found, style)
    yield ""
    yield from _verdict(found, style)
    if found.peak is not None:
        yield from _peak(found, style, source)
    for name, rows in found.tables.items():
        if any(row.estimate.bytes is not None for row in rows):
            yield ""
            yield from _table(name, rows, found, style)
    for cross in found.crosses:
        yield ""
        yield from _cross(cross, found, style)
    if others:
        yield ""
        yield from _targets((found, *others), style)
    if found.headroom is not None and found.headroom < 0:
        yield ""
        yield from _fitting(found, style)


def _heading(found: Explanation, style: Style) -> Iterator[str]:
    one = found.base.specialization
    yield style.paint(f"{printable(one.kernel)} on {found.device.label}", "bold")
    yield f"  config: {config_text(one.constexprs)}num_warps={one.num_warps}, num_stages={one.num_stages}"
    pointers = ", ".join(f"{name}: {kind}" for name, kind in one.signature.items() if not kind.isidentifier())
    if pointers:
        yield f"  types: {printable(pointers)}"
    if found.origin:
        yield f"  launched at: {printable(found.origin)}"
    if found.assumed:
        yield style.paint(f"  when: {printable('; '.join(found.assumed))}", "dim")


def _verdict(found: Explanation, style: Style) -> Iterator[str]:
    estimate, limit = found.base.estimate, found.device.optin
    if estimate.bytes is None:
        yield style.paint(f"No answer: {printable(estimate.error or 'unknown')}", "red")
        return
    room = limit - estimate.bytes
    if found.base.fits(found.device) is None:
        verdict = style.paint("whether it fits is not known", "yellow")
    else:
        verdict = style.paint(f"{-room:,} too many", "red") if room < 0 else style.paint(f"it fits, headroom {room:,} B", "green")
    yield f"One block asks for {bytes_text(estimate)}; {found.device.target} has {limit:,} B: {verdict}."
    for reason in estimate.reasons:
        yield f"  not exact: {printable(reason)}"


def _peak(found: Explanation, style: Style, source: Sequence[str]) -> Iterator[str]:
    assert found.peak is not None
    peak, loops = found.peak, found.base.estimate.loops
    moment = Buffer(0, 0, "", "", start=peak.position, end=peak.position + 1)
    where = lifetime(moment, loops)
    yield ""
    yield style.paint("The peak", "bold") + (f", {where}:" if where else ":")
    for number, buffer in enumerate(peak.buffers, 1):
        yield from _buffer(f"[{number}]", buffer, found, source, style)
    if peak.gaps:
        yield f"      {peak.gaps:>9,} B  between them, held by nothing that lives at that moment"
    terms = [buffer.size for buffer in peak.buffers] + [peak.gaps] * bool(peak.gaps)
    yield f"  {' + '.join(f'{term:,}' for term in terms)} = {style.paint(f'{peak.total:,} B', 'bold')}"
    yield from _others(found, style, source)


def _buffer(mark: str, buffer: Buffer, found: Explanation, source: Sequence[str], style: Style, over: str = "") -> Iterator[str]:
    alive = lifetime(buffer, found.base.estimate.loops)
    what = describe(buffer)
    yield f"  {mark:<3} {buffer.size:>9,} B  at {buffer.offset:>7,}  {style.paint(what, 'cyan')}{', alive ' + alive if alive else ''}{over}"
    code = code_at(buffer.line, source)
    if buffer.line:
        read = f", read at line {buffer.read}" if buffer.read and buffer.read != buffer.line else ""
        yield f"{'':<31}line {buffer.line}{': ' + code if code else ''}{read}"


def describe(buffer: Buffer) -> str:
    """A buffer in words: ``staged 1 × 512×32 fp8e4nv``."""
    return printable(f"{buffer.kind} {_TILE.sub('×', buffer.what).replace(' x ', ' × ')}".strip())


def code_at(line: int | None, source: Sequence[str]) -> str:
    """What stands at a line, a long call without its arguments: ``k = tl.load(…)``."""
    if not line or line > len(source):
        return ""
    text = printable(source[line - 1].strip())
    call = _CALL.match(text)
    if call is not None and (len(text) > _CODE or text.endswith("(")):
        return f"{call.group(1)}(…)"[:_CODE]
    return shortened(text, _CODE)


def _others(found: Explanation, style: Style, source: Sequence[str]) -> Iterator[str]:
    assert found.peak is not None
    peak = found.peak.buffers
    rest = sorted((one for one in found.base.estimate.buffers if one not in peak), key=lambda one: -one.size)
    if not rest:
        return
    yield style.paint("At other times, in the same bytes", "bold") + " (they cost nothing):"
    for buffer in rest[:_SHOWN]:
        under = [f"[{number}]" for number, one in enumerate(peak, 1) if overlap(one, buffer)]
        yield from _buffer("", buffer, found, source, style, f", in the bytes of {' '.join(under)}" if under else "")
    if len(rest) > _SHOWN:
        yield f"  and {len(rest) - _SHOWN} smaller ones"


def overlap(one: Buffer, other: Buffer) -> bool:
    """Whether two buffers share bytes."""
    return one.offset < other.offset + other.size and other.offset < one.offset + one.size


def _table(name: str, rows: Sequence[Row], found: Explanation, style: Style) -> Iterator[str]:
    same = {row.estimate.bytes for row in rows if row.estimate.exact}
    if len(same) == 1 and all(row.estimate.exact for row in rows) and len(rows) > 1:
        values = ", ".join(value_text(row.change[name]) for row in rows)
        yield style.paint(f"By {printable(name)}", "bold") + f": {bytes_text(rows[0].estimate)} with any of {values}"
        return
    yield style.paint(f"By {printable(name)}", "bold")
    cliff = found.cliffs.get(name)
    for row in rows:
        if cliff is not None and row is cliff[1]:
            yield style.paint(f"  {'-' * 9} {found.device.optin:>13,} B  --- limit of {found.device.target} ---", "red")
        here = "  <- this one" if row.specialization == found.base.specialization else ""
        yield f"  {value_text(row.change[name]):<9} {bytes_text(row.estimate):>15}  {_mark(row, found, style)}{here}"


def _mark(row: Row, found: Explanation, style: Style) -> str:
    if row.estimate.bytes is None:
        return printable(row.estimate.error or "")[:100]
    fits = row.fits(found.device)
    if fits is None:
        return style.paint("may fit or not", "yellow")
    room = found.device.optin - row.estimate.bytes
    return style.paint(f"fits, {room:,} to spare", "green") if fits else style.paint(f"overflows by {-room:,}", "red")


def _cross(cross: Cross, found: Explanation, style: Style) -> Iterator[str]:
    """One row a value, one column a ``num_stages``; ``|`` stands where the limit is crossed."""
    label = printable(cross.sweep.label)
    yield style.paint(f"By {label} and {STAGES}", "bold") + f" (bytes; ! is over {found.device.optin:,})"
    names = [value_text(value) for value in cross.sweep.values]
    width = max(len("num_stages"), *map(len, names))
    yield f"  {STAGES:<{width}}" + "".join(f"{number:>12}" for number in cross.stages)
    for name, rows in zip(names, cross.rows, strict=True):
        yield f"  {name:<{width}}" + _cells(rows, found, style)
    for name, rows in zip(names, cross.rows, strict=True):
        if rows[0].estimate.bytes is None:
            yield f"  {name}: {printable(rows[0].estimate.error or 'no answer')}"


def _cells(rows: Sequence[Row], found: Explanation, style: Style) -> str:
    parts, before = [], None
    for row in rows:
        fits = row.fits(found.device)
        edge = " |" if before is True and fits is False else "  "
        number = "-" if row.estimate.bytes is None else f"{row.estimate.bytes:,}"
        text = f"{number}{'!' if fits is False else '?' if fits is None and row.estimate.bytes is not None else ' '}"
        parts.append(edge + style.paint(f"{text:>10}", "red" if fits is False else "green"))
        before = fits
    return "".join(parts).rstrip()


def _targets(found: Sequence[Explanation], style: Style) -> Iterator[str]:
    stages = all_stages(found)
    yield style.paint(f"By target and {STAGES}", "bold") + " (bytes; ! is over the limit)"
    yield f"  {'target':<9}{'limit':>9}" + "".join(f"{number:>12}" for number in stages)
    for one in found:
        yield f"  {one.device.target:<9}{one.device.optin:>9,}" + _cells(one.tables[STAGES], one, style)
        if one.base.estimate.bytes is None:
            yield f"  {'':<9}{printable(one.base.estimate.error or '')[:100]}"


def all_stages(found: Sequence[Explanation]) -> list[int]:
    """The columns of a table of targets: a target whose config has more stages is asked about more of them."""
    return max(([row.change[STAGES] for row in one.tables[STAGES]] for one in found), key=len)


def _fitting(found: Explanation, style: Style) -> Iterator[str]:
    if not found.fitting:
        yield nothing_fits(found)
        return
    yield style.paint("What would fit", "bold") + " (the nearest first; a block size only where the launch may choose it)"
    for row in found.fitting:
        room = found.device.optin - (row.estimate.bytes or 0)
        yield f"  {change_text(differing(found.base.specialization, row))}: {bytes_text(row.estimate)}, {room:,} to spare"


def nothing_fits(found: Explanation) -> str:
    """What stands in place of a list of variants that fit."""
    rows = [row for table in found.tables.values() for row in table]
    known = "fits" if all(row.fits(found.device) is False for row in rows) else "is known to fit"
    return f"None of these {known} {found.device.target}: sweep a block size, e.g. BLOCK_N=64,32,16."


def bytes_text(estimate: Estimate) -> str:
    """``63,488 B``, with bounds where it is not exact."""
    if estimate.bytes is None:
        return "no answer"
    if estimate.exact:
        return f"{estimate.bytes:,} B"
    upper = f"{estimate.upper:,}" if estimate.upper is not None else "unknown"
    return f"about {estimate.bytes:,} B ({estimate.lower:,} to {upper})"


def change_text(change: Mapping[str, Any]) -> str:
    return printable(", ".join(f"{name}={value_text(value)}" for name, value in change.items()))


def value_text(value: Any) -> str:
    """A value as a person writes it: a type by its name."""
    return printable(str(value["dtype"]) if isinstance(value, dict) and "dtype" in value else str(value))


def config_text(constexprs: Mapping[str, Any]) -> str:
    told = "".join(f"{name}={value_text(value)}, " for name, value in constexprs.items() if value is not None)
    return printable(told)
