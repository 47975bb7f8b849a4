"""A finding on a page: one line that opens to its numbers, its buffers over time, its cliff and the source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from smem_lint.explain import peak
from smem_lint.findings import Finding
from smem_lint.report.curves import dtypes_text
from smem_lint.report.html_chart import cliff
from smem_lint.report.html_parts import definitions, excerpt, memory, spelled
from smem_lint.report.html_tags import Child, Safe, tag

_RANK = {"error": 0, "warning": 1, "info": 2}


def finding_details(finding: Finding, sources: Mapping[str, Sequence[str]]) -> Safe:
    """``<details>`` that can be found by the page's filter."""
    over = finding.bytes - finding.limit if finding.bytes is not None and finding.limit is not None else None
    summary = tag(
        "summary",
        tag("span", finding.severity, class_=f"badge {finding.severity}"), " ",
        tag("span", finding.rule, class_="rule"), " ", tag("span", finding.target, class_="target"), " ",
        tag("span", _bytes(finding), class_="bytes over" if over is not None and over > 0 else "bytes"), " ",
        tag("span", finding.message, class_="message"),
    )  # fmt: skip
    words = " ".join([finding.rule, finding.name, finding.kernel, finding.file, finding.target, finding.message, *finding.when])
    return tag(
        "details", summary, tag("div", _body(finding, sources), class_="body"), class_="finding", data_words=words.lower(),
        data_severity=finding.severity, data_rank=_RANK[finding.severity], data_rule=finding.rule, data_target=finding.target,
        data_bytes=finding.bytes or 0, data_over=over if over is not None else "", data_line=finding.line,
    )  # fmt: skip


def _bytes(finding: Finding) -> str:
    if finding.bytes is None:
        return "unresolved"
    return f"{finding.bytes:,} of {finding.limit:,} B" if finding.limit is not None else f"{finding.bytes:,} B"


def _body(finding: Finding, sources: Mapping[str, Sequence[str]]) -> list[Child]:
    config = {**finding.config.get("constexprs", {}), **finding.config.get("options", {})}
    types = {name: kind for name, kind in finding.config.get("types", {}).items() if not str(kind).isidentifier()}
    facts = definitions([
        ("where", tag("code", f"{finding.file}:{finding.line}", class_="path")),
        ("confidence", finding.confidence + (f", by the {finding.engine}" if finding.engine else "")),
        ("bounds", f"{finding.lower:,} to {finding.upper:,} B" if _bounded(finding) else ""),
        ("when", "; ".join(finding.when)),
        ("config", spelled({name: value for name, value in config.items() if value is not None})),
        ("types", ", ".join(f"{name}: {kind}" for name, kind in types.items())),
        ("fits", "; ".join(map(str, finding.fits))),
    ])  # fmt: skip
    return [facts, *_pictures(finding, sources.get(finding.kernel_file, ())), *_source(finding, sources)]


def _bounded(finding: Finding) -> bool:
    return finding.lower is not None and finding.upper is not None and finding.lower != finding.upper


def _pictures(finding: Finding, lines: Sequence[str]) -> list[Child]:
    found: list[Child] = []
    estimate = finding.estimate
    if estimate is not None and estimate.buffers and estimate.bytes == finding.bytes:
        found.append(tag("h4", "Who is in shared memory, and when"))
        found += memory(estimate, peak(estimate), finding.limit, finding.target, lines)
    known = [one for one in finding.stages.values() if one.bytes is not None]
    if len(known) > 1 and finding.specialization is not None:
        label, here = dtypes_text(finding.specialization), finding.specialization.num_stages
        found += [tag("h4", "Bytes by num_stages"), *cliff(finding.stages, here, finding.limit, finding.target, label)]
    return found


def _source(finding: Finding, sources: Mapping[str, Sequence[str]]) -> list[Safe | None]:
    buffers = finding.estimate.buffers if finding.estimate is not None else finding.buffers
    inside = [one.line for one in sorted(buffers, key=lambda one: -one.size)[:8]]
    launch = excerpt(finding.file, sources.get(finding.file, ()), [finding.line])
    kernel = excerpt(finding.kernel_file, sources.get(finding.kernel_file, ()), inside)
    return [tag("h4", "Source"), launch, kernel] if launch is not None or kernel is not None else []
