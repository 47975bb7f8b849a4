"""Files of a small project, and ``check`` run on them by the model."""

import importlib.util
from pathlib import Path

import pytest

from smem_lint.cli import main

_spec = importlib.util.spec_from_file_location("model_conftest", Path(__file__).parents[1] / "model" / "conftest.py")
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
library_root = _module.library_root

GEMM = '''\
import torch
import triton
import triton.language as tl
{above}

{decorator}@triton.jit
def matmul(a, b, c, K, sa, sb, sc, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    rows, cols, ks = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    pa = a + rows[:, None] * sa + ks[None, :]
    pb = b + ks[:, None] * sb + cols[None, :]
    acc = tl.zeros((M, N), tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(pa), tl.load(pb), acc)
        pa += BK
        pb += BK * sb
    tl.store(c + rows[:, None] * sc + cols[None, :], acc.to(tl.bfloat16))


def launch(a: torch.Tensor, b: torch.Tensor):
    a, b = a.to(torch.bfloat16), b.to(torch.bfloat16)
    c = torch.empty((128, 128), device=a.device, dtype=torch.bfloat16)
{launch}
'''


def gemm(launch, decorator="", above=""):
    """A matrix product of 128 x 128 tiles: a stage of BK elements takes 512 * BK bytes, and one less than num_stages are staged."""
    lines = "\n".join(f"    {line}" if line else "" for line in launch.splitlines())
    return GEMM.format(launch=lines, decorator=decorator, above=above)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run ``check`` in a project: (exit code, standard output, standard error)."""
    (tmp_path / "pyproject.toml").write_text("[tool.smem-lint]\n")
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        code = main(["check", "--engine", "model", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def fixed(run, tmp_path):
    """Fix a source text: the new text, after checking what holds of every fix."""

    def fixed(source, *arguments):
        path = tmp_path / "kernels.py"
        path.write_text(source)
        code, out, _ = run(path.name, "--diff", *arguments)
        assert path.read_text() == source, "--diff writes nothing"
        assert code == bool(out)
        run(path.name, "--fix", *arguments)
        text = path.read_text()
        assert (text != source) == bool(out), "--diff shows what --fix does"
        compile(text, "kernels.py", "exec")
        assert run(path.name, "--diff", *arguments)[:2] == (0, ""), "a second run finds nothing to fix"
        return text

    return fixed
