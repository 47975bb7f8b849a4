"""Work in parts, some processes at a time, that end when they are no longer wanted: on Ctrl-C, on an error, and when this one is killed.

A process that dies costs the item that it died of, and never the run.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.connection import wait
from typing import Any, Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Workers(Generic[T, R]):
    """How processes work: ``start(*setup)`` is called once in each, ``work`` with the items of a part (both functions of a module).

    ``lost`` is the result for an item whose process died.
    """

    start: Callable[..., None]
    setup: tuple[Any, ...]
    work: Callable[[list[T]], R]
    lost: Callable[[T], R]


def in_processes(parts: Sequence[list[T]], jobs: int, workers: Workers[T, R]) -> Iterator[tuple[int, R]]:
    """The result of each part as it is done, with the number of its items. Raises what the work on a part raises."""
    left = list(parts)
    try:
        with pool(jobs, workers.start, workers.setup) as processes:
            futures: dict[Future[R], list[T]] = {processes.submit(workers.work, part): part for part in parts}
            for future in as_completed(futures):
                result = future.result()
                left.remove(futures[future])
                yield len(futures[future]), result
        return
    except BrokenProcessPool:
        pass
    # A process died: what is left is done one part a process, and a part that it dies of again one item a process.
    for part in left:
        found = _alone(part, workers)
        if found is not None:
            yield len(part), found
            continue
        for item in part:
            found = _alone([item], workers)
            yield 1, workers.lost(item) if found is None else found


def _alone(items: list[T], workers: Workers[T, R]) -> R | None:
    """The result for some items from a process of their own; None where it dies."""
    try:
        with pool(1, workers.start, workers.setup) as processes:
            return processes.submit(workers.work, items).result()
    except BrokenProcessPool:
        return None


@contextmanager
def pool(jobs: int, start: Callable[..., None], setup: tuple[Any, ...]) -> Iterator[ProcessPoolExecutor]:
    """A pool whose processes call ``start(*setup)`` first. What they still do when the block is left by an exception is dropped."""
    executor = ProcessPoolExecutor(jobs, initializer=_begin, initargs=(start, setup))
    try:
        yield executor
    except BaseException:
        _end(executor)
        raise
    executor.shutdown()


def _end(executor: ProcessPoolExecutor) -> None:
    processes = list((getattr(executor, "_processes", None) or {}).values())
    executor.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.kill()


def _begin(start: Callable[..., None], setup: tuple[Any, ...]) -> None:
    """Leave Ctrl-C, which a terminal sends to all, to the parent; end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    start(*setup)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
