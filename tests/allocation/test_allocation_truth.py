"""Totals and every offset of compiled kernels.

``fixtures/truth/allocation.jsonl.gz``: the IR of 272 kernels (probes of ours and published ones) before the pass ``scf_to_cf`` of
Triton 3.8.0, and what ``allocate-shared-memory-nv`` then made of them: ``ttg.shared`` and the ``allocation.offset`` attributes in
the order of operations (parents first). Dumped with ``MLIR_ENABLE_DUMP=1``.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from smem_lint.allocation import allocate
from smem_lint.verify.ir_text import parse_module

TRUTH = Path(__file__).parents[2] / "fixtures" / "truth" / "allocation.jsonl.gz"
KERNELS: list[dict[str, Any]] = [json.loads(line) for line in gzip.decompress(TRUTH.read_bytes()).splitlines()]
BY_NAME = {kernel["name"]: kernel for kernel in KERNELS}


def offsets_of(kernel: dict[str, Any]) -> tuple[int, list[int]]:
    module = parse_module(kernel["ir"])
    allocation = allocate(module)
    offsets = {buffer.op: buffer.offset for function in allocation.functions for buffer in function.buffers}
    return allocation.total, [offsets[op] for op in module.walk() if op in offsets]


def test_the_kernels_have_loops_branches_calls_and_many_buffers():
    text = "".join(kernel["ir"] for kernel in KERNELS)
    assert all(name in text for name in ("scf.for", "scf.if", "scf.while", "tt.call", "tt.atomic_rmw", "tt.gather", "tt.histogram"))
    assert max(len(kernel["offsets"]) for kernel in KERNELS) > 200


def test_every_total_and_offset_is_the_compilers():
    wrong = [kernel["name"] for kernel in KERNELS if offsets_of(kernel) != (kernel["shared"], kernel["offsets"])]
    assert not wrong
    assert len(KERNELS) > 250


@pytest.mark.parametrize(
    ("name", "version", "shared"),
    [
        # Measured with triton 3.5.1, 3.6.0, 3.7.1 and 3.8.0; the IR before the allocation is the same.
        ("probe-sum0_64x64", (3, 5), 1024),
        ("probe-sum0_64x64", (3, 7), 1024),
        ("probe-sum0_64x64", (3, 8), 512),
        ("probe-sum0_256x32", (3, 6), 512),
        ("probe-sum0_256x32", (3, 8), 256),
    ],
)
def test_reductions_take_more_before_3_8(name: str, version: tuple[int, int], shared: int):
    assert allocate(parse_module(BY_NAME[name]["ir"]), version).total == shared
