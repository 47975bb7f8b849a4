"""How many dimensions a tensor has, where the code tells it only under a condition."""

from __future__ import annotations

from pathlib import Path

from smem_lint.host import Config, resolve
from smem_lint.source.modules import Repository

TEXT = """
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, starts_ptr, n, stride, BLOCK: tl.constexpr, PACKED: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(x_ptr + offs, tl.load(x_ptr + offs * stride, mask=offs < n))

def run(x, starts=None):
    if starts is None:
        batch, dim, length = x.shape
    else:
        dim = x.size(1)
    if starts is None:
        seq_stride, dim_stride, token_stride = x.stride()
    else:
        token_stride, dim_stride = x.stride()
    kernel[(1,)](x, starts, dim, dim_stride, BLOCK=128, PACKED=starts is not None)
"""


def test_a_branch_in_which_a_tensor_has_three_dimensions_says_nothing_of_the_other(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(TEXT)
    configs = [one for one in resolve(Repository([tmp_path]), ["m.py"], profile="generic") if isinstance(one, Config)]
    found = {one.constexprs["PACKED"]: one for one in configs}
    assert set(found) == {False, True} and not any(one.unresolved for one in configs)
    assert found[True].constexprs["stride"] == 1  # the last of two
    assert found[False].types["stride"] == "i32"
