"""``smem-lint record``: what a program launches, with no GPU; what becomes of its processes, its exit code and a full disk.

The records of a program with a stand-in are what Triton's own launcher makes of its arguments (``triton==3.8.0``, by
``smem-lint record --no-gpu -- program.py``); each is held against the compiler by ``benchmarks/record_libraries.py`` in number.
"""

import json
import subprocess
import sys
import textwrap
import time

import pytest
from verify_bench import needs_dev_full

from smem_lint.cli import main

pytest.importorskip("triton", reason="Triton's own launcher is recorded")
pytest.importorskip("torch", reason="Triton's launcher takes torch's tensors")

KERNELS = """
import torch, triton, triton.language as tl

@triton.autotune(
    [triton.Config({"B": b}, num_stages=s) for b in (64, 128) for s in (2, 3)], key=["n"],
    prune_configs_by={"early_config_prune": lambda configs, named, **more: configs[:2]},
)
@triton.jit
def tuned(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, i < n), i < n)

@triton.jit
def plain(x, n, D: tl.constexpr, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), tl.full((B,), 1, D))
"""
KILLED = "main(); import os; os.kill(os.getpid(), 9)"
COMMAND = [sys.executable, "-c", "import sys; from smem_lint.cli import main; sys.exit(main())"]
PROGRAM = """
import sys
from pkg.kernels import *

def main(device="cuda"):
    x = torch.empty(1000, device=device)
    y = torch.empty_like(x)
    tuned[lambda given: (triton.cdiv(1000, given["B"]),)](x, y, 1000)
    for _ in range(3):
        plain[(1,)](x[1:].half(), 16, tl.float16, B=16, num_warps=8)
"""


@pytest.fixture
def place(tmp_path, monkeypatch, capfd):
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").touch()
    (tmp_path / "pkg" / "kernels.py").write_text(KERNELS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delenv("SMEM_LINT_DEBUG", raising=False)

    def record(program, *options, arguments=(), output="launches.jsonl"):
        """(exit code, records, what was said)."""
        (tmp_path / "program.py").write_text(PROGRAM + textwrap.dedent(program))
        code = main(["record", "--output", output, *options, "--", "program.py", *arguments])
        lines = (tmp_path / output).read_text().splitlines() if not output.startswith("/dev") else []
        return code, [json.loads(line) for line in lines], capfd.readouterr().err

    return record


def test_what_is_launched(place, tmp_path):
    code, records, said = place("main()", "--no-gpu")
    assert code == 0 and "5 records of 2 kernels by Triton 3." in said and ", 0 errors, 1 processes: launches.jsonl" in said
    first, last = records[0], records[-1]
    assert {name: first[name] for name in ("file", "kernel", "signature", "constexprs", "attrs", "target", "launch", "root")} == {
        "file": "pkg/kernels.py", "kernel": "tuned", "signature": {"x": "*fp32", "y": "*fp32", "n": "i32", "B": "constexpr"},
        "constexprs": {"B": 64}, "attrs": {"x": {"tt.divisibility": 16}, "y": {"tt.divisibility": 16}}, "target": "cuda:120",
        "launch": "program.py:8", "root": str(tmp_path),
    }  # fmt: skip
    assert [(one["constexprs"]["B"], one["num_stages"], one["autotune"]) for one in records[:4]] == [
        (size, stages, {"index": index, "of": 4, "kept": index < 2, "names": ["B"]})
        for index, (size, stages) in enumerate([(64, 2), (64, 3), (128, 2), (128, 3)])
    ]
    assert last["constexprs"] == {"D": {"dtype": "fp16"}, "B": 16} and last["num_warps"] == 8
    assert last["attrs"] == {"x": {"tt.divisibility": 16}, "n": {"tt.divisibility": 16}} and "autotune" not in last


def test_the_target_that_is_stood_in_for(place):
    program = """
    found = torch.cuda.get_device_properties(0)
    assert torch.cuda.is_available() and torch.cuda.get_device_capability() == (found.major, found.minor) == (9, 0)
    assert found.shared_memory_per_block_optin == 232448
    assert triton.runtime.driver.active.get_current_target().arch == 90
    assert triton.runtime.driver.active.utils.get_device_properties(0)["max_shared_mem"] == 232448
    x = torch.ones(4, device="cuda:0").cuda().to("cuda", torch.float16)
    assert x.is_cuda and x.device == torch.device("cuda", 0) and torch.zeros(2, device=x.device).sum().item() == 0
    main(torch.device("cuda"))
    """
    code, records, _ = place(program, "--no-gpu", "--target", "H100")
    assert code == 0 and {one["target"] for one in records} == {"cuda:90"}


@pytest.mark.parametrize("program, expected", [("main(); sys.exit(7)", 7), ("main(); raise ValueError", 1), (KILLED, 137)])
def test_the_programs_own_exit_code(place, program, expected):
    code, records, said = place(program, "--no-gpu")
    assert code == expected and len(records) == 5 and f"the program ended with exit code {expected}" in said


def test_its_processes_too(place):
    """Forked and spawned ones and plain children write to the same file; what is twice there is there once."""
    program = """
    import multiprocessing, os, subprocess
    if __name__ == "__main__":
        main()
        for method in ("fork", "spawn"):
            child = multiprocessing.get_context(method).Process(target=main)
            child.start(); child.join(); assert child.exitcode == 0
        text = "from program import *; plain[(1,)](torch.empty(9, device='cuda'), 3, tl.float32, B=32)"
        subprocess.run([sys.executable, "-c", text], check=True)
    """
    code, records, said = place(program, "--no-gpu")
    assert code == 0 and len(records) == 6 and records[-1]["constexprs"] == {"D": {"dtype": "fp32"}, "B": 32}
    assert " 0 errors, 3 processes" in said


def test_tests_of_pytest(place, tmp_path):
    (tmp_path / "test_it.py").write_text("from program import main\n\ndef test_one():\n    main()\n")
    place("", "--no-gpu")
    command = [
        "record",
        "--no-gpu",
        "--output",
        "o.jsonl",
        "--",
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "test_it.py",
    ]
    assert main(command) == 0
    records = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    assert len(records) == 5 and {one["case"] for one in records} == {"test_it.py::test_one"}


def test_what_cannot_be_recorded_is_counted(place):
    program = """
    @triton.jit
    def pair(x, two):
        tl.store(x, two[0] + two[1])
    sizes, prune = [triton.Config({"B": 16}), triton.Config({"B": 32})], {"early_config_prune": lambda *_, **__: 1 / 0}
    @triton.autotune(sizes, key=[], prune_configs_by=prune)
    @triton.jit
    def unlucky(x, B: tl.constexpr):
        tl.store(x, B)
    x = torch.empty(16, device="cuda")
    pair[(1,)](x, (1, 2))
    pair[(1,)](x, (1, 2))
    unlucky[(1,)](x)
    """
    code, records, said = place(program, "--no-gpu")
    assert code == 0 and [one["autotune"]["kept"] for one in records] == [True, True]
    assert "not recorded: pair: it takes a tuple (2 times)" in said
    assert "not recorded: unlucky: its pruning failed: ZeroDivisionError: division by zero" in said and "3 errors" in said


def test_a_program_without_triton(place, tmp_path):
    (tmp_path / "other.py").write_text("print('hello')\n")
    assert main(["record", "--no-gpu", "--", "other.py"]) == 0
    assert (tmp_path / "launches.jsonl").read_text() == ""


def test_a_site_customisation_of_its_own_still_runs(place, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import os; os.environ['CUSTOM'] = '1'\n")
    code, records, _ = place("import os; assert os.environ['CUSTOM'] == '1'; main()", "--no-gpu")
    assert code == 0 and len(records) == 5


@needs_dev_full
def test_a_full_disk(place):
    code, _, said = place("main(); print('ends well')", "--no-gpu", output="/dev/full")
    assert code == 2 and "No space left on device" in said


def test_a_process_that_dies_in_the_middle_of_a_line(place, tmp_path):
    program = "main(); open('launches.jsonl', 'a').write('{\"file\": \"pkg/ker')"
    code, records, _ = place(program, "--no-gpu")
    assert code == 0 and len(records) == 5


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["record"], "which program?"), (["record", "--no-gpu", "--target", "all", "--", "x"], "one device"),
        (["record", "--no-gpu", "--target", "sm_1", "--", "x"], "sm_1"), (["record", "--", "./no-such"], "cannot start ./no-such"),
        (["record", "--output", "/no/such/folder/x.jsonl", "--", "true"], "/no/such/folder/x.jsonl: No such file or directory"),
        (["record", "--root", "nowhere", "--", "true"], "nowhere: no such file or folder"),
    ],
)  # fmt: skip
def test_bad_input(place, capfd, arguments, said):
    assert main(arguments) == 2
    err = capfd.readouterr().err
    assert said in err.splitlines()[-1]


