"""An explanation as a JSON document, versioned; the first target's stands at the top, the others' under ``others``."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from smem_lint.explain import STAGES, Cross, Explanation, Row, lifetime
from smem_lint.findings import JSON_VERSION


def render(found: Sequence[Explanation]) -> dict[str, Any]:
    first, *others = (_one(one) for one in found)
    return {"version": JSON_VERSION, **first, "others": others}


def _one(found: Explanation) -> dict[str, Any]:
    return {
        "kernel": found.base.specialization.kernel, "file": found.base.specialization.file, "target": found.device.target,
        "limit": found.device.optin, "bytes": found.base.estimate.bytes, "headroom": found.headroom,
        "fits": found.base.fits(found.device), "assumed": list(found.assumed), "origin": found.origin or None,
        "specialization": found.base.specialization.to_record(),
        "estimate": found.base.estimate.to_json(), "loops": [dataclasses.asdict(one) for one in found.base.estimate.loops],
        "peak": _peak(found), "tables": {name: [_row(one, found) for one in rows] for name, rows in found.tables.items()},
        "crosses": [_cross(one, found) for one in found.crosses],
        "cliffs": {name: [_row(before, found), _row(after, found)] for name, (before, after) in found.cliffs.items()},
        "fitting": [_row(one, found) for one in found.fitting],
    }  # fmt: skip


def _peak(found: Explanation) -> dict[str, Any] | None:
    if found.peak is None:
        return None
    loops = found.base.estimate.loops
    buffers = [{**one.to_json(), "alive": lifetime(one, loops)} for one in found.peak.buffers]
    return {"position": found.peak.position, "total": found.peak.total, "gaps": found.peak.gaps, "buffers": buffers}


def _row(one: Row, found: Explanation) -> dict[str, Any]:
    estimate = one.estimate
    return {
        "change": dict(one.change), "bytes": estimate.bytes, "lower": estimate.lower, "upper": estimate.upper, "exact": estimate.exact,
        "fits": one.fits(found.device), "error": estimate.error,
    }  # fmt: skip


def _cross(cross: Cross, found: Explanation) -> dict[str, Any]:
    rows = [
        {"value": value, "bytes": [one.estimate.bytes for one in rows], "fits": [one.fits(found.device) for one in rows]}
        for value, rows in zip(cross.sweep.values, cross.rows, strict=True)
    ]
    return {"names": list(cross.sweep.names), STAGES: list(cross.stages), "rows": rows}
