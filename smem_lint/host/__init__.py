"""Host Python evaluated abstractly, never executed: how a repository launches its kernels.

``resolve`` gives every config; ``Config.specialization`` is what the compiler would be given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smem_lint.host.config import Config, Missing
    from smem_lint.host.configs import resolve
    from smem_lint.source.reading import Problem

__all__ = ["Config", "Missing", "Problem", "resolve"]

_WHERE = {
    "Config": "smem_lint.host.config",
    "Missing": "smem_lint.host.config",
    "Problem": "smem_lint.source.reading",
    "resolve": "smem_lint.host.configs",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_WHERE[name]), name)
