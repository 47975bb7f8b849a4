"""Which facts tell the configs of a launch that overflow from those that fit, so that a fix leaves the latter alone."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from smem_lint.host.config import Config

TORCH_TYPES = {
    "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64", "fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2",
    "i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8",
}  # fmt: skip
_SHAPED = frozenset({"arange", "zeros", "full", "make_block_ptr", "make_tensor_descriptor", "reshape", "broadcast_to"})


@dataclass(frozen=True, slots=True)
class Condition:
    """``name`` is an argument of the kernel: its element type is one of ``types``, or else its value is at least ``least``,
    or is the truth value ``flag``."""

    name: str
    types: tuple[str, ...] = ()
    least: int | None = None
    flag: bool | None = None

    def holds(self, config: Config) -> bool:
        if self.types:
            return config.types.get(self.name, "")[1:] in self.types
        value = config.constexprs.get(self.name)
        if self.flag is not None:
            return value is self.flag
        return self.least is not None and isinstance(value, int) and _is_int(value) and value >= self.least


def conditions(
    overflowing: Sequence[Config], fitting: Sequence[Config], named: Collection[str], shaping: Collection[str]
) -> tuple[Condition, ...]:
    """A few conditions that all of ``overflowing`` meet, and together as few of ``fitting`` as possible; element types come first.

    Only arguments in ``named`` (those that host code has a name for) are used, sizes in ``shaping`` before others.
    """
    candidates = list(_candidates(overflowing, named))
    chosen: list[Condition] = []
    left = list(fitting)
    for rank in range(3):
        some = [one for one in candidates if rank == 2 or (bool(one.types) if rank == 0 else one.name in shaping)]
        while left:
            best = max(some, key=lambda one: sum(not one.holds(config) for config in left), default=None)
            if best is None or all(best.holds(config) for config in left):
                break
            chosen.append(best)
            left = [config for config in left if best.holds(config)]
    return tuple(one for one in chosen if not _superfluous(one, chosen, fitting))


def shaping_of(kernel: ast.FunctionDef | None) -> frozenset[str]:
    """Names that a kernel uses as the sizes of tiles."""
    found: set[str] = set()
    for node in ast.walk(kernel) if kernel is not None else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SHAPED:
            given: list[ast.expr] = [*node.args, *(keyword.value for keyword in node.keywords)]
            found |= {name.id for one in given for name in ast.walk(one) if isinstance(name, ast.Name)}
    return frozenset(found)


def _candidates(overflowing: Sequence[Config], named: Collection[str]) -> Iterable[Condition]:
    for name in overflowing[0].arguments:
        if name not in named:
            continue
        types = {config.types.get(name, "") for config in overflowing}
        if all(one.startswith("*") and one[1:] in TORCH_TYPES for one in types):
            yield Condition(name, tuple(sorted(one[1:] for one in types)))
        values: list[Any] = [config.constexprs.get(name) for config in overflowing]
        if all(map(_is_int, values)):
            yield Condition(name, least=min(values))
        elif all(isinstance(value, bool) for value in values) and len(set(values)) == 1:
            yield Condition(name, flag=values[0])


def _superfluous(one: Condition, chosen: Sequence[Condition], fitting: Sequence[Config]) -> bool:
    others = [other for other in chosen if other is not one]
    before = sum(all(other.holds(config) for other in chosen) for config in fitting)
    return bool(others) and not one.types and sum(all(other.holds(config) for other in others) for config in fitting) == before


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
