"""One JSON object a line, one line a finding, as in the ``results`` of the JSON format."""

from __future__ import annotations

import json

from smem_lint.findings import Report
from smem_lint.report import Options


def render(report: Report, options: Options) -> str:
    return "".join(json.dumps(finding.to_json(), default=str) + "\n" for finding in report.findings)
