"""Pages for people: one self-contained file each, for ``check`` and for ``explain``.

A page asks for nothing from outside, and its content security policy forbids it to; the only script that may run is our own, named
by its digest. Everything that comes from linted code is escaped by ``html_tags``.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path

from smem_lint.explain import Explanation
from smem_lint.findings import Finding, Report
from smem_lint.report.grouping import grouped
from smem_lint.report.html_explanation import explanation_body
from smem_lint.report.html_finding import finding_details
from smem_lint.report.html_tags import Child, Safe, raw, tag
from smem_lint.report.style import count

_ORDERS = {
    "severity": "severity", "kernel": "kernel", "file": "file", "bytes": "bytes, most first", "over": "bytes over the limit",
}  # fmt: skip


def render_page(report: Report, version: str) -> str:
    """The findings of a run, by kernel; ``report.sources`` (lines by file) are shown where they are there."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in report.findings:
        groups.setdefault((finding.kernel_file or finding.file, finding.kernel), []).append(finding)
    sections = [_section(file, kernel, found, report) for (file, kernel), found in groups.items()]
    statistics, failing = report.statistics, report.failing
    notes = len(report.findings) - len(failing)
    told = (
        f"{count(len(grouped(failing)), 'problem')} ({count(len(failing), 'case')}) and {count(notes, 'note')} in "
        f"{count(statistics.get('configs', 0), 'config')} of {count(statistics.get('kernels', 0), 'kernel')}"
    )
    body = [
        tag("header", tag("h1", "Shared memory of Triton kernels"), tag("p", told, f" on {', '.join(report.targets)}", class_="lead")),
        _controls(report),
        tag("main", sections or tag("p", "Nothing was found.", class_="lead"), id="findings"),
        _problems(report),
    ]
    return _page("smem-lint: findings", body, version)


def render_explanation(found: Explanation, lines: Sequence[str], version: str, others: Sequence[Explanation] = ()) -> str:
    """One kernel's explanation; ``lines`` are those of the kernel's file, ``others`` the same on other targets."""
    return _page(f"smem-lint: {found.base.specialization.kernel}", explanation_body(found, lines, others), version)


def _section(file: str, kernel: str, found: Sequence[Finding], report: Report) -> Safe:
    over = [one.bytes - one.limit for one in found if one.bytes is not None and one.limit is not None]
    heading = tag(
        "h2", tag("code", kernel or "(no kernel)"), " ", tag("span", file, class_="path"), " ",
        tag("span", count(len(found), "finding"), class_="count"),
    )  # fmt: skip
    details = [finding_details(one, report.sources) for one in found]
    return tag(
        "section", heading, details, class_="kernel", data_kernel=kernel.lower(), data_file=file.lower(),
        data_rank=min({"error": 0, "warning": 1, "info": 2}[one.severity] for one in found),
        data_bytes=max(one.bytes or 0 for one in found), data_over=max(over, default=""),
    )  # fmt: skip


def _controls(report: Report) -> Safe:
    summary = report.summary()
    severities = [
        tag("label", tag("input", type="checkbox", name="severity", value=name, checked=True), f" {name} ({number})")
        for name, number in summary["by_severity"].items()
        if number
    ]
    rules = [tag("option", f"{rule} ({number})", value=rule) for rule, number in summary["by_rule"].items()]
    targets = [tag("option", name, value=name) for name in report.targets]
    orders = [tag("option", text, value=name) for name, text in _ORDERS.items()]
    return tag(
        "form",
        tag("label", "Search ", tag("input", type="search", id="search", placeholder="kernel, file, rule, message  ( / )", size=30)),
        tag("fieldset", tag("legend", "Severity", class_="quiet"), severities) if severities else None,
        tag("label", "Rule ", tag("select", tag("option", "all", value=""), rules, id="rule")),
        tag("label", "Target ", tag("select", tag("option", "all", value=""), targets, id="target")) if len(targets) > 1 else None,
        tag("label", "Sort by ", tag("select", orders, id="sort")),
        tag("button", "Open all", type="button", id="open-all"),
        tag("output", "", id="shown", aria_live="polite"),
        tag("p", "Keys: / search, j and k next and previous finding, Enter opens one.", class_="hint"),
        id="controls", class_="scripted",
    )  # fmt: skip


def _problems(report: Report) -> Safe | None:
    if not report.problems:
        return None
    items = [tag("li", tag("code", f"{one.file}:{one.line or 1}", class_="path"), f" {one.message}") for one in report.problems]
    return tag("section", tag("h2", "What could not be read"), tag("ul", items), class_="problems")


def _page(title: str, body: Child, version: str) -> str:
    here = Path(__file__)
    style, script = (here.with_name(name).read_text("utf8") for name in ("page.css", "page.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = tag(
        "head", tag("meta", charset="utf-8"), tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"), tag("title", title), raw(f"<style>{style}</style>"),
    )  # fmt: skip
    footer = tag("footer", f"smem-lint {version}")
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', body, footer, raw(f'<script>{script}</script>')), lang='en')}\n"
