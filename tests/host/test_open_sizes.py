"""Sizes that host code leaves open: what rests on them is said, tests on them agree with each other, and ladders are climbed."""

from __future__ import annotations

from pathlib import Path

from smem_lint.host import Config, resolve
from smem_lint.host.ranges import range_of
from smem_lint.host.values import Symbol
from smem_lint.source.modules import Repository

KERNEL = """
import json, math, os
import torch, triton
import triton.language as tl

@triton.jit
def kernel(x, n, D: tl.constexpr, BLOCK: tl.constexpr, TYPE: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), n)
"""


def found(tmp_path: Path, host: str) -> list[Config]:
    (tmp_path / "m.py").write_text(KERNEL + host)
    return [one for one in resolve(Repository([tmp_path]), ["m.py"]) if isinstance(one, Config)]


def test_what_is_worked_out_from_a_size_that_was_supposed_is_assumed(tmp_path: Path) -> None:
    """``vocab_size`` has a value on the path once it was tested; what is made of it then is still no value of the host code."""
    host = """
def go(x, vocab_size: int):
    if vocab_size > 1024:
        blocks = triton.next_power_of_2(triton.cdiv(vocab_size, 8192))
        kernel[(1,)](x, 3, vocab_size, max(blocks, 2) * 2, 7)
"""
    configs = found(tmp_path, host)
    assert {(one.constexprs["D"], one.constexprs["BLOCK"]) for one in configs} == {(128256, 32), (32000, 8)}
    assert all(one.assumed == ("D", "BLOCK") for one in configs)
    assert all(type(value) is int for one in configs for value in one.constexprs.values())


def test_a_size_that_is_tested_for_is_not_assumed(tmp_path: Path) -> None:
    configs = found(tmp_path, "def go(x, vocab_size: int):\n    assert vocab_size == 4096\n    kernel[(1,)](x, 3, vocab_size, 64, 7)\n")
    assert [(one.constexprs["D"], one.assumed) for one in configs] == [(4096, ())]


def test_a_ladder_is_climbed_and_what_follows_from_it_agrees(tmp_path: Path) -> None:
    flags = ", ".join(f"f{number}: bool" for number in range(20))
    tests = "\n".join(f"    if f{number}:\n        x.add_(1)\n        D += {number}" for number in range(20))
    host = f"""
def go(x, {flags}):
    M = x.shape[0]
    D = 0
    if M <= 32:
        BLOCK = 16
    elif M <= 96:
        BLOCK = 32
    elif M <= 512:
        BLOCK = 64
    else:
        BLOCK = 128
{tests}
    kernel[(1,)](x, 3, D, BLOCK, 16 if M // max(x.shape[1], 1) > 128 else 1)
"""
    configs = found(tmp_path, host)
    assert {one.constexprs["BLOCK"] for one in configs} == {16, 32, 64, 128}
    assert {one.constexprs["TYPE"] for one in configs if one.constexprs["BLOCK"] <= 32} == {1}


def test_ranges_of_expressions() -> None:
    base, other = Symbol("a", low=1), Symbol("b", low=1)
    ranges = {"a": (3, 40), "b": (2, None)}

    def of(kind: str, *operands: object, text: str = "?") -> Symbol:
        return Symbol(text, operation=max, operands=operands, kind=kind)

    for made, expected in (
        (of("+", base, 1), (4, 41)), (of("-", base, other), (None, 38)), (of("*", base, other), (6, None)),
        (of("//", base, other), (0, 20)),
        (of("call", base, 8, text="max(a, 8)"), (8, 40)), (of("call", base, 8, text="min(a, 8)"), (3, 8)),
        (of("call", base, 16, text="cdiv(a, 16)"), (1, 3)), (of("call", base, text="f(a)"), (None, None)), (of("%", base, 4), (None, None)),
        (of("if", Symbol("c"), base, 50), (3, 50)),
    ):  # fmt: skip
        assert range_of(made, lambda symbol: ranges.get(symbol.text, (symbol.low, None))) == expected, made.text


def test_a_constexpr_that_depends_on_a_type_goes_both_ways(tmp_path: Path) -> None:
    host = "def go(x: torch.Tensor):\n    kernel[(1,)](x, 3, 64, 32, tl.bfloat16 if x.dtype == torch.bfloat16 else tl.float32)\n"
    types = [(one.constexprs["TYPE"], one.types["x"]) for one in found(tmp_path, host)]
    assert types[0] == ({"dtype": "bf16"}, "*bf16") and {one["dtype"] for one, _ in types} == {"bf16", "fp32"}


def test_a_launch_for_tensors_that_are_not_contiguous(tmp_path: Path) -> None:
    host = """
def go(x):
    out = torch.empty((4, 4))
    if x.is_contiguous() and out.is_contiguous():
        return torch.ops.fast(x)
    kernel[(1,)](x, 3, 64, 32, 7)
    return out
"""
    (config,) = found(tmp_path, host)
    assert not config.unresolved and config.when == ("not x.is_contiguous()",)


def test_a_file_of_unknown_name_is_not_there(tmp_path: Path) -> None:
    """Each tuned file is looked at by itself; a name that is not known gives what the code does without one."""
    host = """
def tuned(name):
    path = os.path.join(os.path.dirname(__file__), f"{name}.json")
    if os.path.exists(path):
        with open(path) as file:
            return {int(key): value for key, value in json.load(file).items()}
    return None

def go(x, name):
    configs = tuned(name)
    if configs:
        config = configs[min(configs.keys(), key=lambda size: abs(size - x.shape[0]))]
    else:
        config = {"BLOCK": 64}
    kernel[(1,)](x, 3, 32, TYPE=7, **config)
"""
    (config,) = found(tmp_path, host)
    assert not config.unresolved and config.constexprs["BLOCK"] == 64 and any("exists" in one for one in config.when)


def test_a_product_of_sizes_that_are_not_known(tmp_path: Path) -> None:
    host = "def go(x, y):\n    assert math.prod(x.shape[:2]) <= y.numel()\n    kernel[(1,)](x, 3, 64, math.prod((2, 4, 4)), 7)\n"
    (config,) = found(tmp_path, host)
    assert not config.unresolved and config.constexprs["BLOCK"] == 32


def test_every_value_of_an_option_is_met(tmp_path: Path) -> None:
    """``num_warps`` is 16 for a row of 8192 alone, which is no size that is tried for tiles."""
    host = """
def go(x):
    block = triton.next_power_of_2(x.shape[1])
    kernel[(1,)](x, 3, 7, block, 7, num_warps=min(32, max(4, block // 512)))
"""
    assert {one.options["num_warps"] for one in found(tmp_path, host)} == {4, 8, 16, 32}


def test_a_caller_that_leaves_a_size_open_is_not_outvoted(tmp_path: Path) -> None:
    """One caller knows the width, the other hands on what it is given: the kernel may see any."""
    host = """
def go(x):
    width = x.shape[-1]
    kernel[(1,)](x, 3, width, triton.next_power_of_2(width), 7)

def known():
    go(torch.empty((4, 384)))
"""
    assert {one.constexprs["D"] for one in found(tmp_path, host)} == {384}
    blocks = {one.constexprs["BLOCK"] for one in found(tmp_path, host + "\ndef handed_on(x):\n    go(x)\n")}
    assert 512 in blocks and len(blocks) > 2
