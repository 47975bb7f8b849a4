"""What host code says of an argument that may be None, and of values that a condition decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from smem_lint.host import Config, resolve
from smem_lint.source.modules import Repository

KERNEL = """
import torch, triton
import triton.language as tl

@triton.heuristics({"HAS_BIAS": lambda args: args["bias"] is not None})
@triton.jit
def kernel(x, bias, n, HAS_BIAS: tl.constexpr, LEFT: tl.constexpr, RIGHT: tl.constexpr):
    if HAS_BIAS:
        tl.store(x, tl.load(bias + n))
"""


def found(tmp_path: Path, host: str) -> list[Config]:
    (tmp_path / "m.py").write_text(KERNEL + host)
    configs = [one for one in resolve(Repository([tmp_path]), ["m.py"]) if isinstance(one, Config)]
    assert configs and not any(one.unresolved for one in configs)
    return configs


def test_what_is_used_is_not_none(tmp_path: Path) -> None:
    """``bias.dim()`` fails on None; with a test before it in the same condition it says nothing."""
    used = (
        "def go(x, bias=None):\n    if bias.dim() == 1:\n        bias = bias.unsqueeze(0)\n    kernel[(1,)](x, bias, 3, LEFT=1, RIGHT=1)\n"
    )
    assert {one.constexprs["HAS_BIAS"] for one in found(tmp_path, used)} == {True}
    guarded = used.replace("if bias.dim()", "if bias is not None and bias.dim()")
    assert {one.constexprs["HAS_BIAS"] for one in found(tmp_path, guarded)} == {True, False}
    chosen = "def go(x, bias=None):\n    n = bias.stride(0) if bias is not None else 0\n    kernel[(1,)](x, bias, n, LEFT=1, RIGHT=1)\n"
    assert {one.constexprs["HAS_BIAS"] for one in found(tmp_path, chosen)} == {True, False}


def test_whether_what_a_condition_made_is_none_is_asked_of_its_sides(tmp_path: Path) -> None:
    """A tensor that was reshaped under a condition is None exactly where it was before."""
    host = """
def go(x, bias=None):
    given = bias is not None
    if bias is not None and bias.dim() == 1:
        bias = bias.unsqueeze(0)
    kernel[(1,)](x, bias, 3, LEFT=given, RIGHT=bias is not None)
"""
    assert {tuple(one.constexprs[name] for name in ("HAS_BIAS", "LEFT", "RIGHT")) for one in found(tmp_path, host)} == {
        (True,) * 3,
        (False,) * 3,
    }


def test_open_sizes_of_two_tensors_are_two_sizes(tmp_path: Path) -> None:
    host = """
def go(x, a, b):
    a, b = a.reshape(-1, 1), b.reshape(-1, 1)
    kernel[(1,)](x, x, 3, LEFT=1 if a.shape[0] == 1 else 64, RIGHT=1 if b.shape[0] == 1 else 32)
"""
    sizes = {(one.constexprs["LEFT"], one.constexprs["RIGHT"]) for one in found(tmp_path, host)}
    assert sizes == {(1, 1), (1, 32), (64, 1), (64, 32)}


@pytest.mark.parametrize("body", ["return override if override is not None else False",
                                  "if override is not None:\n        return override\n    return False"])  # fmt: skip
def test_a_call_that_was_put_off_is_followed_before_what_it_is_joined_with(tmp_path: Path, body: str) -> None:
    """An option that is off unless asked for is off where nothing is given, however many tests stand beside it."""
    host = f"def wanted(override=None):\n    {body}\n"
    host += """
def go(x, n, m, option=None):
    on = wanted(option) and n % 16 == 0 and m % 16 == 0 and (n * m) % 64 == 0
    kernel[(1,)](x, x, n, LEFT=on, RIGHT=1)
"""
    assert next(one.constexprs["LEFT"] for one in found(tmp_path, host)) is False


def test_a_type_is_written_as_triton_calls_it(tmp_path: Path) -> None:
    """``str(tl.int32)`` is ``int32`` and ``str(tl.float32)`` is ``fp32`` in Triton 3.8.0: a signature alone says ``i32``."""
    host = "def go(x):\n    kernel[(1,)](x, torch.empty(8), 3, LEFT=tl.int32, RIGHT=tl.float32)\n"
    (config,) = found(tmp_path, host)
    assert (config.constexprs["LEFT"], config.constexprs["RIGHT"]) == ({"dtype": "int32"}, {"dtype": "fp32"})
