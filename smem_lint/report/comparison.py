"""A comparison as text, as Markdown for a pull request, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from smem_lint.comparison import Comparison, Pair, Row
from smem_lint.report.style import count

_MOST_ROWS = 60
_BAD, _GOOD = "❌", "✅"


def render(comparison: Comparison, form: str, old: str, new: str) -> str:
    """``form`` is ``text``, ``markdown`` or ``json``; ``old`` and ``new`` name the trees."""
    if form == "json":
        return json.dumps(to_json(comparison, old, new), indent=2) + "\n"
    lines = _markdown(comparison, old, new) if form == "markdown" else _text(comparison, old, new)
    return "\n".join(lines) + "\n"


def summary(comparison: Comparison) -> dict[str, int]:
    """How many configs and kernels there are of each kind."""
    rows = [row for _, row in comparison.rows]
    return {
        "new_overflows": len(comparison.new_overflows), "mended": sum(row.is_mended for row in rows),
        "changed": sum(_is_changed(row) for row in rows),
        "appeared": sum(row.before is None for row in rows), "disappeared": sum(row.after is None for row in rows),
        "unchanged": sum(row.is_same for row in rows), "kernels": len(comparison.pairs),
        "kernels_moved": sum(pair.is_renamed for pair in comparison.pairs),
        "kernels_new": sum(pair.old is None for pair in comparison.pairs),
        "kernels_gone": sum(pair.new is None for pair in comparison.pairs),
    }  # fmt: skip


def _is_changed(row: Row) -> bool:
    both = row.before is not None and row.after is not None
    return both and not (row.is_same or row.is_new_overflow or row.is_mended)


def to_json(comparison: Comparison, old: str, new: str) -> dict[str, Any]:
    return {
        "version": 1, "old": old, "new": new, "targets": list(comparison.targets), "summary": summary(comparison),
        "kernels": [
            {
                "old": _place(pair.old), "new": _place(pair.new), "unresolved": {"old": pair.unresolved[0], "new": pair.unresolved[1]},
                "configs": [_row(row) for row in pair.rows],
            }
            for pair in comparison.pairs
        ],
    }  # fmt: skip


def _place(place: tuple[str, str] | None) -> dict[str, str] | None:
    return None if place is None else {"file": place[0], "kernel": place[1]}


def _row(row: Row) -> dict[str, Any]:
    shown = row.after or row.before
    assert shown is not None
    return {
        "target": row.target, "limit": row.limit, "label": ", ".join(row.facts), "before": row.bytes[0], "after": row.bytes[1],
        "changed": list(row.changed), "new_overflow": row.is_new_overflow, "mended": row.is_mended,
        "constexprs": dict(shown.config.constexprs), "options": dict(shown.config.options), "types": dict(shown.config.types),
        "when": list(shown.config.when), "file": shown.config.file, "line": shown.config.line,
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Line:
    """Configs of a kernel to which the same happened: ``row`` is one of them, ``label`` what tells them from the others."""

    pair: Pair
    row: Row
    label: str
    configs: int


def _shown(comparison: Comparison) -> list[_Line]:
    """What is not as it was, what is wrong first."""
    lines: list[_Line] = []
    for pair in comparison.pairs:
        groups: dict[Any, list[Row]] = {}
        for row in pair.rows:
            if not row.is_same:
                groups.setdefault((row.target, row.bytes, row.changed, row.before is None, row.after is None), []).append(row)
        for rows in groups.values():
            others = [row for row in pair.rows if row.target == rows[0].target and not any(row is one for one in rows)]
            lines.append(_Line(pair, rows[0], _label(rows, others), len(rows)))
    return sorted(lines, key=lambda one: (not one.row.is_new_overflow, not one.row.is_mended))


def _label(rows: Sequence[Row], others: Sequence[Row]) -> str:
    """As few facts that all ``rows`` share as tell them from the others, as far as facts do."""
    common = [fact for fact in rows[0].facts if all(fact in row.facts for row in rows)]
    chosen: list[str] = []
    left = list(others)
    while left:
        best = max(common, key=lambda fact: (sum(fact not in row.facts for row in left), _telling(fact)), default=None)
        if best is None or all(best in row.facts for row in left):
            break
        chosen.append(best)
        left = [row for row in left if best in row.facts]
    return ", ".join(fact for fact in common if fact in chosen)


def _headline(comparison: Comparison) -> str:
    found = summary(comparison)
    said = [count(found["new_overflows"], "new overflow")]
    said += [f"{found[name]:,} {text}" for name, text in (("mended", "mended"), ("changed", "changed"), ("appeared", "appeared"),
             ("disappeared", "disappeared"), ("unchanged", "unchanged")) if found[name] or name == "unchanged"]  # fmt: skip
    return f"{', '.join(said)}: {count(found['kernels'], 'kernel')} on {', '.join(comparison.targets)}"


def _kernels(comparison: Comparison) -> Iterator[tuple[str, str, str]]:
    """(what happened, kernel, where) of kernels that moved, came or went."""
    for pair in comparison.pairs:
        if pair.is_renamed and pair.old is not None and pair.new is not None:
            name = pair.kernel if pair.old[1] == pair.new[1] else f"{pair.old[1]} → {pair.new[1]}"
            yield "moved" if pair.old[1] == pair.new[1] else "renamed", name, " → ".join(dict.fromkeys((pair.old[0], pair.new[0])))
        elif pair.old is None or pair.new is None:
            yield "new" if pair.old is None else "gone", pair.kernel, pair.file


def _verdict(row: Row) -> str:
    if row.is_new_overflow:
        over = (row.bytes[1] or 0) - row.limit
        return f"{over:,} over the {row.limit:,} of {row.target}"
    if row.is_mended:
        return f"fits {row.target} now" if row.after is not None else "was too large"
    if row.before is None or row.after is None:
        return f"{'new' if row.before is None else 'gone'}, {row.target}"
    still = (row.bytes[1] or 0) - row.limit
    return f"{row.target}, still {still:,} over" if still > 0 else row.target


def _number(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _difference(row: Row) -> str:
    before, after = row.bytes
    return "" if before is None or after is None else f"{after - before:+,}" if after != before else "0"


def _telling(fact: str) -> int:
    """Types say most, then what is written in capitals: sizes of tiles."""
    name, _, value = fact.partition("=")
    return 2 if value.startswith("*") else int(name.isupper())


def _times(line: _Line) -> str:
    return f" ({line.configs} configs)" if line.configs > 1 else ""


def _text(comparison: Comparison, old: str, new: str) -> Iterator[str]:
    yield f"{old} → {new}"
    yield _headline(comparison)
    for happened, kernel, where in _kernels(comparison):
        yield f"  {happened}: {kernel} ({where})"
    shown = _shown(comparison)
    for line in shown[:_MOST_ROWS]:
        row = line.row
        label = ", ".join(part for part in (line.label, *row.changed) if part)
        mark = "!" if row.is_new_overflow else "+" if row.is_mended else " "
        step = f"{_number(row.bytes[0])} → {_number(row.bytes[1])} bytes"
        change = f" ({_difference(row)})" if _difference(row) else ""
        yield f"{mark} {line.pair.kernel}{f' [{label}]' if label else ''}: {step}{change}, {_verdict(row)}{_times(line)}"
    if len(shown) > _MOST_ROWS:
        yield f"… and {len(shown) - _MOST_ROWS} more (--output-format json has all)"


def _markdown(comparison: Comparison, old: str, new: str) -> Iterator[str]:
    yield f"### Shared memory: {_escaped(old)} → {_escaped(new)}"
    yield ""
    yield f"{_BAD if comparison.new_overflows else _GOOD} {_headline(comparison)}"
    shown = _shown(comparison)
    if shown:
        yield ""
        yield "| | kernel | config | before | after | change | |"
        yield "|---|---|---|--:|--:|--:|---|"
    for line in shown[:_MOST_ROWS]:
        row = line.row
        mark = _BAD if row.is_new_overflow else _GOOD if row.is_mended else ""
        label = "<br>".join(filter(None, (_code(line.label), *(f"**{_escaped(one)}**" for one in row.changed))))
        before, after = row.bytes
        number = f"**{_number(after)}**" if row.is_new_overflow else _number(after)
        cells = (mark, _code(line.pair.kernel), label, _number(before), number, _difference(row), _verdict(row) + _times(line))
        yield f"| {' | '.join(cells)} |"
    if len(shown) > _MOST_ROWS:
        yield ""
        yield f"… and {len(shown) - _MOST_ROWS} more ."
    moved = list(_kernels(comparison))
    if moved:
        yield ""
        yield f"<details><summary>{count(len(moved), 'kernel')} moved, renamed, new or gone</summary>"
        yield ""
        yield from (f"- {happened}: {_code(kernel)} ({_code(where)})" for happened, kernel, where in moved)
        yield ""
        yield "</details>"
    yield ""
    yield "<sub>Bytes of shared memory that one block asks for, by smem-lint.</sub>"


def _code(text: str) -> str:
    """Text of the source as code in a table's cell, whatever it holds."""
    if not text:
        return ""
    text = text.replace("|", "\\|").replace("\n", " ")
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _escaped(text: str) -> str:
    return "".join(f"\\{one}" if one in "\\`*_{}[]<>()#+!|~" else one for one in text.replace("\n", " "))
