"""SMEM005 for conditions on bytes on the way to a launch.

The bytes of the kernel with both operands 128 wide were obtained with ``smem-lint verify --engine compiler`` on these very files:
``num_stages - 1`` buffers of ``2 * 128 * BK * 2`` bytes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from smem_lint.api import check
from smem_lint.findings import Report
from smem_lint.host import Config, resolve
from smem_lint.source.modules import Repository

KERNEL = """
import torch, triton
import triton.language as tl

@triton.jit
def matmul(a, b, c, K, sa, sb, sc, BK: tl.constexpr):
    rows, cols, ks = tl.arange(0, 128), tl.arange(0, 128), tl.arange(0, BK)
    pa = a + rows[:, None] * sa + ks[None, :]
    pb = b + ks[:, None] * sb + cols[None, :]
    acc = tl.zeros((128, 128), tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(pa), tl.load(pb), acc)
        pa += BK
        pb += BK * sb
    tl.store(c + rows[:, None] * sc + cols[None, :], acc.to(tl.bfloat16))

def launch(a: torch.Tensor, b: torch.Tensor):
    a, b = a.to(torch.bfloat16), b.to(torch.bfloat16)
    c = torch.empty((128, 128), device=a.device, dtype=torch.bfloat16)
    limit = torch.cuda.get_device_properties(a.device).shared_memory_per_block_optin
"""
CALL = "    matmul[(1,)](a, b, c, 4096, 4096, 128, 128, BK=BK, num_stages=stages, num_warps=8)\n"


def linted(tmp_path: Path, body: str, target: str = "sm_120", select: str = "SMEM005,SMEM001") -> Report:
    (tmp_path / "ops.py").write_text(KERNEL + body + CALL)
    return check([tmp_path], target=[target], select=select.split(","), cache_dir=str(tmp_path / ".cache"), jobs=1)


def told(report: Report) -> list[tuple[str, int, int | None]]:
    return [(one.rule, one.line, one.bytes) for one in report.findings]


CLAMP = """
    BK, stages = 64, 4
    smem = (128 + 128) * BK * 2 * stages
    if smem > limit:
        stages = 2
"""
RAISES = """
    BK, stages = 64, 4
    if (128 + 128) * BK * 2 * stages > 101376:
        raise ValueError("too large")
"""
LOOP = """
    BK, stages = 64, 6
    while (128 + 128) * BK * 2 * stages > limit:
        stages -= 1
"""
FORGETS = """
    BK, stages = 64, 5
    need = (128 + 128) * BK * stages
    stages = stages if need <= limit else 2
"""


@pytest.mark.parametrize("body", [CLAMP, RAISES], ids=["clamps", "raises"])
def test_a_formula_that_counts_a_buffer_too_many_turns_away_what_fits(tmp_path: Path, body: str) -> None:
    """Four stages are 131,072 bytes by the formula and 98,304 by the compiler."""
    report = linted(tmp_path, body)
    ((rule, _, size),) = told(report)
    assert (rule, size) == ("SMEM005", 98_304)
    assert report.findings[0].source_line.strip().startswith("if ")
    assert "it turns away BK=64, num_stages=4, num_warps=8, which asks for 98,304 of 101,376 bytes" in report.findings[0].message


def test_a_loop_that_ends_too_late(tmp_path: Path) -> None:
    """It goes down to three stages (65,536 bytes); four fit as well."""
    report = linted(tmp_path, LOOP)
    assert [(rule, size) for rule, _, size in told(report)] == [("SMEM005", 98_304)]


def test_a_formula_that_forgets_the_width_of_an_element_lets_an_overflow_through(tmp_path: Path) -> None:
    report = linted(tmp_path, FORGETS)
    assert [(rule, size) for rule, _, size in told(report)] == [("SMEM005", 131_072), ("SMEM001", 131_072)]
    assert "it lets BK=64, num_stages=5, num_warps=8 through" in report.findings[0].message


def test_a_guard_that_is_right_is_no_finding(tmp_path: Path) -> None:
    for body in (CLAMP, LOOP, RAISES):
        body = body.replace("* stages", "* (stages - 1)")
        assert told(linted(tmp_path, body)) == []


def test_on_a_device_where_all_fits_nothing_is_turned_away(tmp_path: Path) -> None:
    assert told(linted(tmp_path, CLAMP, "sm_100")) == []


def test_what_a_guard_keeps_away_is_judged_by_no_other_rule(tmp_path: Path) -> None:
    """Seven stages are 196,608 bytes: the condition is right to turn them away, and the launch has two stages."""
    body = CLAMP.replace("64, 4", "64, 7")
    assert told(linted(tmp_path, body, select="ALL")) == []
    configs = [item for item in resolve(Repository([tmp_path]), ["ops.py"]) if isinstance(item, Config)]
    assert sorted((config.options["num_stages"], config.pruned) for config in configs) == [(2, False), (7, True)]


def test_a_condition_on_other_things_is_none_of_the_launchs(tmp_path: Path) -> None:
    body = "    BK, stages = 64, 5\n    other = 3\n    if other * 100_000 > limit:\n        other = 1\n"
    assert [(rule, size) for rule, _, size in told(linted(tmp_path, body))] == [("SMEM001", 131_072)]


PRUNER = """
def prune(configs, named_args, **kwargs):
    limit = torch.cuda.get_device_properties(named_args["a"].device).shared_memory_per_block_optin
    return [one for one in configs if {test}]

tuned = triton.autotune(
    [triton.Config({{"BK": 64}}, num_stages=4, num_warps=8), triton.Config({{"BK": 32}}, num_stages=2, num_warps=8)], key=["K"],
    prune_configs_by={{"early_config_prune": prune}},
)(matmul)

def tune(a: torch.Tensor, b: torch.Tensor):
    a, b = a.to(torch.bfloat16), b.to(torch.bfloat16)
    c = torch.empty((128, 128), device=a.device, dtype=torch.bfloat16)
    tuned[(1,)](a, b, c, a.shape[1], a.stride(0), b.stride(0), 128)
"""


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ('256 * one.kwargs["BK"] * one.num_stages * 2 <= limit', [98_304]),
        ('256 * one.kwargs["BK"] * (one.num_stages - 1) * 2 <= limit', []),
        ('named_args["K"] * one.kwargs["BK"] * one.num_stages * 2 <= limit', []),
        ('one.kwargs["BK"] * one.num_stages * 512 <= limit and named_args["K"] > 0', []),
    ],
    ids=["one stage too many", "right", "a size of the launch decides", "not alone"],
)  # fmt: skip
def test_a_pruning_function_for_sizes_of_run_time(tmp_path: Path, test: str, expected: list[int]) -> None:
    """What it turns away is told where the sizes that nobody knows have no part in it."""
    (tmp_path / "ops.py").write_text(KERNEL[: KERNEL.index("def launch")] + PRUNER.format(test=test))
    report = check([tmp_path], target=["sm_120"], select=["SMEM005"], cache_dir=str(tmp_path / ".cache"), jobs=1)
    assert [one.bytes for one in report.findings] == expected
