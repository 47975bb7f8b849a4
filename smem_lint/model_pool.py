"""The model over several processes, for many specializations, and without the work that a linter does not need.

A specialization whose widest bound stays under ``below`` bytes can cross no limit: its bound is its answer, and the passes are not
run. One whose loops unroll to thousands of operations is not followed either, and that is said. Specializations of one kernel stay
together, so that what they share is done once. Results cross process borders, trees do not; a process that dies costs the
specializations that it had, each with a message.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from smem_lint.engines import SCREENED, Estimate, unanswered
from smem_lint.model import NAME, ModelEngine
from smem_lint.processes import Workers, in_processes
from smem_lint.screening import screened
from smem_lint.specialization import Specialization

_CHUNK = 24
_FEW = 32
_LARGEST = 8_000
"""Operations up to which a program is followed where only the limit matters: more take seconds here, and minutes in the compiler."""

Chunk = list[tuple[int, Specialization]]


@dataclass(eq=False)
class ModelPool:
    """An engine like ``ModelEngine``, in ``jobs`` processes (0: one a core). ``below`` maps a capability to bytes that do not matter.

    ``only_bounds``: what does not stay below is not estimated, but left unanswered for another engine. ``keep``: what is worked out in
    this process keeps the sources that it has read from one call to the next.
    """

    roots: Sequence[Path]
    version: str = ""
    jobs: int = 0
    below: Callable[[int], int] | None = None
    progress: Callable[[int, int], None] | None = None
    only_bounds: bool = False
    keep: bool = False
    name: str = NAME
    _kept: ModelEngine | None = None

    def estimate(self, specializations: Iterable[Specialization]) -> Iterator[Estimate]:
        """One estimate each, in order."""
        wanted = list(specializations)
        return self._estimate(wanted, {one.capability: self.below(one.capability) if self.below else 0 for one in wanted})

    def exactly(self, specializations: Iterable[Specialization]) -> Iterator[Estimate]:
        """One estimate each, in order; none is answered with its bound because that is low."""
        return self._estimate(list(specializations), {})

    def _estimate(self, wanted: list[Specialization], floors: dict[int, int]) -> Iterator[Estimate]:
        answers: list[Estimate | None] = [None] * len(wanted)
        chunks = _chunks(wanted)
        jobs = min(self.jobs or os.cpu_count() or 1, len(chunks))
        if jobs < 2 or len(wanted) < _FEW:
            engine = self._kept or ModelEngine(self.roots, version=self.version)
            self._kept = engine if self.keep else None
            results: Iterable[list[tuple[int, Estimate]]] = (_answers(engine, floors, self.only_bounds, chunk) for chunk in chunks)
        else:
            setup = (list(self.roots), self.version, floors, self.only_bounds)
            results = (part for _, part in in_processes(chunks, jobs, Workers(_start, setup, _answer, _lost)))
        done = 0
        for part in results:
            for index, estimate in part:
                answers[index] = estimate
            done += len(part)
            if self.progress is not None:
                self.progress(done, len(wanted))
        return iter([one if one is not None else unanswered(NAME, "no answer") for one in answers])


def _chunks(wanted: Sequence[Specialization]) -> list[Chunk]:
    by_kernel: dict[tuple[str, str], Chunk] = {}
    for index, one in enumerate(wanted):
        by_kernel.setdefault((one.file, one.kernel), []).append((index, one))
    found: list[Chunk] = []
    for group in by_kernel.values():
        found += [group[place : place + _CHUNK] for place in range(0, len(group), _CHUNK)]
    return found


_engine: ModelEngine | None = None
_floors: dict[int, int] = {}
_only_bounds = False


def _start(roots: list[Path], version: str, floors: dict[int, int], only_bounds: bool) -> None:
    global _engine, _floors, _only_bounds
    _engine, _floors, _only_bounds = ModelEngine(roots, version=version), floors, only_bounds


def _lost(item: tuple[int, Specialization]) -> list[tuple[int, Estimate]]:
    return [(item[0], unanswered(NAME, "the process that estimated it died"))]


def _answer(chunk: Chunk) -> list[tuple[int, Estimate]]:
    assert _engine is not None
    return _answers(_engine, _floors, _only_bounds, chunk)


def _answers(engine: ModelEngine, floors: dict[int, int], only_bounds: bool, chunk: Chunk) -> list[tuple[int, Estimate]]:
    wanted = [one for _, one in chunk]
    if not floors:
        return list(zip((index for index, _ in chunk), engine.estimate(wanted), strict=True))
    answers = screened(engine, wanted, lambda capability: floors.get(capability, 0), SCREENED, _LARGEST, only_bounds=only_bounds)
    return [(chunk[place][0], one or unanswered(NAME, "not below every limit")) for place, one in answers]
