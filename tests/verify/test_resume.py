"""An interrupted run goes on where it stopped: nothing is asked twice."""

import json
import os
import signal
import time

import pytest
from verify_bench import record

from smem_lint.verify.answers import Answers

SIZES = [16 << power for power in range(8)]


def wait_until(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_killed_in_the_middle(bench, number):
    bench.records([record(size=size) for size in SIZES])
    python = bench.compiler("time.sleep(0.3)")
    process = bench.start("--python", python, "--resume", "answers.jsonl", cwd=bench.folder)
    answers = bench.folder / "answers.jsonl"
    wait_until(lambda: answers.exists() and answers.read_bytes().count(b"\n") >= 3)
    os.kill(process.pid, number)
    process.communicate(timeout=60)
    assert process.returncode in (-signal.SIGKILL, 2)
    kept = answers.read_bytes().count(b"\n")
    assert 3 <= kept < len(SIZES)
    done = bench.asked()[:kept]
    bench.log.unlink()
    code, out, _ = bench.verify("--python", bench.compiler(), "--resume", answers)
    assert code == 0 and f"{len(SIZES)} exact" in out
    assert bench.asked() == [size for size in SIZES if size not in done]
    bench.log.unlink()
    assert bench.verify("--python", bench.compiler(), "--resume", answers)[0] == 0
    assert bench.asked() == []


def test_a_line_that_was_cut_short_is_asked_again(bench):
    bench.records([record(size=size) for size in SIZES])
    python, answers = bench.compiler(), bench.folder / "answers.jsonl"
    bench.verify("--python", python, "--resume", answers)
    whole = answers.read_bytes()
    lines = whole.splitlines(keepends=True)
    answers.write_bytes(b"".join(lines[:5]) + lines[5][:40])
    bench.log.unlink()
    code, out, _ = bench.verify("--python", python, "--resume", answers)
    assert code == 0 and f"{len(SIZES)} exact" in out and bench.asked() == SIZES[5:]
    bench.log.unlink()
    assert bench.verify("--python", python, "--resume", answers)[0] == 0 and bench.asked() == []
    known = [json.loads(line) for line in answers.read_text().splitlines() if line.endswith("}")]
    assert len({one["key"] for one in known}) == len(known) == len(SIZES)


def test_a_fault_is_asked_again(bench):
    bench.records([record(size=size) for size in (16, 32)])
    answers = bench.folder / "answers.jsonl"
    assert bench.verify("--python", bench.compiler("if size == 32: os.abort()"), "--resume", answers)[0] == 2
    bench.log.unlink()
    assert bench.verify("--python", bench.compiler(), "--resume", answers)[0] == 0
    assert bench.asked() == [32]


def test_a_kernel_that_changed_is_asked_again(bench):
    bench.records([record()])
    answers = bench.folder / "answers.jsonl"
    bench.verify("--python", bench.compiler(), "--resume", answers)
    source = bench.folder / "kernels.py"
    source.write_text(source.read_text().replace("tl.load(x + i)", "tl.load(x + i) + 1"))
    bench.verify("--python", bench.compiler(), "--resume", answers)
    assert bench.asked() == [64, 64]


@pytest.mark.parametrize("line", [b"", b"{}\n", b"[1]\n", b"null\n", b'{"key": 1}\n', b'{"key": "a", "answer": 3}\n', b"\xff\xfe\n"])
def test_lines_that_are_no_answers(tmp_path, line):
    path = tmp_path / "answers.jsonl"
    path.write_bytes(line + b'{"key": "b", "answer": {"shared": 1}}\n')
    answers = Answers(path)
    assert len(answers) == 1 and answers.get("b") == {"shared": 1} and answers.problem is None
