"""TOML files, by the standard library where it has a reader."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TOMLError = tomllib.TOMLDecodeError


def load_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file; raises OSError, TOMLError or UnicodeDecodeError."""
    loaded: dict[str, Any] = tomllib.loads(path.read_text("utf8"))
    return loaded
