"""``smem-lint env``: what a good bug report needs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator

from smem_lint.environment import Environment, environment


def run(arguments: argparse.Namespace) -> int:
    found = environment()
    print(json.dumps(found.to_json(), indent=1) if arguments.output_format == "json" else "\n".join(_lines(found)))
    return 0


def _lines(found: Environment) -> Iterator[str]:
    for index, gpu in enumerate(found.gpus):
        yield f"GPU {index}: {gpu.name}"
        if gpu.capability:
            yield f"  compute capability: {gpu.capability}"
        if gpu.optin:
            yield f"  shared memory: {gpu.optin:,} bytes for one block (opt-in limit), {gpu.per_sm or 0:,} for one multiprocessor"
        if gpu.memory:
            yield f"  memory: {gpu.memory / 2**30:.1f} GiB, {gpu.multiprocessors} multiprocessors"
    if not found.gpus:
        yield f"GPU: none found ({'; '.join(found.notes) or 'no device'})"
    yield f"driver: {found.driver or 'not found'}"
    versions = {"driver": found.cuda_driver, "torch": found.cuda_torch, "nvcc": found.nvcc}
    yield "CUDA: " + ", ".join(f"{version or 'not found'} ({name})" for name, version in versions.items())
    for name, version in found.packages.items():
        yield f"{name}: {version or 'not installed'}"
    yield f"python: {found.python}"
    yield f"OS: {found.os}{f', in {found.container}' if found.container else ''}"
    for name, value in found.variables.items():
        yield f"{name}={value}"
