"""Data files of the repository that host code reads: YAML and JSON next to the sources, such as lists of tuned configs.

Paths are those that start at ``__file__``, relative to a root. A file that is not there, lies outside of the roots or is too large is
not known; what is read is plain data (no objects are made from it), fresh at each reading.
"""

from __future__ import annotations

import ast
import json
import posixpath
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from smem_lint.host.limits import Raised, TooMuch
from smem_lint.host.paths_on_disk import FilePath
from smem_lint.host.values import UNKNOWN, Native, Record, Scope, Symbol, describe

if TYPE_CHECKING:
    from smem_lint.host.evaluation import Evaluation

_MAX_BYTES = 2_000_000
_PLAIN = (str, int, float, bool, type(None))


def opened(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None) -> Any:
    """``open(path)`` for reading a file of the repository."""
    path = _plain_path(run.definite(args[0])) if args else UNKNOWN
    mode = run.definite(args[1]) if len(args) > 1 else kwargs.get("mode", "r")
    text = _text(run, path) if isinstance(path, str) and mode in ("r", "rt", "rb") else None
    line = node.lineno if node is not None else 0
    if text is None:
        return Symbol(f"open({describe(path)})", f"what {describe(path)} holds", line=line)
    nothing = Native(lambda run, args, kwargs: None)
    return Record({"read": Native(lambda run, args, kwargs: text if not args else UNKNOWN), "close": nothing, "text": text})


def _plain_path(value: Any) -> Any:
    return value.text if isinstance(value, FilePath) else value


def _text(run: Evaluation, path: str) -> str | None:
    data = run.program.repository.data(path)
    if data is None or len(data) > _MAX_BYTES:
        return None
    try:
        return data.decode("utf8")
    except UnicodeDecodeError:
        return None


@lru_cache(maxsize=8)
def _from_yaml(text: str) -> Any:
    import yaml

    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None


@lru_cache(maxsize=8)
def _from_json(text: str) -> Any:
    return json.loads(text)


def _parser(parse: Callable[[str], Any], error: str) -> Callable[..., Any]:
    def evaluate(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
        source = run.definite(args[0]) if args else UNKNOWN
        text = source.fields.get("text") if isinstance(source, Record) else source
        if not isinstance(text, str) or len(text) > _MAX_BYTES:
            return Symbol("a data file", "what a data file holds", line=node.lineno if node is not None else 0)
        try:
            data = parse(text)
        except ValueError:
            raise Raised(error) from None
        except (RecursionError, MemoryError):
            raise TooMuch("data nested too deep") from None
        return _Copy(run.path.limits.items).of(data)

    return evaluate


class _Copy:
    """A copy of plain data, made of what it holds again and again where it refers to the same thing, within a budget."""

    def __init__(self, budget: int) -> None:
        self.left = budget

    def of(self, data: Any, depth: int = 0) -> Any:
        self.left -= 1
        if self.left < 0 or depth > 64:
            raise TooMuch("a data file too large")
        if isinstance(data, dict):
            return {key: self.of(value, depth + 1) for key, value in data.items() if isinstance(key, _PLAIN)}
        if isinstance(data, list):
            return [self.of(value, depth + 1) for value in data]
        return data if isinstance(data, _PLAIN) else UNKNOWN


def _on_path(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of ``os.path`` on text that is known; a path of the repository starts at a root, and so is whole."""

    def evaluate(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
        parts = [_plain_path(run.definite(argument)) for argument in args]
        if not parts or kwargs or not all(isinstance(part, str) for part in parts):
            shown = ", ".join(describe(part)[:40] for part in parts)
            return Symbol(f"{function.__name__}({shown})", "a path that is not known", line=node.lineno if node is not None else 0)
        if sum(map(len, parts)) > 4_096:
            raise TooMuch("a path too long")
        return function(*parts)

    return evaluate


def _exists(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    path = _plain_path(run.definite(args[0])) if args else UNKNOWN
    if isinstance(path, str) and run.program.repository.kind_of(path) is not None:
        return True
    return Symbol(f"exists({describe(path)})", f"whether {describe(path)} exists", line=node.lineno if node is not None else 0)


def _path(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    joined = _on_path(posixpath.join)(run, args, {}, node, scope)
    return FilePath(joined) if isinstance(joined, str) else joined


CALLS: dict[str, Callable[..., Any]] = {
    "yaml.safe_load": _parser(_from_yaml, "YAMLError"), "yaml.load": _parser(_from_yaml, "YAMLError"),
    "yaml.full_load": _parser(_from_yaml, "YAMLError"), "json.load": _parser(_from_json, "JSONDecodeError"),
    "json.loads": _parser(_from_json, "JSONDecodeError"), "os.path.join": _on_path(posixpath.join),
    "os.path.dirname": _on_path(posixpath.dirname), "os.path.basename": _on_path(posixpath.basename),
    "os.path.normpath": _on_path(posixpath.normpath), "os.path.abspath": _on_path(posixpath.normpath),
    "os.path.realpath": _on_path(posixpath.normpath), "os.path.exists": _exists, "os.path.isfile": _exists, "pathlib.Path": _path,
    "pathlib.PurePath": _path,
}  # fmt: skip
