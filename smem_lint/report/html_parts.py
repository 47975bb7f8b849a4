"""Pieces that the pages of ``check`` and of ``explain`` share: buffers over time, their table, and source excerpts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from smem_lint.engines import Buffer, Estimate
from smem_lint.explain import Peak, lifetime
from smem_lint.report.explanation import code_at, describe, overlap, value_text
from smem_lint.report.html_tags import Child, Safe, tag
from smem_lint.report.html_timeline import KINDS, timeline

_AROUND = 2


def memory(estimate: Estimate, held: Peak | None, limit: int | None, target: str, lines: Sequence[str]) -> list[Child]:
    """The picture of the buffers over time, the sum at the peak, and the table; bars and rows have the same numbers."""
    at_peak = held.buffers if held is not None else ()
    rest = sorted((one for one in estimate.buffers if one not in at_peak), key=lambda one: (one.offset, one.start))
    numbers = {one: index for index, one in reversed(list(enumerate([*at_peak, *rest], 1)))}
    parts: list[Child] = timeline(estimate, held, numbers, limit, target)
    if held is not None:
        terms = [one.size for one in held.buffers] + [held.gaps] * bool(held.gaps)
        parts.append(tag("p", f"At the peak: {' + '.join(f'{term:,}' for term in terms)} = ", tag("strong", f"{held.total:,} B")))
    return [*parts, _table(estimate, at_peak, rest, lines)]


_COLUMNS = ("", "bytes", "offset", "what", "alive", "line", "source")


def _table(estimate: Estimate, at_peak: Sequence[Buffer], rest: Sequence[Buffer], lines: Sequence[str]) -> Safe:
    """Every buffer by offset: those that make up the peak, then those that use the same bytes at other times."""
    head = tag("tr", [tag("th", name, scope="col", class_="number" if 0 < index < 3 else None) for index, name in enumerate(_COLUMNS)])
    rows = [_buffer(number, one, estimate, lines) for number, one in enumerate(at_peak, 1)]
    others = [
        _buffer(number, one, estimate, lines, [index for index, held in enumerate(at_peak, 1) if overlap(held, one)])
        for number, one in enumerate(rest, len(at_peak) + 1)
    ]
    bodies = [
        tag("tbody", tag("tr", tag("th", title, colspan=len(_COLUMNS), scope="rowgroup")), found)
        for title, found in (("At the peak", rows), ("At other times, in the same bytes (they cost nothing)", others))
        if found
    ]
    return tag("div", tag("table", tag("thead", head), bodies, class_="buffers"), class_="scroll", tabindex="0")


def _buffer(number: int, one: Buffer, estimate: Estimate, lines: Sequence[str], under: Sequence[int] = ()) -> Safe:
    read = f", read at line {one.read}" if one.read and one.read != one.line else ""
    shared = f"in the bytes of {' '.join(f'[{index}]' for index in under)}" if under else ""
    kind = one.kind if one.kind in KINDS else "scratch"
    cells: list[tuple[Child, str | None]] = [
        (f"[{number}]", "row-number"), (f"{one.size:,}", "number"), (f"{one.offset:,}", "number"),
        ([tag("span", class_=f"swatch {kind}"), describe(one)], "what"),
        (", ".join(filter(None, (lifetime(one, estimate.loops), shared))), None), (f"{one.line or ''}{read}", None),
        (tag("code", code_at(one.line, lines)), None),
    ]  # fmt: skip
    return tag("tr", [tag("td", told, class_=kind, data_name=name) for (told, kind), name in zip(cells, _COLUMNS, strict=True)])


def excerpt(name: str, lines: Sequence[str], marked: Iterable[int | None]) -> Safe | None:
    """The lines of a file around the marked ones, with their numbers; None where there is nothing to show."""
    wanted = sorted({line for line in marked if line and 0 < line <= len(lines)})
    if not wanted:
        return None
    shown = sorted({near for line in wanted for near in range(line - _AROUND, line + _AROUND + 1) if 0 < near <= len(lines)})
    parts: list[Child] = []
    before = shown[0] - 1
    for number in shown:
        if number != before + 1:
            parts.append(tag("span", "⋯", class_="gap"))
        before = number
        parts.append(
            tag("span", tag("span", f"{number:>5} ", class_="gutter"), lines[number - 1].rstrip() or " ",
                class_="row marked" if number in wanted else "row")
        )  # fmt: skip
    return tag(
        "figure", tag("figcaption", tag("code", name, class_="path")), tag("pre", parts, tabindex="0", class_="source"), class_="excerpt"
    )


def definitions(pairs: Iterable[tuple[str, Child]]) -> Safe:
    """Names and what they are, where there is something."""
    return tag("dl", [(tag("dt", name), tag("dd", value)) for name, value in pairs if value])


def spelled(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value_text(value)}" for name, value in values.items())
