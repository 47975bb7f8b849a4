"""SARIF 2.1.0, for code scanning: stable rule ids, relative URIs, fingerprints, related places, notifications for files that failed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from smem_lint.findings import Finding, Problem, Report
from smem_lint.report import Options
from smem_lint.rules import Rule, built_in

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVEL = {"error": "error", "warning": "warning", "info": "note"}
_HELP = "https://github.com/smem-lint/smem-lint/blob/main/docs/rules"


def render(report: Report, options: Options) -> str:
    rules = [rule for rule in built_in() if any(finding.rule == rule.id for finding in report.findings)]
    index = {rule.id: place for place, rule in enumerate(rules)}
    run = {
        "tool": {
            "driver": {
                "name": "smem-lint", "version": options.version, "semanticVersion": options.version,
                "informationUri": "https://github.com/smem-lint/smem-lint", "rules": [_rule(rule) for rule in rules],
            }
        },
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": [_notification(one) for one in report.problems]}],
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"ROOT": {"description": {"text": "Where smem-lint was started; for files elsewhere what was checked."}}},
        "results": list(_results(report.findings, index)),
    }  # fmt: skip
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1, default=str) + "\n"


def help_of(rule: str) -> str:
    """The address of a built-in rule's page."""
    return f"{_HELP}/{rule}.md"


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id, "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": " ".join(rule.what.split())}, "fullDescription": {"text": " ".join(rule.why.split())},
        "help": {"text": rule.page(), "markdown": rule.page()}, "helpUri": help_of(rule.id),
        "defaultConfiguration": {"level": _LEVEL[rule.severity]},
    }  # fmt: skip


def _results(findings: Iterable[Finding], index: dict[str, int]) -> Iterable[dict[str, Any]]:
    for finding in findings:
        result: dict[str, Any] = {
            "ruleId": finding.rule, "level": _LEVEL[finding.severity], "message": {"text": finding.message},
            "locations": [{"physicalLocation": _place(finding.file, finding.line, finding.column)}],
            "partialFingerprints": {"smemLint/v1": finding.fingerprint},
            "properties": {
                "confidence": finding.confidence, "target": finding.target, "bytes": finding.bytes, "limit": finding.limit,
                "when": list(finding.when), "kernel": finding.kernel,
            },
        }  # fmt: skip
        if finding.rule in index:
            result["ruleIndex"] = index[finding.rule]
        if finding.related:
            result["relatedLocations"] = [
                {"id": place, "physicalLocation": _place(one.file, one.line), "message": {"text": one.message}}
                for place, one in enumerate(finding.related, 1)
            ]
        yield result


def _place(file: str, line: int, column: int | None = None) -> dict[str, Any]:
    region = {"startLine": max(1, line)} | ({"startColumn": column} if column else {})
    return {"artifactLocation": {"uri": quote(os.fsencode(file)), "uriBaseId": "ROOT"}, "region": region}


def _notification(problem: Problem) -> dict[str, Any]:
    return {
        "level": "warning", "message": {"text": problem.message}, "descriptor": {"id": "unreadable"},
        "locations": [{"physicalLocation": _place(problem.file, problem.line or 1)}],
    }  # fmt: skip
