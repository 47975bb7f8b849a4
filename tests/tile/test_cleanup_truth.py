"""Clean-up passes against the compiler's own programs before and after them (Triton 3.8.0).

``fixtures/truth/cleanup.jsonl.gz`` holds one run of a pass a line: ``random_programs.program(seed)`` of ``tests/differential`` put
through the pass by ``libtriton``'s pass manager, and runs of kernels as ``python -m smem_lint.verify.oracle`` writes them. ``after`` is
null where the pass changed nothing.
"""

from __future__ import annotations

import gzip
import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from smem_lint.verify.ir_text import difference, parse_module

_TRUTH = Path(__file__).parents[2] / "fixtures" / "truth" / "cleanup.jsonl.gz"
_MODULES = {"canonicalizer": "smem_lint.passes.canonicalize", "triton_licm": "smem_lint.tile.cleanup.licm"}


def _runs() -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(_TRUTH.read_bytes()).decode().splitlines()]


_RUNS = _runs()


@pytest.mark.parametrize("name", sorted({run["pass"] for run in _RUNS}))
def test_pass(name: str) -> None:
    run = importlib.import_module(_MODULES.get(name, f"smem_lint.tile.cleanup.{name}")).run
    runs = [one for one in _RUNS if one["pass"] == name]
    assert any(one["after"] is not None for one in runs)
    for one in runs:
        ours = parse_module(one["before"])
        run(ours)
        assert difference(ours, parse_module(one["after"] or one["before"])) is None, f"{name} on {one['name']}"


def test_passes_that_changed_something_are_seen() -> None:
    """The comparison is not blind: a program before a pass differs from the one after it wherever more than constants moved."""
    seen = sum(difference(parse_module(one["before"]), parse_module(one["after"])) is not None for one in _RUNS if one["after"])
    assert seen > 120
