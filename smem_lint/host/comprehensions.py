"""Comprehensions, and what can be run over."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from smem_lint.host.assignments import assign
from smem_lint.host.limits import Raised, TooMuch, Undecided
from smem_lint.host.operators import check_key
from smem_lint.host.paths import Strict
from smem_lint.host.truth import truth_if_known
from smem_lint.host.values import (
    Class,
    Possible,
    Scope,
    Symbol,
)

if TYPE_CHECKING:
    from smem_lint.host.evaluation import Evaluation


def hashed(items: list[Any], line: int) -> Any:
    for item in items:
        check_key(item)
    try:
        return set(items)
    except TypeError:
        return Symbol("{…}", "a set of what cannot be hashed", line=line)


def comprehension(run: Evaluation, node: ast.ListComp | ast.SetComp | ast.GeneratorExp, scope: Scope) -> Any:
    items: list[Any] = []
    inner = Scope(scope.module, scope)
    unsure: list[str] = []
    try:
        for _ in _generate(run, node.generators, inner, unsure=unsure if not isinstance(node, ast.SetComp) else None):
            items.append(run.expr(node.elt, inner))
            if len(items) > run.path.limits.items:
                raise TooMuch("a list too long")
    except _Uncountable as uncountable:
        return Symbol(f"[{ast.unparse(node.elt)[:40]} for …]", uncountable.reason, line=node.lineno)
    if unsure:
        return Possible(f"[{ast.unparse(node.elt)[:40]} for …]", unsure[0], items, node.lineno)
    return hashed(items, node.lineno) if isinstance(node, ast.SetComp) else items


def dict_comprehension(run: Evaluation, node: ast.DictComp, scope: Scope) -> Any:
    table: dict[Any, Any] = {}
    inner = Scope(scope.module, scope)
    try:
        for _ in _generate(run, node.generators, inner):
            key = run.definite(run.expr(node.key, inner))
            check_key(key)
            table[key] = run.expr(node.value, inner)
            if len(table) > run.path.limits.items:
                raise TooMuch("a dict too long")
    except _Uncountable as uncountable:
        return Symbol("{… for …}", uncountable.reason, line=node.lineno)
    except TypeError:
        raise Raised("TypeError") from None
    return table


class _Uncountable(Exception):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _generate(
    run: Evaluation, generators: list[ast.comprehension], scope: Scope, place: int = 0, unsure: list[str] | None = None
) -> Iterator[None]:
    """Bind the targets to one combination after the other. With ``unsure``, what a condition that is not known may drop is kept where
    nothing can be decided, and the reason goes there."""
    if place == len(generators):
        yield
        return
    generator = generators[place]
    source = run.definite(run.expr(generator.iter, scope))
    if isinstance(source, Possible) and unsure is not None:
        unsure.append(source.reason)
        source = source.items
    values = iterate(run, source)
    if values is None:
        raise _Uncountable(f"what it runs over is not known: {ast.unparse(generator.iter)[:60]}")
    for value in values:
        run.step()
        assign(run, generator.target, value, scope)
        kept = True
        for test in generator.ifs:
            try:
                condition = run.expr(test, scope)
                known = truth_if_known(run, condition)
                if not (run.path.truth(condition) if known is None else known):
                    kept = False
                    break
            except Undecided as undecided:
                if unsure is None or not isinstance(run.path, Strict):
                    raise
                unsure.append(undecided.reason)
        if kept:
            yield from _generate(run, generators, scope, place + 1, unsure)


def iterate(run: Evaluation, value: Any) -> Iterator[Any] | None:
    """The items of a value that can be walked; None where they are not known."""
    if isinstance(value, (list, tuple, str, range, set, frozenset, dict)):
        return (
            iter(sorted(value, key=repr))
            if isinstance(value, (set, frozenset))
            else iter(list(value) if isinstance(value, dict) else value)
        )
    if isinstance(value, Class) and value.is_enum:
        return iter([member for member in value.attributes.values() if type(member).__name__ == "EnumMember"])
    return None
