"""``smem_lint.prune`` against real launches: what it keeps is what the device does not refuse for its shared memory.

On an H200 with Triton 3.6.0 (``pytest tests/prune/test_on_device.py``): 28 of 42 matrix products launch, and of attention 18 of 20 with
heads of 128 and a causal mask, 11 of 20 with heads of 256; the lists that are kept are the same.
"""

from pathlib import Path

import pytest

triton = pytest.importorskip("triton", reason="pruning serves Triton's autotuner")
torch = pytest.importorskip("torch", reason="the arguments of a launch are tensors")

from .kernels import PRUNE, config, matmul  # noqa: E402

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="asks this machine's GPU, and there is none")
ROOT = Path(__file__).parents[2]


def launched(kernel, grid, configs, args, kwargs):
    """The configs that the device takes."""
    taken = []
    for one in configs:
        try:
            kernel[grid](*args, **kwargs, **one.all_kwargs())
            torch.cuda.synchronize()
            taken.append(one)
        except triton.runtime.errors.OutOfResources as error:
            assert "shared memory" in str(error)
    return taken


def kept(kernel, configs, args, kwargs):
    tuner = triton.autotune(configs, key=[], prune_configs_by=PRUNE)(kernel)
    tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
    return tuner.prune_configs({**kwargs, "grid": (1,), "warmup": False})


def test_matrix_products():
    a, b, c = (torch.randn(shape, device="cuda").to(torch.bfloat16) for shape in ((128, 4096), (4096, 128), (128, 128)))
    args, kwargs = (a, b, c, 4096, 4096, 128, None), {"M": 128, "N": 128}
    configs = [config(bk, stages, warps) for bk in (32, 64, 128) for warps in (4, 8) for stages in (2, 3, 4, 5, 6, 8, 10)]
    taken = launched(matmul, (1,), configs, args, kwargs)
    assert kept(matmul, configs, args, kwargs) == taken and len(taken) < len(configs)


@pytest.mark.parametrize(("head", "stage"), [(128, 3), (256, 1)])
def test_attention(head, stage, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "fixtures" / "kernels"))
    import flash_attention

    q, k, v, out = (torch.randn((1, 4, 1024, head), device="cuda").half() for _ in range(4))
    strides = [stride for one in (q, k, v) for stride in one.stride()[:3]]
    args = (q, k, v, 0.1, torch.empty((1, 4, 1024), device="cuda"), out, *strides, 4)
    kwargs = {"N_CTX": 1024, "HEAD_DIM": head, "STAGE": stage}
    configs = [
        triton.Config({"BLOCK_M": m, "BLOCK_N": n}, num_stages=stages, num_warps=8)
        for m in (64, 128) for n in (32, 64, 128) for stages in (2, 3, 4, 5) if n <= m
    ]  # fmt: skip
    kernel = flash_attention._attn_fwd.fn
    taken = launched(kernel, (1024 // 128, 4), configs, args, kwargs)
    assert kept(kernel, configs, args, kwargs) == taken
