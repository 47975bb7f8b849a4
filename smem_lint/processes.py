"""Pools of processes that end when they are no longer wanted: on Ctrl-C, on an error, and when this process is killed."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import parent_process
from multiprocessing.connection import wait
from typing import Any


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
