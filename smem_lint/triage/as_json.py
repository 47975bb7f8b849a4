"""A diagnosis as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from smem_lint.devices import Device
from smem_lint.triage.advice import MEANING, lacking, steps
from smem_lint.triage.matching import Search
from smem_lint.triage.report import Diagnosis


def as_json(log: str, diagnosis: Diagnosis, devices: Sequence[Device], search: Search | None) -> dict[str, Any]:
    failure = diagnosis.failure
    found: dict[str, Any] = {"version": 1, "log": log, "lines": diagnosis.lines, "bytes": diagnosis.bytes}
    found.update(failure.to_json() if failure else {"class": "none", "stage": None, "first_error_line": None})
    found["meaning"] = MEANING[diagnosis.kind]
    found["devices"] = [{"target": one.target, "limit": one.optin, "cards": list(one.cards)} for one in devices]
    found["frames"] = [_frame(one) for one in failure.frames[-8:]] if failure else []
    found["echoes"] = [{"line": line, "text": text} for line, text in diagnosis.echoes]
    found["echo_count"] = diagnosis.echo_count
    found["facts"] = diagnosis.facts
    found["change"] = steps(failure, search) if failure else []
    found["lacking"] = lacking(diagnosis)
    if search is not None:
        found["source"] = _search(search)
    return found


def _frame(frame: Any) -> dict[str, Any]:
    return {"file": frame.file, "line": frame.line, "function": frame.function, "code": frame.code}


def _search(search: Search) -> dict[str, Any]:
    return {
        "matches": [
            {
                "file": one.config.file, "line": one.config.line, "kernel": one.config.kernel, "kernel_file": one.config.kernel_file,
                "origin": one.config.origin, "bytes": one.bytes, "changed": list(one.changed), "when": list(one.config.when),
                "config": one.specialization.to_record(),
            }
            for one in search.matches[:20]
        ],
        "match_count": len(search.matches),
        "fits": [{"settings": one.settings, "bytes": one.bytes} for one in search.changes],
        "tried": search.tried, "unresolved": search.unresolved, "nearest": search.nearest,
    }  # fmt: skip
