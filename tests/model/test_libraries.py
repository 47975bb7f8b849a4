"""The model against 300 launches of five libraries: ``shared`` is what Triton 3.8.0 allocates for sm_120.

The records were compiled by ``smem_lint.verify.compiler``'s way (as far as ``allocate-shared-memory-nv``) with ``triton==3.8.0``:
``python -m smem_lint verify fixtures/truth/libraries.jsonl --root DIR`` repeats it.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from smem_lint.model import ModelEngine
from smem_lint.specialization import Specialization

RECORDS = Path(__file__).resolve().parents[2] / "fixtures" / "truth" / "libraries.jsonl"
LIMIT = 101_376


@pytest.fixture(scope="session")
def answered(library_root):
    """(record, estimate) of every record."""
    by_package = defaultdict(list)
    for line in RECORDS.read_text("utf8").splitlines():
        record = json.loads(line)
        by_package[record["package"], record["version"]].append(record)
    pairs = []
    for (name, version), records in by_package.items():
        engine = ModelEngine([library_root(name, version)])
        pairs += zip(records, engine.estimate(map(Specialization.from_record, records)), strict=True)
    return pairs


def test_sample_is_whole(answered):
    assert len(answered) == 300
    assert sum(record["shared"] > LIMIT for record, _ in answered) >= 40


def test_exact(answered):
    exact = sum(estimate.bytes == record["shared"] for record, estimate in answered)
    used = [(record, estimate) for record, estimate in answered if record["shared"]]
    assert exact >= 0.95 * len(answered)
    assert sum(estimate.bytes == record["shared"] for record, estimate in used) >= 0.93 * len(used)


def test_each_package_is_exact(answered):
    right, every = Counter(), Counter()
    for record, estimate in answered:
        every[record["package"]] += 1
        right[record["package"]] += estimate.bytes == record["shared"]
    assert {name: right[name] >= 0.9 * every[name] for name in every} == dict.fromkeys(every, True)


def test_nothing_is_claimed_that_is_not_so(answered):
    assert [r["kernel"] for r, e in answered if e.exact and e.bytes != r["shared"]] == []
    assert [r["kernel"] for r, e in answered if not e.lower <= r["shared"] <= (1 << 40 if e.upper is None else e.upper)] == []


def test_no_overflow_is_missed_and_no_alarm_is_false(answered):
    assert [r["kernel"] for r, e in answered if r["shared"] > LIMIT and (e.bytes is None or e.bytes <= LIMIT)] == []
    assert sum(r["shared"] <= LIMIT < (e.bytes or 0) for r, e in answered) < 0.005 * len(answered)


def test_every_record_is_answered(answered):
    assert [r["kernel"] for r, e in answered if e.bytes is None] == []


@pytest.mark.parametrize(
    ("cache", "num_stages", "shared"), [("*bf16", 1, 59_392), ("*bf16", 2, 63_488), ("*fp8e4nv", 1, 83_968), ("*fp8e4nv", 2, 102_400)]
)
def test_the_launch_that_began_it(library_root, cache, num_stages, shared):
    """MLA decode of vLLM: bf16 and fp8 caches, one and two stages."""
    records = [json.loads(line) for line in RECORDS.read_text("utf8").splitlines()]
    of_kernel = [one for one in records if one["kernel"] == "_fwd_grouped_kernel_stage1" and one["constexprs"]["BLOCK_DMODEL"] == 512]
    record = next(one for one in of_kernel if one["signature"]["K_Buffer"] == cache)
    engine = ModelEngine([library_root(record["package"], record["version"])])
    estimate = engine.one(replace(Specialization.from_record(record), num_stages=num_stages))
    assert (estimate.bytes, estimate.exact) == (shared, True)
