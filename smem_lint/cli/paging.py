"""What a page shows beyond the findings themselves: how bytes grow with ``num_stages``, and the source around each place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from smem_lint.cli.engines import engine_of
from smem_lint.cli.linting import Lint
from smem_lint.engines import Estimate
from smem_lint.findings import Finding, Report
from smem_lint.specialization import Specialization

_STAGES = 5
_MOST = 2000


def paged(report: Report, lint: Lint) -> Report:
    """The report with ``stages`` for its findings and ``sources`` for their files; ``num_stages`` from 1 to 5 are asked of the model."""
    findings = _with_stages(report.findings[:_MOST], lint) + report.findings[_MOST:]
    names = {name for one in findings for name in (one.file, one.kernel_file) if name.endswith(".py")}
    sources = {name: module.lines for name in sorted(names) if (module := lint.repository.module(name)) is not None}
    return replace(report, findings=findings, sources={name: list(lines) for name, lines in sources.items()})


def _with_stages(findings: Sequence[Finding], lint: Lint) -> list[Finding]:
    wanted: dict[str, Specialization] = {}
    for finding in findings:
        for one in _variants(finding):
            wanted.setdefault(repr(one), one)
    engine = engine_of(lint.settings, lint.roots, use_cache=lint.use_cache, default="model")
    answers = dict(zip(wanted, engine.estimate(wanted.values()), strict=True))
    return [replace(one, stages=_stages(one, answers)) for one in findings]


def _stages(finding: Finding, answers: dict[str, Estimate]) -> dict[int, Estimate]:
    found = {one.num_stages: answers[repr(one)] for one in _variants(finding)}
    if finding.specialization is not None and finding.estimate is not None:
        found[finding.specialization.num_stages] = finding.estimate
    return dict(sorted(found.items()))


def _variants(finding: Finding) -> list[Specialization]:
    """The finding's launch with other ``num_stages``."""
    one = finding.specialization
    if one is None or finding.bytes is None:
        return []
    numbers = range(1, max(_STAGES, one.num_stages + 1) + 1)
    return [replace(one, num_stages=number) for number in numbers if number != one.num_stages]
