"""The hooks, run by pre-commit on a scratch repository of its own. Needs git, pre-commit and a package index."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KERNELS = """
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    rows, cols, ks = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    pa = a + rows[:, None] * BK + ks[None, :]
    pb = b + ks[:, None] * N + cols[None, :]
    acc = tl.zeros((M, N), tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(pa), tl.load(pb), acc)
        pa += BK * M
        pb += BK * N
    tl.store(c + rows[:, None] * N + cols[None, :], acc.to(tl.bfloat16))
"""
LAUNCH = """
import torch
import triton

from kernels import matmul


def launch(a, b):
    a, b = a.to(torch.bfloat16), b.to(torch.bfloat16)
    c = torch.empty((128, 128), device=a.device, dtype=torch.bfloat16)
    matmul[(1,)](a, b, c, 4096, M=128, N=128, BK=128, num_stages={stages})
"""


def hooks():
    yaml = pytest.importorskip("yaml", reason="the hook file is YAML")
    return {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}


def test_the_hook_file():
    found = hooks()
    assert list(found) == ["smem-lint", "smem-lint-verify"]
    for hook in found.values():
        assert hook["language"] == "python" and hook["types"] == ["python"] and hook["require_serial"] is True
    assert "stages" not in found["smem-lint"] and found["smem-lint-verify"]["stages"] == ["manual"]
    assert found["smem-lint-verify"]["additional_dependencies"] == ["triton>=3.5,<3.10"]


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A git repository whose two files both hold what a hook must see, with the environment to run pre-commit in."""
    if os.environ.get("SMEM_LINT_TEST_PRE_COMMIT") == "0":
        pytest.skip("SMEM_LINT_TEST_PRE_COMMIT=0")
    if shutil.which("git") is None:
        pytest.skip("no git")
    pytest.importorskip("pre_commit", reason="pre-commit itself is run")
    place = tmp_path_factory.mktemp("index")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "-q", "-d", str(place), "hatchling"]
    if subprocess.run(command, capture_output=True, timeout=120).returncode:
        pytest.skip("pre-commit installs the hook from a package index, and none can be reached")
    folder = tmp_path_factory.mktemp("repository")
    environment = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path_factory.mktemp("home")), "GIT_CONFIG_GLOBAL": os.devnull}
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "FORCE_COLOR"):
        environment.pop(name, None)
    for command in (["init", "-q"], ["config", "user.email", "a@b.c"], ["config", "user.name", "a"]):
        subprocess.run(["git", *command], cwd=folder, check=True, env=environment)
    (folder / "kernels.py").write_text(KERNELS)
    (folder / "launch.py").write_text(LAUNCH.format(stages=2))
    subprocess.run(["git", "add", "."], cwd=folder, check=True, env=environment)
    subprocess.run(["git", "commit", "-q", "-m", "first"], cwd=folder, check=True, env=environment)
    return folder, environment


def try_repo(repository, hook, *arguments):
    folder, environment = repository
    command = [sys.executable, "-m", "pre_commit", "try-repo", str(ROOT), hook, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout + done.stderr


def test_a_commit(repository):
    """The kernel lies in a file that did not change and is not passed to the hook."""
    folder, environment = repository
    (folder / "launch.py").write_text(LAUNCH.format(stages=3))
    subprocess.run(["git", "add", "."], cwd=folder, check=True, env=environment)
    code, out = try_repo(repository, "smem-lint")
    assert code == 1 and "launch.py:11:5: SMEM001 matmul asks for 131,072 bytes" in out, out
    assert "kernels.py:" not in out.replace("(kernels.py:", "")
    (folder / "launch.py").write_text(LAUNCH.format(stages=2))
    subprocess.run(["git", "add", "."], cwd=folder, check=True, env=environment)
    code, out = try_repo(repository, "smem-lint", "--all-files")
    assert code == 0 and "Passed" in out, out


def test_the_hook_that_compiles(repository):
    """It installs Triton into its own environment and compiles what the changed file launches."""
    folder, environment = repository
    pytest.importorskip("triton", reason="the hook's Triton is that of the tests: what pip cannot install here, it cannot install there")
    (folder / "launch.py").write_text(LAUNCH.format(stages=3))
    subprocess.run(["git", "add", "."], cwd=folder, check=True, env=environment)
    code, out = try_repo(repository, "smem-lint-verify", "--hook-stage", "manual", "--verbose")
    assert code == 0 and "Passed" in out, out
    assert "1 specializations of 1 kernels against compiler" in out and "0 disagreements" in out and "0 not verified" in out, out
