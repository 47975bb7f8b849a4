"""``re`` on text that is known, within bounds: a pattern that might try very many ways to match is not tried."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from smem_lint.host.limits import Raised
from smem_lint.host.values import UNKNOWN, Native, Record, Scope, Symbol, describe

if TYPE_CHECKING:
    from smem_lint.host.evaluation import Evaluation

_REPEATED_GROUP = re.compile(r"\)[*+?{]")
_REPEATS = re.compile(r"[*+?{]")
_MAX_WAYS = 1_000_000
_MAX_PATTERN = 200


def _harmless(pattern: str, text: str) -> bool:
    """Whether the ways to match are few: repeats are not nested, and each ends at one of the text's places."""
    if len(pattern) > _MAX_PATTERN or _REPEATED_GROUP.search(pattern):
        return False
    ways: int = (len(text) + 1) ** len(_REPEATS.findall(pattern))
    return ways <= _MAX_WAYS


def _matcher(name: str) -> Callable[..., Any]:
    def evaluate(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
        given = [run.definite(argument) for argument in args]
        if len(given) == 2 and not kwargs and all(isinstance(part, str) for part in given) and _harmless(*given):
            try:
                found = getattr(re, name)(*given)
            except (re.error, RecursionError, OverflowError):
                raise Raised("error") from None
            return _match(found) if isinstance(found, re.Match) else found
        shown = ", ".join(describe(part)[:24] for part in given)
        return Symbol(f"re.{name}({shown})", f"the result of re.{name}() is not known", line=node.lineno if node is not None else 0)

    return evaluate


def _match(found: re.Match[str]) -> Record:
    def group(run: Evaluation, args: list[Any], kwargs: dict[str, Any]) -> Any:
        try:
            return found.group(*args)
        except (IndexError, TypeError):
            return UNKNOWN

    return Record({
        "group": Native(group), "groups": Native(lambda run, args, kwargs: found.groups()),
        "groupdict": Native(lambda run, args, kwargs: found.groupdict()), "string": found.string,
    })  # fmt: skip


CALLS: dict[str, Callable[..., Any]] = {f"re.{name}": _matcher(name) for name in ("match", "search", "fullmatch", "findall", "split")}
