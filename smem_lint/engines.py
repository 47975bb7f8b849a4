"""What every engine answers, and how an engine is asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from smem_lint.specialization import Specialization


@dataclass(frozen=True, slots=True)
class Buffer:
    """One allocation in a block's shared memory.

    ``offset`` and ``size`` are bytes; ``start`` and ``end`` the half-open range of program positions in which it is live.
    ``kind`` is ``staged`` (a pipelined load's ring), ``operand`` (a tile that passes through shared memory), ``scratch``
    (a layout conversion, reduction, scan, …), ``barrier`` or ``call``. ``line`` is the line of the kernel's file that it
    comes from, ``read`` that of the dot that reads it, where known; ``what`` says it in words, e.g. ``1 x 512x32xfp8e4nv``.
    """

    offset: int
    size: int
    kind: str
    op: str
    what: str = ""
    name: str = ""
    line: int | None = None
    start: int = 0
    end: int = 0
    read: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of the program: the half-open range of positions of its operations, and its source line where known."""

    start: int
    end: int
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """How many bytes of shared memory one block asks for.

    ``bytes`` is the best answer, or None with ``error`` saying why there is none. ``lower`` <= truth <= ``upper`` always
    holds (``upper`` None: no bound is known). ``exact`` is only true when every construct on the way was modelled;
    ``reasons`` names what widened the bounds otherwise, each with its line where known. ``loops`` says where in the program
    the lifetimes of the buffers lie. ``failed``: there is no answer because the engine failed (a process that died, time that ran
    out), not because of the kernel; asked again it may answer.
    """

    bytes: int | None
    lower: int
    upper: int | None
    exact: bool
    engine: str
    buffers: tuple[Buffer, ...] = ()
    reasons: tuple[str, ...] = ()
    error: str | None = None
    seconds: float = 0.0
    loops: tuple[Loop, ...] = ()
    failed: bool = False

    def to_json(self) -> dict[str, Any]:
        return {
            "bytes": self.bytes,
            "lower": self.lower,
            "upper": self.upper,
            "exact": self.exact,
            "engine": self.engine,
            "error": self.error,
            "reasons": list(self.reasons),
            "seconds": round(self.seconds, 6),
            "buffers": [buffer.to_json() for buffer in self.buffers],
        }


def unanswered(engine: str, error: str, seconds: float = 0.0, failed: bool = False) -> Estimate:
    """An estimate that says only why there is none."""
    return Estimate(None, 0, None, False, engine, error=error, seconds=seconds, failed=failed)


SCREENED = "it is bounded below every limit, so its exact bytes were not asked for"


REFUSED = "Triton refuses the kernel"
"""How the error begins of what the compiler would not compile."""

_REFUSALS = (REFUSED, "CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct")

TOO_LARGE = "the program is too large to be followed in a lint run"
"""How the error begins of what no engine is to be asked in the middle of many others: loops unrolled a hundred times."""


def is_refusal(error: str) -> bool:
    """Whether it is the compiler's own word on the kernel, or the model's for it: no crash, no time-out, no missing file.

    The compiler's: the exceptions of ``python/triton/compiler/errors.py``, Triton 3.8.0.
    """
    return error.startswith(_REFUSALS)


class Engine(Protocol):
    """Answers specializations. ``roots`` are the folders that a specialization's ``file`` is relative to."""

    name: str

    def estimate(self, specializations: Iterable[Specialization]) -> Iterator[Estimate]:
        """One estimate for each specialization, in the same order; never raises for a single one."""
        ...


@runtime_checkable
class ScreeningEngine(Engine, Protocol):
    """An engine that answers with bounds (reason ``SCREENED``) where those can cross no limit."""

    def exactly(self, specializations: Iterable[Specialization]) -> Iterator[Estimate]:
        """As ``estimate``, but nothing is answered with bounds that need not be."""
        ...


@runtime_checkable
class ConfirmingEngine(Engine, Protocol):
    """An engine that has another one to confirm by what it says."""

    def confirmed(self, specializations: Iterable[Specialization]) -> Iterator[Estimate]:
        """One estimate each, in order: the other engine's, or this one's where the other has none."""
        ...
