"""One specialization on this machine's own GPU: compiled whole, loaded through the driver, and asked whether it could launch.

In (standard input): ``{"folder", "main", "kernel", "record"}``, or ``{"run": path}`` to run a fixture file's own check, or
``{"about": 1}``; out: one JSON object. A process answers one request, so that a fault costs one.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import sys
from typing import Any

import compile_child


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    compile_child.register_outside()
    try:
        request = json.loads(sys.stdin.readline())
        if "about" in request:
            answer = _about()
        elif "run" in request:
            answer = _run(request["run"])
        else:
            answer = _launchable(request)
    except BaseException as error:
        answer = {"error": compile_child._told(error)}
    answers.write(json.dumps(answer) + "\n")
    answers.flush()
    # A device that has faulted can hang a normal exit.
    os._exit(0)


def _driver() -> Any:
    from triton.runtime import driver

    return driver.active


def _about() -> dict[str, Any]:
    import triton

    active = _driver()
    device = active.get_current_device()
    target = active.get_current_target()
    facts = active.utils.get_device_properties(device)
    return {
        "triton": triton.__version__,
        "capability": int(target.arch),
        "limit": int(facts["max_shared_mem"]),
        "multiprocessors": int(facts["multiprocessor_count"]),
        "device": _name(device),
        "driver": _driver_version(),
        "cuda": _cuda_version(),
        "torch": _version("torch"),
    }


def _version(package: str) -> str | None:
    import importlib.metadata

    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _cuda() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


def _name(device: int) -> str:
    text = ctypes.create_string_buffer(256)
    return text.value.decode() if _cuda().cuDeviceGetName(text, 256, device) == 0 else ""


def _cuda_version() -> str:
    number = ctypes.c_int()
    _cuda().cuDriverGetVersion(ctypes.byref(number))
    return f"{number.value // 1000}.{number.value % 1000 // 10}"


def _driver_version() -> str | None:
    try:
        with open("/proc/driver/nvidia/version") as file:
            words = file.readline().split()
        return next((word for word in words if word.count(".") >= 1 and word[0].isdigit()), None)
    except OSError:
        return None


def _launchable(request: dict[str, Any]) -> dict[str, Any]:
    import triton
    from triton.runtime.errors import OutOfResources

    kernel = compile_child._load(request)
    record = request["record"]
    source, target, _, _ = compile_child._prepare(kernel, record)
    options = {name: record[name] for name in ("num_warps", "num_stages", "num_ctas", "maxnreg") if record.get(name)}
    compiled = triton.compile(source, target=target, options=options)
    answer = {"shared": compiled.metadata.shared}
    try:
        compiled._init_handles()
    except OutOfResources as error:
        answer["refused"] = {"what": error.name, "required": error.required, "limit": error.limit, "message": str(error)}
        return answer
    blocks = ctypes.c_int()
    function = ctypes.c_void_p(compiled.function)
    threads = 32 * compiled.metadata.num_warps
    code = _cuda().cuOccupancyMaxActiveBlocksPerMultiprocessor(
        ctypes.byref(blocks), function, ctypes.c_int(threads), ctypes.c_size_t(compiled.metadata.shared)
    )
    answer.update(registers=compiled.n_regs, spills=compiled.n_spills, blocks_per_sm=blocks.value if code == 0 else None)
    if code != 0:
        answer["error"] = f"the driver answered {code} when asked for the occupancy"
    return answer


def _run(path: str) -> dict[str, Any]:
    spec = importlib.util.spec_from_file_location("fixture_under_test", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.path.dirname(path))
    spec.loader.exec_module(module)
    results: list[dict[str, Any]] = [
        {"case": str(name), "error": float(error), "tolerance": float(tolerance)} for name, error, tolerance in module.run("cuda")
    ]
    return {"cases": results, "passed": all(one["error"] <= one["tolerance"] for one in results)}


if __name__ == "__main__":
    main()