def test_a_request_to_end_is_passed_on(place, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM + "main()\nopen('ready', 'w')\nimport time; time.sleep(60)\n")
    command = [
        sys.executable,
        "-c",
        "import sys; from smem_lint.cli import main; sys.exit(main())",
        "record",
        "--no-gpu",
        "--",
        "program.py",
    ]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while not (tmp_path / "ready").exists() and time.monotonic() < end:
        time.sleep(0.05)
    process.terminate()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 143 and "5 records of 2 kernels" in err


def test_what_was_recorded_is_accepted_by_the_compiler(place, capfd):
    place("main()", "--no-gpu")
    assert main(["verify", "launches.jsonl", "--engine", "compiler", "--no-cache", "-j", "1"]) == 0
    assert "5 specializations of 2 kernels" in capfd.readouterr().out


DRIVER = """
import sys
sys.path.insert(0, {recorder!r})
from smem_lint_stand_in import Driver

launched = []

class Real(Driver):
    def __init__(self):
        super().__init__({{"capability": 120, "optin": 101376, "per_sm": 102400, "name": "a GPU"}})
        self.utils.load_binary = lambda *_: (0, 1, 32, 0, 1024)
        self.launcher_cls = lambda *_, **__: lambda *given: launched.append(given)

    def get_benchmarker(self):
        def bench(call, quantiles):
            call()
            return [1.0, 1.0, 1.0]
        return bench

triton.runtime.driver.set_active(Real())
main("cpu"); main("cpu")
print(len(launched), tuned.best_config, file=sys.stderr)
"""


def test_on_a_gpu_the_program_runs_as_it_would(place, capfd):
    """A driver of the program's own stands for the GPU; Triton compiles. Two kept configs are timed, one is launched twice."""
    from smem_lint.verify import recording

    recorder = str(recording.__file__).replace("recording.py", "recorder")
    code, records, said = place(DRIVER.format(recorder=recorder))
    assert code == 0 and "10 B: 64, num_warps: 4, num_ctas: 1, num_stages: 2" in said
    assert "5 records of 2 kernels" in said and ", 0 errors" in said
    assert [one["autotune"]["kept"] for one in records[:4]] == [True, True, False, False] and records[4]["kernel"] == "plain"
