"""The body of ``explain``'s page: verdict, buffers over time, tables, what would fit, source."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lint.explain import STAGES, Cross, Explanation, Row, differing
from smem_lint.report.curves import curves_of, types_text
from smem_lint.report.explanation import all_stages, bytes_text, change_text, config_text, nothing_fits, value_text
from smem_lint.report.html_chart import curves
from smem_lint.report.html_parts import definitions, excerpt, memory
from smem_lint.report.html_tags import Child, Safe, tag


def explanation_body(found: Explanation, lines: Sequence[str], others: Sequence[Explanation]) -> list[Child]:
    """The page from top to bottom."""
    one, estimate = found.base.specialization, found.base.estimate
    types = ", ".join(f"{name}: {kind}" for name, kind in one.signature.items() if not kind.isidentifier())
    config = f"{config_text(one.constexprs)}num_warps={one.num_warps}, num_stages={one.num_stages}"
    facts = definitions([
        ("file", tag("code", one.file, class_="path")), ("launched at", found.origin),
        ("config", config), ("types", types), ("when", "; ".join(found.assumed)),
        ("not exact", "; ".join(estimate.reasons)),
    ])  # fmt: skip
    header = tag("header", tag("h1", tag("code", one.kernel), f" on {found.device.label}"), _verdict(found), facts)
    main = [*_memory(found, lines), *_cliff([found, *others]), *_tables(found, others), *_fits(found), *_source(found, lines)]
    return [header, tag("main", main)]


def _verdict(found: Explanation) -> Safe:
    estimate, limit = found.base.estimate, found.device.optin
    if estimate.bytes is None:
        return tag("p", f"No answer: {estimate.error or 'unknown'}", class_="lead over")
    room = limit - estimate.bytes
    end = f"{-room:,} too many." if room < 0 else f"it fits, with {room:,} B to spare."
    if found.base.fits(found.device) is None:
        end = "whether it fits is not known."
    return tag(
        "p", f"One block asks for {bytes_text(estimate)}; {found.device.target} has {limit:,} B: ", tag("strong", end),
        class_="lead over" if room < 0 else "lead",
    )  # fmt: skip


def _memory(found: Explanation, lines: Sequence[str]) -> list[Child]:
    if found.peak is None:
        return []
    parts = memory(found.base.estimate, found.peak, found.device.optin, found.device.target, lines)
    return [tag("h2", "Who is in shared memory, and when"), *parts]


def _cliff(found: Sequence[Explanation]) -> list[Child]:
    lines = curves_of(found)
    limits = [(one.device.target, one.device.optin) for one in found]
    return [tag("h2", "Bytes by num_stages"), *curves(lines, limits)] if lines else []


def _tables(found: Explanation, others: Sequence[Explanation]) -> list[Child]:
    parts: list[Child] = [tag("h2", "What changes it")]
    for name, rows in found.tables.items():
        parts.append(_grid(name, [row.change[name] for row in rows], [("bytes", rows)], found))
    for cross in found.crosses:
        parts.append(_cross(cross, found))
    if found.dtypes:
        stages = [row.change[STAGES] for row in found.tables[STAGES]]
        lines = [(types_text(one.change), one.rows) for one in found.dtypes]
        parts.append(_grid(f"types that are launched, by {STAGES}", stages, lines, found))
    if others:
        parts.append(_targets([found, *others]))
    return parts


def _cross(cross: Cross, found: Explanation) -> Safe:
    rows = [(f"{value_text(value)}", rows) for value, rows in zip(cross.sweep.values, cross.rows, strict=True)]
    return _grid(f"{cross.sweep.label} by {STAGES}", list(cross.stages), rows, found)


def _targets(found: Sequence[Explanation]) -> Safe:
    stages = all_stages(found)
    head = tag("tr", [tag("th", name, scope="col") for name in ("target", "limit", *stages)])
    rows = []
    for one in found:
        limit = tag("td", f"{one.device.optin:,}", class_="number", data_name="limit")
        name = tag("th", one.device.target, scope="row", title=one.device.label, class_="target")
        own = one.tables[STAGES]
        rows.append(tag("tr", name, limit, _cells(own, one, stages[: len(own)]), [tag("td")] * (len(stages) - len(own))))
    labels = "; ".join(one.device.label for one in found if one.device.cards)
    return _table(f"targets by {STAGES}" + (f" ({labels})" if labels else ""), head, rows)


def _grid(caption: str, columns: Sequence[object], rows: Sequence[tuple[str, Sequence[Row]]], found: Explanation) -> Safe:
    head = tag("tr", tag("td"), [tag("th", value_text(value), scope="col") for value in columns])
    return _table(caption, head, [tag("tr", tag("th", name, scope="row"), _cells(cells, found, columns)) for name, cells in rows])


def _table(caption: str, head: Safe, rows: Sequence[Safe]) -> Safe:
    table = tag("table", tag("caption", caption), tag("thead", head), tag("tbody", list(rows)), class_="sweep")
    return tag("div", table, class_="scroll", tabindex="0")


def _cells(rows: Sequence[Row], found: Explanation, columns: Sequence[object]) -> list[Child]:
    cells: list[Child] = []
    for row, column in zip(rows, columns, strict=True):
        fits = row.fits(found.device)
        here = row.specialization == found.base.specialization
        kind = "number" + ("" if fits is not False else " over") + (" here" if here else "")
        told = "no answer" if row.estimate.bytes is None else f"{row.estimate.bytes:,}"
        mark = " ✕" if fits is False else " ?" if fits is None else ""
        title = row.estimate.error or ("over the limit" if fits is False else "fits" if fits else "may fit or not")
        cells.append(tag("td", told + mark, class_=kind, title=title + (", this one" if here else ""), data_name=value_text(column)))
    return cells


def _fits(found: Explanation) -> list[Child]:
    if found.headroom is None or found.headroom >= 0:
        return []
    if not found.fitting:
        return [tag("h2", "What would fit"), tag("p", nothing_fits(found))]
    items = [
        tag("li", tag("code", change_text(differing(found.base.specialization, row))), f": {bytes_text(row.estimate)}, "
            f"{found.device.optin - (row.estimate.bytes or 0):,} to spare")
        for row in found.fitting
    ]  # fmt: skip
    return [tag("h2", "What would fit"), tag("ul", items)]


def _source(found: Explanation, lines: Sequence[str]) -> list[Child]:
    estimate = found.base.estimate
    marked = [one.line for one in estimate.buffers] + [loop.line for loop in estimate.loops]
    shown = excerpt(found.base.specialization.file, lines, marked)
    return [tag("h2", "Source"), shown] if shown is not None else []
