"""The compiler engine's child process, played by small programs: what each way of failing is told as. Needs no Triton."""

import stat
import sys
from pathlib import Path

import pytest

from smem_lint.specialization import Specialization
from smem_lint.verify.compiler import CompilerEngine, CompilerUnavailable, Limits

KERNEL = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(x):\n    tl.store(x, 0)\n"
ONE = Specialization("kernels.py", "kernel", {"x": "*fp32"})
HELLO = "import json, os, signal, sys, time\nprint(json.dumps({'triton': '9.9'}), flush=True)\n"


def engine(folder: Path, program: str, **limits) -> CompilerEngine:
    """An engine whose interpreter is a program of the test's own."""
    (folder / "kernels.py").write_text(KERNEL)
    (folder / "child.py").write_text(program)
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} {folder / "child.py"} "$@"\n')
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    return CompilerEngine([folder], python=str(python), jobs=1, limits=Limits(**limits))


@pytest.mark.parametrize(
    "body, error",
    [
        ("for _ in sys.stdin: print(json.dumps({'shared': 512}), flush=True)", None),
        ("for _ in sys.stdin: os.kill(os.getpid(), signal.SIGSEGV)", "the compiler crashed (signal 11): no message"),
        ("for _ in sys.stdin: sys.exit('LLVM ERROR: out of room')", "the compiler crashed (exit code 1): LLVM ERROR: out of room"),
        ("for _ in sys.stdin: time.sleep(30)", "the compiler took longer than 0.5 s"),
        ("for _ in sys.stdin: print(json.dumps({'error': 'no'}), flush=True)", "no"),
        ("for _ in sys.stdin: print('{]', flush=True); time.sleep(30)", "the compiler's process answered nonsense"),
        ("sys.exit(3)", "the compiler"),
    ],
)
def test_ways_to_fail(tmp_path, body, error):
    (answer,) = engine(tmp_path, HELLO + body, seconds=0.5).estimate([ONE])
    if error is None:
        assert answer.bytes == 512 and answer.exact
    else:
        assert answer.bytes is None and answer.error.startswith(error), answer.error


def test_a_failed_pass_is_told_with_the_compilers_own_words(tmp_path):
    body = """
for _ in sys.stdin:
    print("kernels.py:7:0: error: operation is odd", file=sys.stderr, flush=True)
    print("kernels.py:7:0: note: Pipeline failed", file=sys.stderr, flush=True)
    print(json.dumps({"error": "RuntimeError: PassManager::run failed"}), flush=True)
"""
    (answer,) = engine(tmp_path, HELLO + body).estimate([ONE])
    assert answer.error == "RuntimeError: PassManager::run failed: kernels.py:7:0: error: operation is odd"


def test_a_dead_child_is_replaced(tmp_path):
    body = f"""
for _ in sys.stdin:
    mark = {str(tmp_path / "mark")!r}
    if os.path.exists(mark):
        print(json.dumps({{"shared": 128}}), flush=True)
    else:
        open(mark, "w").close()
        os.abort()
"""
    first, second = engine(tmp_path, HELLO + body).estimate([ONE, Specialization("kernels.py", "kernel", {"x": "*fp16"})])
    assert first.error.startswith("the compiler crashed (signal 6)")
    assert second.bytes == 128


@pytest.mark.parametrize(
    "program, said",
    [
        (
            "import json; print(json.dumps({'triton': None, 'error': 'ModuleNotFoundError: No module named triton'}))",
            "No module named triton",
        ),
        ("print('hello')", "answered nonsense"),
        ("import sys; sys.exit('cannot start')", "cannot start"),
    ],
)
def test_no_compiler_to_ask(tmp_path, program, said):
    with pytest.raises(CompilerUnavailable, match=said) as caught:
        engine(tmp_path, program).version  # noqa: B018
    assert "pip install smem-lint[compiler]" in str(caught.value)


def test_no_such_interpreter(tmp_path):
    with pytest.raises(CompilerUnavailable, match="cannot start /no/such/python: No such file or directory"):
        CompilerEngine([tmp_path], python="/no/such/python").version  # noqa: B018


def test_nothing_to_do_starts_nothing(tmp_path):
    assert list(CompilerEngine([tmp_path], python="/no/such/python").estimate([])) == []


def test_progress_is_told(tmp_path):
    told = []
    one = engine(tmp_path, HELLO + "for _ in sys.stdin: print(json.dumps({'shared': 0}), flush=True)")
    one.progress = lambda done, total: told.append((done, total))
    list(one.estimate([ONE, Specialization("kernels.py", "nothing", {"x": "*fp32"})]))
    assert told == [(1, 2), (2, 2)]
