"""One JSON document, versioned; ``schema.json`` beside this file describes it."""

from __future__ import annotations

import json

from smem_lint.findings import JSON_VERSION, Report
from smem_lint.report import Options


def render(report: Report, options: Options) -> str:
    document = {
        "version": JSON_VERSION,
        "tool": {"name": "smem-lint", "version": options.version},
        "results": [finding.to_json() for finding in report.findings],
        "problems": [problem.to_json() for problem in report.problems],
        "summary": report.summary(),
    }
    return json.dumps(document, indent=1, default=str) + "\n"
