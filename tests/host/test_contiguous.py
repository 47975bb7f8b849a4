"""Strides and sizes that host code leaves open: what a contiguous, aligned tensor gives."""

from __future__ import annotations

import ast
from pathlib import Path

from smem_lint.host import Config, resolve
from smem_lint.host.kernel_strides import possible_last_strides
from smem_lint.source.modules import Repository

KERNELS = """
import triton
import triton.language as tl

@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_be, stride_bk, stride_bn, stride_cm, BLOCK: tl.constexpr):
    rows, ks = tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    offs_m = tl.arange(0, BLOCK)
    offs_k = tl.arange(0, BLOCK)
    pa = a_ptr + (offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak)
    pb = b_ptr + tl.program_id(1) * stride_be + (offs_k[:, None] * stride_bk + offs_m[None, :] * stride_bn)
    acc = tl.dot(tl.load(pa, mask=offs_k[None, :] < K), tl.load(pb))
    tl.store(c_ptr + offs_m[:, None] * stride_cm + offs_m[None, :], acc)

@triton.jit
def heads(q_ptr, q_stride_0, q_stride_1, w_ptr, w_stride, HEAD: tl.constexpr):
    offs = tl.arange(0, 16)
    dims = tl.arange(0, HEAD)
    place = offs * q_stride_0 + (offs % 4) * q_stride_1
    tl.store(q_ptr + place[:, None] + dims[None, :], tl.load(w_ptr + offs * w_stride)[:, None])

def run(a, b, c, q, w):
    matmul[(1,)](a, b, c, a.size(0), b.size(1), b.size(2), a.stride(0), a.stride(1), b.stride(0), b.stride(2), b.stride(1), c.stride(0), 64)
    heads[(1,)](q, q.stride(0), q.stride(1), w, w.stride(0), 64)
"""


def test_only_an_index_with_a_stride_of_its_own_can_be_the_last() -> None:
    matmul, heads = [node for node in ast.parse(KERNELS).body if isinstance(node, ast.FunctionDef)][:2]
    names = [argument.arg for argument in matmul.args.args]
    found = possible_last_strides(matmul, names, frozenset({"a_ptr", "b_ptr", "c_ptr"}))
    assert found == {"stride_am", "stride_ak", "stride_bk", "stride_bn"}
    names = [argument.arg for argument in heads.args.args]
    assert possible_last_strides(heads, names, frozenset({"q_ptr", "w_ptr"})) == {"w_stride"}


def test_strides_and_sizes_of_a_launch(tmp_path: Path) -> None:
    """``a`` and ``b`` end in a stride of 1 although nothing tells their ranks; ``c`` and ``q`` do not."""
    (tmp_path / "m.py").write_text(KERNELS)
    matmul, heads = [item for item in resolve(Repository([tmp_path]), ["m.py"]) if isinstance(item, Config)]
    assert {name for name, value in matmul.constexprs.items() if value == 1} == {"stride_ak", "stride_bk"}
    assert set(matmul.attrs) == {"a_ptr", "b_ptr", "c_ptr", "N", "K", "stride_am", "stride_be", "stride_bn", "stride_cm"}
    assert {name for name, value in heads.constexprs.items() if value == 1} == {"w_stride"}
    assert set(heads.attrs) == {"q_ptr", "q_stride_0", "q_stride_1", "w_ptr"}


HEADS = """
import triton
import triton.language as tl

@triton.jit
def kernel(q_ptr, D: tl.constexpr):
    tl.store(q_ptr + tl.arange(0, D), 0)

def run(q):
    tokens, heads, d = q.shape
    kernel[(tokens, heads)](q, D=d)
"""


def test_the_last_of_an_unpacked_shape_is_what_its_negative_index_is(tmp_path: Path) -> None:
    """``q.shape[2]`` of three is a head's size: the profile knows ``q.shape[-1]``."""
    (tmp_path / "m.py").write_text(HEADS)
    found = [item for item in resolve(Repository([tmp_path]), ["m.py"]) if isinstance(item, Config)]
    assert {config.constexprs["D"] for config in found} == {64, 80, 96, 128, 192, 256, 288, 576}
