"""Bad input to every command: one clear line, exit code 2, never a traceback."""

import os

import pytest

from smem_lint.cli import main
from smem_lint.cli.linting import Lint

TRITON = "import triton\nimport triton.language as tl\n"


@pytest.fixture
def run(project, fake, capsys):
    def run(*arguments):
        try:
            code = main(list(arguments))
        except SystemExit as ended:
            code = ended.code
        captured = capsys.readouterr()
        assert "Traceback" not in captured.out + captured.err
        return code, captured.out, captured.err

    return run


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "nowhere"], ["check", "launch.py", "nowhere"], ["configs", "nowhere"], ["estimate", "nowhere"], ["config", "nowhere"],
        ["baseline", "nowhere"], ["estimate", "records.jsonl", "--root", "nowhere"], ["check", "--records", "nowhere"],
    ],
)  # fmt: skip
def test_a_path_that_is_not_there(run, project, arguments):
    (project / "records.jsonl").write_text("")
    code, out, err = run(*arguments)
    assert (
        (code, out) == (2, "")
        and "nowhere: " in err
        and err.lower().rstrip().endswith(("no such file or folder", "no such file or directory"))
    )
    assert err.startswith("smem-lint: error: ") and err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["check", "--target", "sm_999"], "unknown target 'sm_999'"),
        (["check", "--target", "RTX PRO 600"], "did you mean RTX PRO 6000"),
        (["configs", "--target", ","], "no target was named"),
        (["check", "--select", "SMEM999"], "no rule is called 'SMEM999'"),
        (["check", "--ignore", "nothing"], "no rule is called 'nothing'"),
        (["check", "--profile", "nope"], "profile: no profile 'nope'; there are generic"),
        (["check", "--assume", "BLOCK"], "--assume 'BLOCK': expected NAME=VALUE"),
        (["check", "--config", "kernels.py"], "kernels.py: not TOML"),
        (["check", "--config", "nowhere.toml"], "nowhere.toml: No such file or directory"),
        (["check", "--baseline", "nowhere"], "nowhere: No such file or directory"),
        (["check", "--baseline", "kernels.py"], "kernels.py: not a baseline"),
        (["check", "--output-file", "/nowhere/x"], "/nowhere/x: No such file or directory"),
        (["check", "--output-format", "xml"], "invalid choice: 'xml'"),
        (["check", "--engine", "magic"], "invalid choice: 'magic'"),
        (["check", "--jobs", "many"], "invalid int value: 'many'"),
        (["check", "-j", "-3"], "jobs: expected a whole number, got -3"),
        (["check", "--bogus"], "unrecognized arguments: --bogus"),
        (["check", "."], "no Python file there"),
        (["rule", "SMEM999"], "no rule is called 'SMEM999'; `smem-lint rule` lists them"),
        (["devices", "--output-format", "xml"], "invalid choice: 'xml'"),
        (["bogus"], "invalid choice: 'bogus'"),
        (["estimate"], "the following arguments are required: RECORDS.jsonl"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_used(run, project, arguments, said):
    if arguments == ["check", "."]:
        (project / "kernels.py").unlink()
        (project / "launch.py").unlink()
        (project / "notes.txt").write_text("nothing")
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("smem-lint: error: ") and said in err and err.count("\n") == 1


@pytest.mark.parametrize("arguments", [["check"], ["configs"], ["config"], ["rule"], ["baseline"], ["estimate", "r.jsonl"]])
@pytest.mark.parametrize(
    "text, said",
    [
        ("[tool.smem-lint]\ntargets = 'x'\n", "unknown setting 'targets'; did you mean 'target'?"),
        ("[tool.smem-lint]\njobs = 'x'\n", "jobs: expected a whole number, got 'x'"),
    ],
)
def test_a_bad_configuration_file(run, project, arguments, text, said):
    (project / "pyproject.toml").write_text(text)
    (project / "r.jsonl").write_text("")
    code, out, err = run(*arguments)
    assert (code, out) == (2, "") and said in err and "pyproject.toml: " in err and err.count("\n") == 1


@pytest.mark.parametrize("command", ["check", "configs"])
@pytest.mark.parametrize(
    "content, said",
    [
        (TRITON.encode() + b"def f(:\n  kernel[(1,)](x)\n", "not valid Python"),
        (TRITON.encode() + b"kernel[(1,)](x)\x00", "binary"),
        (b"\x89PNG triton\x00\xff", "binary"),
        (TRITON.encode() + b"x = '\xff'\nkernel[(1,)](x)\n", "not valid Python"),
        (TRITON.encode() + b"x = " + b"(" * 3000 + b")" * 3000 + b"\nkernel[(1,)](x)", "nested"),
        (TRITON.encode() + b"x = 1\n" * 2_000_000, "too large"),
        (TRITON.encode() + b"x = " + b" and ".join([b"a"] * 20_000) + b"\nkernel[(1,)](x)", ""),
        (TRITON.encode() + b"x = a" + b".b" * 20_000 + b"\nkernel[(1,)](x)", ""),
        (b"", None),
        (b"import triton\n", None),
    ],
    ids=["syntax", "null byte", "image", "latin", "nested", "huge", "and", "attributes", "empty", "nothing"],
)
def test_a_file_that_is_no_program(run, project, command, content, said):
    (project / "odd.py").write_bytes(content)
    code, out, err = run(command, "odd.py")
    told = out if command == "check" else err
    if said is None:
        assert code == 0 and "odd.py" not in told
    elif said:
        assert code == (2 if command == "check" else 0)
        assert [line for line in told.splitlines() if line.startswith("odd.py:") and said in line]
    else:
        assert code in (0, 2)


def test_one_broken_file_does_not_end_the_run(run, project):
    (project / "odd.py").write_text(TRITON + "def f(:\n  kernel[(1,)](x)\n")
    os.symlink("nowhere.py", project / "dangling.py")
    code, out, _ = run("check", "--output-format", "concise")
    assert code == 1
    assert (
        "launch.py:9:5: SMEM001" in out and "odd.py:3:1: problem not valid Python" in out and "dangling.py:1:1: problem no such file" in out
    )
    assert out.splitlines()[-1].endswith("2 files could not be read whole.")


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        "3",
        '{"file": "a.py"}',
        '{"file": 3, "kernel": "k", "signature": {}}',
        '{"file": "a.py", "kernel": "k", "signature": {}, "target": "hip:90"}',
        "[" * 5000,
    ],
)
def test_bad_records(run, project, line):
    (project / "r.jsonl").write_text(line + "\n")
    code, out, err = run("estimate", "r.jsonl", "--engine", "model")
    assert code == 2 and err.startswith("smem-lint: r.jsonl:1: ") and err.count("\n") == 1
    assert '"bytes": null' in out and out.count("\n") == 1
    code, out, err = run("check", "--records", "r.jsonl")
    assert (code, out) == (2, "") and err.startswith("smem-lint: error: r.jsonl:1: ") and err.count("\n") == 1


