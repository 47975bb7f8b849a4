"""What a bug report needs to know of a machine: GPU, limits, driver, versions. Nothing is imported, nothing secret is read.

The driver is asked in a child process under a time limit: a broken one can hang or end the process that asks it.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

_TIMEOUT = 20.0
PACKAGES = (
    "torch", "triton", "triton-windows", "pytorch-triton", "vllm", "sglang", "sgl-kernel", "flashinfer-python", "flashinfer", "flash-attn",
    "xformers", "transformers", "nvidia-cutlass-dsl", "flash-linear-attention", "liger-kernel", "smem-lint",
)  # fmt: skip
_ALWAYS = ("torch", "triton", "vllm", "sglang", "flashinfer-python")
VARIABLES = (
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_LAUNCH_BLOCKING", "CUDA_HOME", "NVIDIA_VISIBLE_DEVICES", "TORCH_CUDA_ARCH_LIST",
    "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "TORCHINDUCTOR_MAX_AUTOTUNE", "TORCHINDUCTOR_CACHE_DIR", "TORCH_COMPILE_DISABLE",
    "TRITON_CACHE_DIR", "TRITON_INTERPRET", "TRITON_PRINT_AUTOTUNING", "TRITON_PTXAS_PATH", "TRITON_OVERRIDE_ARCH", "TRITON_ALWAYS_COMPILE",
    "TRITON_DEBUG", "TRITON_DEFAULT_FP_FUSION", "TRITON_DISABLE_LINE_INFO", "VLLM_ATTENTION_BACKEND", "VLLM_USE_V1", "VLLM_USE_DEEP_GEMM",
    "VLLM_FLASH_ATTN_VERSION", "VLLM_USE_FLASHINFER_SAMPLER", "VLLM_WORKER_MULTIPROC_METHOD", "VLLM_MLA_DISABLE",
    "FLASHINFER_CUDA_ARCH_LIST",
    "FLASHINFER_DISABLE_VERSION_CHECK", "SGLANG_ENABLE_JIT_DEEPGEMM", "SGL_ENABLE_JIT_DEEPGEMM",
)  # fmt: skip
_DRIVER = """
import ctypes, json
cuda = ctypes.CDLL("nvcuda.dll" if __import__("os").name == "nt" else "libcuda.so.1")
def ask(name, *rest):
    value = ctypes.c_int()
    code = getattr(cuda, name)(ctypes.byref(value), *rest)
    return value.value if code == 0 else None
code = cuda.cuInit(0)
found = {"cuda": ask("cuDriverGetVersion"), "error": code, "gpus": []}
for index in range((ask("cuDeviceGetCount") or 0) if code == 0 else 0):
    name = ctypes.create_string_buffer(256)
    cuda.cuDeviceGetName(name, 256, index)
    total = ctypes.c_size_t()
    cuda.cuDeviceTotalMem_v2(ctypes.byref(total), index)
    found["gpus"].append({
        "name": name.value.decode("utf8", "replace"), "capability": [ask("cuDeviceGetAttribute", key, index) for key in (75, 76)],
        "optin": ask("cuDeviceGetAttribute", 97, index), "per_sm": ask("cuDeviceGetAttribute", 81, index),
        "multiprocessors": ask("cuDeviceGetAttribute", 16, index), "memory": total.value,
    })
print(json.dumps(found))
"""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One device. ``optin`` and ``per_sm``: bytes of shared memory that one block and one multiprocessor may have."""

    name: str
    capability: str | None
    optin: int | None
    per_sm: int | None
    multiprocessors: int | None
    memory: int | None


@dataclass(slots=True)
class Environment:
    """What was found; None stands for what is missing, ``notes`` say why."""

    gpus: list[Gpu] = field(default_factory=list)
    driver: str | None = None
    cuda_driver: str | None = None
    cuda_torch: str | None = None
    nvcc: str | None = None
    packages: dict[str, str | None] = field(default_factory=dict)
    python: str = ""
    os: str = ""
    container: str | None = None
    variables: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def environment(variables: Mapping[str, str] | None = None) -> Environment:
    """Look at this machine. Nothing is raised for what is missing or broken."""
    found = Environment(python=f"{platform.python_version()} ({platform.python_implementation()})", os=_os())
    _ask_driver(found)
    found.driver = _driver_version(found)
    found.packages = packages()
    found.cuda_torch = _cuda_of_torch(found.packages.get("torch"))
    found.nvcc = _nvcc()
    found.container = _container()
    found.variables = shown(os.environ if variables is None else variables)
    return found


