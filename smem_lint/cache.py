"""Answers kept on disk, keyed by content: one small file each, in a folder that backup and version control leave alone."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is a cache of smem-lint; it may be deleted.\n"


def default_folder(start: Path) -> Path:
    """``SMEM_LINT_CACHE_DIR``, or ``.smem_lint_cache`` in the nearest folder above that is a project's root."""
    named = os.environ.get("SMEM_LINT_CACHE_DIR")
    if named:
        return Path(named)
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / ".git").exists() or (folder / "pyproject.toml").is_file():
            return folder / ".smem_lint_cache"
    return Path.cwd() / ".smem_lint_cache"


class Cache:
    """A failing disk never fails a run: what cannot be read is not there, what cannot be written is not kept."""

    def __init__(self, folder: Path, section: str) -> None:
        self.root, self.folder = folder, folder / section
        self._ready = False

    def get(self, key: str) -> dict[str, Any] | None:
        try:
            found = json.loads((self.folder / key[:2] / f"{key}.json").read_text("utf8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def put(self, key: str, value: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            self._prepare()
            target = self.folder / key[:2] / f"{key}.json"
            target.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=target.parent)
            try:
                with os.fdopen(handle, "w") as file:
                    json.dump(value, file)
                os.replace(name, target)
            except OSError:
                os.unlink(name)
                raise

    def _prepare(self) -> None:
        if not self._ready:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.root / "CACHEDIR.TAG").write_text(_TAG, "utf8")
            (self.root / ".gitignore").write_text("*\n", "utf8")
            self._ready = True
