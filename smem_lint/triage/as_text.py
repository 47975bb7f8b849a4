"""A diagnosis for people: the class first, then where, what to change, and what a report still lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smem_lint.devices import Device
from smem_lint.triage.advice import MEANING, lacking, steps
from smem_lint.triage.matching import Match, Search
from smem_lint.triage.report import Diagnosis, Failure

_WIDTH = 200
_NEAR = 100  # parts of the bytes required


def as_text(log: str, diagnosis: Diagnosis, devices: Sequence[Device], search: Search | None) -> Iterator[str]:
    failure = diagnosis.failure
    yield f"{_plain(log)}: {diagnosis.kind}: {MEANING[diagnosis.kind]}"
    yield f"  {diagnosis.lines:,} lines, {diagnosis.bytes:,} bytes read"
    if failure is None:
        return
    yield f"  first failure: line {failure.line:,}, stage {failure.stage}{f', in {failure.process}' if failure.process else ''}"
    yield from _overflow(failure, devices)
    yield ""
    for number, text in failure.before[-3:]:
        yield f"  {number:>8} | {_plain(text)}"
    yield f"> {failure.line:>8} | {_plain(failure.message.splitlines()[0] if failure.message else '')}"
    for number, text in failure.after[:2]:
        yield f"  {number:>8} | {_plain(text)}"
    yield from _echoes(diagnosis)
    if search is not None:
        yield from _search(failure, search)
    yield from ("", "What to change:")
    yield from (f"  - {text}" for text in steps(failure, search))
    missing = lacking(diagnosis)
    if missing:
        yield from ("", "What a report of this still lacks (`smem-lint env` on that machine tells most of it):")
        yield from (f"  - {text}" for text in missing)


def _overflow(failure: Failure, devices: Sequence[Device]) -> Iterator[str]:
    if failure.kernel:
        yield f"  kernel: {_plain(failure.kernel)}"
    if failure.launch:
        yield f"  launched at: {_plain(failure.launch.file)}:{failure.launch.line}"
    if failure.required is not None and failure.limit is not None:
        yield f"  required: {failure.required:,} bytes, limit: {failure.limit:,}, over by {failure.required - failure.limit:,}"
    if devices:
        yield f"  device: {' or '.join(one.label for one in devices)}"


def _echoes(diagnosis: Diagnosis) -> Iterator[str]:
    if diagnosis.echoes:
        yield from ("", f"What only repeats it ({diagnosis.echo_count:,} lines):")
        yield from (f"  {number:>8} | {_plain(text)}" for number, text in diagnosis.echoes[:4])


def _search(failure: Failure, search: Search) -> Iterator[str]:
    yield from ("", "In the source:")
    if not (search.tried or search.unresolved):
        yield "  no launch of this kernel was found: the source may be another version than the log's"
        return
    if not search.matches:
        nearest = f"; the nearest asks for {search.nearest:,}" if search.nearest is not None else ""
        gaps = f"; {search.unresolved} could not be resolved" if search.unresolved else ""
        yield f"  no config asks for exactly {failure.required:,} bytes ({search.tried} tried{nearest}{gaps})"
        if search.near and failure.required and abs(search.near.bytes - failure.required) <= failure.required // _NEAR:
            yield "  close enough for the log to come from another version of Triton or of the source:"
            yield from _match(search.near)
        return
    first = search.matches[0]
    yield from _match(first)
    for other in search.matches[1:4]:
        yield f"  and {other.config.file}:{other.config.line} with {_difference(first, other)}"
    if len(search.matches) > 4:
        yield f"  and {len(search.matches) - 4} more that ask for the same"
    if not search.changes:
        yield "  no smaller num_stages or block size was found to fit"


def _match(match: Match) -> Iterator[str]:
    one, config = match.specialization, match.config
    yield f"  {config.file}:{config.line}: {config.kernel} ({config.origin}) asks for {match.bytes:,} bytes with"
    values = ", ".join(f"{name}={value}" for name, value in one.constexprs.items() if isinstance(value, int | bool))
    types = ", ".join(f"{name}: {kind}" for name, kind in one.signature.items() if kind.startswith("*"))
    yield f"    num_stages={one.num_stages}, num_warps={one.num_warps}, {values}"
    yield f"    {types}{' (assumed: ' + ', '.join(match.changed) + ')' if match.changed else ''}"
    yield from (f"    when {condition}" for condition in config.when)


def _difference(one: Match, other: Match) -> str:
    before, after = one.specialization, other.specialization
    told = [f"{name}={value}" for name, value in after.constexprs.items() if before.constexprs.get(name) != value]
    told += [f"{name}: {kind}" for name, kind in after.signature.items() if before.signature.get(name) != kind]
    told += [f"{name}={getattr(after, name)}" for name in ("num_stages", "num_warps") if getattr(before, name) != getattr(after, name)]
    return ", ".join(told[:6]) or "the same values"


def _plain(text: str) -> str:
    """No control characters, no endless lines."""
    shown = "".join(sign if sign.isprintable() else " " for sign in text[: 2 * _WIDTH])
    return shown if len(shown) <= _WIDTH else shown[: _WIDTH - 1] + "…"
