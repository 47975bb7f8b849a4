"""Which version of Triton a project asks for: named in its requirements, or by way of the release of PyTorch that it pins.

Looked at, in the root of the project: ``pyproject.toml`` (dependencies, optional and grouped ones), ``requirements*.txt`` (also in
``requirements/``), and the text of ``setup.py`` and ``setup.cfg``. Only exact requirements count (``==`` and ``~=``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from smem_lint.tile.versions import triton_versions
from smem_lint.toml import TOMLError, load_toml

_PIN = re.compile(r"""(?:^|["'\s,\[])(triton|torch)\s*(?:==|~=)\s*(\d+\.\d+)""", re.IGNORECASE | re.MULTILINE)


def pinned_triton(root: Path) -> str:
    """``3.6``, say; empty where the project does not say. A pin of Triton itself comes before one of PyTorch."""
    pins: dict[str, str] = {}
    for text in _requirements(root):
        for package, version in _PIN.findall(text):
            pins.setdefault(package.lower(), version)
    if "triton" in pins:
        return pins["triton"]
    for one in triton_versions():
        if pins.get("torch") in one.torch:
            return ".".join(map(str, one.version))
    return ""


def project_triton(path: Path) -> str:
    """What the project around ``path`` pins: that of the nearest folder upward that says, within one repository."""
    folder = (path if path.is_dir() else path.parent).resolve()
    for where in (folder, *folder.parents):
        found = pinned_triton(where)
        if found or (where / ".git").exists():
            return found
    return ""


def _requirements(root: Path) -> Iterator[str]:
    with suppress(OSError, TOMLError, UnicodeDecodeError):
        yield "\n".join(_declared(load_toml(root / "pyproject.toml")))
    files = [root / "setup.py", root / "setup.cfg", *sorted(root.glob("requirements*.txt")), *sorted(root.glob("requirements/*.txt"))]
    for file in files:
        try:
            text = file.read_text("utf8")
        except (OSError, UnicodeDecodeError):
            continue
        yield "\n".join(line.partition("#")[0] for line in text.splitlines())


def _declared(tables: dict[str, Any]) -> Iterator[str]:
    project = tables.get("project", {})
    lists = [project.get("dependencies", []), *project.get("optional-dependencies", {}).values()]
    lists += tables.get("dependency-groups", {}).values()
    for one in lists:
        yield from (line for line in one if isinstance(line, str))
