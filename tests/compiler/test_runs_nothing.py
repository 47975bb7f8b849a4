"""Checking runs none of the linted code: a repository full of traps, checked under an audit hook.

Every trap writes a file ``trapped-…`` when it runs. The hook, in the checking process, also refuses to compile or execute anything
that lies in the repository, to start a shell, and to open a socket.
"""

import json
import os
import subprocess
import sys

import pytest

TRAP = "__import__('pathlib').Path({folder!r}, 'trapped-{name}').touch()"

KERNELS = """
import os
import triton
import triton.language as tl
from helpers import helper, LIMIT, tile_of
{module}
os.system("touch {folder}/trapped-system")

SIZE = {value} or 64
WIDTH: {annotation} = tl.constexpr(64)


def decorate(function):
    {decorator}
    return function


@triton.constexpr_function
def side_effect(n):
    {constexpr_function}
    return n


class Trap(int):
    def __add__(self, other):
        {operator}
        return 64


@triton.autotune(
    configs=[triton.Config({{"N": n}}) for n in [64] if not {comprehension}], key=[], prune_configs_by={{"early_config_prune": {prune}}}
)
@triton.heuristics({{"E": lambda args: {heuristic}}})
@decorate
@triton.jit
def tuned(x, y, N: tl.constexpr, E: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.load(x + i))


@decorate
@triton.jit(noinline={jit_option})
def kernel(x: {parameter}, y, N: tl.constexpr = {default}, M: tl.constexpr = 64) -> {returns}:
    i, j = tl.arange(0, N), tl.arange(0, N)
    tile = tl.load(x + i[:, None] * N + j[None, :])
    tl.store(y + i[:, None] * N + j[None, :], helper(tl.trans(tile)) + LIMIT)


@triton.jit
def plain(x, y, N: tl.constexpr):
    i, j = tl.arange(0, N), tl.arange(0, N)
    tl.store(y + i[:, None] * N + j[None, :], helper(tl.trans(tl.load(x + i[:, None] * N + j[None, :]))) + WIDTH)


@triton.jit
def asks(x, y, N: tl.constexpr):
    i = tl.arange(0, side_effect(N))
    tl.store(y + i, tl.load(x + i))


def launch(x, y):
    {host}
    width = 64 if {condition} else 64
    kernel[(1,)](x, y, N=64)
    plain[lambda meta: {grid}](x, y, N=64)
    asks[(1,)](x, y, N=width)
    tuned[(1,)](x, y)
"""
HELPERS = """
import triton
import triton.language as tl
{helper_module}
LIMIT = tl.constexpr(tile_of(1) if False else 2.0)


def tile_of(x):
    {called}
    return x


@triton.jit
def helper(x, extra={helper_default}):
    return x * 2
"""
CHECK = """
import sys

repository = {folder!r}
seen = []


def hook(event, arguments):
    if event in ("os.system", "socket.connect", "os.exec", "os.posix_spawn", "ctypes.dlopen"):
        seen.append((event, str(arguments)[:200]))
    if event == "exec" and str(getattr(arguments[0], "co_filename", "")).startswith(repository):
        seen.append((event, arguments[0].co_filename))
    if event == "import" and arguments[0] in ("kernels", "helpers", "conftest", "triton", "torch"):
        seen.append((event, arguments[0]))


sys.addaudithook(hook)
from smem_lint.cli import main

code = main(["check", repository, "--engine", {engine!r}, "--output-format", "json", "--output-file", {report!r}, "--no-cache"])
print(code, seen)
"""


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[build-system]\nrequires = ["trap"]\n[tool.smem-lint]\nselect = ["SMEM"]\n')

    class Traps(dict):
        def __missing__(self, name):
            return str(folder) if name == "folder" else TRAP.format(folder=str(folder), name=name)

    (folder / "kernels.py").write_text(KERNELS.format_map(Traps()))
    (folder / "helpers.py").write_text(HELPERS.format_map(Traps()))
    for name in ("conftest.py", "setup.py", "sitecustomize.py", "triton.py", "torch.py", "__init__.py"):
        (folder / name).write_text("import triton\n" + Traps()[name.replace("_", "").removesuffix(".py") + "-file"] + "\nkernel[(1,)](0)\n")
    (folder / "configs.json").write_text('{"__reduce__": "trap", "1": {"BLOCK_SIZE_M": "' + Traps()["json"].replace('"', "'") + '"}}')
    return folder


def traps_sprung(folder):
    return sorted(path.name for path in folder.rglob("trapped-*"))


def test_the_traps_work(repository):
    """A check of the test itself: importing the module springs them."""
    (repository / "triton.py").unlink()
    (repository / "torch.py").unlink()
    code = "import sys; sys.path.insert(0, '.'); import kernels"
    subprocess.run([sys.executable, "-c", code], cwd=repository, capture_output=True, timeout=120)
    assert len(traps_sprung(repository)) >= 2


@pytest.mark.parametrize("engine", ["compiler", "model"])
@pytest.mark.parametrize("inside", [False, True], ids=["from outside", "from inside"])
def test_nothing_runs(repository, tmp_path, engine, inside):
    if engine == "compiler":
        pytest.importorskip("triton", reason="the compiler loads what was cut out of the source")
    report = tmp_path / "report.json"
    code = CHECK.format(folder=str(repository), engine=engine, report=str(report))
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path / "triton")}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=repository if inside else tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
    )
    assert done.stdout.split(" ", 1)[0] in ("0", "1"), done.stderr
    assert json.loads(done.stdout.split(" ", 1)[1].replace("(", "[").replace(")", "]").replace("'", '"')) == []
    assert traps_sprung(repository) == []
    summary = json.loads(report.read_text())["summary"]
    assert summary["kernels"] >= 3 and summary["configs"] >= 3
