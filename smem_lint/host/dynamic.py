"""Python that Python makes at run time: modules imported by a name that is worked out, text that is compiled and run.

Nothing is executed: the module is looked up in the repository, and text that is known is evaluated as any other code.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from smem_lint.host.limits import Raised
from smem_lint.host.paths_on_disk import FilePath
from smem_lint.host.values import UNKNOWN, Outside, Scope, Symbol, describe
from smem_lint.source.modules import External, SourceModule

if TYPE_CHECKING:
    from smem_lint.host.evaluation import Evaluation

_MAX_TEXT = 4_000
_OUTSIDE = ("torch", "triton", "numpy")


@dataclass(frozen=True, slots=True)
class Code:
    """Text that was parsed or compiled."""

    tree: ast.Module


@dataclass(frozen=True, slots=True)
class ModuleNames:
    """``globals()``: the names of a module."""

    module: SourceModule


def _import_module(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    name = run.definite(args[0]) if args else kwargs.get("name", UNKNOWN)
    line = node.lineno if node is not None else 0
    if isinstance(name, str) and name.strip("."):
        level = len(name) - len(name.lstrip("."))
        found = run.program.repository.module_for_import(scope.module, name[level:], level)
        if found is not None:
            return found
        if not level and name.partition(".")[0] in _OUTSIDE:
            return Outside(External.of(name).dotted)
    return Symbol(f"importlib.import_module({describe(name)})", f"whether {describe(name)} is installed", line=line)


def _search_too(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> None:
    folder = run.definite(args[-1]) if args else UNKNOWN
    folder = folder.text if isinstance(folder, FilePath) else folder
    if isinstance(folder, str) and not posixpath.isabs(folder):
        run.program.repository.search_too(folder)


def _parsed(run: Evaluation, source: Any) -> Any:
    """``ast.parse(source)`` and ``compile(source, …)``; raises ``Raised`` SyntaxError."""
    source = run.definite(source)
    if isinstance(source, Code):
        return source
    if not isinstance(source, str) or len(source) > _MAX_TEXT:
        return UNKNOWN
    try:
        return Code(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Raised("SyntaxError") from None


def call(run: Evaluation, name: str, args: list[Any], scope: Scope) -> Any:
    """``globals()``, ``compile(…)`` or ``exec(…)``."""
    if name == "globals":
        return ModuleNames(scope.module)
    return _executed(run, args, scope) if name == "exec" else (_parsed(run, args[0]) if args else UNKNOWN)


def _executed(run: Evaluation, args: list[Any], scope: Scope) -> Any:
    """``exec(code, globals())``: what it binds is bound for the rest of this path; anything else is not followed."""
    code = _parsed(run, args[0]) if args else UNKNOWN
    names = run.definite(args[1]) if len(args) > 1 else ModuleNames(scope.module)
    if not isinstance(code, Code) or not isinstance(names, ModuleNames) or len(args) > 2:
        return UNKNOWN
    inner = Scope(names.module, run.program.module_scope(names.module))
    run.block(code.tree.body, inner)
    for name, value in inner.names.items():
        run.program.bind_global(run.path, names.module, name, run.program.force(run, value))
    return None


CALLS: dict[str, Callable[..., Any]] = {
    "importlib.import_module": _import_module, "sys.path.append": _search_too, "sys.path.insert": _search_too,
    "ast.parse": lambda run, args, kwargs, node, scope: _parsed(run, args[0]) if args else UNKNOWN,
}  # fmt: skip
