"""What host code learns when it asks about the machine: answers for the target, with no environment variable set.

Facts are known by the names under which projects ask (``is_hip``, ``get_device_capability`` …). A function of the
repository is evaluated first; the answer by name stands in where that leads to something unknown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from smem_lint.devices import by_capability
from smem_lint.host.operators import has_unknown
from smem_lint.host.values import UNKNOWN, DType, words

_MULTIPROCESSORS = {70: 80, 75: 40, 80: 108, 86: 84, 87: 16, 89: 142, 90: 132, 100: 148, 103: 148, 110: 20, 120: 188, 121: 48}
"""Multiprocessors of the largest card of a capability: V100, T4, A100, A40, Orin, L40S, H100, B200, B300, Thor, RTX PRO 6000, GB10."""
_CARDS = {90: "NVIDIA H100 80GB HBM3", 80: "NVIDIA A100-SXM4-80GB", 89: "NVIDIA L40S", 100: "NVIDIA B200", 103: "NVIDIA B300",
          120: "NVIDIA RTX PRO 6000 Blackwell Server Edition", 121: "NVIDIA GB10", 86: "NVIDIA A40",
          75: "Tesla T4", 70: "Tesla V100"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Target:
    """The device that host code is evaluated for. Bytes; ``capability`` is ten times the usual number."""

    capability: int
    optin: int
    per_sm: int
    multiprocessors: int
    name: str
    threads_per_sm: int = 1536

    @property
    def version(self) -> tuple[int, int]:
        return divmod(self.capability, 10)


@cache
def target(capability: int) -> Target:
    """The target of a capability; of an unknown one, with the limits of the nearest known below it."""
    try:
        device = by_capability(capability)
        optin, per_sm, threads = device.optin, device.per_sm, device.threads_per_sm
    except (KeyError, ValueError, LookupError):
        optin, per_sm, threads = 101_376, 102_400, 1536
    name = _CARDS.get(capability, f"NVIDIA sm_{capability}")
    return Target(capability, optin, per_sm, _MULTIPROCESSORS.get(capability, 100), name, threads)


_TRUE = frozenset(["is_cuda", "is_cuda_alike", "is_nvidia", "is_cuda_available", "is_triton_available", "has_triton"])
_FALSE = words(
    "is_hip is_rocm is_amd is_xpu is_npu is_cpu is_tpu is_intel is_musa is_hpu is_mps is_neuron is_hip_ is_out_of_tree "
    "is_interpreter is_npu_available is_xpu_available is_cdna is_rdna is_hip_cdna2 is_hip_cdna3 is_hip_cdna4 "
    "is_gfx95_supported on_gfx9 on_gfx942 on_gfx950 on_gfx1x on_gfx11 on_gfx12x on_mi3xx is_fp8_fnuz is_batch_invariant "
    "vllm_is_batch_invariant is_torch_npu_available is_maca is_arm is_unspecified is_torch_compiling is_dynamo_compiling "
    "is_compiling"
)


_OPTIN = re.compile(r"(get_)?(device_)?max_(shared_mem(ory)?|smem)(_size|_bytes)?(_per_block)?(_optin)?(_device_attribute|_bytes)?")
"""Names of functions that ask the device for its opt-in limit."""


def function(where: Target, name: str) -> Any:
    """The answer of a function that is asked without arguments that matter; ``UNKNOWN`` where the name says nothing."""
    if name in _TRUE:
        return True
    if name in _FALSE:
        return False
    if name in ("num_compute_units", "get_num_sms", "num_sms", "get_sm_count", "get_num_sm", "get_multiprocessor_count", "get_cu_count"):
        return where.multiprocessors
    if name in ("get_device_name", "get_gpu_name"):
        return where.name
    if _OPTIN.fullmatch(name):
        return where.optin
    if name in ("is_blackwell",):
        return where.version[0] in (10, 11, 12)
    if name in ("is_hopper",):
        return where.version[0] == 9
    return UNKNOWN


def method(where: Target, receiver: str, name: str, args: Sequence[Any]) -> Any:
    """The answer of a method of something unknown (``current_platform.is_cuda()``); ``UNKNOWN`` where the name says nothing."""
    simple = function(where, name)
    if simple is not UNKNOWN:
        return simple
    if name == "fp8_dtype":
        return DType("float8e4nv")
    if name in ("is_device_capability", "has_device_capability", "is_device_capability_family", "support_fp8", "supports_fp8",
                "get_device_capability", "get_device_total_memory", "is_arch_support_pdl"):  # fmt: skip
        return _capability_method(where, name, args)
    return UNKNOWN


def _capability_method(where: Target, name: str, args: Sequence[Any]) -> Any:
    if name in ("support_fp8", "supports_fp8"):
        return where.capability >= 89
    if name == "is_arch_support_pdl":
        return where.capability >= 90
    if name == "get_device_capability":
        return DeviceCapability(*where.version)
    if not args or has_unknown(list(args)):
        return UNKNOWN
    asked = args[0]
    wanted = asked[0] * 10 + asked[1] if isinstance(asked, tuple) and len(asked) == 2 else asked
    if not isinstance(wanted, int):
        return UNKNOWN
    if name == "is_device_capability":
        return where.capability == wanted
    if name == "is_device_capability_family":
        return where.capability // 10 == wanted // 10
    return where.capability >= wanted if name == "has_device_capability" else UNKNOWN


def attribute(where: Target, name: str) -> Any:
    """Attributes that state a fact about the device whatever they are read from; ``UNKNOWN`` for others."""
    return {
        "multi_processor_count": where.multiprocessors, "multiprocessor_count": where.multiprocessors, "max_shared_mem": where.optin,
        "shared_memory_per_block_optin": where.optin, "shared_memory_per_multiprocessor": where.per_sm, "warp_size": 32,
        "max_threads_per_multi_processor": where.threads_per_sm, "shared_memory_per_block": 49_152,
    }.get(name, UNKNOWN)  # fmt: skip


class DeviceCapability(tuple[int, int]):
    """``(major, minor)`` that also answers ``.major``, ``.minor`` and ``to_int()``, as vLLM's does."""

    __slots__ = ()

    def __new__(cls, major: int, minor: int) -> DeviceCapability:
        return super().__new__(cls, (major, minor))

    @property
    def major(self) -> int:
        return self[0]

    @property
    def minor(self) -> int:
        return self[1]

    def to_int(self) -> int:
        """``major * 10 + minor``."""
        return self[0] * 10 + self[1]

    def as_version_str(self) -> str:
        """``major.minor``."""
        return f"{self[0]}.{self[1]}"


