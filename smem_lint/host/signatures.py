"""``inspect.signature`` of a function of the repository: its parameters, and arguments bound to them."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from smem_lint.host.limits import Raised
from smem_lint.host.values import UNKNOWN, Bound, Function, Native, Outside, Record

if TYPE_CHECKING:
    from smem_lint.host.evaluation import Evaluation

_EMPTY = Outside("inspect.Parameter.empty")
_OF_TRITON = {
    "triton.autotune": "configs key prune_configs_by reset_to_zero restore_value pre_hook post_hook warmup rep use_cuda_graph do_bench "
                       "cache_results",
    "triton.Config": "kwargs num_warps num_stages num_ctas maxnreg pre_hook ir_override",
    "triton.heuristics": "values",
}  # fmt: skip
"""Parameters by function (``triton/runtime/autotuner.py``, 3.8.0)."""


def signature(run: Evaluation, function: Any) -> Any:
    """The signature as a record of ``parameters`` (by name, with ``name``, ``kind`` and ``default``) and ``bind``; else ``UNKNOWN``."""
    receiver = function.receiver if isinstance(function, Bound) else None
    if isinstance(function, Bound) and isinstance(function.method, Function):
        function = function.method
    if isinstance(function, Outside) and function.dotted in _OF_TRITON:
        return Record({"parameters": {name: Record({"name": name}) for name in _OF_TRITON[function.dotted].split()}})
    if not isinstance(function, Function):
        return UNKNOWN
    table = {name: _parameter(run, function, name, kind) for name, kind in _kinds(function.node.args)}
    if receiver is not None:
        table.pop(next(iter(table), ""), None)

    def bind(run: Evaluation, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return _bound(table, args, kwargs)

    return Record({"parameters": table, "bind": Native(bind), "bind_partial": Native(bind)})


def _kinds(arguments: ast.arguments) -> list[tuple[str, str]]:
    found = [(parameter.arg, "POSITIONAL_ONLY") for parameter in arguments.posonlyargs]
    found += [(parameter.arg, "POSITIONAL_OR_KEYWORD") for parameter in arguments.args]
    if arguments.vararg is not None:
        found.append((arguments.vararg.arg, "VAR_POSITIONAL"))
    found += [(parameter.arg, "KEYWORD_ONLY") for parameter in arguments.kwonlyargs]
    if arguments.kwarg is not None:
        found.append((arguments.kwarg.arg, "VAR_KEYWORD"))
    return found


def _parameter(run: Evaluation, function: Function, name: str, kind: str) -> Record:
    default = run.program.force(run, function.defaults[name]) if name in function.defaults else _EMPTY
    return Record({"name": name, "kind": Outside(f"inspect.Parameter.{kind}"), "default": default})


def _bound(table: Mapping[str, Record], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Arguments by parameter, in the parameters' order; raises ``Raised`` where Python would raise TypeError."""
    if kwargs.get("**") is UNKNOWN:
        return UNKNOWN
    kinds = {name: record.fields["kind"].dotted.rpartition(".")[2] for name, record in table.items()}
    plain = [name for name, kind in kinds.items() if kind.startswith("POSITIONAL")]
    found: dict[str, Any] = dict(zip(plain, args, strict=False))
    rest, extra = tuple(args[len(plain) :]), {}
    for name, value in kwargs.items():
        if name in kinds and not kinds[name].startswith("VAR"):
            found[name] = value
        else:
            extra[name] = value
    spread = {"VAR_POSITIONAL": rest, "VAR_KEYWORD": extra}
    found.update({name: spread[kind] for name, kind in kinds.items() if spread.get(kind)})
    if (rest and "VAR_POSITIONAL" not in kinds.values()) or (extra and "VAR_KEYWORD" not in kinds.values()):
        raise Raised("TypeError")
    arguments = {name: found[name] for name in kinds if name in found}

    def apply_defaults(run: Evaluation, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        empty: dict[str, Any] = {"VAR_POSITIONAL": (), "VAR_KEYWORD": {}}
        complete = {name: arguments.get(name, empty.get(kind, table[name].fields["default"])) for name, kind in kinds.items()}
        arguments.clear()
        arguments.update({name: value for name, value in complete.items() if value != _EMPTY})

    return Record({"arguments": arguments, "apply_defaults": Native(apply_defaults)})
