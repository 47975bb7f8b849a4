"""Revisions of a git repository as folders: what stands in them is copied out of the object store, and no filter or hook is run."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from smem_lint.cli.errors import UsageError
from smem_lint.cli.settings import existing

_WANTED = (".py", ".json", ".toml", ".cfg", ".txt", ".yaml", ".yml")
_MOST_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: where it lies, and what it is called."""

    path: Path
    name: str


@contextmanager
def sides(names: Sequence[str]) -> Iterator[list[Side]]:
    """A folder or file for each name; one that does not exist is a git revision (``HEAD~1``, ``v1.0``) or a part of one (``main:src``).

    A revision stands for the same part of the repository as a path on the other side. Raises UsageError.
    """
    with ExitStack() as stack:
        paths = [Path(name) for name in names if Path(name).exists()]
        yield [_side(name, paths, stack) for name in names]


def _side(name: str, others: Sequence[Path], stack: ExitStack) -> Side:
    if Path(name).exists():
        return Side(existing([name])[0], _called(Path(name)))
    revision, colon, inside = name.partition(":")
    here = next((path if path.is_dir() else path.parent for path in others), Path())
    top = _git(here, "rev-parse", "--show-toplevel")
    commit = _git(here, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}") if top else None
    if not (top and commit):
        raise UsageError(f"{name}: no such file or folder, nor a git revision")
    if not colon and others:
        inside = others[0].resolve().relative_to(Path(top).resolve()).as_posix()
    place = PurePosixPath(inside)
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="smem-lint-")))
    _copy(Path(top), commit, folder)
    if place.is_absolute() or ".." in place.parts or not (folder / place).exists():
        raise UsageError(f"{name}: {place} is not in that revision")
    return Side(folder / place, name)


def _called(path: Path) -> str:
    """What a person calls a tree: its folder, where the path is long."""
    return path.as_posix() if len(path.parts) <= 3 and str(path) != "." else path.resolve().name


def _git(folder: Path, *arguments: str) -> str | None:
    """What git says in one line; None where it refuses, or is not installed."""
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _copy(top: Path, commit: str, folder: Path) -> None:
    """The regular files of a commit that a linter reads, written below ``folder``."""
    listed = subprocess.run(["git", "ls-tree", "-r", "-z", "-l", commit], cwd=top, capture_output=True, check=True).stdout
    files = [(blob, name) for entry in listed.split(b"\0") if (found := _wanted(entry)) for blob, name in [found]]
    with subprocess.Popen(["git", "cat-file", "--batch"], cwd=top, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as git:
        assert git.stdin is not None and git.stdout is not None
        for blob, name in files:
            git.stdin.write(blob + b"\n")
            git.stdin.flush()
            size = int(git.stdout.readline().split()[2])
            data = git.stdout.read(size + 1)[:size]
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        git.stdin.close()


def _wanted(entry: bytes) -> tuple[bytes, str] | None:
    """The blob and the path of an entry of ``git ls-tree -l``, if it is a file to copy."""
    facts, _, raw = entry.partition(b"\t")
    name = raw.decode("utf8", "surrogateescape")
    mode, kind, blob, size = (*facts.split(), b"", b"", b"", b"")[:4]
    place = PurePosixPath(name)
    if kind != b"blob" or mode == b"120000" or place.suffix not in _WANTED or int(size) > _MOST_BYTES:
        return None
    outside = place.is_absolute() or any(part in ("..", ".git") for part in place.parts) or "\\" in name
    return None if outside else (blob, name)
