"""Which paths are followed first, where not all can be: the default way, what makes a difference, published sizes."""

from __future__ import annotations

from pathlib import Path

from smem_lint.host import Config, resolve
from smem_lint.host.exploration import explore
from smem_lint.host.limits import Limits
from smem_lint.source.modules import Repository

KERNEL = """
import torch, triton
import triton.language as tl

@triton.jit
def kernel(x, n, MODE: tl.constexpr, SIDE: tl.constexpr):
    tl.store(x, n)
"""


def found(tmp_path: Path, host: str) -> list[Config]:
    (tmp_path / "m.py").write_text(KERNEL + host)
    return [one for one in resolve(Repository([tmp_path]), ["m.py"]) if isinstance(one, Config)]


def test_a_flag_goes_its_default_way_first(tmp_path: Path) -> None:
    host = "def go(x, fast: bool = False, exact: bool = True):\n    kernel[(1,)](x, 3, 1 if fast else 0, 1 if exact else 0)\n"
    assert next((one.constexprs["MODE"], one.constexprs["SIDE"]) for one in found(tmp_path, host)) == (0, 1)
    assert len(found(tmp_path, host)) == 4


def test_what_came_to_nothing_new_waits() -> None:
    """Five flags, of which the first three make no difference: what the other two make together comes before those with them."""
    order: list[tuple[bool, ...]] = []
    seen = set()
    for path, result in explore(Limits(paths=16), lambda path: tuple(path.choose(2) == 1 for _ in range(5))):
        if isinstance(result, tuple):
            order.append(result)
            path.fruitless = result[3:] in seen
            seen.add(result[3:])
    both = order.index((False, False, False, True, True))
    assert both < min(place for place, flags in enumerate(order) if sum(flags) == 2 and flags != order[both])
    assert len(order) == len(set(order)) == 16


def test_an_attention_layer_has_a_window_as_published_or_none(tmp_path: Path) -> None:
    host = """
def go(x, sliding_window=None):
    if sliding_window is None or sliding_window <= 0:
        sliding_window = 0
    kernel[(1,)](x, 3, sliding_window, 7)
"""
    configs = found(tmp_path, host)
    assert [(one.constexprs["MODE"], one.assumed) for one in configs] == [(0, ()), (4096, ("MODE",))]
    assert any("sliding window of 4096" in one for one in configs[1].when)


def test_a_comparison_goes_as_with_the_default_first(tmp_path: Path) -> None:
    """What a caller leaves out has its default: the usual launch is the first, and all others are one decision away from it."""
    host = """
import enum
class Mode(enum.Enum):
    NONE = 0
    PACKED = 1

def go(x, mode: Mode = Mode.NONE, ahead=-1):
    if mode == Mode.PACKED:
        return x.sum()
    kernel[(1,)](x, 3, 1 if ahead > 0 else 0, 1 if mode == Mode.NONE else 0)
"""
    modes = [(one.constexprs["MODE"], one.constexprs["SIDE"]) for one in found(tmp_path, host)]
    assert modes[0] == (0, 1) and (1, 1) in modes


def test_an_argument_that_has_to_be_given_is_given_first(tmp_path: Path) -> None:
    host = "def go(x, k, bias=None):\n    kernel[(1,)](x, 3, 1 if k is None else 0, 1 if bias is None else 0)\n"
    modes = [(one.constexprs["MODE"], one.constexprs["SIDE"]) for one in found(tmp_path, host)]
    assert modes[0] == (0, 1) and set(modes) == {(0, 0), (0, 1), (1, 0), (1, 1)}
