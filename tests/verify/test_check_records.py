"""``check --records``: what ran yesterday, judged for another device, told at the line that launched it. Needs no Triton.

The kernel is a product of two bf16 tiles; its bytes by the compiler engine (``smem-lint verify --engine compiler``, Triton 3.8.0).
"""

import json

import pytest

from smem_lint.cli import main

KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
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
LAUNCH = "def launch(a, b, c):\n    matmul[(1,)](a, b, c, 4096, M=128, N=128, BK=128)\n"
BYTES = {2: 65536, 3: 131072, 4: 196608}


def _record(stages, launch="launch.py:2", target=90, tuned=None, **constexprs):
    sizes = {"M": 128, "N": 128, "BK": 128, **constexprs}
    pointers = {"a": "*bf16", "b": "*bf16", "c": "*bf16"}
    record = {
        "file": "kernels.py", "kernel": "matmul", "signature": {**pointers, "K": "i32", **dict.fromkeys(sizes, "constexpr")},
        "constexprs": sizes, "attrs": {name: {"tt.divisibility": 16} for name in (*pointers, "K")}, "num_warps": 4,
        "num_stages": stages, "num_ctas": 1, "target": f"cuda:{target}", "launch": launch,
    }  # fmt: skip
    return record if tuned is None else {**record, "autotune": tuned}


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "kernels.py").write_text(KERNEL)
    (tmp_path / "src" / "launch.py").write_text(LAUNCH)
    (tmp_path / "smem-lint.toml").write_text("")
    monkeypatch.chdir(tmp_path)

    def run(records, *arguments, root="src"):
        (tmp_path / "launches.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
        roots = ["--root", root] if root else []
        code = main(["check", "--records", "launches.jsonl", *roots, "--engine", "model", "--output-format", "json", *arguments])
        out, err = capsys.readouterr()
        return code, json.loads(out)["results"] if out else [], err

    return run


def test_what_ran_on_a_large_card_does_not_run_on_a_small_one(check):
    code, (found,), _ = check([_record(3), _record(2)], "--select", "SMEM001", "--target", "sm_120")
    assert code == 1
    assert {name: found[name] for name in ("rule", "file", "line", "kernel", "kernel_file", "bytes", "limit", "confidence")} == {
        "rule": "SMEM001", "file": "launch.py", "line": 2, "kernel": "matmul", "kernel_file": "kernels.py", "bytes": BYTES[3],
        "limit": 101376, "confidence": "exact",
    }  # fmt: skip
    assert {"num_stages": 2} in [fit["change"] for fit in found["fits"]]
    assert check([_record(3), _record(2)], "--select", "SMEM001", "--target", "sm_90")[0] == 0


@pytest.mark.parametrize("launch", ["elsewhere.py:7", "7", 7, None, "launch.py"])
def test_a_launch_that_is_not_under_the_roots_is_told_at_the_kernel(check, launch):
    code, (found,), _ = check([_record(3, launch)], "--select", "SMEM001")
    assert code == 1 and (found["file"], found["line"]) == ("kernels.py", 6)


def test_a_suppression_where_it_is_launched(check, tmp_path):
    (tmp_path / "src" / "launch.py").write_text(LAUNCH.replace("BK=128)", "BK=128)  # smem-lint: ignore[SMEM001] H100 only"))
    assert check([_record(3)], "--select", "SMEM001")[:2] == (0, [])


def test_an_autotune_list_is_one_list(check):
    """Configs that overflow are dead, not fatal, as long as one fits."""
    entries = [_record(stages, tuned={"index": index, "of": 3, "kept": True, "names": []}) for index, stages in enumerate((2, 3, 4))]
    _, (found,), _ = check(entries, "--select", "SMEM001,SMEM003,SMEM004", "--show-info")
    assert (found["rule"], found["file"], found["line"]) == ("SMEM004", "launch.py", 2) and "#1, #2" in found["message"]
    _, (found,), _ = check(
        [{**one, "autotune": {**one["autotune"], "of": 2, "index": number}} for number, one in enumerate(entries[1:])],
        "--select", "SMEM001,SMEM003,SMEM004",
    )  # fmt: skip
    assert found["rule"] == "SMEM003" and found["severity"] == "error"


def test_a_list_recorded_for_two_shapes_is_two_lists(check):
    """BK=32 fits with every number of stages, BK=128 with none: neither list is judged by the other's entries."""
    entries = [
        _record(stages, BK=size, tuned={"index": index, "of": 2, "kept": True, "names": []})
        for size in (32, 128) for index, stages in enumerate((3, 4))
    ]  # fmt: skip
    _, (found,), _ = check(entries, "--select", "SMEM003,SMEM004")
    assert found["rule"] == "SMEM003" and found["when"] == ["recorded with M=128, N=128, BK=128"]


def test_the_roots_that_the_records_name(check, tmp_path):
    records = [{**_record(3), "root": str(tmp_path / "src")}]
    code, (found,), _ = check(records, "--select", "SMEM001", root="")
    assert code == 1 and (found["file"], found["line"]) == ("launch.py", 2)


def test_bad_use(check, tmp_path, capsys):
    assert check([_record(3)], root="nowhere")[0] == 2
    (tmp_path / "launches.jsonl").write_text("{]\n")
    assert main(["check", "--records", "launches.jsonl", "--root", "src"]) == 2
    assert "launches.jsonl:1: " in capsys.readouterr().err
    assert main(["check", "--root", "src"]) == 2
    assert "--root is for --records" in capsys.readouterr().err