PROPERTIES = words(
    "name major minor is_multi_gpu_board is_integrated multi_processor_count total_memory max_threads_per_multi_processor "
    "max_threads_per_block regs_per_multiprocessor shared_memory_per_block shared_memory_per_block_optin shared_memory_per_multiprocessor "
    "warp_size gcnArchName uuid L2_cache_size pci_bus_id pci_device_id pci_domain_id clock_rate memory_clock_rate memory_bus_width "
    "max_shared_mem max_num_regs multiprocessor_count warpSize sm_clock_rate mem_clock_rate mem_bus_width"
)
"""Attributes of torch's device properties (torch/csrc/cuda/Module.cpp, 2.9) and keys of Triton's (third_party/nvidia/backend/driver.c)."""


class Properties:
    """A device's properties, by attribute or by key."""

    __slots__ = ("fields",)

    def __init__(self, where: Target) -> None:
        names = ("multi_processor_count", "multiprocessor_count", "max_shared_mem", "shared_memory_per_block_optin", "warp_size",
                 "shared_memory_per_multiprocessor", "max_threads_per_multi_processor", "shared_memory_per_block")  # fmt: skip
        self.fields: dict[str, Any] = {name: attribute(where, name) for name in names}
        self.fields.update(name=where.name, major=where.version[0], minor=where.version[1], warpSize=32)
