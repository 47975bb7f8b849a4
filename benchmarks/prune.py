"""What ``smem_lint.prune`` costs a config, under Triton's Autotuner: at first, when the launch comes again, and in the next process.

``python benchmarks/prune.py`` needs Triton and torch, no GPU. Each row is processor time, the least of several processes. Not in it:
importing the model (once a process, told in the first row; the next process has its answers from disk and imports no model), and what
Triton imports and makes to bind a kernel's arguments at its first launch, pruned or not.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "fixtures" / "kernels")]
SIZES, STAGES, WARPS = (32, 64, 128), (1, 2, 3, 4, 5), (4, 8)


def stand_in(capability: int = 120, optin: int = 101_376) -> Any:
    """A driver for a device that is not there."""
    spec = importlib.util.spec_from_file_location("stand_in", ROOT / "smem_lint" / "verify" / "recorder" / "smem_lint_stand_in.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Driver({"capability": capability, "optin": optin, "per_sm": optin + 1024, "name": "a stand-in"})


class Launch:
    """A tuned kernel with the arguments of one launch, pruned as Triton's Autotuner does it."""

    def __init__(self, kernel: Any, configs: list[Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        import triton
        from prune.kernels import PRUNE  # tests/prune

        self.tuner = triton.autotune(configs, key=[], prune_configs_by=PRUNE)(kernel)
        self.configs, self.arguments, self.keywords = configs, arguments, keywords
        kernel.device_caches[triton.runtime.driver.active.get_current_device()]

    def pruned(self, **other: int) -> tuple[float, int]:
        """Milliseconds a config for a launch with other values of some arguments, and how many configs are kept."""
        self.tuner.nargs = dict(zip(self.tuner.arg_names, self.arguments, strict=False))
        keywords = {**self.keywords, **{name: value for name, value in other.items() if name not in self.tuner.nargs}}
        self.tuner.nargs.update({name: value for name, value in other.items() if name in self.tuner.nargs})
        started = time.process_time()
        kept = self.tuner.prune_configs({**keywords, "grid": (1,), "warmup": False})
        return (time.process_time() - started) * 1000 / len(self.configs), len(kept)


def matrix_products() -> dict[str, Launch]:
    """A list over stages and warps, which share their front halves, and one in which each config has a tile of its own."""
    import gemm  # fixtures/kernels
    import torch
    from prune.kernels import config, matmul

    a, b, c = (torch.empty(shape, dtype=torch.bfloat16) for shape in ((128, 4096), (4096, 128), (128, 128)))
    swept = [config(bk, stages, warps) for bk in SIZES for warps in WARPS for stages in STAGES]
    tiles = (a, b, c, 128, 128, 4096, 4096, 1, 128, 1, 128, 1)
    return {
        f"{len(swept)} configs, {len(SIZES)} tiles": Launch(matmul, swept, (a, b, c, 4096, 4096, 128, None), {"M": 128, "N": 128}),
        f"{len(gemm.get_configs())} configs, a tile each": Launch(gemm.matmul_kernel.fn, gemm.get_configs(), tiles, {"ACTIVATION": ""}),
    }


def attention() -> dict[str, Launch]:
    """Flash attention by head size, over all keys and with a causal mask (two loops, four products)."""
    import flash_attention  # fixtures/kernels
    import torch

    found = {}
    for head in (64, 128):
        q, k, v, out = (torch.empty((1, 16, 4096, head), dtype=torch.float16) for _ in range(4))
        strides = [stride for one in (q, k, v) for stride in one.stride()[:3]]
        arguments = (q, k, v, 0.1, torch.empty((1, 16, 4096)), out, *strides, 16)
        for stage, told in ((1, "attention"), (3, "causal attention")):
            configs = [one for one in flash_attention.configs if flash_attention.keep(one)]
            launch = Launch(flash_attention._attn_fwd.fn, configs, arguments, {"N_CTX": 4096, "HEAD_DIM": head, "STAGE": stage})
            found[f"{len(configs)} configs of {told}, heads of {head}"] = launch
    return found


def measured() -> dict[str, tuple[float, int]]:
    import triton
    import triton.experimental.gluon

    triton.runtime.driver.set_active(stand_in())
    found, started = {}, time.process_time()
    if not next(Path(os.environ["SMEM_LINT_CACHE_DIR"]).rglob("*.json"), None):
        imported()
        found["importing the model, ms in all"] = ((time.process_time() - started) * 1000, 0)
    for name, launch in matrix_products().items():
        for told, k in (("first launch", 4096), ("another size, same specialization", 8192), ("a size not divisible by 16", 4097)):
            found[f"{name}: {told}"] = launch.pruned(K=k)
    for name, launch in attention().items():
        for told, heads in (("first launch", 16), ("another size, same specialization", 32)):
            found[f"{name}: {told}"] = launch.pruned(H=heads)
    return found


def imported() -> None:
    import smem_lint.model
    import smem_lint.screening

    smem_lint.model.ModelEngine([ROOT])
    for name in (*smem_lint.model.front_passes(120), *smem_lint.model.back_passes(120)):
        smem_lint.model.pass_named(name)


def in_two_processes() -> dict[str, tuple[float, int]]:
    """What a process measures that knows nothing, and what the next one does of the same launches."""
    command = [sys.executable, __file__, "--once"]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "SMEM_LINT_CACHE_DIR": folder}
        first, second = (json.loads(subprocess.run(command, check=True, capture_output=True, env=environment).stdout) for _ in range(2))
    following = {f"{name}, in the next process": row for name, row in second.items() if name.endswith("first launch")}
    return {**first, **following}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", action="store_true", help="show where the first time goes")
    parser.add_argument("--processes", type=int, default=5, help="how many processes to take the least of (default: %(default)s)")
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.profile:
        import cProfile

        os.environ["SMEM_LINT_CACHE_DIR"] = os.devnull
        cProfile.run("measured()", sort="tottime")
    elif arguments.once:
        print(json.dumps(measured()))
    else:
        runs = [in_two_processes() for _ in range(arguments.processes)]
        for name in runs[0]:
            kept = f" a config, {runs[0][name][1]} kept" if runs[0][name][1] else ""
            print(f"{name}: {min(run[name][0] for run in runs):.2f}{kept and ' ms'}{kept}")


if __name__ == "__main__":
    main()
