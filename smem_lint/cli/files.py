"""Which files a command looks at, and how they are named."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

_SKIPPED = {".git", "node_modules", "__pycache__", ".venv", "venv", ".tox", "dist", ".mypy_cache", ".ruff_cache", ".smem_lint_cache"}


def absolute(path: Path) -> Path:
    """Where a file is named, not where a link leads to."""
    return path.parent.resolve() / path.name


def root_of(path: Path) -> Path:
    """The folder that a checked path's files are named relative to: the folder itself; for a file its project, or its folder."""
    path = path.resolve()
    if path.is_dir():
        return path
    here = Path.cwd().resolve()
    if path.is_relative_to(here):
        return here
    for folder in path.parents:
        if (folder / ".git").exists() or (folder / "pyproject.toml").is_file():
            return folder
    return package_root(path)


def package_root(path: Path) -> Path:
    """The folder that holds the outermost package which ``path`` belongs to."""
    folder = path.parent
    while (folder / "__init__.py").is_file() and folder.parent != folder:
        folder = folder.parent
    return folder


def python_files(paths: Sequence[Path], roots: Sequence[Path], exclude: Sequence[str]) -> Iterable[Path]:
    """The Python and JSON files under the paths, in a fixed order, without what is excluded; a named file is always taken."""
    seen: set[Path] = set()
    for path in paths:
        for found in [path] if path.is_file() else _walk(path, exclude):
            place = absolute(found)
            if place not in seen:
                seen.add(place)
                yield found


def _walk(top: Path, exclude: Sequence[str]) -> Iterable[Path]:
    for folder, folders, files in os.walk(top):
        here = Path(folder)
        folders[:] = sorted(name for name in folders if name not in _SKIPPED and not _excluded(here / name, top, exclude))
        for name in sorted(files):
            if name.endswith((".py", ".json")) and not _excluded(here / name, top, exclude):
                yield here / name


def _excluded(path: Path, top: Path, patterns: Sequence[str]) -> bool:
    relative = path.relative_to(top).as_posix()
    return any(
        fnmatch.fnmatch(relative, one) or fnmatch.fnmatch(path.name, one) or relative.startswith(one.rstrip("/") + "/") for one in patterns
    )
