"""What a page shows beyond the findings themselves: how bytes grow with ``num_stages``, and the source around each place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from smem_lint.cli.linting import Lint
from smem_lint.engines import Estimate
from smem_lint.findings import Finding, Report
from smem_lint.model import NAME, ModelEngine
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
    engine = ModelEngine(lint.roots, version=lint.settings.triton)
    answers = dict(zip(wanted, engine.estimate(wanted.values()), strict=True))
    return [_completed(one, answers) for one in findings]


def _completed(finding: Finding, answers: dict[str, Estimate]) -> Finding:
    """The model tells more of buffers and loops than the compiler: shown where it says the same bytes."""
    own, estimate = finding.specialization, finding.estimate
    if own is None or estimate is None or estimate.bytes is None:
        return finding
    found = {one.num_stages: answers[repr(one)] for one in _variants(finding)}
    model = found.get(own.num_stages)
    if model is not None and model.bytes == estimate.bytes:
        estimate = model
    found[own.num_stages] = estimate
    return replace(finding, estimate=estimate, stages=dict(sorted(found.items())))


def _variants(finding: Finding) -> list[Specialization]:
    """The finding's launch with other ``num_stages``, and as it is where another engine than the model answered."""
    one, estimate = finding.specialization, finding.estimate
    if one is None or estimate is None or finding.bytes is None:
        return []
    numbers = range(1, max(_STAGES, one.num_stages + 1) + 1)
    return [replace(one, num_stages=number) for number in numbers if number != one.num_stages or estimate.engine != NAME]
