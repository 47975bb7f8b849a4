"""Tables of what is tuned for a shape and a device: each entry is a config that can be launched."""

from __future__ import annotations

from pathlib import Path

from smem_lint.host import Config, resolve
from smem_lint.source.modules import Repository

TEXT = """
from typing import NamedTuple
import torch, triton
import triton.language as tl
from platforms import current_platform

class Tile(NamedTuple):
    block: int
    warps: int

TUNED = {
    "blackwell": {(64, 64): ((16, Tile(512, 4)),)},
    "consumer": {
        (4096, 1024): ((16, Tile(16, 2)), (64, Tile(32, 4)), (256, Tile(64, 8))),
        (1024, 4096): ((16, Tile(16, 4)), (64, Tile(128, 4))),
    },
}

def family(capability):
    return {10: "blackwell", 12: "consumer"}.get(capability.major)

def config(m, n, k):
    entry = TUNED[family(current_platform.get_device_capability())].get((n, k))
    if entry is None:
        return {"BLOCK": 256, "num_warps": 1}
    tile = entry[-1][1]
    for most, one in entry:
        if most >= m:
            tile = one
            break
    return {"BLOCK": tile.block, "num_warps": tile.warps}

@triton.jit
def kernel(x, bias, BLOCK: tl.constexpr, GIVEN: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1)

def run(a, b, bias=None):
    m, k = a.shape
    k, n = b.shape
    kernel[(1,)](a, bias, GIVEN=bias is not None, **config(m, n, k))
"""


def _configs(folder: Path, capability: int) -> list[Config]:
    (folder / "m.py").write_text(TEXT)
    found = [one for one in resolve(Repository([folder]), ["m.py"], capability=capability) if isinstance(one, Config)]
    assert found and not any(one.unresolved for one in found)
    return found


def test_every_entry_of_the_devices_table_and_every_rung_of_it_is_followed(tmp_path: Path) -> None:
    found = {(one.constexprs["BLOCK"], one.options["num_warps"]) for one in _configs(tmp_path, 120)}
    assert found == {(256, 1), (16, 2), (32, 4), (64, 8), (16, 4), (128, 4)}
    assert {(one.constexprs["BLOCK"], one.constexprs["GIVEN"]) for one in _configs(tmp_path, 100)} == {
        (512, True), (512, False), (256, True), (256, False),
    }  # fmt: skip


def test_an_entry_says_for_which_sizes_it_is(tmp_path: Path) -> None:
    tuned = next(one for one in _configs(tmp_path, 120) if one.constexprs["BLOCK"] == 128)
    assert {"b.shape[1] is 1024", "b.shape[0] is 4096"} <= set(tuned.when)


def test_entries_come_on_top_of_the_paths(tmp_path: Path) -> None:
    """A table of forty shapes takes no path from the flags beside it, and the flags none from it."""
    entries = ", ".join(f"({128 * n}, 64): {n}" for n in range(1, 41))
    flags = ", ".join(f"f{n}: bool" for n in range(5))
    values = ", ".join(f"{name}=f{n}" for n, name in enumerate("PQRST"))
    (tmp_path / "m.py").write_text(f"""
import triton
import triton.language as tl
TUNED = {{{entries}}}

@triton.jit
def kernel(x, P: tl.constexpr, Q: tl.constexpr, R: tl.constexpr, S: tl.constexpr, T: tl.constexpr, W: tl.constexpr):
    tl.store(x, W)

def run(x, {flags}):
    n, k = x.shape
    kernel[(1,)](x, {values}, W=TUNED.get((n, k), 0))
""")
    found = [one for one in resolve(Repository([tmp_path]), ["m.py"]) if isinstance(one, Config)]
    assert {one.constexprs["W"] for one in found} == set(range(41))
    assert len({tuple(one.constexprs[name] for name in "PQRST") for one in found if not one.constexprs["W"]}) == 32


LEFT = """
import triton
import triton.language as tl

_picked = {}

@triton.autotune(configs=[triton.Config({"BLOCK": 64}, num_warps=2), triton.Config({"BLOCK": 128}, num_warps=8)], key=["n"])
@triton.jit
def kernel(x, n, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), n)

def launch(kernel, grid, **kwargs):
    config = _picked.get((kernel, *kwargs.values()))
    if config is None:
        kernel[grid](**kwargs)
        _picked[(kernel, *kwargs.values())] = kernel.best_config
        return
    kernel.fn[grid](**kwargs, **config.all_kwargs())

def run(x):
    launch(kernel, (1,), x=x, n=x.shape[0])
"""


def test_a_kernel_is_launched_with_what_an_earlier_launch_has_found_best(tmp_path: Path) -> None:
    """The first launch tunes; those behind it take the config from a table, past the autotuner."""
    (tmp_path / "m.py").write_text(LEFT)
    found = [one for one in resolve(Repository([tmp_path]), ["m.py"]) if isinstance(one, Config)]
    assert [(one.origin, one.constexprs["BLOCK"], one.options["num_warps"]) for one in found] == [
        ("autotune", 64, 2), ("autotune", 128, 8), ("launch", 64, 2), ("launch", 128, 8),
    ]  # fmt: skip
    assert "an earlier call has left kernel.best_config" in found[2].when and "config 2 of 2 was found best" in found[3].when
