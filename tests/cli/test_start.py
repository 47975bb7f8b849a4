"""What a start costs: ``--version`` and ``--help`` load nothing heavy, and a check of files without kernels no model."""

import subprocess
import sys

import pytest

from smem_lint import __version__

HEAVY = ("libcst", "networkx", "numpy", "torch", "triton", "tomllib", "smem_lint.config", "smem_lint.source", "smem_lint.tile")


def python(code, *arguments):
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_nothing_heavy_is_loaded(option):
    code = f"""
import sys
from smem_lint.cli import main
try:
    main([{option!r}])
except SystemExit as ended:
    assert ended.code == 0
print([name for name in {HEAVY!r} if name in sys.modules])
"""
    returncode, out, err = python(code)
    assert (returncode, err) == (0, "")
    assert out.splitlines()[-1] == "[]"
    if option == "--version":
        assert out.splitlines()[0] == f"smem-lint {__version__}"


def test_it_can_be_run_as_a_module():
    done = subprocess.run([sys.executable, "-m", "smem_lint", "--version"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, f"smem-lint {__version__}\n")


def test_the_library_loads_its_parts_when_they_are_asked_for():
    code = "import sys, smem_lint; print([n for n in ('libcst', 'networkx', 'smem_lint.api', 'smem_lint.pruning') if n in sys.modules])"
    assert python(code) == (0, "[]\n", "")


def test_paths_and_values_may_stand_behind_options():
    from smem_lint.cli.arguments import parsed

    values = parsed(["explain", "a.py::k", "num_stages=1", "--plot", "x.svg", "BLOCK_N=16,32", "--target", "sm_90", "K=*bf16"]).values
    assert values == ["num_stages=1", "BLOCK_N=16,32", "K=*bf16"]
    assert parsed(["check", "a.py", "--select", "SMEM001", "b.py"]).paths == ["a.py", "b.py"]
    assert parsed(["check", "--select", "SMEM001", "b.py"]).paths == ["b.py"]


@pytest.mark.parametrize("command", [["check", "a.py", "--bogus", "b.py"], ["env", "a.py"]])
def test_what_is_no_argument_is_refused(command, capsys):
    from smem_lint.cli.arguments import parsed

    with pytest.raises(SystemExit, match="2"):
        parsed(command)
    unknown = next(one for one in command[1:] if one.startswith("--") or command[0] == "env")
    assert capsys.readouterr().err == f"smem-lint: error: unrecognized arguments: {unknown}; see `smem-lint --help`\n"


def test_a_reader_that_goes_away_is_no_error():
    command = f"{sys.executable} -m smem_lint devices --output-format json | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("[\n", "")
