"""What host code calls of Python's standard library."""

from __future__ import annotations

import ast
import itertools
import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from smem_lint.host.builtin import items
from smem_lint.host.limits import TooMuch
from smem_lint.host.operators import binary
from smem_lint.host.signatures import signature
from smem_lint.host.triton_calls import identity
from smem_lint.host.values import UNKNOWN, Function, Outside, Partial, Scope, Symbol, TunedConfig, line_of

if TYPE_CHECKING:
    from smem_lint.host.evaluation import Evaluation


def _getenv(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    return args[1] if len(args) > 1 else kwargs.get("default")


def _partial(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    return Partial(args[0], tuple(args[1:]), kwargs) if args else UNKNOWN


def _cache(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    return args[0] if args and not isinstance(args[0], (int, type(None))) else Outside("smem_lint.identity")


def _product(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    columns = [items(run, argument) for argument in args]
    if any(column is None for column in columns):
        return Symbol("itertools.product(…)", "what it runs over is not known", line=line_of(node))
    known = [column for column in columns if column is not None]
    repeat = kwargs.get("repeat", 1)
    if not isinstance(repeat, int) or repeat > 16 or math.prod(len(column) for column in known) ** max(repeat, 1) > run.path.limits.items:
        raise TooMuch("a product of lists too long")
    return list(itertools.product(*known, repeat=repeat))


def _iterator(name: str) -> Callable[..., Any]:
    def evaluate(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
        columns: list[Any] = [items(run, argument) if not isinstance(argument, (int, Function)) else argument for argument in args]
        if any(column is None for column in columns):
            return Symbol(f"itertools.{name}(…)", "what it runs over is not known", line=line_of(node))
        if name in ("combinations", "permutations") and (len(columns[0]) > 12 or not isinstance(args[-1], int)):
            raise TooMuch("a list too long")
        made = getattr(itertools, name)(*columns, **kwargs) if name != "chain.from_iterable" else itertools.chain.from_iterable(columns[0])
        return list(itertools.islice(made, run.path.limits.items))

    return evaluate


def _prod(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    values = items(run, args[0]) if args else None
    if values is None:
        return Symbol("prod(…)", "a product of what is not known", line=line_of(node))
    total: Any = kwargs.get("start", 1)
    for value in values:
        total = binary("*", operator.mul, total, value, run.path.limits, line_of(node))
    return total


def _reduce(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    values = items(run, args[1])
    if values is None:
        return UNKNOWN
    rest = values if len(args) > 2 else values[1:]
    total = args[2] if len(args) > 2 else values[0]
    for value in rest:
        total = run.call(args[0], (total, value), {}, node, scope)
    return total


def _decorator_factory(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    return Outside("smem_lint.identity")


def _field(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    return Partial("field", (), kwargs)


class _DefaultDict(dict[Any, Any]):
    factory: Any = None


def _defaultdict(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    table = _DefaultDict()
    table.factory = args[0] if args else None
    return table


def _deepcopy(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    return _copied(run, run.definite(args[0]), True) if args else UNKNOWN


def _shallow_copy(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    return _copied(run, run.definite(args[0]), False) if args else UNKNOWN


def _copied(run: Evaluation, value: Any, deep: bool) -> Any:
    run.step()
    if isinstance(value, dict):
        copy = value.copy()
        if deep:
            copy.update({key: _copied(run, one, True) for key, one in value.items()})
        return copy
    if isinstance(value, list):
        return [_copied(run, one, True) for one in value] if deep else list(value)
    if isinstance(value, TunedConfig):
        return TunedConfig(dict(value.kwargs), value.num_warps, value.num_stages, value.num_ctas, value.maxnreg, value.pre_hook, value.line)
    return value


def _signature(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    return signature(run, run.definite(args[0])) if args else UNKNOWN


CALLS: dict[str, Callable[..., Any]] = {
    "os.getenv": _getenv, "os.environ.get": _getenv, "os.environ.copy": lambda *ignored: {}, "os.environ.setdefault": _getenv,
    "functools.partial": _partial, "functools.cache": _cache, "functools.lru_cache": _cache, "functools.reduce": _reduce,
    "functools.wraps": _decorator_factory, "functools.update_wrapper": identity, "math.prod": _prod,
    "itertools.product": _product, "itertools.chain": _iterator("chain"),
    "itertools.chain.from_iterable": _iterator("chain.from_iterable"), "itertools.combinations": _iterator("combinations"),
    "itertools.permutations": _iterator("permutations"), "itertools.accumulate": _iterator("accumulate"),
    "dataclasses.field": _field, "collections.defaultdict": _defaultdict, "collections.OrderedDict": lambda *ignored: {},
    "typing.cast": lambda run, args, kwargs, node, scope: args[1] if len(args) > 1 else UNKNOWN,
    "copy.deepcopy": _deepcopy, "copy.copy": _shallow_copy, "platform.machine": lambda *ignored: "x86_64",
    "platform.system": lambda *ignored: "Linux", "inspect.signature": _signature,
}  # fmt: skip
