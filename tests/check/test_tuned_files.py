"""SMEM007: the entries of a tuned file are judged together, each as the launch code clamps it."""

from __future__ import annotations

import json
from pathlib import Path

from smem_lint.api import check

OPS = """
import torch, triton
import triton.language as tl

@triton.jit
def matmul(a, b, c, K, sa, sb, sc, BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_K: tl.constexpr):
    rows, cols, ks = tl.arange(0, BLOCK_SIZE_M), tl.arange(0, 128), tl.arange(0, BLOCK_SIZE_K)
    pa = a + rows[:, None] * sa + ks[None, :]
    pb = b + ks[:, None] * sb + cols[None, :]
    acc = tl.zeros((BLOCK_SIZE_M, 128), tl.float32)
    for _ in range(0, K, BLOCK_SIZE_K):
        acc = tl.dot(tl.load(pa), tl.load(pb), acc)
        pa += BLOCK_SIZE_K
        pb += BLOCK_SIZE_K * sb
    tl.store(c + rows[:, None] * sc + cols[None, :], acc.to(tl.bfloat16))

def invoke(A, B, C, config):
    matmul[(1,)](A, B, C, 4096, 4096, 128, 128, **config)
"""
ENTRY = {"BLOCK_SIZE_M": 128, "BLOCK_SIZE_K": 64, "num_warps": 8, "num_stages": 3}
NAME = "E=8,N=1024,device_name=NVIDIA_H100_80GB_HBM3.json"


def stale(tmp_path: Path, target: str) -> list[tuple[str, int, int | None, str]]:
    (tmp_path / "pkg" / "configs").mkdir(parents=True, exist_ok=True)
    (tmp_path / "pkg" / "ops.py").write_text(OPS)
    table = {"1": ENTRY, "64": {**ENTRY, "BLOCK_SIZE_K": 128}, "128": {**ENTRY, "BLOCK_SIZE_K": 128, "num_stages": 4}}
    (tmp_path / "pkg" / "configs" / NAME).write_text(json.dumps(table, indent=1))
    report = check([tmp_path], target=[target], cache_dir=str(tmp_path / ".cache"), jobs=1)
    return [(one.file, one.line, one.bytes, one.message) for one in report.findings if one.rule == "SMEM007"]


def test_entries_that_overflow_the_target_are_one_finding(tmp_path: Path) -> None:
    """The bytes are those of SMEM004's and SMEM003's examples, which the compiler gave."""
    (file, line, size, message), _ = stale(tmp_path, "sm_120")
    assert (file, line, size) == (f"pkg/configs/{NAME}", 14, 196_608)
    assert message == "2 of the 3 entries do not fit matmul on sm_120: the largest asks for 196,608 of 101,376 bytes"


def test_a_file_is_judged_on_the_device_that_it_is_named_for_as_well(tmp_path: Path) -> None:
    """Four stages of 65,536 bytes are four buffers on the H100: `smem-lint verify --target sm_90 --engine compiler` agrees."""
    for target, expected in (("sm_120", ["sm_120", "sm_90"]), ("sm_90", ["sm_90"])):
        found = stale(tmp_path, target)
        assert [one[3].partition(" on ")[2][:6].strip(" (:") for one in found] == expected
        assert found[-1][2:] == (
            262_144,
            "1 of the 3 entries do not fit matmul on sm_90 (NVIDIA H100 80GB HBM3, which it is named for): "
            "the largest asks for 262,144 of 232,448 bytes",
        )


def test_an_unknown_device_is_said_and_another_makers_files_are_not_judged(tmp_path: Path) -> None:
    stale(tmp_path, "sm_120")
    folder = tmp_path / "pkg" / "configs"
    (folder / NAME).rename(folder / NAME.replace("NVIDIA_H100_80GB_HBM3", "NVIDIA_X9"))
    (folder / "E=8,N=1024,device_name=AMD_Instinct_MI300X.json").write_text(json.dumps({"1": {**ENTRY, "BLOCK_SIZE_K": 512}}))
    report = check([tmp_path], target=["sm_120"], cache_dir=str(tmp_path / ".cache"), jobs=1)
    told = {one.file.rpartition("device_name=")[2]: [] for one in report.findings}
    for one in report.findings:
        told[one.file.rpartition("device_name=")[2]].append((one.rule, one.message.partition(": ")[2]))
    assert told["AMD_Instinct_MI300X.json"] == [("SMEM010", "device_name: AMD Instinct MI300X is no device that is known")]
    assert [rule for rule, _ in told["NVIDIA_X9.json"]] == ["SMEM010", "SMEM007"]
