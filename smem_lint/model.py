"""The ``model`` engine: specialization to estimate in pure Python, by the compiler's own decisions.

From top to bottom: the front end makes the tile program, ``tile.cleanup`` tidies it, ``passes`` choose layouts, pipeline loops and
order instructions, and ``allocation`` places what is left in shared memory.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from smem_lint.allocation.allocate import Allocation, allocate
from smem_lint.bounds import bounded
from smem_lint.buffers import reported
from smem_lint.engines import REFUSED, Estimate, Loop, unanswered
from smem_lint.garbage import GarbageKept
from smem_lint.pipeline import back_passes, front_passes, pass_named
from smem_lint.source.modules import Repository
from smem_lint.specialization import Specialization
from smem_lint.tile.frontend import build
from smem_lint.tile.ir import Module
from smem_lint.tile.unsupported import KernelError, Unsupported
from smem_lint.tile.versions import exact_versions, triton_versions

NAME = "model"
MODELLED = exact_versions()
"""The Triton versions for which estimates may be called exact, ascending."""

_KEPT = 4
_CACHED_SOURCE_BYTES = 1_000_000
"""Source text that trees are kept for: specializations come kernel by kernel, and a tree takes up to 40 times its text."""

Watcher = Callable[[str, Module], None]


@dataclass(eq=False)
class ModelEngine:
    """Estimates from the source under ``roots``. The part that ``num_stages`` does not touch is kept for the next one."""

    roots: Sequence[Path]
    version: str = ""
    jobs: int = 1
    name: str = NAME
    _kept: OrderedDict[str, Module | Exception] = field(default_factory=OrderedDict)
    _shared: Counter[str] = field(default_factory=Counter)
    _programs: dict[str, Module] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.repository = Repository([Path(root) for root in self.roots], cached_bytes=_CACHED_SOURCE_BYTES)
        self._version = version_of(self.version)

    def estimate(
        self, specializations: Iterable[Specialization], programs: Mapping[str, Module | None] | None = None
    ) -> Iterator[Estimate]:
        """One estimate each, in order. What cannot be answered says why; nothing is raised for a single one.

        ``programs`` are front ends' programs by ``front_key``, where they have been made before; they are used up.
        """
        wanted = list(specializations)
        self._programs = {key: made for key in map(front_key, wanted) if (made := programs.get(key)) is not None} if programs else {}
        self._shared = Counter(map(front_key, wanted))
        return (self.one(specialization) for specialization in wanted)

    def one(self, specialization: Specialization) -> Estimate:
        with GarbageKept():
            return self._one(specialization)

    def _one(self, specialization: Specialization) -> Estimate:
        started = time.perf_counter()
        try:
            allocation = self.allocation(specialization)
        except KernelError as error:
            return self.refused(error, time.perf_counter() - started)
        except LookupError as error:
            return unanswered(NAME, str(error.args[0]) if error.args else "not found", time.perf_counter() - started)
        except Unsupported as error:
            return bounded(self.front_end(specialization), specialization, str(error), time.perf_counter() - started)
        except Exception as error:  # a defect of the model must not cost the run, nor pass for an answer
            reason = f"the model failed ({type(error).__name__}: {error}); please report this kernel"
            return bounded(self.front_end(specialization), specialization, reason, time.perf_counter() - started)
        total, buffers = allocation.total, reported(allocation)
        loops = tuple(Loop(*one) for one in allocation.loops)
        if self._version not in MODELLED:
            reason = f"Triton {_spelled(self._version)} is modelled in part; this is what it is thought to ask for"
            wide = bounded(self.front_end(specialization), specialization, reason)
            seconds = time.perf_counter() - started
            return replace(wide, bytes=total, upper=max(total, wide.upper or 0), buffers=buffers, seconds=seconds, loops=loops)
        return Estimate(total, total, total, True, NAME, buffers, seconds=time.perf_counter() - started, loops=loops)

    def allocation(self, specialization: Specialization, watch: Watcher | None = None) -> Allocation:
        """The allocation of one specialization; ``watch`` sees the program after each pass.

        Raises KernelError, Unsupported, LookupError.
        """
        return allocate(self.program(specialization, watch), self._version)

    def program(self, specialization: Specialization, watch: Watcher | None = None) -> Module:
        """The program as it is allocated, its control flow still structured."""
        module = self._front(specialization, watch)
        module.num_stages = specialization.num_stages
        _run(back_passes(specialization.capability, self._version), module, watch)
        return module

    def built(self, specialization: Specialization, largest: int = 0) -> Module:
        """The tile program as the front end makes it, of up to ``largest`` operations (0: of any number).

        Raises TooLarge, KernelError, Unsupported, LookupError.
        """
        return build(self.repository, specialization, self._version, largest)

    def front_end(self, specialization: Specialization) -> Module | None:
        """The tile program as the front end makes it, or None where it cannot."""
        try:
            return self.built(specialization)
        except Exception:
            return None

    @staticmethod
    def refused(error: KernelError, seconds: float = 0.0) -> Estimate:
        """What is said of a kernel that Triton does not compile."""
        return unanswered(NAME, f"{REFUSED}: {error}", seconds)

    def _front(self, specialization: Specialization, watch: Watcher | None) -> Module:
        if watch is not None:
            return self._made(specialization, watch)
        token = front_key(specialization)
        if self._shared[token] < 2 and token not in self._kept:
            return self._made(specialization, None)
        self._shared[token] -= 1
        kept = self._kept.get(token)
        if kept is None:
            try:
                kept = self._made(specialization, None)
            except (KernelError, Unsupported, LookupError) as error:
                kept = error
            self._kept[token] = kept
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        if isinstance(kept, Exception):
            raise kept
        if self._shared[token]:
            return kept.clone()
        del self._kept[token]
        return kept

    def _made(self, specialization: Specialization, watch: Watcher | None) -> Module:
        known = self._programs.pop(front_key(specialization), None) if self._programs else None
        module = known or build(self.repository, specialization, self._version)
        if watch is not None:
            watch("frontend", module)
        _run(front_passes(specialization.capability), module, watch)
        return module


def version_of(text: str) -> tuple[int, int]:
    """Major and minor of a Triton version; the newest that is modelled for an empty text. Raises ValueError."""
    if not text:
        return MODELLED[-1]
    parts = text.split(".")
    if len(parts) < 2 or not (parts[0].isdigit() and parts[1].isdigit()):
        raise ValueError(f"{text!r} is no Triton version")
    version = int(parts[0]), int(parts[1])
    first = triton_versions()[0].version
    if version < first:
        raise ValueError(f"Triton {text} is not known; {_spelled(first)} is the oldest that is")
    return version


def _spelled(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


def front_key(specialization: Specialization) -> str:
    """What two specializations share when they differ in nothing but ``num_stages``."""
    return repr(replace(specialization, num_stages=0))


def _run(names: Sequence[str], module: Module, watch: Watcher | None) -> None:
    for name in names:
        pass_named(name)(module)
        if watch is not None:
            watch(name, module)
