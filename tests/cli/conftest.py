"""A small project, and an engine that answers at once: a kernel of tile BLOCK and so many stages asks for BLOCK * stages * 1,024 bytes."""

import pytest

from smem_lint.cli import main
from smem_lint.engines import Estimate

KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def kernel(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 0.0)
"""
LAUNCH = """\
import triton; from kernels import kernel


def small(x):
    kernel[(1,)](x, BLOCK=16, num_stages=2)


def large(x):
    kernel[(1,)](x, BLOCK=64, num_stages=2)
"""


class FakeEngine:
    name = "fake"

    def __init__(self):
        self.asked = []

    def estimate(self, specializations):
        wanted = list(specializations)
        self.asked += wanted
        return (Estimate(n := one.constexprs["BLOCK"] * one.num_stages * 1024, n, n, True, "fake") for one in wanted)


@pytest.fixture
def fake(monkeypatch):
    engine = FakeEngine()
    monkeypatch.setattr("smem_lint.cli.linting.engine_of", lambda *_, **__: engine)
    return engine


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text("[tool.smem-lint]\n")
    (tmp_path / "kernels.py").write_text(KERNEL)
    (tmp_path / "launch.py").write_text(LAUNCH)
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "SMEM_LINT_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def lint(project, fake, capsys):
    """Run a command in the project: (exit code, standard output, standard error)."""

    def run(*arguments):
        code = main(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
