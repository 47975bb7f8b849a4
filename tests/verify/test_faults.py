"""What goes wrong while verifying: each fault is told, costs one answer, and ends with exit code 2."""

import sys

import pytest
from verify_bench import needs_dev_full, record


@pytest.mark.parametrize(
    "body, said",
    [
        ("if size == 32: os.kill(os.getpid(), signal.SIGSEGV)", "the compiler crashed (signal 11)"),
        ("if size == 32: sys.exit('LLVM ERROR: out of memory')", "the compiler crashed (exit code 1): LLVM ERROR: out of memory"),
        ("if size == 32: time.sleep(60)", "the compiler took longer than 2 s"),
        ("if size == 32: print('{]', flush=True); time.sleep(60)", "the compiler's process answered nonsense"),
    ],
)
def test_a_fault_costs_one_answer(bench, body, said):
    bench.records([record(size=size) for size in (16, 32, 64)])
    code, out, _ = bench.verify("--python", bench.compiler(body), "--timeout", "2")
    assert code == 2
    assert f"not verified: kernels.py::copy: {said}" in out
    assert "2 exact, 0 disagreements, 0 with another verdict at the limit, 1 not verified" in out
    assert bench.asked() == [16, 32, 64]


def test_a_disagreement_outweighs_a_fault(bench):
    bench.records([record("turn", 64), record(size=32)])
    assert bench.verify("--python", bench.compiler("if size == 32: os.abort()"))[0] == 1


def test_a_kernel_that_cannot_be_read_is_no_fault(bench):
    bench.records([record(), record("missing")])
    code, out, _ = bench.verify("--python", bench.compiler())
    assert code == 0 and "not verified: kernels.py::missing: kernels.py: no function is called missing" in out


def test_nothing_verified_is_no_success(bench):
    bench.records([record("missing")])
    assert bench.verify("--python", bench.compiler())[0] == 2


def test_no_triton(bench):
    """A real interpreter, without the packages of its site."""
    bench.records([record()])
    python = bench.folder / "bare"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    python.chmod(0o755)
    code, out, err = bench.verify("--python", python)
    assert (code, out) == (2, "")
    assert err.startswith(f"smem-lint: error: no Triton to ask in {python} (ModuleNotFoundError: No module named 'triton')")
    assert "pip install smem-lint[compiler]" in err and err.count("\n") == 1


def test_a_triton_that_is_too_old(bench):
    bench.records([record()])
    (bench.folder / "old" / "triton").mkdir(parents=True)
    (bench.folder / "old" / "triton" / "__init__.py").write_text("__version__ = '2.1.0'\n")
    python = bench.folder / "old" / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={bench.folder / "old"} exec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    code, _, err = bench.verify("--python", python)
    assert code == 2 and "Triton 2.1.0 is too old: 3.0 or newer is needed" in err and err.count("\n") == 1


def test_a_triton_whose_passes_are_not_known_compiles_all_the_way(bench):
    """The bytes are those of the short way. By Triton itself."""
    pytest.importorskip("triton", reason="the compiler itself is asked")
    program = """
import sys
del sys.argv[1]
from smem_lint.verify import compile_child
def differs(*_):
    raise compile_child._PassesDiffer
compile_child._to_allocation = differs
compile_child.main()
"""
    bench.records([record("turn", 64)])
    code, out, _ = bench.verify("--python", bench.python(program))
    assert code == 0 and "1 exact" in out


def test_no_memory(bench):
    """The real compiler's process under ``--memory``, for a kernel that takes more than that."""
    pytest.importorskip("triton", reason="the compiler itself is asked")
    program = """
import sys
del sys.argv[1]
from smem_lint.verify import compile_child
compile = compile_child._to_allocation
def greedy(source, *given):
    taken = bytearray(32 << 30) if 32 in source.constants.values() else b""
    return compile(source, *given)
compile_child._to_allocation = greedy
compile_child.main()
"""
    bench.records([record("turn", 64), record("turn", 32), record("turn", 128)])
    code, out, _ = bench.verify("--python", bench.python(program), "--memory", 16 << 30)
    assert code == 2 and "2 exact, 0 disagreements" in out and "1 not verified" in out, out
    assert "not verified: kernels.py::turn: the compiler ran out of memory" in out


def test_the_limit_of_memory_is_set(bench):
    """Address space as Linux limits it: an interpreter that may not have what Triton's library alone takes."""
    pytest.importorskip("triton", reason="the compiler itself is asked")
    bench.records([record("turn", 64)])
    code, _, err = bench.verify("--memory", 64 << 20)
    assert code == 2 and "no Triton to ask" in err and ("emory" in err or "failed to map" in err), err
    assert bench.verify("--memory", 32 << 30)[0] == 0


@needs_dev_full
def test_a_full_disk_for_the_report(bench):
    bench.records([record()])
    code, out, err = bench.verify("--python", bench.compiler(), "--report", "/dev/full")
    assert code == 2 and "1 exact" in out and err == "smem-lint: error: /dev/full: No space left on device\n"


@needs_dev_full
def test_a_full_disk_for_the_answers(bench):
    bench.records([record(size=size) for size in (16, 32)])
    code, out, err = bench.verify("--python", bench.compiler(), "--resume", "/dev/full")
    assert code == 0 and "2 exact" in out
    assert err == "smem-lint: warning: /dev/full: No space left on device; answers are not kept\n"


@needs_dev_full
def test_a_full_disk_for_the_cache(bench, monkeypatch):
    """The cache's every write fails as on a full disk: the run is none the worse."""
    import json

    def full(value, file):
        with open("/dev/full", "w") as device:
            device.write(json.dumps(value))

    monkeypatch.setattr("smem_lint.cache.json.dump", full)
    bench.records([record(size=size) for size in (16, 32)])
    bench.command = lambda *more: ["verify", "records.jsonl", "--root", ".", "-j", "1", "--cache-dir", "kept", *more]
    assert bench.verify("--python", bench.compiler())[0] == 0
    assert bench.verify("--python", bench.compiler())[0] == 0
    assert bench.asked() == [16, 32, 16, 32] and not list((bench.folder / "kept").rglob("*.json"))


def test_a_cache_that_cannot_be_made(bench):
    bench.records([record()])
    (bench.folder / "kept").write_text("a file where the folder should be")
    bench.command = lambda *more: ["verify", "records.jsonl", "--root", ".", "--cache-dir", "kept", *more]
    assert bench.verify("--python", bench.compiler())[0] == 0
