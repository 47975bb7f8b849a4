"""``upper_bound`` is never below what is allocated: for every record of Triton 3.8.0, and where a loop is not what its source shows.

The bytes in ``SMALLEST`` are the model's own, which is exact for them (``Estimate.exact``); the records' are the compiler's.
"""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from test_probes import PROBES, specialization

from smem_lint.bounds import upper_bound
from smem_lint.model import ModelEngine
from smem_lint.specialization import Specialization

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
RECORDS = [
    record
    for name in ("fixtures", "language")
    for record in map(json.loads, (FIXTURES / "truth" / f"{name}.jsonl").read_text("utf8").splitlines())
    if isinstance(record.get("shared"), int)
]


def _upper(engine: ModelEngine, one: Specialization) -> int:
    program = engine.front_end(one)
    assert program is not None
    return upper_bound(program, one)


def test_records():
    engine = ModelEngine([FIXTURES / "kernels"])
    assert len(RECORDS) > 600
    assert [r for r in RECORDS if _upper(engine, Specialization.from_record(r)) < r["shared"]] == []


def test_probes(tmp_path):
    low = []
    for probe in PROBES:
        (tmp_path / "probe.py").write_text(probe["source"], "utf8")
        if _upper(ModelEngine([tmp_path]), specialization(probe)) < probe["shared"]:
            low.append(probe["name"])
    assert low == []


def test_other_options_of_records():
    """Records with other warps, stages and targets than the compiler was asked for, against the exact model."""
    engine, rng, low = ModelEngine([FIXTURES / "kernels"]), random.Random(7), []
    for record in rng.sample(RECORDS, 150):
        capability, warps, stages = rng.choice([80, 86, 89, 90, 120]), rng.choice([1, 2, 4, 8, 16]), rng.randrange(1, 7)
        one = replace(Specialization.from_record(record), num_warps=warps, num_stages=stages, capability=capability)
        estimate, program = engine.one(one), engine.front_end(one)
        if program is not None and estimate.exact and upper_bound(program, one) < (estimate.bytes or 0):
            low.append(one)
    assert low == []


HEAD = """
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, c, n, s0, s1):
    m, k = tl.arange(0, 64), tl.arange(0, 64)
    at = m[:, None] * s0 + k[None, :]
"""
SMALLEST = {
    # Every copy of an unrolled body has its loads staged.
    "unrolled": (
        """
    for j in tl.range(0, n, num_stages=4, loop_unroll_factor=4):
        x = tl.load(a + at + j * s1)
        tl.store(b + at, x + tl.sum(x, 1, keep_dims=True))
""",
        {},
        98_304,
    ),
    # A flattened nest has the larger number of stages of its two loops, the launch's where that is 1.
    "flattened": (
        """
    for t in tl.range(0, n, flatten=True):
        acc = tl.zeros((64, 64), tl.float32)
        for j in tl.range(0, s1, num_stages=1):
            acc = tl.dot(tl.load(a + at + t * s1 + j), tl.load(b + at + j * s1), acc)
        tl.store(c + at + t * s1, acc)
""",
        {"num_stages": 6, "capability": 90},
        57_344,
    ),
}


@pytest.mark.parametrize("name", SMALLEST)
def test_smallest(name, tmp_path):
    body, options, held = SMALLEST[name]
    (tmp_path / "k.py").write_text(HEAD + body, "utf8")
    signature = {"a": "*fp16", "b": "*fp16", "c": "*fp16", "n": "i32", "s0": "i32", "s1": "i32"}
    facts = {argument: {"tt.divisibility": 16} for argument in signature}
    one = Specialization("k.py", "kernel", signature, {}, facts, **options)
    engine = ModelEngine([tmp_path])
    estimate = engine.one(one)
    assert estimate.exact and estimate.bytes is not None
    assert estimate.bytes == held
    assert estimate.bytes <= _upper(engine, one)
