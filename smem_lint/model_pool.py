"""The model over several processes, for many specializations, and without the work that a linter does not need.

A specialization whose widest bound stays under ``below`` bytes can cross no limit: its bound is its answer, and the passes are not
run. One whose loops unroll to thousands of operations is not followed either, and that is said. Specializations of one kernel stay
together, so that what they share is done once. Results cross process borders, trees do not; a process that dies costs the
specializations that it had, each with a message.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from smem_lint.bounds import bounded
from smem_lint.engines import SCREENED, TOO_LARGE, Estimate, unanswered
from smem_lint.garbage import GarbageKept
from smem_lint.model import NAME, ModelEngine, front_key
from smem_lint.processes import Workers, in_processes
from smem_lint.specialization import Specialization
from smem_lint.tile.ir import Module

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
    found: list[tuple[int, Estimate]] = []
    rest: Chunk = []
    programs: dict[str, Module | int | None] = {}
    with GarbageKept():
        for index, one in chunk if floors else ():
            quick = _quick(engine, one, floors.get(one.capability, 0), programs)
            if quick is not None:
                found.append((index, quick))
            else:
                rest.append((index, one))
        programs.clear()
    rest = rest if floors else chunk
    if only_bounds:
        return found + [(index, unanswered(NAME, "not below every limit")) for index, _ in rest]
    answers = engine.estimate([one for _, one in rest])
    return found + [(index, answer) for (index, _), answer in zip(rest, answers, strict=True)]


def _quick(engine: ModelEngine, one: Specialization, floor: int, programs: dict[str, Module | int | None]) -> Estimate | None:
    """The bound, where it is below what matters, or what is said of a program that is too large; None where the passes are to be run.

    ``programs`` holds what those of one front half share: the program, or how large it was where that is too large.
    """
    key = front_key(one)
    if key not in programs:
        programs[key] = _followed(engine.front_end(one))
    module = programs[key]
    if isinstance(module, int):
        return unanswered(NAME, f"{TOO_LARGE}: its loops unroll to {module:,} operations")
    if module is None or not floor:
        return None
    estimate = bounded(module, one, SCREENED, enough=floor)
    return estimate if estimate.upper is not None and estimate.upper <= floor else None


def _followed(module: Module | None) -> Module | int | None:
    size = sum(1 for _ in module.walk()) if module is not None else 0
    if size <= _LARGEST or module is None:
        return module
    module.functions.clear()
    gc.collect()  # hundreds of megabytes, which would else be there until the chunk is done
    return size
