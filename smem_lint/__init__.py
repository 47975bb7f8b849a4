"""smem-lint: exact shared-memory bytes of Triton kernels, from their source.

``estimate`` and ``check`` do what the commands of the same names do; ``prune`` is for ``triton.autotune``'s ``prune_configs_by``.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"
__all__ = ["__version__", "check", "estimate", "prune"]

_PLACES = {"check": "smem_lint.api", "estimate": "smem_lint.api", "prune": "smem_lint.pruning"}


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(importlib.import_module(_PLACES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
