"""Functions that are entered without a caller: what they are given is open, also where they take any number of arguments."""

from __future__ import annotations

from pathlib import Path

from smem_lint.host import Config, resolve
from smem_lint.source.modules import Repository

KERNEL = """
import torch, triton
import triton.language as tl

@triton.jit
def kernel(x, y, HAS_GRAD: tl.constexpr):
    tl.store(x, tl.load(y))
"""


def found(tmp_path: Path, host: str) -> list[Config]:
    (tmp_path / "m.py").write_text(KERNEL + host)
    return [one for one in resolve(Repository([tmp_path]), ["m.py"]) if isinstance(one, Config)]


def test_arguments_without_names_are_open(tmp_path: Path) -> None:
    host = """
class Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, *grads):
        (x,) = ctx.saved_tensors
        kernel[(1,)](x, grads[0].contiguous(), True, num_warps=16)
        return grads[0]
"""
    (config,) = found(tmp_path, host)
    assert not config.unresolved and config.options == {"num_warps": 16} and config.types["y"] == "*bf16"


def test_whether_a_tensor_wants_a_gradient_is_a_flag(tmp_path: Path) -> None:
    configs = found(tmp_path, "def go(x, y):\n    kernel[(1,)](x, y, HAS_GRAD=x.requires_grad)\n")
    assert {one.constexprs["HAS_GRAD"] for one in configs} == {True, False}


def test_a_keyword_that_may_be_among_the_rest(tmp_path: Path) -> None:
    """Whether it is given is the caller's to say; what is taken out of it then is open."""
    host = """
def go(x, y, **options):
    warps = 4
    if "num_warps" in options:
        warps = 8
    kernel[(1,)](x, y, "grad" not in options, num_warps=warps)
"""
    configs = found(tmp_path, host)
    assert {(one.constexprs["HAS_GRAD"], one.options["num_warps"]) for one in configs} == {(True, 4), (False, 4), (True, 8), (False, 8)}
    assert (configs[0].constexprs["HAS_GRAD"], configs[0].options["num_warps"]) == (True, 4)
