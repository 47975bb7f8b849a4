"""What an assignment gives to names, attributes, items and several targets at once."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from smem_lint.host.limits import Raised, TooMuch, Undecided
from smem_lint.host.operators import check_key
from smem_lint.host.subscripts import item
from smem_lint.host.values import (
    UNKNOWN,
    Outside,
    Scope,
    Symbol,
    Tensor,
    describe,
)

if TYPE_CHECKING:
    from smem_lint.host.evaluation import Evaluation


def assign(run: Evaluation, target: ast.expr, value: Any, scope: Scope) -> None:
    """Bind a target: a name, a tuple of targets, an attribute, an item."""
    if isinstance(target, ast.Name):
        if run.given and run.depth == 1:
            value = _given(run, target.id, value)
        if scope.global_names and target.id in scope.global_names:
            run.program.bind_global(run.path, scope.module, target.id, value)
        else:
            run.program.bind(scope, target.id, value)
        if isinstance(value, Symbol):
            run.program.alias(run.path, value, target.id)
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(run, target, value, scope)
    elif isinstance(target, ast.Attribute):
        run.program.set_attribute(run, run.expr(target.value, scope), target.attr, value)
    elif isinstance(target, ast.Subscript):
        container = run.definite(run.expr(target.value, scope))
        if isinstance(container, (list, dict)):
            _set_item(run, container, target.slice, value, scope)
    elif isinstance(target, ast.Starred):
        assign(run, target.value, value, scope)


def _given(run: Evaluation, name: str, value: Any) -> Any:
    """What a local name is worth in a run that gives values: ``local name`` in any case, ``name`` where it would not be known."""
    if f"local {name}" in run.given:
        return run.given[f"local {name}"]
    if name not in run.given or not (isinstance(value, (Symbol, Tensor)) or value is UNKNOWN):
        return value
    found = run.given[name]
    return dict(found) if isinstance(found, dict) else found


def _set_item(run: Evaluation, container: Any, place: ast.expr, value: Any, scope: Scope) -> None:
    if isinstance(place, ast.Slice):
        raise Undecided("a slice that is assigned to", place.lineno if hasattr(place, "lineno") else 0)
    index = run.definite(run.expr(place, scope))
    if isinstance(index, Symbol):
        index = run.path.concrete(index)
    if isinstance(index, Symbol) or index is UNKNOWN:
        if isinstance(container, dict) and run.watch is not None:
            return
        raise Undecided(f"an item at an unknown place: {describe(index)}", place.lineno)
    check_key(index)
    try:
        if isinstance(container, dict) and len(container) >= run.path.limits.items:
            raise TooMuch("a dict too long")
        container[index] = value
    except IndexError:
        raise Raised("IndexError") from None
    except TypeError:
        raise Raised("TypeError") from None


def _unpack(run: Evaluation, target: ast.Tuple | ast.List, value: Any, scope: Scope) -> None:
    value = run.definite(value)
    count = len(target.elts)
    starred = next((place for place, element in enumerate(target.elts) if isinstance(element, ast.Starred)), None)
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=repr)
    if isinstance(value, dict):
        value = list(value)
    if isinstance(value, (list, tuple, range, str)):
        items = list(value)
        if starred is not None and len(items) >= count - 1:
            tail = count - starred - 1
            items = [*items[:starred], list(items[starred : len(items) - tail]), *items[len(items) - tail :]]
        if len(items) != count:
            raise Raised("ValueError")
    else:
        name = describe(value)
        if starred is None:
            run.path.learn_rank(name.removesuffix(".shape").removesuffix(".size()"), count)
        places: list[Any] = [place if starred is None or place < starred else place - count for place in range(count)]
        items = [item(run, value, place, target.lineno) if isinstance(value, (Symbol, Outside)) else UNKNOWN for place in places]
    for element, part in zip(target.elts, items, strict=True):
        assign(run, element, part, scope)
