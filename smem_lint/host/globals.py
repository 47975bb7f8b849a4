"""What a module-level name is worth to a kernel that reads it, on a given target."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from smem_lint.host.limits import Abandoned, Raised, TooMuch, Undecided
from smem_lint.host.program import Program
from smem_lint.host.values import UNKNOWN, DType, EnumMember, Partial
from smem_lint.source.modules import Repository, SourceModule

__all__ = ["UNKNOWN", "DType", "global_value"]

_PROGRAMS: WeakKeyDictionary[Repository, dict[int, Program]] = WeakKeyDictionary()


def program_of(repository: Repository, capability: int) -> Program:
    """The evaluated modules of a repository for a target, kept as long as the repository is."""
    programs = _PROGRAMS.setdefault(repository, {})
    if capability not in programs:
        programs[capability] = Program(repository, capability)
    return programs[capability]


def global_value(repository: Repository, module: SourceModule, name: str, capability: int) -> Any:
    """The value of a module-level (dotted) name: an int, float, str, bool, None, tuple, list, dict or ``DType``; else ``UNKNOWN``.

    ``tl.constexpr(X)`` counts as ``X``; environment variables count as unset, and what is asked about the machine is
    answered for the target. ``capability`` is the target's, times ten.
    """
    program = program_of(repository, capability)
    first, *attributes = name.split(".")
    run = program.strict()
    try:
        value = program.module_value(module, first)
        for attribute in attributes:
            value = run.attribute(value, attribute)
    except (Undecided, TooMuch, Raised, Abandoned, RecursionError):
        return UNKNOWN
    return _plain(value)


def _plain(value: Any, depth: int = 0) -> Any:
    if isinstance(value, EnumMember):
        value = value.value
    if value is None or isinstance(value, (int, float, str, DType)):
        return value
    if isinstance(value, (tuple, list, dict)) and not isinstance(value, Partial) and depth < 4:
        parts = list(value.values()) if isinstance(value, dict) else list(value)
        if len(parts) > 4_096 or any(_plain(part, depth + 1) is UNKNOWN for part in parts):
            return UNKNOWN
        if isinstance(value, dict):
            return {key: _plain(part, depth + 1) for key, part in value.items()}
        made = [_plain(part, depth + 1) for part in parts]
        return tuple(made) if isinstance(value, tuple) else made
    return UNKNOWN
