"""Configs that rest on sizes which nobody knows, and which were tried out: what is said of them holds for every size that was tried.

An overflow that only some of the sizes bring about is no finding of its own: it is told, with the size from which on it happens, by
the note on what could not be evaluated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smem_lint.host.config import Config
    from smem_lint.judging import Judged


def fixed_conditions(config: Config) -> tuple[str, ...]:
    """What a config was reached under, without the sizes that were tried."""
    texts = [f"{text} is " for _, text in config.tried]
    return tuple(condition for condition in config.when if not any(condition.startswith(text) for text in texts))


def _key(one: Judged) -> tuple[Any, ...]:
    """What configs have in common that differ in tried sizes alone, and in what follows from those."""
    config = one.config
    flags = tuple((name, value) for name, value in config.constexprs.items() if isinstance(value, (bool, str, type(None))))
    return (config.index, fixed_conditions(config), tuple(sorted(config.types.items())), flags)


def depends_on_size(answered: Sequence[Judged]) -> list[tuple[Judged, Judged]]:
    """The configs that overflow for some of the tried sizes, each with one like it that fits."""
    if not any(one.config.tried and one.overflows for one in answered):
        return []
    fitting: dict[tuple[Any, ...], Judged] = {}
    for one in answered:
        if one.config.tried and not one.overflows:
            held = fitting.setdefault(_key(one), one)
            if _sizes(held) < _sizes(one):
                fitting[_key(one)] = one
    pairs = [(one, fitting.get(_key(one))) for one in answered if one.config.tried and one.overflows]
    return [(one, twin) for one, twin in pairs if twin is not None]


def _sizes(one: Judged) -> tuple[int, ...]:
    return tuple(size for _, size in tried_sizes(one.config))


def tried_sizes(config: Config) -> list[tuple[str, int]]:
    """The sizes that were tried, by what the host code calls them."""
    found: list[tuple[str, int]] = []
    for name, text in config.tried:
        value = next((condition.removeprefix(f"{text} is ") for condition in config.when if condition.startswith(f"{text} is ")), "")
        if value.isdigit():
            found.append((text if not name else f"{name} = {text}", int(value)))
    return found


def threshold(pairs: Sequence[tuple[Judged, Judged]]) -> str:
    """From which size on a launch overflows: of all that were tried the smallest that does, beside one that fits."""
    one, twin = min(pairs, key=lambda pair: (_sizes(pair[0]), pair[0].bytes))
    sizes, fits = dict(tried_sizes(one.config)), dict(tried_sizes(twin.config))
    differing = [text for text in sizes if sizes[text] != fits.get(text)]
    over = " and ".join(f"{text} is {sizes[text]:,}" for text in differing)
    under = ", ".join(f"{fits[text]:,}" for text in differing if text in fits)
    return f"; it overflows where {over} ({one.bytes:,} of {one.device.optin:,} bytes) and fits at {under} ({twin.bytes:,})"
