"""Pieces that the pages of ``check`` and of ``explain`` share: tables of buffers and source excerpts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from smem_lint.engines import Buffer, Estimate
from smem_lint.explain import lifetime
from smem_lint.report.explanation import code_at, describe, value_text
from smem_lint.report.html_tags import Child, Safe, tag

_AROUND = 2


def buffers_table(estimate: Estimate, peak: Sequence[Buffer], lines: Sequence[str]) -> Safe:
    """Every buffer by offset: those that make up the peak, then those that use the same bytes at other times."""
    names = ("bytes", "offset", "what", "alive", "line", "source")
    head = tag("tr", [tag("th", name, scope="col", class_="number" if index < 2 else None) for index, name in enumerate(names)])
    rest = sorted((one for one in estimate.buffers if one not in peak), key=lambda one: (one.offset, one.start))
    bodies = [
        tag("tbody", tag("tr", tag("th", title, colspan=6, scope="rowgroup")), [_buffer(one, estimate, lines) for one in buffers])
        for title, buffers in (("At the peak", peak), ("At other times, in the same bytes", rest))
        if buffers
    ]
    return tag("div", tag("table", tag("thead", head), bodies, class_="buffers"), class_="scroll", tabindex="0")


def _buffer(one: Buffer, estimate: Estimate, lines: Sequence[str]) -> Safe:
    read = f", read at line {one.read}" if one.read and one.read != one.line else ""
    return tag(
        "tr",
        tag("td", f"{one.size:,}", class_="number"),
        tag("td", f"{one.offset:,}", class_="number"),
        tag("td", tag("span", class_=f"swatch {one.kind}"), describe(one)),
        tag("td", lifetime(one, estimate.loops)),
        tag("td", f"{one.line or ''}{read}"),
        tag("td", tag("code", code_at(one.line, lines))),
    )  # fmt: skip


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
