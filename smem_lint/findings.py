"""A finding: one place in a repository, what a rule says of it, and the numbers that it rests on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from smem_lint.engines import Buffer, Estimate
from smem_lint.specialization import Specialization

JSON_VERSION = 1
CONFIDENCES = ("exact", "bounded", "assumed")


@dataclass(frozen=True, slots=True)
class Fit:
    """A change that fits: what to set (options, constexprs or types), and the bytes that it then asks for."""

    change: Mapping[str, Any]
    bytes: int
    exact: bool = True

    def to_json(self) -> dict[str, Any]:
        return {"change": dict(self.change), "bytes": self.bytes, "exact": self.exact}

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.change.items()) + f" ({self.bytes:,} bytes)"


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that helps to understand a finding, e.g. the load behind a buffer."""

    file: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """``bytes``, ``lower``, ``upper`` and ``limit`` are bytes of one block; ``when`` are the conditions that were assumed, of which
    ``because`` tell it from other configs of the same launch.

    ``confidence`` is ``exact`` (the estimate is exact and nothing was assumed), ``bounded`` (the verdict rests on bounds) or
    ``assumed`` (types or shapes came from scenarios). ``file`` is relative to the path that was checked. ``estimate``,
    ``specialization`` and ``stages`` (estimates by ``num_stages``) are for pages and are no part of the JSON form, nor is ``fixable``
    (``safe`` or ``unsafe`` where a fix has been proved to take it away). ``elsewhere``: the config that it judges does not stand where the
    finding does.
    """

    file: str
    line: int
    column: int
    rule: str
    name: str
    severity: str
    message: str
    confidence: str = "exact"
    kernel: str = ""
    kernel_file: str = ""
    target: str = ""
    bytes: int | None = None
    lower: int | None = None
    upper: int | None = None
    limit: int | None = None
    when: tuple[str, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    buffers: tuple[Buffer, ...] = ()
    fits: tuple[Fit, ...] = ()
    related: tuple[Related, ...] = ()
    fix: str = ""
    source_line: str = ""
    engine: str = ""
    because: tuple[str, ...] = ()
    estimate: Estimate | None = field(default=None, repr=False, compare=False)
    specialization: Specialization | None = field(default=None, repr=False, compare=False)
    stages: Mapping[int, Estimate] = field(default_factory=dict, repr=False, compare=False)
    fixable: str = field(default="", compare=False)
    elsewhere: bool = field(default=False, compare=False)

    @property
    def fails(self) -> bool:
        """Whether it makes a run end with exit code 1."""
        return self.severity != "info"

    @property
    def fingerprint(self) -> str:
        """Identifies the finding by content, so that it survives lines that move."""
        return self._hashed(self.file)

    @property
    def content(self) -> str:
        """As ``fingerprint``, whatever folder the file lies in and wherever ``check`` is started."""
        return self._hashed(PurePosixPath(self.file).name)

    def _hashed(self, file: str) -> str:
        told = (file, self.rule, self.kernel, self.target, self.source_line.strip(), sorted(self.config.get("types", {}).items()))
        return hashlib.sha256(repr((told, self.bytes)).encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, Any]:
        return {
            "file": self.file, "line": self.line, "column": self.column, "rule": self.rule, "name": self.name, "severity": self.severity,
            "confidence": self.confidence, "kernel": self.kernel, "kernel_file": self.kernel_file, "target": self.target,
            "bytes": self.bytes, "lower": self.lower, "upper": self.upper, "limit": self.limit, "when": list(self.when),
            "because": list(self.because), "config": dict(self.config), "buffers": [one.to_json() for one in self.buffers],
            "fits": [one.to_json() for one in self.fits],
            "engine": self.engine, "fix": self.fix or None, "fingerprint": self.fingerprint, "message": self.message,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Problem:
    """What could not be read or evaluated: never the end of a run, always reported."""

    file: str
    line: int | None
    message: str
    fatal: bool = False

    def to_json(self) -> dict[str, Any]:
        return {"file": self.file, "line": self.line, "message": self.message, "fatal": self.fatal}


@dataclass(slots=True)
class Report:
    """All that one run of ``check`` has to say."""

    findings: list[Finding] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    statistics: dict[str, Any] = field(default_factory=dict)
    targets: tuple[str, ...] = ()
    sources: dict[str, list[str]] = field(default_factory=dict)

    @property
    def failing(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.fails]

    def summary(self) -> dict[str, Any]:
        by_rule: dict[str, int] = {}
        by_severity = dict.fromkeys(("error", "warning", "info"), 0)
        for finding in self.findings:
            by_rule[finding.rule] = by_rule.get(finding.rule, 0) + 1
            by_severity[finding.severity] += 1
        return {
            "findings": len(self.findings), "by_severity": by_severity, "by_rule": dict(sorted(by_rule.items())),
            "problems": len(self.problems), "targets": list(self.targets), **self.statistics,
        }  # fmt: skip
