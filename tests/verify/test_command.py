"""``smem-lint verify``: what is asked of whom, the report, and the exit codes. A small program plays the compiler."""

import json

import pytest
from verify_bench import record

from smem_lint.cli import main

SIZES = [16, 32, 64, 128, 256, 512]


def test_agreement(bench):
    bench.records([record(size=size, shared=0) for size in SIZES])
    code, out, err = bench.verify("--python", bench.compiler(), "--report", "report.json")
    assert (code, err) == (0, "")
    assert "6 specializations of 1 kernels against compiler 3.8.0: 6 exact, 0 disagreements" in out
    report = json.loads((bench.folder / "report.json").read_text())
    assert report["version"] == 1 and report["engine"] == "compiler" and report["triton"] == "3.8.0"
    assert report["summary"]["by_status"] == {"exact": 6} and report["summary"]["record_is_stale"] == 0
    assert [one["specialization"]["constexprs"]["N"] for one in report["results"]] == SIZES


def test_a_disagreement_ends_with_1_and_is_explained(bench):
    bench.records([record("turn", 64), record("copy", 64)])
    code, out, _ = bench.verify("--python", bench.compiler())
    assert code == 1
    assert "kernels.py::turn sm_120 num_warps=4 num_stages=3 N=64" in out
    assert "wrong: model says 16,384, compiler says 0" in out and "1 exact, 1 disagreements" in out


def test_a_record_that_no_longer_holds_ends_with_1(bench):
    bench.records([record(shared=512)])
    code, out, _ = bench.verify("--python", bench.compiler())
    assert code == 1 and "the record holds 512 bytes, compiler says 0" in out


def test_sample_and_seed(bench):
    bench.records([record(size=size) for size in SIZES])
    python = bench.compiler()
    seen = []
    for seed in (1, 1, 2):
        bench.log.unlink(missing_ok=True)
        assert bench.verify("--python", python, "--sample", "3", "--seed", seed)[0] == 0
        seen.append(bench.asked())
    assert seen[0] == seen[1] and len(set(seen[0])) == 3 and set(seen[0]) != set(seen[2])


def test_jobs_are_processes(bench):
    bench.records([record(size=size) for size in SIZES])
    python = bench.compiler(f"open({str(bench.folder)!r} + '/pid-' + str(os.getpid()), 'w'); time.sleep(0.2)")
    code, out, _ = bench.verify("--python", python, "-j", "3")
    assert code == 0 and "6 exact" in out and sorted(bench.asked()) == SIZES
    assert len(list(bench.folder.glob("pid-*"))) == 3


def test_the_model_is_of_the_triton_that_answers(bench):
    """Estimates of a Triton that is not modelled are never called exact, so that a wrong one is no broken promise."""
    bench.records([record()])
    python = bench.python(
        "import json, sys\nprint(json.dumps({'triton': '3.5.1'}), flush=True)\nfor _ in sys.stdin: print('{\"shared\": 0}', flush=True)"
    )
    code, out, _ = bench.verify("--python", python, "--report", "report.json")
    assert code == 0 and "against compiler 3.5.1: 0 exact, 0 disagreements" in out
    assert json.loads((bench.folder / "report.json").read_text())["summary"]["by_status"] == {"equal": 1}
    assert "1 exact" in bench.verify("--python", python, "--triton", "3.8")[1]


def test_configs_of_files(bench):
    (bench.folder / "launch.py").write_text(
        "import torch\nimport triton\nfrom kernels import copy\n\n\ndef run(x: torch.Tensor):\n"
        "    x = x.to(torch.float32)\n    copy[(1,)](x, torch.empty_like(x), N=128)\n"
    )
    bench.records([])
    bench.command = lambda *arguments: ["verify", "launch.py", "--no-cache", "-j", "1", *arguments]
    code, out, _ = bench.verify("--python", bench.compiler())
    assert code == 0 and "kernels.py::copy" in out and set(bench.asked()) == {128}


def test_files_that_launch_nothing_pass(bench):
    """As a pre-commit hook it is given what a commit touches."""
    (bench.folder / "other.py").write_text("print('hello')\n")
    bench.command = lambda *arguments: ["verify", "other.py", *arguments]
    code, out, err = bench.verify("--python", "/no/such/python")
    assert (code, out) == (0, "") and err == "smem-lint: nothing to verify: no config was resolved in other.py\n"


@pytest.mark.parametrize("text, said", [("", "holds no record"), ("{]\n", "records.jsonl:1: "), ('{"file": 1}\n', "records.jsonl:1: ")])
def test_records_that_cannot_be_read(bench, text, said):
    bench.records([]).write_text(text)
    code, _, err = bench.verify("--python", bench.compiler())
    assert code == 2 and said in err and err.count("\n") == 1 and bench.asked() == []


LAUNCHES = """

@triton.jit
def mul(a, b, c, K, sa, sb, sc, N: tl.constexpr):
    i, ks = tl.arange(0, 128), tl.arange(0, N)
    pa = a + i[:, None] * sa + ks[None, :]
    pb = b + ks[:, None] * sb + i[None, :]
    acc = tl.zeros((128, 128), tl.float32)
    for _ in range(0, K, N):
        acc = tl.dot(tl.load(pa), tl.load(pb), acc)
        pa += N
        pb += N * sb
    tl.store(c + i[:, None] * sc + i[None, :], acc.to(tl.bfloat16))


def launch(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor):
    a, b, c = a.to(torch.bfloat16), b.to(torch.bfloat16), c.to(torch.bfloat16)
    mul[(1,)](a, b, c, 4096, 4096, 128, 128, N=64, num_warps=8)
    mul[(1,)](a, b, c, 4096, 4096, 128, 128, N=128, num_warps=8)
"""


def test_only_what_findings_rest_on(bench):
    """Two buffers for each operand are 65,536 bytes with N=64 and 131,072 with N=128, which sm_120 does not have (rules/SMEM005)."""
    path = bench.folder / "kernels.py"
    path.write_text("import torch\n" + path.read_text() + LAUNCHES)
    python = bench.compiler()
    for select, sizes in (("SMEM001", [128]), ("SMEM003", [])):
        bench.log.unlink(missing_ok=True)
        assert main(["verify", str(path), "--findings", "--select", select, "--python", python, "--no-cache", "-j1"]) == (1 if sizes else 0)
        assert bench.asked() == sizes
