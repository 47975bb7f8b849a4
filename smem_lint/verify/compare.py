"""What an engine's estimate is worth beside another's answer: agreement by kernel, and every disagreement in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from smem_lint.devices import by_capability
from smem_lint.engines import Estimate, is_refusal
from smem_lint.specialization import Specialization

AGREES = ("exact", "equal", "within", "both refuse")
_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Verdict:
    """``status``: ``exact`` (claimed and right), ``equal`` (right, not claimed), ``within`` (inside the bounds), ``both refuse``;
    ``wrong`` (claimed exact, and is not), ``outside`` (not inside the bounds), ``accepted``/``refused`` (one of the two says the
    kernel does not compile), ``unanswered`` (the model has no number), ``unverified`` (the reference has none).

    ``limit_agrees``: both say the same of the device's limit. ``recorded`` is the bytes that the record itself holds, if any.
    """

    specialization: Specialization
    estimate: Estimate
    reference: Estimate
    status: str
    limit_agrees: bool
    recorded: int | None = None

    @property
    def disagrees(self) -> bool:
        stale = self.recorded is not None and self.reference.bytes is not None and self.recorded != self.reference.bytes
        return self.status in ("wrong", "outside", "accepted", "refused") or stale

    @property
    def failed(self) -> bool:
        """Whether the reference owes its answer to a fault (a crash, a time-out, a lost worker), not to a kernel that it cannot read."""
        return self.status == "unverified" and self.reference.failed

    def to_json(self) -> dict[str, Any]:
        return {
            "specialization": self.specialization.to_record(), "status": self.status, "limit_agrees": self.limit_agrees,
            "estimate": self.estimate.to_json(), "reference": self.reference.to_json(), "recorded": self.recorded,
        }  # fmt: skip


def compare(specialization: Specialization, estimate: Estimate, reference: Estimate, recorded: int | None = None) -> Verdict:
    """Hold one estimate against the reference's answer for the same specialization."""
    limit = by_capability(specialization.capability).optin
    agrees = estimate.bytes is None or reference.bytes is None or (estimate.bytes > limit) == (reference.bytes > limit)
    return Verdict(specialization, estimate, reference, _status(estimate, reference), agrees, recorded)


def _status(estimate: Estimate, reference: Estimate) -> str:
    refused = estimate.error is not None and "refuses" in estimate.error
    if reference.bytes is None:
        if reference.error is not None and is_refusal(reference.error):
            return "both refuse" if refused or estimate.bytes is None else "accepted"
        return "unverified"
    if refused:
        return "refused"
    if estimate.bytes is None:
        return "unanswered"
    if not estimate.lower <= reference.bytes or (estimate.upper is not None and reference.bytes > estimate.upper):
        return "wrong" if estimate.exact else "outside"
    if estimate.bytes == reference.bytes:
        return "exact" if estimate.exact else "equal"
    return "wrong" if estimate.exact else "within"


def table(verdicts: Sequence[Verdict]) -> list[str]:
    """Lines: for each kernel how many specializations agree, and how."""
    groups: dict[str, Counter[str]] = {}
    for one in verdicts:
        groups.setdefault(f"{one.specialization.file}::{one.specialization.kernel}", Counter())[one.status] += 1
    width = max((len(name) for name in groups), default=6)
    lines = [f"{'kernel':<{width}}  {'all':>5} {'exact':>6} {'within':>7} {'wrong':>6} {'no answer':>10}"]
    for name, count in sorted(groups.items()):
        right, near = count["exact"] + count["both refuse"], count["equal"] + count["within"]
        bad = count["wrong"] + count["outside"] + count["accepted"] + count["refused"]
        none = count["unanswered"] + count["unverified"]
        lines.append(f"{name:<{width}}  {count.total():>5} {right:>6} {near:>7} {bad:>6} {none:>10}")
    return lines


def summary(verdicts: Iterable[Verdict]) -> dict[str, Any]:
    """Counts by status, and how often the verdict at the limit is the same."""
    listed = list(verdicts)
    count = Counter(one.status for one in listed)
    return {
        "specializations": len(listed), "kernels": len({(one.specialization.file, one.specialization.kernel) for one in listed}),
        "by_status": dict(sorted(count.items())), "exact": count["exact"], "limit_disagrees": sum(not one.limit_agrees for one in listed),
        "disagreements": sum(one.disagrees for one in listed),
        "record_is_stale": sum(one.recorded not in (None, one.reference.bytes) for one in listed if one.reference.bytes is not None),
    }  # fmt: skip


def explained(one: Verdict) -> list[str]:
    """A disagreement in words, as far as the buffers of both tell."""
    spec = one.specialization
    told = ", ".join(f"{name}={value}" for name, value in spec.constexprs.items() if isinstance(value, (int, str)))
    lines = [f"{spec.file}::{spec.kernel} sm_{spec.capability} num_warps={spec.num_warps} num_stages={spec.num_stages} {told}"[:300]]
    if one.recorded is not None and one.reference.bytes not in (None, one.recorded):
        lines.append(f"  the record holds {one.recorded:,} bytes, {one.reference.engine} says {_said(one.reference)}")
    lines.append(f"  {one.status}: {one.estimate.engine} says {_said(one.estimate)}, {one.reference.engine} says {_said(one.reference)}")
    ours, theirs = _sizes(one.estimate), _sizes(one.reference)
    for label, extra in ((one.estimate.engine, ours - theirs), (one.reference.engine, theirs - ours)):
        parts = [f"{count} x {kind} of {size:,} bytes" for (kind, size), count in extra.most_common(_SHOWN)]
        if parts and one.reference.buffers and one.estimate.buffers:
            lines.append(f"  only {label} has: {'; '.join(parts)}")
    return lines


def _said(estimate: Estimate) -> str:
    if estimate.bytes is None:
        return estimate.error or "nothing"
    if estimate.exact:
        return f"{estimate.bytes:,}"
    return f"{estimate.lower:,} to {f'{estimate.upper:,}' if estimate.upper is not None else 'unknown'}"


def _sizes(estimate: Estimate) -> Counter[tuple[str, int]]:
    return Counter((one.kind, one.size) for one in estimate.buffers)


def as_report(verdicts: Sequence[Verdict], about: Mapping[str, Any]) -> dict[str, Any]:
    """The machine-readable report: who was asked, the summary, and every verdict."""
    return {"version": 1, **about, "summary": summary(verdicts), "results": [one.to_json() for one in verdicts]}
