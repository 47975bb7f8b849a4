"""The software pipeliner against the compiler's own passes.

``fixtures/truth/pipeliner.jsonl.gz``: the IR in front of and behind ``assign_latencies``, ``schedule_loops``, ``warp_specialize``,
``pipeline`` and ``hoist_tmem_alloc``, as Triton 3.8.0 printed it with ``MLIR_ENABLE_DUMP=1`` for kernels written for this purpose:
matrix products for sm_80, sm_90 and sm_120 at 2 to 5 stages, loads behind one and two index loads, scalar loads, masks with a
non-zero ``other``, branches, values used after the loop, descriptors, gathers, stores in loops, dots with A in registers.
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

TRUTH = Path(__file__).parents[2] / "fixtures" / "truth" / "pipeliner.jsonl.gz"
CASES = [json.loads(line) for line in gzip.decompress(TRUTH.read_bytes()).decode().splitlines()]


def program(case: dict[str, Any], text: str) -> Module:
    module = parse_module(text)
    module.num_warps, module.num_stages = case["num_warps"], case["num_stages"]
    module.capability = int(case["target"].split(":")[1])
    return module


def identity(case: dict[str, Any]) -> str:
    return f"{case['pass']}-{case['name']}"


@pytest.mark.parametrize("case", CASES, ids=identity)
def test_pass_does_what_the_compiler_does(case: dict[str, Any]) -> None:
    ours = program(case, case["before"])
    importlib.import_module(f"smem_lint.passes.{case['pass']}").run(ours)
    assert difference(ours, program(case, case["after"] or case["before"])) is None


@pytest.mark.parametrize("case", [case for case in CASES if case["after"] is not None], ids=identity)
def test_comparison_sees_what_the_pass_changes(case: dict[str, Any]) -> None:
    changed = difference(program(case, case["before"]), program(case, case["after"]))
    assert changed is not None or case["pass"] == "warp_specialize"


@pytest.mark.parametrize("stages", [2, 3, 4, 5])
def test_one_front_half_serves_every_number_of_stages(stages: int) -> None:
    """From the IR in front of ``assign_latencies``: the rings of a plain matrix product have one buffer fewer than stages."""
    case = next(case for case in CASES if identity(case) == "assign_latencies-mm_ns3")
    module = program(case, case["before"])
    module.num_stages = stages
    for name in ("assign_latencies", "schedule_loops", "warp_specialize", "pipeline"):
        importlib.import_module(f"smem_lint.passes.{name}").run(module)
    rings = [op.result.type.shape for op in module.walk() if op.name == "ttg.local_alloc"]
    assert rings == [(stages - 1, 128, 64), (stages - 1, 64, 128)]
