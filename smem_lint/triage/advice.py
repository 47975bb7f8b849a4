"""What to do about each class of failure, which device it was, and what a report of it still lacks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from smem_lint.devices import Device, UnknownTarget, device, devices
from smem_lint.triage.matching import Search
from smem_lint.triage.report import Diagnosis, Failure

MEANING = {
    "shared_memory": "a kernel asks for more shared memory than one block of this GPU may have",
    "device_memory": "the GPU's memory does not suffice (or was miscounted) for weights, activations or the KV cache",
    "kernel_dispatch": "no kernel was built for, or can be chosen for, this GPU, head size or data type",
    "stream_capture": "something that a CUDA graph cannot hold was done while one was captured",
    "illegal_access": "a kernel touched memory that is not its own",
    "host_shared_memory": "the host's shared memory (/dev/shm) is missing, full or gone",
    "other": "none of the known kinds",
    "none": "no failure: what looks like one was caught, or belongs to an ordered shutdown",
}
_STEPS = {
    "device_memory": (
        "see with `nvidia-smi` what else holds memory on this GPU, and stop it",
        "lower --max-model-len, --max-num-seqs or --max-num-batched-tokens, or store the KV cache in fp8",
        "change --gpu-memory-utilization (vLLM) or --mem-fraction-static (SGLang): up for the KV cache, down if an allocation failed",
    ),
    "kernel_dispatch": (
        "compare the GPU's compute capability with the architectures the package was built for (`torch.cuda.get_arch_list()`)",
        "choose another backend (--attention-backend, --quantization, a Marlin or Triton path) or another data type",
        "update, or build from source with TORCH_CUDA_ARCH_LIST set to this GPU",
    ),
    "stream_capture": (
        "start once with --enforce-eager (vLLM) or --disable-cuda-graph (SGLang): an error that stays has another cause",
        "look at the innermost frame below: a synchronisation, an allocation or a copy to the host in there breaks the capture",
    ),
    "illegal_access": (
        "run again with CUDA_LAUNCH_BLOCKING=1: the stack above is that of a later call",
        "then under `compute-sanitizer --tool memcheck` for the kernel and the address",
        "try --enforce-eager, and another attention backend, to narrow it down",
    ),
    "host_shared_memory": (
        "give the container more: `docker run --ipc=host` or `--shm-size=16g`; in Kubernetes, an `emptyDir` in memory on /dev/shm",
        "see `df -h /dev/shm`, and remove what dead processes left there",
    ),
    "other": ("start from the innermost frame of the first traceback, not from the last lines of the log",),
}
_CACHE = re.compile(r"(?i)cache blocks|KV cache")
_PROFILING = re.compile(r"Error in memory profiling|init_snapshot")


def steps(failure: Failure, found: Search | None = None) -> list[str]:
    """What to change, the likeliest first; for an overflow, what the source was found to allow."""
    if failure.kind == "shared_memory":
        return list(_shrink(failure, found))
    if failure.kind == "device_memory" and _PROFILING.search(failure.message):
        return ["another process freed or took GPU memory while the server measured its own: start it alone, one after another"]
    told = list(_STEPS.get(failure.kind, ()))
    if failure.kind == "device_memory" and _CACHE.search(failure.message):
        told[1:] = reversed(told[1:])
    return told


def _shrink(failure: Failure, found: Search | None) -> Iterator[str]:
    over = f" (over by {failure.required - failure.limit:,} bytes)" if failure.required and failure.limit else ""
    for change in found.changes if found else ():
        told = ", ".join(f"{name}={value}" for name, value in change.settings.items())
        yield f"set {told}: {change.bytes:,} bytes, which fits"
    if not (found and found.changes):
        yield f"lower num_stages, or a block size, of the kernel's config{over}"
    if found and found.place:
        yield f"`smem-lint explain {found.place}` shows where each byte goes"
    elif found is None:
        yield "`--source PATH`, with the folder that holds the kernel, finds the config and what would fit"


def device_of(diagnosis: Diagnosis, preferred: tuple[Device, ...] = ()) -> tuple[Device, ...]:
    """The devices that the limit and the names in the log allow, the likeliest first; empty where nothing tells."""
    limit = diagnosis.failure.limit if diagnosis.failure else None
    named = _named(diagnosis.facts)
    if limit is None:
        return (named,) if named else ()
    fitting = [one for one in devices() if one.optin == limit]
    order = [*([named] if named else []), *preferred, *_newest_first(fitting)]
    return tuple(dict.fromkeys(one for one in order if one in fitting))


def _newest_first(fitting: list[Device]) -> list[Device]:
    return sorted(fitting, key=lambda one: (one.capability % 10 != 0, -one.capability))


def _named(facts: dict[str, str]) -> Device | None:
    for name in (facts.get("capability", "").replace(",", ".").replace(" ", ""), facts.get("gpu", "")):
        if name:
            try:
                return device(name)
            except UnknownTarget:
                continue
    return None


def lacking(diagnosis: Diagnosis) -> list[str]:
    """What a useful report of this failure still needs, that the log does not say."""
    failure, facts = diagnosis.failure, diagnosis.facts
    if failure is None:
        return []
    engine = "vllm" in facts or "sglang" in facts
    wanted = [
        ("gpu" in facts or "capability" in facts or bool(failure.limit and device_of(diagnosis)), "the GPU's name and compute capability"),
        ("driver" in facts, "the driver's version"),
        ("cuda" in facts or "torch" in facts, "the versions of CUDA and torch"),
        ("triton" in facts or failure.kind not in ("shared_memory", "illegal_access", "kernel_dispatch"), "Triton's version"),
        (engine, "the server's version (vLLM, SGLang …)"),
        ("flashinfer" in facts or failure.kind not in ("kernel_dispatch", "illegal_access"), "FlashInfer's version"),
        ("arguments" in facts or "model" in facts, "the command line and the model"),
        (bool(failure.frames) or failure.kind in ("host_shared_memory",), "the first traceback in full"),
        (failure.kind != "shared_memory" or failure.required is not None, "the bytes required and the hardware limit"),
        (failure.kind != "shared_memory" or failure.kernel is not None, "the kernel's name"),
        (failure.kind != "illegal_access", "a run with CUDA_LAUNCH_BLOCKING=1"),
        (failure.kind != "device_memory" or "GiB" in failure.message, "`nvidia-smi` just before the start"),
        (failure.kind != "host_shared_memory", "`df -h /dev/shm` and how the container was started"),
    ]
    return [text for had, text in wanted if not had]
