"""An explanation as text: the peak, the tables with the cliff marked, and what would fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from smem_lint.engines import Buffer, Estimate
from smem_lint.explain import Explanation, Row
from smem_lint.report.style import Style, printable

_SHOWN = 14


def render(found: Explanation, style: Style, source: Sequence[str] = ()) -> str:
    """``source`` are the lines of the kernel's file, shown beside the buffers that come from them."""
    return "\n".join(_lines(found, style, source)) + "\n"


def _lines(found: Explanation, style: Style, source: Sequence[str]) -> Iterator[str]:
    one = found.base.specialization
    yield style.paint(f"{printable(one.kernel)} on {found.device.label}", "bold")
    yield f"  {_config(one.constexprs, one.num_warps, one.num_stages)}"
    pointers = ", ".join(f"{name}: {kind}" for name, kind in one.signature.items() if kind.startswith("*"))
    yield f"  {printable(pointers)}"
    for text in found.assumed:
        yield style.paint(f"  assumed: {printable(text)}", "dim")
    yield ""
    yield from _verdict(found, style)
    if found.peak is not None:
        yield ""
        yield style.paint("At the peak", "bold") + f" (position {found.peak.position}):"
        for buffer in found.peak.buffers:
            yield f"  {_buffer(buffer, source)}"
        if found.peak.gaps:
            yield f"  {found.peak.gaps:>9,} B  between them, held by nothing that lives here"
        yield f"  {found.peak.total:>9,} B  in all"
        yield from _others(found, style, source)
    for name, rows in found.tables.items():
        yield ""
        yield from _table(name, rows, found, style)
    if found.fitting:
        yield ""
        yield style.paint("What would fit:", "bold")
        for row in found.fitting:
            yield f"  {_change(row)}: {_bytes(row.estimate)}"


def _verdict(found: Explanation, style: Style) -> Iterator[str]:
    estimate, limit = found.base.estimate, found.device.optin
    if estimate.bytes is None:
        yield style.paint(f"not answered: {printable(estimate.error or '')}", "red")
        return
    room = limit - estimate.bytes
    verdict = style.paint(f"{-room:,} too many", "red") if room < 0 else style.paint(f"{room:,} to spare", "green")
    yield f"{_bytes(estimate)} of {limit:,} a block: {verdict}"
    for reason in estimate.reasons:
        yield f"  not exact: {printable(reason)}"


def _bytes(estimate: Estimate) -> str:
    if estimate.bytes is None:
        return "not answered"
    if estimate.exact:
        return f"{estimate.bytes:,} B"
    upper = f"{estimate.upper:,}" if estimate.upper is not None else "unknown"
    return f"about {estimate.bytes:,} B ({estimate.lower:,} to {upper})"


def _buffer(buffer: Buffer, source: Sequence[str]) -> str:
    text = f"{buffer.size:>9,} B  at {buffer.offset:>7,}  {buffer.kind:<8} {buffer.what:<30} alive {buffer.start}-{buffer.end}"
    if buffer.line and 0 < buffer.line <= len(source):
        text += f"  line {buffer.line}: {printable(source[buffer.line - 1].strip())[:70]}"
    return text


def _others(found: Explanation, style: Style, source: Sequence[str]) -> Iterator[str]:
    assert found.peak is not None
    rest = [one for one in found.base.estimate.buffers if one not in found.peak.buffers]
    if rest:
        yield style.paint("Elsewhere in the program, in the same memory:", "bold")
        for buffer in sorted(rest, key=lambda one: -one.size)[:_SHOWN]:
            yield f"  {_buffer(buffer, source)}"
        if len(rest) > _SHOWN:
            yield f"  and {len(rest) - _SHOWN} smaller ones"


def _table(name: str, rows: Sequence[Row], found: Explanation, style: Style) -> Iterator[str]:
    yield style.paint(f"By {name}:", "bold")
    cliff = found.cliffs.get(name)
    for row in rows:
        if cliff is not None and row is cliff[1]:
            yield style.paint(f"  ---- {found.device.optin:,} B, the limit of {found.device.target} ----", "red")
        here = "<- this one" if changed_nothing(row, found) else ""
        value = f"{_value(row.change[name])}"
        yield f"  {value:<12} {_bytes(row.estimate):>16}  {_mark(row, found, style)} {here}".rstrip()


def changed_nothing(row: Row, found: Explanation) -> bool:
    return row.specialization == found.base.specialization


def _mark(row: Row, found: Explanation, style: Style) -> str:
    fits = row.fits(found.device)
    if fits is None:
        return printable(row.estimate.error or "")[:100]
    return style.paint("fits", "green") if fits else style.paint("overflows", "red")


def _change(row: Row) -> str:
    return ", ".join(f"{name}={_value(value)}" for name, value in row.change.items())


def _value(value: Any) -> str:
    return printable(str(value["dtype"]) if isinstance(value, dict) and "dtype" in value else str(value))


def _config(constexprs: Any, num_warps: int, num_stages: int) -> str:
    told = ", ".join(f"{name}={_value(value)}" for name, value in constexprs.items() if value is not None)
    return printable(f"{told}, num_warps={num_warps}, num_stages={num_stages}".lstrip(", "))
