"""Items and slices of values that may be unknown."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from smem_lint.host.dynamic import ModuleNames
from smem_lint.host.limits import Raised
from smem_lint.host.operators import check_key
from smem_lint.host.tables import is_open_key, listed_entry
from smem_lint.host.values import (
    UNKNOWN,
    Class,
    DType,
    EnumMember,
    GridLaunch,
    Kernel,
    Outside,
    Rest,
    Scope,
    Symbol,
    Tensor,
    describe,
    reason_of,
)

if TYPE_CHECKING:
    from smem_lint.host.evaluation import Evaluation


def subscript(run: Evaluation, node: ast.Subscript, scope: Scope) -> Any:
    value = run.definite(run.expr(node.value, scope))
    if isinstance(value, Kernel):
        return GridLaunch(value, node.slice)
    if isinstance(node.slice, ast.Slice):
        return _slice(run, value, node.slice, scope)
    index = run.definite(run.expr(node.slice, scope)) if not has_slice(node.slice) else UNKNOWN
    return item(run, value, index, node.lineno)


def has_slice(node: ast.expr) -> bool:
    return isinstance(node, ast.Slice) or (isinstance(node, ast.Tuple) and any(isinstance(part, ast.Slice) for part in node.elts))


def item(run: Evaluation, value: Any, index: Any, line: int) -> Any:
    """``value[index]``."""
    if isinstance(value, Tensor):
        return Tensor(f"{value.name}[…]", value.dtype, None, line=line)
    if isinstance(value, Symbol):
        if index is UNKNOWN:
            return Tensor(f"{value.text}[…]", Symbol(f"{value.text}.dtype", "the type of a tensor"), None, line=line)
        low = 1 if value.text.endswith((".shape", ".size()")) else 0 if value.text.endswith(".stride()") else None
        index = run.program.normal_index(run.path, value.text, index)
        return run.path.value(Symbol(f"{value.text}[{describe(index)}]", value.reason, line=line, low=low))
    if isinstance(value, Outside):
        return run.program.outside_item(value, index)
    if isinstance(value, (list, tuple, str, range)):
        if isinstance(index, Symbol):
            index = run.path.concrete(index)
        if isinstance(index, Symbol) or index is UNKNOWN:
            return Symbol(f"{describe(value)}[{describe(index)}]", reason_of(index), line=line)
        try:
            return value[index]
        except IndexError:
            raise Raised("IndexError") from None
        except TypeError:
            raise Raised("TypeError") from None
    if isinstance(value, dict):
        return _lookup(run, value, index, line)
    if isinstance(value, ModuleNames) and isinstance(index, str):
        return run.program.global_value(run, value.module, index, line)
    if isinstance(value, Class) and value.is_enum and isinstance(index, str):
        member = value.find(index)
        if member is UNKNOWN:
            raise Raised("KeyError")
        return member
    fields = getattr(value, "fields", None)
    if isinstance(fields, dict) and isinstance(index, str):
        return fields.get(index, UNKNOWN)
    return UNKNOWN


def _lookup(run: Evaluation, table: dict[Any, Any], index: Any, line: int) -> Any:
    if isinstance(index, Symbol):
        index = run.path.concrete(index)
    if isinstance(index, Symbol) and 0 < len(table) <= 16 and all(isinstance(key, (str, int, DType, EnumMember, tuple)) for key in table):
        return select(run, index, list(table.items()))
    if isinstance(index, Symbol) or index is UNKNOWN:
        return Symbol(f"{describe(table)}[{describe(index)}]", reason_of(index), line=line)
    if is_open_key(run, table, index):
        return listed_entry(run, table, index)
    check_key(index)
    try:
        if index in table:
            return table[index]
    except TypeError:
        raise Raised("TypeError") from None
    factory = getattr(table, "factory", None)
    if factory is not None:
        table[index] = run.call(factory, (), {}, None, Scope(run.program.no_module))
        return table[index]
    if isinstance(table, Rest) and isinstance(index, str):
        table[index] = Symbol(index, f"{index} is given by the caller", line=line)
        return table[index]
    raise Raised("KeyError")


def select(run: Evaluation, index: Symbol, options: list[tuple[Any, Any]]) -> Any:
    """One of several entries for a key that is not known: each is a path."""
    options = sorted(options, key=lambda option: not (isinstance(option[0], DType) and option[0].name == "bfloat16"))
    taken = run.path.choose(len(options))
    key, value = options[taken]
    run.path.fix(index, key)
    return value


def _slice(run: Evaluation, value: Any, node: ast.Slice, scope: Scope) -> Any:
    parts = [run.definite(run.expr(part, scope)) if part is not None else None for part in (node.lower, node.upper, node.step)]
    if isinstance(value, (Tensor, Symbol)):
        if isinstance(value, Symbol) and value.text.endswith((".shape", ".size()", ".stride()")):
            low, high, step = parts
            if step is None and isinstance(high, int) and high >= 0 and (low is None or (isinstance(low, int) and low >= 0)):
                return tuple(item(run, value, place, 0) for place in range(low or 0, high))
            return Symbol(f"{value.text}[{':'.join('' if part is None else describe(part) for part in parts[:2])}]", value.reason)
        return item(run, value, UNKNOWN, node.lower.lineno if node.lower else 0)
    if isinstance(value, (list, tuple, str, range)) and all(part is None or isinstance(part, int) for part in parts):
        try:
            return value[slice(*parts)]
        except (ValueError, TypeError):
            raise Raised("ValueError") from None
    return UNKNOWN
