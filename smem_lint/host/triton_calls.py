"""What host code calls of Triton: sizes of grids, configs, decorators."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from smem_lint.host.builtin import pure
from smem_lint.host.values import UNKNOWN, Function, Kernel, Native, Outside, Partial, Record, Scope, Symbol, TunedConfig, line_of

if TYPE_CHECKING:
    from smem_lint.host.evaluation import Evaluation


def _cdiv(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    values = [run.definite(value) for value in (*args, *kwargs.values())]
    result = pure(run, "cdiv", lambda x, y: (x + y - 1) // y, values, node)
    if isinstance(result, Symbol):
        result.low = 1 if isinstance(values[0], Symbol) and (values[0].low or 0) >= 1 else 0
    return result


def _next_power_of_2(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    result = pure(
        run,
        "next_power_of_2",
        lambda n: 1 << (n - 1).bit_length() if n > 0 else 0,
        [run.definite(v) for v in (*args, *kwargs.values())],
        node,
    )
    if isinstance(result, Symbol):
        result.low = 1
    return result


def _config(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    names = ("kwargs", "num_warps", "num_stages", "num_ctas", "maxnreg", "pre_hook")
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    table = run.definite(given.get("kwargs", {}))
    if not isinstance(table, dict) or "**" in given:
        return Symbol("triton.Config(…)", "the arguments of a Config are not known", line=line_of(node))
    options = {
        name: run.path.concrete(given[name]) if isinstance(given[name], Symbol) else given[name] for name in names[1:] if name in given
    }
    return TunedConfig(dict(table), **options, line=line_of(node))


def _jit(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    if args and isinstance(args[0], Function) and isinstance(args[0].node, ast.FunctionDef):
        return Kernel(args[0].module, args[0].node, "jit", args[0].scope)
    return Partial(Outside("triton.jit"), (), {}) if not args else args[0]


def _kernel_decorator(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    """``triton.autotune(…)`` or ``triton.heuristics(…)`` that is called on a kernel instead of standing above it."""

    def decorate(run: Evaluation, given: list[Any], ignored: dict[str, Any]) -> Any:
        kernel = run.definite(given[0]) if given else UNKNOWN
        return replace(kernel, applied=((node, scope), *kernel.applied)) if isinstance(kernel, Kernel) and node is not None else kernel

    return Native(decorate)


def identity(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    return args[0] if args else UNKNOWN


def _current_target(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    return Record({"backend": "cuda", "arch": run.program.target.capability, "warp_size": 32})


CALLS: dict[str, Callable[..., Any]] = {
    "triton.cdiv": _cdiv, "triton.next_power_of_2": _next_power_of_2, "triton.Config": _config, "triton.jit": _jit,
    "triton.constexpr": identity, "triton.autotune": _kernel_decorator, "triton.heuristics": _kernel_decorator,
    "triton.get_current_target": _current_target, "triton.set_allocator": lambda *ignored: None,
    "torch.library.wrap_triton": identity, "torch._library.wrap_triton": identity, "torch._library.triton.wrap_triton": identity,
    "torch._library.capture_triton": identity, "smem_lint.identity": identity,
    "triton.runtime.driver.active.get_device_interface": lambda *ignored: Outside("torch.cuda"),
}  # fmt: skip