def test_a_rule_that_asks_for_what_there_is_not(run, project):
    (project / "mine.toml").write_text(
        'id = "MINE1"\nname = "m"\nseverity = "error"\nscope = "config"\nsince = "1"\n'
        'when = "byte > 1"\nmessage = "x"\nwhat = "x"\nwhy = "y"\n'
    )
    (project / "pyproject.toml").write_text('[tool.smem-lint]\nrules = ["mine.toml"]\n')
    assert run("check") == (2, "", "smem-lint: error: a rule cannot be applied: no fact is called 'byte' in 'byte > 1'\n")


def test_what_nobody_foresaw_is_told_in_one_line(run, monkeypatch):
    def explode(*_):
        raise ZeroDivisionError("a\nb")

    monkeypatch.setattr("smem_lint.cli.linting.python_files", explode)
    code, _, err = run("check")
    assert code == 2 and err == "smem-lint: internal error: ZeroDivisionError: a b (SMEM_LINT_DEBUG=1 shows where)\n"
    monkeypatch.setenv("SMEM_LINT_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        run("check")


def test_a_defect_of_ours_costs_one_file(run, project, monkeypatch):
    """The overflow in the other file is still told, and the run fails."""
    (project / "odd.py").write_text("import triton\n")
    part = Lint.part

    def explode(lint, files):
        if any(file.name == "odd.py" for file in files):
            raise KeyError("stride")
        return part(lint, files)

    monkeypatch.setattr(Lint, "part", explode)
    code, out, err = run("check")
    assert code == 2 and "SMEM001" in out
    assert [line for line in (out + err).splitlines() if "odd.py" in line] == [
        "odd.py:1:1: problem internal error: KeyError: 'stride' (SMEM_LINT_DEBUG=1 shows where); please report this file"
    ]
    monkeypatch.setenv("SMEM_LINT_DEBUG", "1")
    with pytest.raises(KeyError):
        run("check")


def test_without_a_command(run):
    code, out, _ = run()
    assert code == 2 and out.startswith("usage: smem-lint")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file(run, project):
    (project / "launch.py").chmod(0)
    code, _, err = run("check", "launch.py")
    assert code == 2 and err == "smem-lint: error: launch.py: cannot be read\n"


@pytest.mark.parametrize("command", [["check", "."], ["explain", "launch.py:1"]])
def test_no_gpu_answers(run, project, monkeypatch, command):
    from smem_lint.verify import gpu

    monkeypatch.setattr(gpu.GpuEngine, "_ask", lambda self, question: {"error": "ModuleNotFoundError: No module named 'torch'"})
    code, out, err = run(*command, "--engine", "gpu")
    assert (code, out) == (2, "") and err == "smem-lint: error: no GPU answers: ModuleNotFoundError: No module named 'torch'\n"
