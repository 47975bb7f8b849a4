"""Asks the installed Triton for shared memory, one request a line: runs in a process of its own, and is started by path.

In: ``{"folder", "main", "kernel", "record"}``; out: ``{"shared", "ir", "lines"}`` or ``{"error"}``. The
compiler goes no further than shared-memory allocation where its passes are known (Triton 3.5 to 3.9), and the whole way otherwise.
No GPU is asked for. Standard output carries answers alone: what the compiler prints goes to standard error.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import re
import resource
import sys
import types
from typing import Any


def register_outside() -> None:
    """Make ``from smem_lint_cut import outside`` work for the modules that are cut out."""
    module = types.ModuleType("smem_lint_cut")
    module.outside = _outside  # type: ignore[attr-defined]
    sys.modules["smem_lint_cut"] = module


def main() -> None:
    register_outside()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    if len(sys.argv) > 1 and int(sys.argv[1]):
        limit = int(sys.argv[1])
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    answers.write(json.dumps(_hello()) + "\n")
    answers.flush()
    for line in sys.stdin:
        try:
            answer = _compile(json.loads(line))
        except MemoryError:
            answer = {"error": "the compiler ran out of memory", "transient": True}
        except BaseException as error:
            answer = {"error": _told(error)}
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _hello() -> dict[str, Any]:
    try:
        import triton
    except Exception as error:
        return {"triton": None, "error": _told(error)}
    try:
        importlib.import_module("triton.backends.compiler")
    except ImportError:
        return {"triton": None, "error": f"Triton {triton.__version__} is too old: 3.0 or newer is needed"}
    return {"triton": triton.__version__}


def _told(error: BaseException) -> str:
    """One line: a compilation error shows the source first and ends with its cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    place = re.match(r"at (\d+):(\d+):$", lines[0])
    if place and lines[-1].strip("^") == "" and error.__cause__ is not None:
        return f"{_told(error.__cause__)} (line {place.group(1)} of the function)"
    where = f" (line {place.group(1)} of the function)" if place else ""
    return f"{type(error).__name__}: {lines[-1][:400]}{where}"


def _compile(request: dict[str, Any]) -> dict[str, Any]:
    kernel = _load(request)
    record = request["record"]
    source, target, backend, options = _prepare(kernel, record)
    if request.get("full"):
        return _full(source, target, record)
    try:
        return _to_allocation(source, target, backend, options)
    except _PassesDiffer:
        return _full(source, target, record)


class _PassesDiffer(Exception):
    pass


def _outside(*dotted: str) -> Any:
    """What a name of triton (or ``math``) stands for, the first of several that this version has; None where it has none."""
    return next((found for one in dotted if (found := _named(one)) is not None), None)


def _named(dotted: str) -> Any:
    first, *rest = dotted.split(".")
    found: Any = importlib.import_module(first)
    for place, part in enumerate(rest, 1):
        if not hasattr(found, part):
            try:
                importlib.import_module(".".join([first, *rest[:place]]))
            except ImportError:
                return None
        found = getattr(found, part, None)
    return found


def _load(request: dict[str, Any]) -> Any:
    """The kernel's JITFunction, out of modules that hold nothing but jit functions and constants."""
    for name in [name for name in sys.modules if name.startswith("cut_")]:
        del sys.modules[name]
    sys.path[0] = request["folder"]
    importlib.invalidate_caches()
    return getattr(importlib.import_module(request["main"]), request["kernel"])


