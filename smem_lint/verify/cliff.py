"""Both sides of a kernel's cliff: the largest variant that fits a device, and the next one, which does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from smem_lint.engines import Engine, Estimate
from smem_lint.specialization import Specialization

_MOST_STAGES = 12
_LARGEST = 1024


@dataclass(frozen=True, slots=True)
class Cliff:
    """``step`` says what is changed from ``below`` to ``above``; estimates are the model's."""

    step: str
    below: Specialization
    above: Specialization
    below_estimate: Estimate
    above_estimate: Estimate


def find_cliff(engine: Engine, base: Specialization, limit: int) -> Cliff | None:
    """The first cliff found: along ``num_stages``, then along each tile size that can be doubled. None where nothing crosses."""
    for step, ladder in _ladders(base):
        found = _crossing(step, ladder, list(engine.estimate(ladder)), limit)
        if found is not None:
            return found
    return None


def _ladders(base: Specialization) -> Iterator[tuple[str, list[Specialization]]]:
    yield "num_stages", [replace(base, num_stages=stages) for stages in range(1, _MOST_STAGES + 1)]
    for name, value in base.constexprs.items():
        if _is_tile(value):
            sizes = [value << power for power in range(8) if value << power <= _LARGEST]
            for stages in dict.fromkeys((base.num_stages, 3)):
                yield name, [replace(base, num_stages=stages, constexprs={**base.constexprs, name: size}) for size in sizes]


def _is_tile(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 16 and value & (value - 1) == 0


def _crossing(step: str, ladder: Sequence[Specialization], estimates: Sequence[Estimate], limit: int) -> Cliff | None:
    best: tuple[Specialization, Estimate] | None = None
    for one, estimate in zip(ladder, estimates, strict=True):
        if estimate.bytes is None:
            continue
        if estimate.bytes <= limit:
            best = (one, estimate)
        elif best is not None:
            return Cliff(step, best[0], one, best[1], estimate)
    return None
