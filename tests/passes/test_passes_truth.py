"""Passes of the model against the compiler's own, on small kernels, one or two for each decision of a pass.

``fixtures/truth/passes.jsonl.gz``: one line for each case, the IR in front of a pass and behind it (``after`` is null where the pass
changed nothing), as Triton 3.8.0 printed it with ``MLIR_ENABLE_DUMP=1`` for the kernels of the layout study (matrix products, flash
attention, paged attention, quantised operands, reductions, descriptors …). ``tests/differential/run_pass.py`` holds the passes
against whatever else the compiler is run on.
"""

from __future__ import annotations

import gzip
import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from smem_lint.tile.ir import Module
from smem_lint.verify.ir_text import difference, parse_module

TRUTH = Path(__file__).parents[2] / "fixtures" / "truth" / "passes.jsonl.gz"
CASES = [json.loads(line) for line in gzip.decompress(TRUTH.read_bytes()).decode().splitlines()]


def program(case: dict[str, Any], text: str) -> Module:
    module = parse_module(text)
    module.num_warps, module.num_stages = case["num_warps"], case["num_stages"]
    module.capability = int(case["target"].split(":")[1])
    return module


def test_most_cases_are_of_passes_that_changed_something() -> None:
    assert sum(case["after"] is not None for case in CASES) >= 60


@pytest.mark.parametrize("case", CASES, ids=[f"{case['pass']}-{case['name']}" for case in CASES])
def test_pass_does_what_the_compiler_does(case: dict[str, Any]) -> None:
    ours = program(case, case["before"])
    importlib.import_module(f"smem_lint.passes.{case['pass']}").run(ours)
    assert difference(ours, program(case, case["after"] or case["before"])) is None


@pytest.mark.parametrize("case", [case for case in CASES if case["after"] is not None], ids=lambda case: f"{case['pass']}-{case['name']}")
def test_comparison_sees_what_the_pass_changes(case: dict[str, Any]) -> None:
    before, after = program(case, case["before"]), program(case, case["after"])
    assert difference(before, after) is not None
