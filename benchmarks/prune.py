"""What ``smem_lint.prune`` costs a config, under Triton's Autotuner: the first time, and when the same launch comes again.

``python benchmarks/prune.py`` needs Triton and torch, no GPU. Each row is processor time, the least of several processes. Not in it:
importing the model (once a process), and what Triton imports and makes to bind a kernel's arguments at its first launch, pruned or not.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
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

        self.tuner = triton.autotune(configs, key=["K"], prune_configs_by=PRUNE)(kernel)
        self.configs, self.arguments, self.keywords = configs, arguments, keywords
        kernel.device_caches[triton.runtime.driver.active.get_current_device()]

    def pruned(self, k: int) -> tuple[float, int]:
        """Milliseconds a config for a launch with this K, and how many configs are kept."""
        self.tuner.nargs = dict(zip(self.tuner.arg_names, self.arguments, strict=False)) | {"K": k}
        started = time.process_time()
        kept = self.tuner.prune_configs({**self.keywords, "grid": (1,), "warmup": False})
        return (time.process_time() - started) * 1000 / len(self.configs), len(kept)


def launches() -> dict[str, Launch]:
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


def measured() -> dict[str, tuple[float, int]]:
    import triton
    import triton.experimental.gluon

    triton.runtime.driver.set_active(stand_in())
    import smem_lint.model
    import smem_lint.pruning

    smem_lint.model.ModelEngine([ROOT])
    for name in (*smem_lint.model.front_passes(120), *smem_lint.model.back_passes(120)):
        smem_lint.model.pass_named(name)
    found = {}
    for name, launch in launches().items():
        for told, k in (("first launch", 4096), ("another size, same specialization", 8192), ("a size not divisible by 16", 4097)):
            found[f"{name}: {told}"] = launch.pruned(k)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", action="store_true", help="show where the first time goes")
    parser.add_argument("--processes", type=int, default=5, help="how many processes to take the least of (default: %(default)s)")
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.profile:
        import cProfile

        cProfile.run("measured()", sort="tottime")
    elif arguments.once:
        print(json.dumps(measured()))
    else:
        command = [sys.executable, __file__, "--once"]
        runs = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(arguments.processes)]
        for name in runs[0]:
            print(f"{name}: {min(run[name][0] for run in runs):.2f} ms a config, {runs[0][name][1]} kept")


if __name__ == "__main__":
    main()
