"""The collector of garbage, kept out of the way while a program is rewritten or host code is evaluated.

A tile program is one knot of references (operations, values, uses), and rewriting it leaves thousands of small knots behind; so does
following host code along its paths. Python's collector would search all objects of the process for them again and again, syntax
trees included; nothing is found until the program itself is dropped. So it rests during one piece of work (an estimate, a launch)
and then looks at the objects of that piece alone.
"""

from __future__ import annotations

import gc
from itertools import count
from types import TracebackType

_SURVIVORS = 64
"""After so many pieces the objects that outlived theirs are looked at too (generation 1) …"""

_ALL = 8192
"""… and after so many all objects of the process."""

_pieces = count(1)


class GarbageKept:
    """Context in which the collector rests; at its end what was made within and is not needed any more is freed.

    Leaves everything as it is where the collector was off already, so that contexts may be nested.
    """

    __slots__ = ("_resting",)

    def __enter__(self) -> None:
        self._resting = gc.isenabled()
        gc.disable()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._resting:
            gc.enable()
            done = next(_pieces)
            gc.collect(0 if done % _SURVIVORS else 1 if done % _ALL else 2)
