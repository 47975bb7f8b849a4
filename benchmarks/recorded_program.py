"""A program as a user would write it, for ``smem-lint record``: layers of Liger, flash-linear-attention and moe-ops, on "the GPU".

usage: smem-lint record --no-gpu -- recorded_program.py [liger] [fla] [moe]

It knows nothing of smem-lint. What a stand-in leaves in the outputs is arbitrary, so no value is looked at.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import torch

DEVICE = "cuda"
Case = tuple[str, Callable[[], Any]]


def tensor(*shape: int, dtype: torch.dtype = torch.bfloat16, grad: bool = True) -> torch.Tensor:
    return torch.zeros(shape, device=DEVICE, dtype=dtype).requires_grad_(grad)


def both_ways(out: Any) -> None:
    """Back through whatever an operator returned."""
    found = [one for one in (out if isinstance(out, (tuple, list)) else [out]) if isinstance(one, torch.Tensor) and one.requires_grad]
    torch.autograd.backward(found, [torch.zeros_like(one) for one in found])


def liger() -> Iterator[Case]:
    from liger_kernel import ops

    for dtype in (torch.bfloat16, torch.float32):
        for hidden in (1024, 4096, 8192):
            x = tensor(512, hidden, dtype=dtype)
            w, b = tensor(hidden, dtype=dtype), tensor(hidden, dtype=dtype)
            yield "rms norm", lambda x=x, w=w: ops.LigerRMSNormFunction.apply(x, w, 1e-6, 0.0, "llama", False)
            yield "layer norm", lambda x=x, w=w, b=b: ops.LigerLayerNormFunction.apply(x, w, b, 1e-6)
            yield "add, rms norm", lambda x=x, w=w: ops.LigerFusedAddRMSNormFunction.apply(x, x.detach(), w, 1e-6, 0.0, "llama", False)
            yield "poly norm", lambda x=x: ops.LigerPolyNormFunction.apply(x, tensor(3), tensor(), 1e-6, False)
            yield "swiglu", lambda x=x: ops.LigerSiLUMulFunction.apply(x, x.detach())
            yield "geglu", lambda x=x: ops.LigerGELUMulFunction.apply(x, x.detach())
            yield "softmax", lambda x=x: ops.LigerSoftmaxFunction.apply(x)
            yield "relu squared", lambda x=x: ops.LigerReLUSquaredFunction.apply(x)
            yield "tanh", lambda x=x, w=w, b=b: ops.LigerDyTFunction.apply(x, tensor(1), w, b)
            yield "divergence", lambda x=x: ops.LigerTVDLossFunction.apply(x, x.detach(), None, "batchmean", -100)
        q, k = tensor(1, 256, 32, 128, dtype=dtype), tensor(1, 256, 8, 128, dtype=dtype)
        turns = tensor(1, 256, 128, dtype=dtype, grad=False)
        yield "rope", lambda q=q, k=k, t=turns: ops.LigerRopeFunction.apply(q.transpose(1, 2), k.transpose(1, 2), t, t)
        picture = tensor(2, 64, 32, 32, dtype=dtype)
        yield "group norm", lambda p=picture: ops.LigerGroupNormFunction.apply(p.reshape(2, 64, -1), tensor(64), tensor(64), 64, 8, 1e-6)
    for words in (32000, 128256):
        yield (
            "cross entropy",
            lambda n=words: ops.LigerCrossEntropyFunction.apply(
                tensor(64, n), torch.zeros(64, dtype=torch.int64, device=DEVICE), None, -100, 0.0, 0.0, "mean", None, False
            )[0],
        )
        yield "jensen-shannon", lambda n=words: ops.LigerJSDFunction.apply(tensor(64, n), tensor(64, n, grad=False), None, 0.5, -100)


def fla() -> Iterator[Case]:
    from fla.ops.attn.parallel import parallel_attn
    from fla.ops.delta_rule import chunk_delta_rule
    from fla.ops.gated_delta_rule import chunk_gated_delta_rule
    from fla.ops.gla import chunk_gla
    from fla.ops.simple_gla import chunk_simple_gla

    for width in (64, 128):
        q, k, v = (tensor(1, 256, 4, width) for _ in range(3))
        gates, beta = tensor(1, 256, 4, dtype=torch.float32), tensor(1, 256, 4)
        wide = tensor(1, 256, 4, width, dtype=torch.float32)
        yield "attention", lambda a=(q, k, v): parallel_attn(*a)
        yield "gated linear attention", lambda a=(q, k, v, wide): chunk_gla(*a)
        yield "simple gated linear attention", lambda a=(q, k, v, gates): chunk_simple_gla(*a)
        yield "delta rule", lambda a=(q, k, v, beta): chunk_delta_rule(*a)
        yield "gated delta rule", lambda a=(q, k, v, gates, beta): chunk_gated_delta_rule(*a)


def moe() -> Iterator[Case]:
    from moe_ops import fused_topk_softmax, grouped_gemm, permute, unpermute
    from moe_ops.grouped_gemm_ops import grouped_gemm as grouped_gemm_plain

    experts, tokens, top = 8, 256, 2
    ends = torch.arange(1, experts + 1, device=DEVICE, dtype=torch.int32) * (tokens * top // experts)
    for hidden, inner in ((1024, 2048), (2048, 1024)):
        a, b = tensor(tokens * top, hidden), tensor(experts, inner, hidden)
        yield "grouped product, by descriptors", lambda a=a, b=b: grouped_gemm(a, b, ends)
        yield "grouped product", lambda a=a, b=b: grouped_gemm_plain(a, b, ends)
        yield "routing", lambda: fused_topk_softmax(tensor(tokens, experts), top)
        picks = torch.zeros(tokens, top, device=DEVICE, dtype=torch.int32)
        yield "permute", lambda n=hidden, p=picks: permute(tensor(tokens, n), p, 0, experts)[0]
        rows, share = torch.zeros(tokens * top, device=DEVICE, dtype=torch.int32), tensor(tokens, top, dtype=torch.float32)
        yield "unpermute", lambda n=hidden, r=rows, s=share: unpermute(tensor(tokens * top, n), r, s, tokens, top)


PARTS = {"liger": liger, "fla": fla, "moe": moe}


def main() -> int:
    failed = 0
    for name in sys.argv[1:] or PARTS:
        for case, call in PARTS[name]():
            try:
                both_ways(call())
            except Exception:
                failed += 1
                print(f"{name}: {case}:", file=sys.stderr)
                traceback.print_exc()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
