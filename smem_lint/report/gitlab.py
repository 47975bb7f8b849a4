"""GitLab's code quality report (the Code Climate format)."""

from __future__ import annotations

import json

from smem_lint.findings import Report
from smem_lint.report import Options

_SEVERITY = {"error": "critical", "warning": "major", "info": "info"}


def render(report: Report, options: Options) -> str:
    entries = [
        {
            "description": f"{finding.rule} {finding.message}",
            "check_name": finding.rule,
            "fingerprint": finding.fingerprint,
            "severity": _SEVERITY[finding.severity],
            "location": {"path": finding.file, "lines": {"begin": finding.line}},
        }
        for finding in report.findings
    ]
    return json.dumps(entries, indent=1) + "\n"
