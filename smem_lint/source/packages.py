"""Where a file's package lies."""

from __future__ import annotations

from pathlib import Path


def package_root(path: Path) -> Path:
    """The folder from which the outermost package of ``path`` is imported: the first above it without ``__init__.py``."""
    folder = path.parent
    while (folder / "__init__.py").is_file() and folder.parent != folder:
        folder = folder.parent
    return folder
