"""Scratch sizes of 600 random conversions, reductions and scans, as the compiler allocated them.

``fixtures/truth/layout_vectors.jsonl`` was made with Triton 3.8.0: each line is a module with one operation on random layouts;
``bytes`` is what ``allocate-shared-memory-nv`` reserved for it on ``target``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from smem_lint.layout import scratch
from smem_lint.tile.types import Scalar, bits_of
from smem_lint.verify.ir_attributes import Attributes

VECTORS = Path(__file__).parents[2] / "fixtures" / "truth" / "layout_vectors.jsonl"
CASES = [json.loads(line) for line in VECTORS.read_text().splitlines()]


def predicted(case: dict[str, Any]) -> int:
    read = Attributes({}).encoding
    source, shape = read(case["src"]), tuple(case["shape"])
    elements = [case["elem"]] + ([case["second_operand"]] if case["second_operand"] else [])
    bits = tuple(bits_of(Scalar(element)) for element in elements)
    if case["op"] == "convert_layout":
        return scratch.conversion_scratch(source, read(case["dst"]), shape, bits[0], int(case["target"].removeprefix("cuda:")))
    rule = scratch.scan_scratch if case["op"] == "scan" else scratch.RULES_3_8.reduce
    return rule(source, shape, case["axis"], bits)


def test_there_are_600_cases_of_three_kinds():
    assert len(CASES) == 600
    assert {case["op"] for case in CASES} == {"convert_layout", "reduce", "scan"}


@pytest.mark.parametrize("kind", ["convert_layout", "reduce", "scan"])
def test_scratch_is_what_the_compiler_allocated(kind: str):
    wrong = [(case, found) for case in CASES if case["op"] == kind and (found := predicted(case)) != case["bytes"]]
    assert not wrong
