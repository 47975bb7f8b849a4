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


def repository_of(folder: Path, source: str) -> Repository:
    (folder / "one.py").write_text(source)
    return Repository([folder])


def roles_in(repository: Repository) -> dict[str, frozenset[str]]:
    """The roles of the arguments of the kernel."""
    module = repository.module("one.py")
    assert module is not None
    node = module.find_function("kernel")
    assert node is not None
    return dict(roles(node, module))


def test_roles_follow_names_and_calls(tmp_path: Path) -> None:
    found = roles_in(repository_of(tmp_path, SOURCE))
    assert found["taps"] == {TURNS}
    assert found["cols"] == {TILE}
    assert found["flag"] == {TESTED}
    assert found["stride"] == found["rows"] == frozenset()


def test_an_address_takes_one_size_and_an_unrolled_loop_small_ones(tmp_path: Path) -> None:
    configs = [one for one in resolve(repository_of(tmp_path, SOURCE), ["one.py"]) if isinstance(one, Config)]
    assert {one.constexprs["taps"] for one in configs} == {2, 4, 8}
    assert len({one.constexprs["stride"] for one in configs}) == 1


HEURISTIC = """
import triton
import triton.language as tl


@triton.heuristics({"HAS_BIAS": lambda args: args["bias"] is not None, "EVEN": lambda args: args["cols"] % 64 == 0})
@triton.jit
def kernel(x, bias, places, cols, row: tl.constexpr, step: tl.constexpr, HAS_BIAS: tl.constexpr, EVEN: tl.constexpr):
    place = tl.load(places + row)
    if place > 0:
        tl.store(x + place * step, 0)


def launch(x, bias, places):
    kernel[(1,)](x, bias, places, x.shape[0], x.shape[1], x.shape[2])
"""


def test_only_what_heuristics_name_and_the_kernel_tests_is_tried_out(tmp_path: Path) -> None:
    """A value that is loaded is tested, not the address that it comes from; a heuristic asks for the arguments that it writes."""
    repository = repository_of(tmp_path, HEURISTIC)
    found = roles_in(repository)
    assert found["row"] == found["step"] == frozenset()
    configs = [one for one in resolve(repository, ["one.py"]) if isinstance(one, Config)]
    assert {one.constexprs["EVEN"] for one in configs} == {True, False}
    assert len({(one.constexprs["row"], one.constexprs["step"]) for one in configs}) == 1
