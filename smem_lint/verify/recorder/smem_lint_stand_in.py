"""A device that is not there: a Triton driver that launches nothing, and tensors on the CPU for a program that wants them on a GPU.

This file is read by the interpreter of the program that is recorded: it stands on its own. ``device`` holds ``capability`` (ten times
the usual number), ``optin`` and ``per_sm`` (bytes), and ``name``.
"""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

_WARP = 32
# NVIDIA's data sheets: RTX PRO 6000, B200, H200, L40S, A40, A100, T4, V100.
_MULTIPROCESSORS = {120: 188, 121: 48, 100: 148, 103: 148, 110: 20, 90: 132, 89: 142, 86: 84, 80: 108, 75: 40, 70: 80}
_MEMORY = 96 << 30


def multiprocessors(device: dict[str, Any]) -> int:
    return _MULTIPROCESSORS.get(device["capability"], 100)


class Driver:
    """The active driver of Triton 3.5 to 3.9, as far as programs and Triton's own launcher ask one."""

    def __init__(self, device: dict[str, Any]) -> None:
        self.device = device
        facts = {
            "max_shared_mem": device["optin"], "max_num_regs": 65536, "multiprocessor_count": multiprocessors(device),
            "warpSize": _WARP, "sm_clock_rate": 2_400_000, "mem_clock_rate": 14_000_000, "mem_bus_width": 512,
        }  # fmt: skip
        self.utils = SimpleNamespace(get_device_properties=lambda *_: dict(facts))
        self.launcher_cls = lambda *_, **__: lambda *_, **__: None

    @staticmethod
    def is_active() -> bool:
        return True

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", self.device["capability"], _WARP)

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        pass

    def get_current_stream(self, device: int = 0) -> int:
        return 0

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        major, minor = divmod(int(self.device["capability"]), 10)
        return major, minor

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cuda", 0)

    def get_device_interface(self) -> Any:
        import torch

        return torch.cuda

    def get_empty_cache_for_benchmark(self) -> Any:
        import torch

        return torch.empty(1)

    def clear_cache(self, cache: Any) -> None:
        pass

    def get_benchmarker(self) -> Any:
        return lambda _, quantiles=None, **__: [1.0] * len(quantiles) if quantiles else 1.0

    def map_python_to_cpp_type(self, name: str) -> str:
        return name


def replace_driver(device: dict[str, Any], module: ModuleType) -> None:
    """Make Triton's active driver, and its default one, the stand-in."""
    driver = Driver(device)
    module.driver.set_active(driver)
    module.driver._default = driver


class _Nothing:
    """A stream, an event, a graph: whatever is asked of it, nothing happens."""

    cuda_stream, stream_id, device_index = 0, 0, 0

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __enter__(self) -> _Nothing:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def elapsed_time(self, other: Any) -> float:
        return 1.0

    def query(self) -> bool:
        return True

    def _nothing(self, *_: Any, **__: Any) -> None:
        pass

    record = wait = synchronize = wait_stream = wait_event = record_event = _nothing


def replace_device(device: dict[str, Any], torch: Any) -> None:
    """``torch.cuda`` answers for the stand-in, and what is made on or moved to it stays on the CPU and says otherwise."""
    major, minor = divmod(device["capability"], 10)
    facts = SimpleNamespace(
        name=device["name"], major=major, minor=minor, total_memory=_MEMORY, multi_processor_count=multiprocessors(device),
        shared_memory_per_block=49152, shared_memory_per_block_optin=device["optin"], shared_memory_per_multiprocessor=device["per_sm"],
        warp_size=_WARP, regs_per_multiprocessor=65536, max_threads_per_multi_processor=1536, L2_cache_size=96 << 20,
        is_integrated=False,
    )  # fmt: skip
    answers: dict[str, Any] = {
        "is_available": True, "is_initialized": True, "device_count": 1, "current_device": 0, "get_device_capability": (major, minor),
        "get_device_name": device["name"], "get_device_properties": facts, "is_bf16_supported": True, "memory_allocated": 0,
        "max_memory_allocated": 0, "memory_reserved": 0, "max_memory_reserved": 0, "mem_get_info": (_MEMORY, _MEMORY),
        "is_current_stream_capturing": False, "get_arch_list": [f"sm_{device['capability']}"], "default_stream": _Nothing(),
        "current_stream": _Nothing(), "init": None, "_lazy_init": None,
    }  # fmt: skip
    for name in ("synchronize", "set_device", "empty_cache", "reset_peak_memory_stats", "ipc_collect", "set_stream", "manual_seed"):
        answers[name] = None
    for name in ("manual_seed_all", "seed", "seed_all", "reset_max_memory_allocated", "set_per_process_memory_fraction"):
        answers[name] = None
    for name, value in answers.items():
        setattr(torch.cuda, name, lambda *_, value=value, **__: value)
    for name in ("Stream", "Event", "device", "stream", "CUDAGraph", "graph", "device_of"):
        setattr(torch.cuda, name, _Nothing)
    torch.version.cuda = torch.version.cuda or "13.0"
    _tensors_on_the_cpu(torch)


def _tensors_on_the_cpu(torch: Any) -> None:
    from torch.overrides import TorchFunctionMode

    tensor, here = torch.Tensor, torch.device("cuda", 0)
    said = {tensor.is_cuda.__get__: True, tensor.is_cpu.__get__: False, tensor.device.__get__: here, tensor.get_device: 0}
    moves = {tensor.cuda, tensor.pin_memory}

    def on_gpu(value: Any) -> bool:
        if isinstance(value, str):
            return value.partition(":")[0] == "cuda"
        return isinstance(value, torch.device) and value.type == "cuda"

    def moved(value: Any) -> Any:
        return torch.device("cpu") if on_gpu(value) else value

    class OnTheCpu(TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = dict(kwargs or {})
            if function in said and args and args[0].device.type != "meta":
                return said[function]
            if function in moves:
                return args[0]
            if "device" in kwargs:
                kwargs["device"] = moved(kwargs["device"])
                if isinstance(kwargs["device"], int) and not isinstance(kwargs["device"], bool):
                    kwargs["device"] = torch.device("cpu")
            if kwargs.get("pin_memory"):
                kwargs["pin_memory"] = False
            args = (*args[:1], *map(moved, args[1:])) if args and isinstance(args[0], tensor) else args
            return function(*args, **kwargs)

    mode: Any = OnTheCpu()
    mode.__enter__()
    torch._smem_lint_mode = mode  # for as long as the program runs
