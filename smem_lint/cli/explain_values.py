"""The ``NAME=VALUE`` arguments of ``explain``: one value is set, several are swept over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from smem_lint.cli.errors import UsageError
from smem_lint.explain import OPTIONS, STAGES, Sweep, is_type, merged
from smem_lint.source.comments import pairs
from smem_lint.tile.dtypes import named

_MOST_VALUES = 64
_MOST_STAGES = 64


def parse_values(given: Sequence[str]) -> tuple[dict[str, Any], tuple[Sweep, ...]]:
    """The base's values (the first of each list), and the sweeps. ``A,B=*bf16,*fp8e4nv`` sets both together. Raises UsageError."""
    values: dict[str, Any] = {}
    sweeps: list[Sweep] = []
    for text in given:
        left, separator, right = text.partition("=")
        names = tuple(name.strip() for name in left.split(","))
        if not separator or not all(name.isidentifier() for name in names):
            raise UsageError(f"{text}: expected NAME=VALUE")
        if len(names) > 1 and STAGES in names:
            raise UsageError(f"{text}: {STAGES} is set on its own, and crossed with what else has several values")
        parts = tuple(dict.fromkeys(_value(text, part) for part in right.split(",")))
        if len(parts) > _MOST_VALUES:
            raise UsageError(f"{names[0]}: {len(parts)} values are too many; {_MOST_VALUES} at most")
        for name in names:
            if name in values:
                raise UsageError(f"{name} is given twice")
            values[name] = parts[0]
            for part in parts:
                _check_option(name, part)
        if len(parts) > 1:
            sweeps.append(Sweep(names, parts))
    return values, merged(sweeps)


def _value(text: str, part: str) -> Any:
    if not part.strip():
        raise UsageError(f"{text}: a value is missing")
    ((_, value),) = pairs(f"x={part}")[:1]
    if not isinstance(value, (int, float, str, type(None))):
        raise UsageError(f"{text}: expected a number, a name or a type")
    return value


def _check_option(name: str, value: Any) -> None:
    if name not in OPTIONS:
        return
    whole = isinstance(value, int) and not isinstance(value, bool)
    if name == "maxnreg" and value is None:
        return
    if not whole or value < (0 if name == "num_stages" else 1):
        raise UsageError(f"{name}={value}: expected a whole number")
    if name == "num_warps" and (value & (value - 1) or value > 32):
        raise UsageError(f"num_warps={value}: expected a power of two, 32 at most")
    if name == "num_stages" and value > _MOST_STAGES:
        raise UsageError(f"num_stages={value}: {_MOST_STAGES} at most")


def check_values(
    kernel: str, declared: Mapping[str, str], values: Mapping[str, Any], sweeps: Sequence[Sweep], launched: Mapping[str, Any]
) -> None:
    """Hold values against the kernel's arguments, and names against the constexprs that are ``launched`` with numbers.

    Raises UsageError for types that are none, numbers where a type is due, and names where a number or a truth value is.
    """
    given = [(name, value) for name, value in values.items()]
    given += [(name, value) for sweep in sweeps for name in sweep.names for value in sweep.values]
    for name, value in given:
        kind = declared.get(name, "")
        if kind == "constexpr" and isinstance(value, str) and isinstance(launched.get(name), (bool, int, float)):
            due = "True or False" if isinstance(launched[name], bool) else "a number"
            raise UsageError(f"{name}={value}: {kernel} is launched with {name}={launched[name]}; expected {due}")
        if kind in ("", "constexpr") or (value is None and not kind.startswith("*")):
            continue
        if isinstance(value, str) and not is_type(value):
            raise UsageError(f"{name}={value}: {value!r} is no type{_hint(value, kind)}; {kernel} takes {name}: {kind}")
        if kind.startswith("*") and not (isinstance(value, str) and value.startswith("*")) and value is not None:
            raise UsageError(f"{name}={value}: {name} is a pointer ({kind}); give its type{_hint(str(value), kind)}")


def _hint(value: str, kind: str) -> str:
    star = "*" if kind.startswith("*") else ""
    try:
        return f"; did you mean {star}{named(value.lstrip('*'))}?"
    except ValueError:
        return f", as {star or ''}bf16 or {star or ''}fp8e4nv are" if star else ""
