"""``pathlib.Path`` of files of the repository."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from smem_lint.host.values import UNKNOWN, Native, Symbol

if TYPE_CHECKING:
    from smem_lint.host.evaluation import Evaluation


@dataclass(frozen=True, slots=True)
class FilePath:
    """A path relative to a root, as text; ``/`` joins."""

    text: str

    def __truediv__(self, other: object) -> FilePath:
        if not isinstance(other, (str, FilePath)):
            return NotImplemented
        return FilePath(posixpath.join(self.text, str(other)))

    def __str__(self) -> str:
        return self.text


def attribute(run: Evaluation, path: FilePath, name: str) -> Any:
    """``path.name``: its parts, and the methods that ask the disk."""
    stem, suffix = posixpath.splitext(posixpath.basename(path.text))
    plain = {"name": posixpath.basename(path.text), "stem": stem, "suffix": suffix, "parent": FilePath(posixpath.dirname(path.text))}
    if name in plain:
        return plain[name]
    method = _METHODS.get(name)
    return Native(lambda run, args, kwargs: method(run, path, list(args), dict(kwargs))) if method is not None else UNKNOWN


def _open(run: Evaluation, path: FilePath, args: list[Any], kwargs: dict[str, Any]) -> Any:
    from smem_lint.host.data_files import opened

    return opened(run, [path, *args], kwargs, None)


def _read_text(run: Evaluation, path: FilePath, args: list[Any], kwargs: dict[str, Any]) -> Any:
    file = _open(run, path, [], {})
    return file.fields["text"] if not isinstance(file, Symbol) else file


def _asks(kind: str) -> Callable[..., Any]:
    def answer(run: Evaluation, path: FilePath, args: list[Any], kwargs: dict[str, Any]) -> Any:
        found = run.program.repository.kind_of(path.text)
        if found is None or kind in ("any", found):
            return True if found is not None else Symbol(f"exists({path.text})", f"whether {path.text} exists")
        return False

    return answer


def _entries(run: Evaluation, path: FilePath, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if run.program.repository.kind_of(path.text) != "folder":
        return Symbol(f"{path.text}.iterdir()", f"what {path.text} holds")
    return [path / name for name in run.program.repository.names_in(path.text)]


def _itself(run: Evaluation, path: FilePath, args: list[Any], kwargs: dict[str, Any]) -> FilePath:
    return FilePath(posixpath.normpath(path.text))


def _joined(run: Evaluation, path: FilePath, args: list[Any], kwargs: dict[str, Any]) -> Any:
    parts = [run.definite(part) for part in args]
    return FilePath(posixpath.join(path.text, *map(str, parts))) if all(isinstance(part, (str, FilePath)) for part in parts) else UNKNOWN


_METHODS: dict[str, Callable[..., Any]] = {
    "open": _open, "read_text": _read_text, "exists": _asks("any"), "is_file": _asks("file"), "is_dir": _asks("folder"),
    "iterdir": _entries, "resolve": _itself, "absolute": _itself, "joinpath": _joined,
    "as_posix": lambda run, path, args, kwargs: path.text,
}  # fmt: skip