def _type(name: str) -> Any:
    import triton.language as tl

    spelled = {"fp8e4nv": "float8e4nv", "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}.get(name, name)
    return getattr(tl, spelled, None) or getattr(tl, spelled.replace("fp", "float"))


def _plain(value: Any) -> Any:
    if isinstance(value, dict) and "dtype" in value:
        return _type(value["dtype"])
    if isinstance(value, list):
        return tuple(_plain(one) for one in value)
    return value


def _prepare(kernel: Any, record: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.compiler.compiler import make_backend

    names = [parameter.name for parameter in kernel.params]
    unknown = [name for name in record["constexprs"] if name not in names]
    if unknown:
        raise ValueError(f"{record['kernel']} has no argument {unknown[0]}")
    target = GPUTarget("cuda", int(record["target"].split(":")[1]), 32)
    backend = make_backend(target)
    given = {name: record[name] for name in ("num_warps", "num_stages", "num_ctas", "maxnreg") if record.get(name)}
    options = backend.parse_options(given)
    constants = {(names.index(name),): _plain(value) for name, value in record["constexprs"].items()}
    facts = {(names.index(name),): [[a, b] for a, b in attrs.items()] for name, attrs in record["attrs"].items() if name in names}
    return ASTSource(kernel, dict(record["signature"]), constants, facts), target, backend, options


def _to_allocation(source: Any, target: Any, backend: Any, options: Any) -> dict[str, Any]:
    from triton._C.libtriton import ir, nvidia, passes

    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    generate, modules = backend.get_codegen_implementation(options), backend.get_module_map()
    # Triton before 3.6 is not told the target.
    given = (target, options) if "target" in inspect.signature(source.make_ir).parameters else (options,)
    module = source.make_ir(*given, generate, modules, context)
    metadata: dict[str, Any] = {}
    module = backend.make_ttir(module, metadata, options, target.arch)
    module = backend.make_ttgir(module, metadata, options, target.arch)
    manager = ir.pass_manager(context)
    try:
        passes.ttgpuir.add_combine_tensor_select_and_if(manager)
        try:
            passes.ttgpuir.add_allocate_warp_groups(manager, False)
        except TypeError:  # before 3.8
            passes.ttgpuir.add_allocate_warp_groups(manager)
        passes.convert.add_scf_to_cf(manager)
        if hasattr(passes, "gluon") and hasattr(passes.gluon, "add_inliner"):
            passes.gluon.add_inliner(manager)
        nvidia.passes.ttgpuir.add_allocate_shared_memory_nv(manager, target.arch, 90)
    except (AttributeError, TypeError) as error:
        raise _PassesDiffer from error
    try:
        manager.run(module, "allocation")
    except TypeError:
        manager.run(module)
    text = str(module)
    return {"shared": module.get_int_attr("ttg.shared"), "ir": _without_locations(module, text), "lines": _lines(text)}


def _without_locations(module: Any, text: str) -> str:
    return str(module.str_nodebug()) if hasattr(module, "str_nodebug") else text


def _full(source: Any, target: Any, record: dict[str, Any]) -> dict[str, Any]:
    import triton

    options = {name: record[name] for name in ("num_warps", "num_stages", "num_ctas", "maxnreg") if record.get(name)}
    compiled = triton.compile(source, target=target, options=options)
    return {"shared": compiled.metadata.shared, "ir": "", "lines": []}


def _lines(text: str) -> list[int | None]:
    """The source line of each operation that owns an allocation, in the order of the text (None: unknown)."""
    aliases = dict(re.findall(r"^(#loc\w*) = loc\((.*)\)$", text, re.M))

    def line_of(location: str, depth: int = 0) -> int | None:
        place = re.search(r'"[^"]*":(\d+):\d+', location)
        if place:
            return int(place.group(1))
        inner = re.search(r"callsite\((.*) at (.*)\)", location)
        following: str | None = inner.group(2) if inner else next(iter(re.findall(r"#loc\w*", location)), None)
        if depth > 20 or not following:
            return None
        return line_of(aliases.get(following, following) if following.startswith("#") else following, depth + 1)

    found = []
    for line in text.splitlines():
        if "allocation.offset = " in line and "tt.func" not in line:
            location = re.search(r"loc\((.*)\)$", line)
            found.append(line_of(location.group(1)) if location else None)
    return found


if __name__ == "__main__":
    main()
