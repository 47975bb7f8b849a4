"""The records of the fixtures: well-formed, on both sides of the limit, and what the installed compiler says today.

``fixtures/truth/fixtures.jsonl`` was written by ``python fixtures/record.py`` with Triton 3.8.0.
"""

import json
from collections import defaultdict
from pathlib import Path

import pytest

from smem_lint.devices import by_capability
from smem_lint.specialization import Specialization

FIXTURES = Path(__file__).parents[2] / "fixtures"
RECORDS = [json.loads(line) for line in (FIXTURES / "truth" / "fixtures.jsonl").read_text("utf8").splitlines()]


def test_there_are_enough_records_of_enough_kernels():
    assert len(RECORDS) >= 150
    assert len({record["file"] for record in RECORDS}) >= 14
    assert {record["target"] for record in RECORDS} == {"cuda:120", "cuda:80", "cuda:89", "cuda:90"}
    assert {record["num_stages"] for record in RECORDS} >= {1, 2, 3, 4}


def test_records_read_and_write_the_same():
    for record in RECORDS:
        told = Specialization.from_record(record).to_record()
        assert told == {name: record[name] for name in told}


def test_buffers_lie_within_what_is_shared():
    for record in RECORDS:
        for buffer in record.get("buffers", ()):
            assert buffer["offset"] >= 0 and buffer["offset"] + buffer["size"] <= record["shared"], record["kernel"]


def test_both_sides_of_the_cliff():
    sides = defaultdict(set)
    for record in RECORDS:
        if "shared" in record:
            sides[record["file"], record["target"]].add(record["shared"] <= by_capability(int(record["target"][5:])).optin)
    both = {file for (file, target), found in sides.items() if target == "cuda:120" and found == {True, False}}
    assert both >= {"gemm.py", "fused_moe.py", "mla_decode.py", "flash_attention.py", "fp8_gemm.py", "descriptor_gemm.py"}


@pytest.mark.parametrize(
    "cache, target, stages, block, shared",
    [
        ("*bf16", "cuda:120", 2, 32, 63488), ("*fp8e4nv", "cuda:120", 2, 32, 102400), ("*fp8e4nv", "cuda:120", 2, 16, 60416),
        ("*fp8e4nv", "cuda:120", 1, 32, 83968), ("*bf16", "cuda:120", 1, 32, 59392),
    ],
)  # fmt: skip
def test_the_cliff_of_an_mla_decode(cache, target, stages, block, shared):
    """Independently measured before this project began, but for the row with 16 tokens a tile."""
    found = [
        record["shared"] for record in RECORDS
        if record["file"] == "mla_decode.py" and record["signature"]["kv_cache"] == cache and record["target"] == target
        and record["num_stages"] == stages and record["constexprs"]["BLOCK_N"] == block and record["constexprs"]["LATENT"] == 512
    ]  # fmt: skip
    assert found == [shared]


def test_the_compiler_still_says_so():
    triton = pytest.importorskip("triton", reason="the compiler itself is asked")
    if not triton.__version__.startswith("3.8."):
        pytest.skip(f"recorded with Triton 3.8.0, this is {triton.__version__}")
    from smem_lint.verify.compiler import CompilerEngine

    sample = RECORDS[::19]
    engine = CompilerEngine([FIXTURES / "kernels"], jobs=2)
    for record, answer in zip(sample, engine.estimate(map(Specialization.from_record, sample)), strict=True):
        assert answer.bytes == record.get("shared"), record
        assert [(one.offset, one.size, one.op) for one in answer.buffers] == [
            (one["offset"], one["size"], one["op"]) for one in record.get("buffers", ())
        ]
