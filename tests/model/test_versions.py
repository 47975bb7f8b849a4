"""Versions of Triton that decide differently.

``fixtures/truth/versions.jsonl`` holds kernels whose shared memory differs between 3.6.0, 3.7.1 and 3.8.0, with the total that each
compiler allocated (null: refused), obtained with ``allocate-shared-memory-nv`` of each as ``smem_lint.verify.compiler`` runs it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from smem_lint.model import MODELLED, ModelEngine
from smem_lint.specialization import Specialization
from smem_lint.tile.versions import Decisions, decisions, triton_versions

_FIXTURES = Path(__file__).parents[2] / "fixtures"
_CASES = [json.loads(line) for line in (_FIXTURES / "truth" / "versions.jsonl").read_text().splitlines()]
_ON_A_GPU = json.loads((_FIXTURES / "hardware" / "nvidia-h200-triton-3.6.0.json").read_text())["results"]


@pytest.mark.parametrize("version", ["3.6.0", "3.7.1", "3.8.0"])
@pytest.mark.parametrize("case", _CASES, ids=lambda case: case["name"])
def test_total(case: dict[str, Any], version: str, tmp_path: Path) -> None:
    (tmp_path / f"{case['name']}.py").write_text(case["source"])
    found = ModelEngine([tmp_path], version).one(Specialization.from_record(case["specialization"]))
    assert found.bytes == case["shared"][version]


def test_on_a_gpu() -> None:
    """Every ninth launch of the record that an H200 with Triton 3.6.0 made."""
    engine = ModelEngine([_FIXTURES / "kernels"], "3.6.0")
    for result in _ON_A_GPU[::9]:
        found = engine.one(Specialization.from_record(result["specialization"]))
        if result["gpu"]["shared"] is not None:
            assert found.exact and found.bytes == result["gpu"]["shared"], result["specialization"]


def test_table() -> None:
    assert decisions((3, 8)) == Decisions()
    assert decisions((4, 0)) is triton_versions()[-1].decisions
    assert decisions((3, 0)) is triton_versions()[0].decisions
    assert MODELLED[-1] == (3, 8)
    assert (3, 6) in MODELLED
