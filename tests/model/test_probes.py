"""The model against 214 small kernels that show one rule each, on five targets: ``shared`` is Triton 3.8.0's own number."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from smem_lint.model import ModelEngine
from smem_lint.specialization import Specialization

PROBES = [json.loads(line) for line in (Path(__file__).resolve().parents[2] / "fixtures/truth/probes.jsonl").read_text("utf8").splitlines()]
TENSOR_MEMORY = ("cuda:100", "cuda:103")


def specialization(probe: dict) -> Specialization:
    given = probe["specialization"]
    facts = {name: {"tt.divisibility": 16} for name in given["divisible_by_16"]}
    options = {name: given[name] for name in ("num_warps", "num_stages", "num_ctas")}
    record = {"file": "probe.py", "kernel": probe["kernel"], "target": probe["target"], "attrs": facts, **options}
    return Specialization.from_record({**record, "signature": given["signature"], "constexprs": given["constexprs"]})


@pytest.mark.parametrize("probe", PROBES, ids=[probe["name"] for probe in PROBES])
def test_probe(probe, tmp_path):
    (tmp_path / "probe.py").write_text(probe["source"], "utf8")
    estimate = ModelEngine([tmp_path]).one(specialization(probe))
    if estimate.exact:
        assert estimate.bytes == probe["shared"]
        return
    assert probe["target"] in TENSOR_MEMORY or "warp specialization" in estimate.reasons[0], estimate.reasons
    assert estimate.lower <= probe["shared"] <= estimate.upper
