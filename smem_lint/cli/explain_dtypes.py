"""The other combinations of types that host code launches a kernel with, for a plot's lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from smem_lint.cli.explain_base import Base, find_bases
from smem_lint.config import Settings
from smem_lint.engines import Engine
from smem_lint.explain import Explanation, Sweep, is_type, with_dtypes
from smem_lint.source.modules import Repository
from smem_lint.specialization import Specialization

_MOST = 3


def by_dtypes(
    engine: Engine, found: Explanation, path: Path, repository: Repository, settings: Settings, given: Mapping[str, Any],
    sweeps: Sequence[Sweep], known: Sequence[Base] | None = None,
) -> Explanation:  # fmt: skip
    """The explanation with a line for each (three others at most), unless types were swept by hand. ``given`` are the values that a
    person gave; they hold for all lines. ``known`` are the launches with them, where they have been looked for. Raises UsageError."""
    if any(is_type(value) for sweep in sweeps for value in sweep.values):
        return found
    base = found.base.specialization
    launched = find_bases(repository, path, base.kernel, given, settings, found.device) if known is None else known
    nearest = sorted((one.specialization for one in launched if one.origin), key=lambda one: _distance(base, one))
    others: dict[str, dict[str, Any]] = {}
    for one in nearest:
        if _pointers(one) != _pointers(base):
            others.setdefault(repr(_pointers(one)), _change(base, one))
    return with_dtypes(engine, found, list(others.values())[:_MOST]) if others else found


def _pointers(one: Specialization) -> dict[str, str]:
    return {name: kind for name, kind in one.signature.items() if not kind.isidentifier()}


def _distance(base: Specialization, other: Specialization) -> int:
    """How much else of the launch is other than the base's."""
    values = [(other.constexprs.get(name), value) for name, value in base.constexprs.items()]
    kinds = [(other.signature.get(name), kind) for name, kind in base.signature.items()]
    return sum(bool(theirs != own) for theirs, own in [*values, *kinds])


def _change(base: Specialization, other: Specialization) -> dict[str, Any]:
    """The other's types, and the constexprs that go with types: flags, types, and what is not passed at all."""
    change: dict[str, Any] = {}
    for name, kind in other.signature.items():
        value, own = other.constexprs.get(name), base.constexprs.get(name)
        if kind != "constexpr":
            change[name] = kind
        elif isinstance(value, dict) and "dtype" in value and isinstance(own, dict):
            change[name] = value["dtype"]
        elif isinstance(value, bool) or value is None:
            change[name] = value
    return {name: value for name, value in change.items() if name in base.signature}
