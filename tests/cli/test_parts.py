"""A check in several processes says what a check in one says, and outlives a process that dies.

The bytes are those of Triton 3.8.0 for sm_120 (``smem-lint check . --engine compiler`` in the folder that ``_repository`` writes).
"""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import pytest

from smem_lint.cli import main
from smem_lint.cli.linting import Lint, may_hold
from smem_lint.cli.parts import parts_of
from smem_lint.config import Settings
from smem_lint.findings import Report

KERNEL = """
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({{"BK": 128}}, num_stages=s) for s in (2, 3)], key=[])
@triton.jit
def kernel_{0}(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    rows, cols, ks = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    pa = a + rows[:, None] * BK + ks[None, :]
    pb = b + ks[:, None] * N + cols[None, :]
    acc = tl.zeros((M, N), tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(pa), tl.load(pb), acc)
        pa += BK * M
        pb += BK * N
    tl.store(c + rows[:, None] * N + cols[None, :], acc.to(tl.bfloat16))
"""
LAUNCH = """
import torch
from kernel_{0} import kernel_{0}


def launch(a, b):
    a, b = a.to(torch.bfloat16), b.to(torch.bfloat16)
    c = torch.empty((128, 128), device=a.device, dtype=torch.bfloat16)
    kernel_{0}[(1,)](a, b, c, 4096, M=128, N=128)
"""


def _repository(folder: Path) -> Path:
    for place in range(30):
        (folder / f"kernel_{place}.py").write_text(KERNEL.format(place))
        (folder / f"launch_{place}.py").write_text(LAUNCH.format(place))
    (folder / "broken.py").write_text("import triton\ndef f(:\n")
    (folder / "plain.py").write_text("print(1)\n")
    return folder


def _lint(folder: Path, jobs: int) -> Lint:
    lint = Lint(Settings(engine="model", jobs=jobs), [folder])
    lint.keeps_judged, lint.proves = False, True
    return lint


def _said(report: Report) -> tuple[list[object], set[object], dict[str, object]]:
    problems = {(p.file, p.line, p.message) for p in report.problems}
    return [(one.to_json(), one.fixable) for one in report.findings], problems, report.statistics


def test_several_processes_say_what_one_says(tmp_path: Path) -> None:
    folder = _repository(tmp_path)
    alone, together = _lint(folder, 1).report(), _lint(folder, 2).report()
    assert _said(alone) == _said(together)
    dead = [one for one in together.findings if one.rule == "SMEM004"]
    assert len(dead) == 30 and {one.fixable for one in dead} == {"unsafe"} and {one.bytes for one in dead} == {131_072}
    assert [problem.file for problem in together.problems] == ["broken.py"]


def test_files_that_meet_in_a_list_stay_together(tmp_path: Path) -> None:
    folder = _repository(tmp_path)
    lint = _lint(folder, 2)
    parts = parts_of(lint.files(), lint.source, may_hold)
    assert len(parts) > 2
    assert sorted(path.name for part in parts for path in part) == sorted(
        path.name for path in folder.iterdir() if path.name != "plain.py"
    )
    for part in parts:
        names = {path.name for path in part}
        assert all(name.replace("kernel", "launch") in names for name in names if name.startswith("kernel"))


@pytest.mark.skipif(multiprocessing.get_start_method() != "fork", reason="the patch has to reach the processes")
def test_a_process_that_dies_costs_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = _repository(tmp_path)
    whole = Lint.part

    def part(self: Lint, files: list[Path]) -> object:
        if any(path.name == "launch_7.py" for path in files):
            os._exit(1)
        return whole(self, files)

    monkeypatch.setattr(Lint, "part", part)
    report = _lint(folder, 2).report()
    assert ("launch_7.py", "the process that checked it died") in {(one.file, one.message) for one in report.problems}
    assert len({one.file for one in report.findings if one.rule == "SMEM004"}) == 29


def test_configs_of_several_processes_are_those_of_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = _repository(tmp_path)
    said = []
    for jobs in ("1", "2"):
        assert main(["configs", str(folder), "-j", jobs, "--output-format", "jsonl", "--statistics"]) == 0
        said.append(capsys.readouterr())
    assert said[0].out == said[1].out and said[0].out.count('"origin": "autotune"') == 120
    assert sorted(said[0].err.splitlines()) == sorted(said[1].err.splitlines())


def test_files_of_one_name_in_two_roots_are_each_looked_at(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder, rows in ((one, 16), (two, 128)):
        folder.mkdir()
        (folder / "kernel_0.py").write_text(KERNEL.format(0))
        (folder / "launch_0.py").write_text(LAUNCH.format(0).replace("M=128", f"M={rows}"))
    report = Lint(Settings(engine="model", jobs=1), [one, two]).report()
    assert report.statistics["kernels"] == 2
    assert [(one.file, one.bytes) for one in report.findings if one.rule == "SMEM004"] == [((two / "kernel_0.py").as_posix(), 131_072)]
