"""What ``smem_lint.prune`` costs a config, under Triton's Autotuner: the first time, and when the same launch comes again.

``python benchmarks/prune.py`` needs Triton and torch, no GPU.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
SIZES, STAGES, WARPS = (32, 64, 128), (1, 2, 3, 4, 5), (4, 8)


def stand_in(capability: int = 120, optin: int = 101_376) -> Any:
    """A driver for a device that is not there."""
    spec = importlib.util.spec_from_file_location("stand_in", ROOT / "smem_lint" / "verify" / "recorder" / "smem_lint_stand_in.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Driver({"capability": capability, "optin": optin, "per_sm": optin + 1024, "name": "a stand-in"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", action="store_true", help="show where the first time goes")
    arguments = parser.parse_args()
    import torch
    import triton
    from prune.kernels import PRUNE, config, matmul  # tests/prune

    triton.runtime.driver.set_active(stand_in())
    configs = [config(bk, stages, warps) for bk in SIZES for warps in WARPS for stages in STAGES]
    tuner = triton.autotune(configs, key=["K"], prune_configs_by=PRUNE)(matmul)
    a, b, c = (torch.empty(shape, dtype=torch.bfloat16) for shape in ((128, 4096), (4096, 128), (128, 128)))

    def once(k: int) -> tuple[float, float, int]:
        tuner.nargs = dict(zip(tuner.arg_names, (a, b, c, k, 4096, 128, None), strict=False))
        started, spent = time.perf_counter(), time.process_time()
        kept = tuner.prune_configs({"M": 128, "N": 128, "grid": (1,), "warmup": False})
        took, used = time.perf_counter() - started, time.process_time() - spent
        return took * 1000 / len(configs), used * 1000 / len(configs), len(kept)

    import smem_lint.pruning

    if arguments.profile:
        import cProfile
        import pstats

        with cProfile.Profile() as profile:
            once(4096)
        pstats.Stats(profile).sort_stats("cumulative").print_stats(35)
        return
    started = time.perf_counter()
    import smem_lint.model

    smem_lint.model.ModelEngine([ROOT])
    for name in (*smem_lint.model.front_passes(120), *smem_lint.model.back_passes(120)):
        smem_lint.model.pass_named(name)
    print(f"{len(configs)} configs; importing the model {(time.perf_counter() - started) * 1000:.0f} ms, once a process")
    for told, k in (("first launch", 4096), ("another size, same specialization", 8192), ("a size that is not divisible by 16", 4097)):
        cost, used, kept = once(k)
        print(f"{told}: {cost:.2f} ms a config ({used:.2f} ms of processor time), {kept} kept")


if __name__ == "__main__":
    main()
