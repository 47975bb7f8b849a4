"""Answers that ``prune`` had before: in this process, and on disk for the processes that come after it.

What a kernel was asked for is known by Triton's own key of its source (``JITFunction.cache_key``: it covers the functions and globals
that the kernel uses), so that nothing is looked up for a kernel that has changed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from smem_lint import __version__
from smem_lint.cache import Cache
from smem_lint.engines import Estimate

_FIELDS = ("bytes", "lower", "upper", "exact", "engine")
_KNOWN: dict[str, Estimate] = {}


def folder() -> Path:
    """``SMEM_LINT_CACHE_DIR``, or ``smem_lint`` in the user's folder for caches (``XDG_CACHE_HOME``, or ``~/.cache``)."""
    named = os.environ.get("SMEM_LINT_CACHE_DIR")
    return Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "smem_lint"


class Answers:
    """Estimates for the specializations of one kernel, by their text.

    ``source`` is Triton's key of the kernel, ``triton`` its version, ``limit`` (bytes) the device's, within which a bound is an answer.
    """

    def __init__(self, source: str, triton: str, limit: int) -> None:
        self._told, self._limit = (__version__, source, triton, limit), limit
        self._disk = Cache(folder(), "prune")

    def get(self, specialization: str) -> Estimate | None:
        key = self._key(specialization)
        if key not in _KNOWN and (found := _read(self._disk.get(key) or {})) is not None:
            _KNOWN[key] = found
        return _KNOWN.get(key)

    def put(self, specialization: str, estimate: Estimate) -> None:
        key = self._key(specialization)
        _KNOWN[key] = estimate
        if estimate.lower > self._limit or (estimate.upper is not None and estimate.upper <= self._limit):
            self._disk.put(key, {name: getattr(estimate, name) for name in _FIELDS})

    def _key(self, specialization: str) -> str:
        return hashlib.sha256(repr((*self._told, specialization)).encode()).hexdigest()


def _read(kept: Mapping[str, Any]) -> Estimate | None:
    """None for what is no answer of ours."""
    best, lower, upper, exact, engine = (kept.get(name) for name in _FIELDS)
    sizes = [one for one in (best, lower, upper) if one is not None]
    if not all(type(one) is int and one >= 0 for one in sizes) or lower is None or type(exact) is not bool or not isinstance(engine, str):
        return None
    return Estimate(best, lower, upper, exact, engine)
