"""The configs of an autotuned kernel, as Python would build the list on the target."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from smem_lint.host.limits import Abandoned, Raised, TooMuch, Undecided
from smem_lint.host.program import Program
from smem_lint.host.values import UNKNOWN, Kernel, Possible, Scope, Symbol, TunedConfig, describe
from smem_lint.source.modules import Definition, External, SourceModule, dotted_name


@dataclass(slots=True)
class Autotune:
    """An autotune decorator. ``configs`` is None where the list is not known, for ``reason``; ``line`` is the decorator's.

    ``possible`` then holds what may be in it, where that much is known.
    """

    kernel: Kernel
    line: int
    configs: list[TunedConfig] | None = None
    reason: str = ""
    reason_line: int = 0
    keys: tuple[str, ...] = ()
    prune: ast.expr | None = None
    heuristics: dict[str, Any] = field(default_factory=dict)
    possible: list[TunedConfig] | None = None


def autotune_of(program: Program, kernel: Kernel) -> Autotune | None:
    """The kernel's autotune decorator, or the call of one on the kernel, evaluated; None where it has none."""
    for expression, scope in (*kernel.applied, *((decorator, kernel.scope) for decorator in kernel.node.decorator_list[kernel.peeled :])):
        call = autotune_call(program, scope.module, expression)
        if call is not None:
            return _evaluate(program, kernel, call, scope)
    return None


def applied_in(program: Program, module: SourceModule) -> Iterator[Kernel]:
    """The kernels that a module makes by calling ``triton.autotune(…)`` on one at its top level, each under a name."""
    for name, bindings in module.bindings.items():
        value = bindings[0].value
        if len(bindings) == 1 and isinstance(value, ast.Call) and any(_applies(program, module, node) for node in ast.walk(value)):
            kernel = program.module_value(module, name)
            if isinstance(kernel, Kernel) and kernel.applied:
                yield kernel


def _applies(program: Program, module: SourceModule, node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and autotune_call(program, module, node.func) is not None


def outermost(program: Program, kernel: Kernel) -> str:
    """Triton's class for what a kernel's outermost decorator makes: ``Autotuner``, ``Heuristics`` or ``JITFunction``."""
    decorator = kernel.node.decorator_list[kernel.peeled]
    if autotune_call(program, kernel.module, decorator) is not None:
        return "Autotuner"
    heuristics = isinstance(decorator, ast.Call) and _is_named(program, kernel.module, decorator.func, "heuristics")
    return "Heuristics" if heuristics else "JITFunction"


def prunes_to_fit(program: Program, autotune: Autotune) -> bool:
    """Whether the list is pruned by ``smem_lint.prune``, which leaves of it what fits the device."""
    for node in ast.walk(autotune.prune) if autotune.prune is not None else ():
        dotted = dotted_name(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        for meaning in program.repository.resolve_all(autotune.kernel.module, dotted) if dotted else ():
            if isinstance(meaning, External) and meaning.dotted in ("smem_lint.prune", "smem_lint.pruning.prune"):
                return True
    return False


def heuristics_of(program: Program, kernel: Kernel) -> dict[str, Any]:
    """``triton.heuristics`` by constexpr name: functions of the launch's arguments."""
    table: dict[str, Any] = {}
    decorators = kernel.node.decorator_list[kernel.peeled :]
    for call, scope in reversed((*kernel.applied, *((decorator, kernel.scope) for decorator in decorators))):
        if isinstance(call, ast.Call) and (call.args or call.keywords) and _is_named(program, scope.module, call.func, "heuristics"):
            found = _try(program, call.args[0] if call.args else call.keywords[0].value, scope)
            if isinstance(found, dict):
                table.update(found)
    return table


def autotune_call(program: Program, module: SourceModule, decorator: ast.expr) -> ast.Call | None:
    """The decorator as a call of ``triton.autotune``, or of a project's function that passes ``configs`` on to it."""
    if not isinstance(decorator, ast.Call):
        return None
    if _is_named(program, module, decorator.func, "autotune"):
        return decorator
    name = (dotted_name(decorator.func) or "").rpartition(".")[2].lower()
    has_configs = any(keyword.arg == "configs" for keyword in decorator.keywords)
    return decorator if has_configs and ("tune" in name or "config" in name) else None


def _is_named(program: Program, module: SourceModule, function: ast.expr, name: str) -> bool:
    dotted = dotted_name(function)
    if dotted is None:
        return False
    for meaning in program.repository.resolve_all(module, dotted):
        if isinstance(meaning, External) and meaning.dotted.startswith("triton") and meaning.dotted.endswith(f".{name}"):
            return True
        if isinstance(meaning, Definition) and isinstance(meaning.binding.value, ast.Call) and name in ast.unparse(meaning.binding.value):
            return True
    return False


def _arguments(call: ast.Call) -> dict[str, ast.expr]:
    names = ("configs", "key", "prune_configs_by", "reset_to_zero")
    found = {name: argument for name, argument in zip(names, call.args, strict=False) if not isinstance(argument, ast.Starred)}
    found.update({keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None})
    return found


def _evaluate(program: Program, kernel: Kernel, call: ast.Call, scope: Scope) -> Autotune:
    arguments = _arguments(call)
    found = Autotune(kernel, call.lineno, prune=arguments.get("prune_configs_by"))
    keys = _try(program, arguments["key"], scope) if "key" in arguments else []
    if isinstance(keys, (list, tuple)) and all(isinstance(key, str) for key in keys):
        found.keys = tuple(keys)
    if "configs" not in arguments:
        found.reason, found.reason_line = "the decorator's configs are not given by name", call.lineno
        return found
    expression = arguments["configs"]
    value = _try(program, expression, scope)
    if isinstance(value, (list, tuple)) and all(isinstance(config, TunedConfig) for config in value):
        unknown = next(iter(_unknown_parts(value)), None)
        if unknown is None:
            found.configs = list(value) or [TunedConfig({})]
            return found
        value = unknown
    elif isinstance(value, Possible) and all(isinstance(config, TunedConfig) for config in value.items):
        found.possible = value.items if next(iter(_unknown_parts(value.items)), None) is None else None
    found.reason, found.reason_line = _why(value), getattr(value, "line", 0) or expression.lineno
    return found


def _unknown_parts(configs: Any) -> Iterator[Any]:
    for config in configs:
        for value in (*config.kwargs.values(), config.num_warps, config.num_stages, config.num_ctas, config.maxnreg):
            if isinstance(value, Symbol) or value is UNKNOWN:
                yield value


def _why(value: Any) -> str:
    if isinstance(value, Symbol):
        return value.reason or f"{value.text} is not known"
    if isinstance(value, Exception):
        return str(value) or type(value).__name__
    if isinstance(value, (list, tuple)):
        strange = next((item for item in value if not isinstance(item, TunedConfig)), None)
        return _why(strange) if isinstance(strange, Symbol) else f"an entry is not a triton.Config: {describe(strange)}"
    return f"not a list of configs: {describe(value)}"


def _try(program: Program, expression: ast.expr, scope: Scope) -> Any:
    """An expression of a decorator; the exception that stopped it where it has no value."""
    run = program.strict()
    try:
        return run.definite(run.expr(expression, scope))
    except (Undecided, TooMuch, Raised, Abandoned, RecursionError) as failure:
        return failure