def packages() -> dict[str, str | None]:
    """The versions of the packages that matter; those always asked for are there even when missing."""
    found: dict[str, str | None] = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except Exception:  # a broken installation raises what it likes
            if name in _ALWAYS:
                found[name] = None
    return found


_SECRET = re.compile(
    r"(?i)(?:hf_|sk-|ghp_|gho_|github_pat_|glpat-|xox|AKIA|eyJ)[\w-]{6,}|\b\w*(?:token|secret|password|api_?key)\w*[=:]\S+|//[^/\s@]+@"
)


def shown(variables: Mapping[str, str]) -> dict[str, str]:
    """The few variables that change which kernels run, shortened; anything that looks like a secret or a home is masked."""
    home = variables.get("HOME") or ""
    found = {}
    for name in VARIABLES:
        if name not in variables:
            continue
        value = _SECRET.sub("***", variables[name])
        if len(home) > 1:
            value = value.replace(home, "~")
        value = "".join(sign if sign.isprintable() else "?" for sign in value)
        found[name] = value if len(value) <= 80 else value[:77] + "..."
    return found


def _ask_driver(found: Environment) -> None:
    answer = _run([sys.executable, "-I", "-S", "-c", _DRIVER])
    try:
        told = json.loads((answer or "").strip().splitlines()[-1])
        assert isinstance(told, dict)
    except (ValueError, IndexError, AssertionError):
        found.notes.append("no GPU: libcuda could not be loaded or did not answer")
        return
    if told.get("cuda"):
        found.cuda_driver = f"{told['cuda'] // 1000}.{told['cuda'] % 1000 // 10}"
    if told.get("error"):
        found.notes.append(f"no GPU: cuInit returned {told['error']}")
    for one in told.get("gpus", ()):
        capability = one.pop("capability")
        found.gpus.append(Gpu(capability=".".join(map(str, capability)) if None not in capability else None, **one))


def _driver_version(found: Environment) -> str | None:
    try:
        text = Path("/proc/driver/nvidia/version").read_text("utf8", "replace")[:500]
    except OSError:
        text = ""
    matched = re.search(r"\b(\d{3}\.\d+(?:\.\d+)?)\b", text)
    if matched:
        return matched[1]
    if not shutil.which("nvidia-smi"):
        return None
    lines = (_run(["nvidia-smi", "--query-gpu=driver_version,name", "--format=csv,noheader"]) or "").strip().splitlines()
    matched = re.match(r"\d{3}\.\d+(?:\.\d+)?", lines[0]) if lines else None
    if matched and not found.gpus:
        found.gpus = [Gpu(line.partition(", ")[2], None, None, None, None, None) for line in lines[:64]]
    return matched[0] if matched else None


def _cuda_of_torch(version: str | None) -> str | None:
    """The CUDA that torch was built for: ``torch/version.py``, read as text."""
    if version is None:
        return None
    try:
        files = importlib.metadata.files("torch") or []
        place = next((str(one.locate()) for one in files if str(one).replace("\\", "/") == "torch/version.py"), None)
        text = Path(place).read_text("utf8")[:4000] if place else ""
    except Exception:
        text = ""
    matched = re.search(r"^cuda\b[^=\n]*= *'([\d.]+)'", text, re.MULTILINE)
    local = re.search(r"\+cu(\d+)(\d)$", version)
    return matched[1] if matched else f"{local[1]}.{local[2]}" if local else None


def _nvcc() -> str | None:
    if not shutil.which("nvcc"):
        return None
    matched = re.search(r"release (\d+\.\d+)", _run(["nvcc", "--version"]) or "")
    return matched[1] if matched else None


def _os() -> str:
    name = ""
    if hasattr(platform, "freedesktop_os_release"):
        try:
            name = platform.freedesktop_os_release().get("PRETTY_NAME", "")
        except OSError:
            name = ""
    kernel = f"{platform.system()} {platform.release()} {platform.machine()}"
    wsl = " (WSL)" if "microsoft" in platform.release().lower() else ""
    return f"{name}, {kernel}{wsl}" if name else kernel + wsl


def _container() -> str | None:
    if Path("/.dockerenv").exists():
        return "docker"
    if Path("/run/.containerenv").exists():
        return "podman"
    return "kubernetes" if "KUBERNETES_SERVICE_HOST" in os.environ else None


def _run(command: list[str]) -> str | None:
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=_TIMEOUT, text=True, errors="replace", stdin=subprocess.DEVNULL, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout
