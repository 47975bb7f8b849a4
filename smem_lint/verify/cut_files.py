"""A cut kernel's modules as files, once for each content."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

from smem_lint.verify.cut import Cut

_LOCK = threading.Lock()


def written(piece: Cut, place: Path) -> Path:
    """The folder under ``place`` that holds the modules of ``piece``."""
    digest = hashlib.sha256(repr(sorted(piece.modules.items())).encode()).hexdigest()[:16]
    folder = place / digest
    with _LOCK:
        if not (folder / ".done").exists():
            folder.mkdir(parents=True, exist_ok=True)
            for name, text in piece.modules.items():
                (folder / f"{name}.py").write_text(text, "utf8")
            (folder / ".done").touch()
    return folder
