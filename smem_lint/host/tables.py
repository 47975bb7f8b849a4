"""Tables: what is tuned for a shape (``table[N, K]``, ``table.get((N, K))`` where the sizes are open), and what calls leave in them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from smem_lint.host.limits import Abandoned, Raised
from smem_lint.host.paths import Path
from smem_lint.host.values import Scope, Symbol, describe

if TYPE_CHECKING:
    from smem_lint.host.evaluation import Evaluation

_ENTRIES = 64
MUST_BE_THERE = object()


def is_open_key(run: Evaluation, table: Mapping[Any, Any], key: Any) -> bool:
    """Whether a key is a tuple with a part that is not known, of a table with entries for such tuples."""
    if not isinstance(key, tuple) or not 0 < len(table) <= _ENTRIES:
        return False
    return any(isinstance(run.path.settle(part), Symbol) for part in key) and any(isinstance(one, tuple) for one in table)


def listed_entry(run: Evaluation, table: Mapping[Any, Any], key: tuple[Any, ...], default: Any = MUST_BE_THERE) -> Any:
    """The default, or one of the entries that the key can mean: each is a path on which the open sizes are those of the entry.

    Raises ``Raised`` KeyError where there is neither.
    """
    path = run.path
    fitting = [(one, value) for one, value in table.items() if isinstance(one, tuple) and _fits(path, key, one)]
    absent = [] if default is MUST_BE_THERE else [(None, default)]
    if not fitting and not absent:
        raise Raised("KeyError")
    options = [*absent, *fitting]
    found, value = options[path.choose(len(options), listed=True) if len(options) > 1 else 0]
    if found is None:
        path.when.append(f"{describe(key)} is none of the {len(table)} listed")
        return default
    for part, wanted in zip(key, found, strict=True):
        settled = path.settle(part)
        if isinstance(settled, Symbol):
            path.fix(settled, wanted)
        elif settled != wanted:
            raise Abandoned(f"{describe(part)} is not {wanted}")
    return value


def _fits(path: Path, key: tuple[Any, ...], entry: tuple[Any, ...]) -> bool:
    return len(key) == len(entry) and all(_may_be(path, path.settle(part), wanted) for part, wanted in zip(key, entry, strict=True))


def _may_be(path: Path, part: Any, wanted: Any) -> bool:
    if not isinstance(part, Symbol):
        return bool(part == wanted)
    low, high = path.bounds.get(part.text, (part.low, None))
    if isinstance(wanted, int) and ((low is not None and wanted < low) or (high is not None and wanted > high)):
        return False
    return wanted not in path.excluded.get(part.text, ()) and wanted in path.domains.get(part.text, (wanted,))


def left_behind(run: Evaluation, table: Mapping[Any, Any], scope: Scope, default: Any) -> Any:
    """What ``table.get(key)`` gives of a module's empty dict in the function that fills it: the default the first time, and on another
    path what an earlier call has left there, where that is an attribute of something (``table[key] = kernel.best_config``)."""
    if table or run.watch is None or not run.active or run.active[-1] not in run.chain:
        return default
    start = f"global {scope.module.file} "
    names = {note.removeprefix(start) for note, value in run.path.notes.items() if value is table and note.startswith(start)}
    for item in ast.walk(run.active[-1]) if names else ():
        if isinstance(item, ast.Assign) and isinstance(item.value, ast.Attribute) and _fills(item.targets[0], names):
            if run.path.choose(2) == 0:
                return default
            run.path.when.append(f"an earlier call has left {ast.unparse(item.value)}")
            return run.expr(item.value, scope)
    return default


def _fills(target: ast.expr, names: set[str]) -> bool:
    return isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id in names
