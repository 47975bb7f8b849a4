"""What a kernel does with its constexprs decides how far an unknown size is tried out."""

from __future__ import annotations

from pathlib import Path

from smem_lint.host import Config, resolve
from smem_lint.host.kernel_roles import TESTED, TILE, TURNS, roles
from smem_lint.source.modules import Repository

SOURCE = """
import triton
import triton.language as tl


@triton.jit
def row(x, width: tl.constexpr):
    return tl.load(x + tl.arange(0, width))


@triton.jit
def kernel(x, out, stride: tl.constexpr, taps: tl.constexpr, cols: tl.constexpr, flag: tl.constexpr, rows: tl.constexpr):
    wide = 2 * cols
    for tap in tl.static_range(taps):
        tl.store(out + tap * stride + tl.arange(0, wide), row(x, wide))
    if flag > 1:
        tl.store(out, tl.program_id(0) * rows)


def launch(x, out):
    kernel[(1,)](x, out, x.stride(0), x.shape[1], 64, 1, 2)
"""


def test_roles_follow_names_and_calls(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(SOURCE)
    repository = Repository([tmp_path])
    module = repository.module("one.py")
    assert module is not None
    node = module.find_function("kernel")
    assert node is not None
    found = roles(node, module)
    assert found["taps"] == {TURNS}
    assert found["cols"] == {TILE}
    assert found["flag"] == {TESTED}
    assert found["stride"] == found["rows"] == frozenset()


def test_an_address_takes_one_size_and_an_unrolled_loop_small_ones(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(SOURCE)
    configs = [one for one in resolve(Repository([tmp_path]), ["one.py"]) if isinstance(one, Config)]
    assert {one.constexprs["taps"] for one in configs} == {2, 4, 8}
    assert len({one.constexprs["stride"] for one in configs}) == 1
