"""The model against the compiler's answers for the fixtures (``fixtures/truth/fixtures.jsonl``), without the compiler."""

import json
from pathlib import Path

import pytest

from smem_lint.model import ModelEngine
from smem_lint.specialization import Specialization

FIXTURES = Path(__file__).parents[2] / "fixtures"
RECORDS = [json.loads(line) for line in (FIXTURES / "truth" / "fixtures.jsonl").read_text("utf8").splitlines()]
FILES = sorted({record["file"] for record in RECORDS})


@pytest.fixture(scope="module")
def engine():
    return ModelEngine([FIXTURES / "kernels"])


@pytest.mark.parametrize("file", FILES)
def test_bytes(engine, file):
    """Every third record of each file, and all of the largest, which are the ones beside a limit."""
    mine = [record for record in RECORDS if record["file"] == file]
    largest = sorted((record for record in mine if "shared" in record), key=lambda record: -record["shared"])[:3]
    for record in [*mine[::3], *largest]:
        answer = engine.one(Specialization.from_record(record))
        assert (answer.bytes, answer.exact) == (record.get("shared"), "shared" in record), (record, answer.error, answer.reasons)
        if "shared" in record and answer.exact:
            assert sorted(one.size for one in answer.buffers) == sorted(one["size"] for one in record["buffers"])
