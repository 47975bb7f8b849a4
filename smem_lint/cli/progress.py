"""A progress line on standard error, where that is a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")

_WIDTH = 24


class Progress:
    """Called with (done, all); shows a bar, the rate and the time that is left. Silent where nobody watches, or ``quiet`` is set."""

    quiet = False

    def __init__(self, what: str) -> None:
        self.what, self.started, self.shown = what, time.monotonic(), 0.0
        self.watched = sys.stderr.isatty() and not self.quiet

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if not self.watched or (done < total and now - self.shown < 0.1):
            return
        self.shown = now
        rate = done / max(now - self.started, 1e-6)
        left = (total - done) / rate if rate else 0.0
        filled = _WIDTH * done // max(total, 1)
        bar = "#" * filled + "." * (_WIDTH - filled)
        sys.stderr.write(f"\r{self.what} [{bar}] {done}/{total} {rate:.1f}/s {left:.0f} s left ")
        sys.stderr.write("\r\x1b[K" if done >= total else "")
        sys.stderr.flush()


def ticking(items: Sequence[T], progress: Callable[[int, int], None]) -> Iterator[T]:
    """The items, telling ``progress`` how many have been taken."""
    for done, one in enumerate(items):
        progress(done, len(items))
        yield one
    progress(len(items), len(items))
