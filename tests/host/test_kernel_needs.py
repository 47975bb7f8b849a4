"""Arguments that a kernel cannot do without: host paths that leave them out lead nowhere."""

from __future__ import annotations

import ast
from pathlib import Path

from smem_lint.host import Config, resolve
from smem_lint.host.kernel_needs import needed
from smem_lint.source.modules import Repository

KERNEL = """
import torch, triton
import triton.language as tl

@triton.heuristics({"HAS_BIAS": lambda args: args["bias"] is not None})
@triton.jit
def kernel(x, gate, bias, scale, out, n, HAS_BIAS: tl.constexpr, SCALED: tl.constexpr):
    for step in range(n):
        value = tl.load(x + step) * tl.load(gate + step)
        if HAS_BIAS:
            value += tl.load(bias + step)
        if SCALED:
            value *= tl.load(scale)
        tl.store(out + step, value)
"""


def found(tmp_path: Path, host: str) -> list[Config]:
    (tmp_path / "m.py").write_text(KERNEL + host)
    return [one for one in resolve(Repository([tmp_path]), ["m.py"]) if isinstance(one, Config)]


def names(source: str, **constexprs: object) -> set[str]:
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    return set(needed(function, constexprs))


def test_what_is_needed_on_every_way() -> None:
    source = KERNEL[KERNEL.index("def kernel") :]
    assert names(source) == {"x", "gate", "out"}
    assert names(source, HAS_BIAS=True, SCALED=False) == {"x", "gate", "out", "bias"}
    assert names(source, HAS_BIAS=False, SCALED=1) == {"x", "gate", "out", "scale"}


def test_what_may_not_be_compiled_is_not_needed() -> None:
    """``static_range`` may have no turns, a name that is assigned may hold another value, and a return may come first."""
    assert names("def f(a, n):\n    for i in tl.static_range(n):\n        tl.load(a + i)\n") == set()
    assert names("def f(a, b):\n    a = b\n    tl.load(a + 1)\n") == set()
    assert names("def f(a, n):\n    if n == 0:\n        return\n    tl.load(a)\n") == set()
    assert names("def f(a, b, LEFT):\n    if not LEFT:\n        tl.load(b)\n        return\n    tl.load(a)\n", LEFT=False) == {"b"}
    assert names("def f(a, n):\n    tl.load(n + (a + 1 if n else 0))\n") == {"n"}


def test_a_path_that_leaves_out_what_is_needed_is_left(tmp_path: Path) -> None:
    host = """
def go(x, out, gate=None, bias=None, scale=None, scaled: bool = False):
    for one in (gate, scale):
        if one is None:
            x.add_(1)
    kernel[(1,)](x, gate, bias, scale, out, 3, SCALED=scaled)
"""
    configs = found(tmp_path, host)
    assert not any("gate" in one.constexprs or one.unresolved for one in configs)
    assert {(one.constexprs["HAS_BIAS"], "bias" in one.constexprs) for one in configs} == {(False, True), (True, False)}
    flags = {(one.constexprs["SCALED"], one.constexprs.get("scale", "given")) for one in configs}
    assert flags == {(False, None), (False, "given"), (True, "given")}


def test_a_launch_that_has_to_leave_it_out_is_said(tmp_path: Path) -> None:
    host = """
def go(x, out, gate=None):
    assert gate is None
    kernel[(1,)](x, gate, None, None, out, 3, SCALED=False)
"""
    (config,) = found(tmp_path, host)
    assert config.unresolved[0].reason == "kernel takes no None for gate"
