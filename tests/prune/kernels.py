"""Kernels that tests/prune tunes: tiles of M x BK and BK x N, converted and staged by the compiler."""

import triton
import triton.language as tl

import smem_lint

PRUNE = {"early_config_prune": smem_lint.prune}


def config(bk, num_stages, num_warps=8, **options):
    return triton.Config({"BK": bk}, num_stages=num_stages, num_warps=num_warps, **options)


@triton.jit
def matmul(a, b, c, K, sa, sb, bias, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    rows, cols, ks = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    pa = a + rows[:, None] * sa + ks[None, :]
    pb = b + ks[:, None] * sb + cols[None, :]
    acc = tl.zeros((M, N), tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(pa), tl.load(pb), acc)
        pa += BK
        pb += BK * sb
    if bias is not None:
        acc += tl.load(bias + cols)[None, :]
    tl.store(c + rows[:, None] * sb + cols[None, :], acc.to(c.dtype.element_ty))


@triton.jit(do_not_specialize=["K"], do_not_specialize_on_alignment=["sa"])
def plain_sizes(a, b, c, K, sa, sb, bias, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    rows, cols, ks = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    pa = a + rows[:, None] * sa + ks[None, :]
    pb = b + ks[:, None] * sb + cols[None, :]
    acc = tl.zeros((M, N), tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(pa), tl.load(pb), acc)
        pa += BK
        pb += BK * sb
    tl.store(c + rows[:, None] * sb + cols[None, :], acc.to(c.dtype.element_ty))


@triton.jit
def with_tuple(sizes, c, BK: tl.constexpr):
    tl.store(c + tl.arange(0, BK), sizes[0])
