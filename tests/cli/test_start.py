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


def test_a_reader_that_goes_away_is_no_error():
    command = f"{sys.executable} -m smem_lint devices --output-format json | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("[\n", "")
