"""The same work on a dask.distributed cluster: each kernel, cut out of its source, goes to a worker whose resources name its device.

A worker needs smem-lint, Triton and, for the ``gpu`` engine, a device; it needs no source. A GPU's workers are started with the
resource of their device (``dask worker … --resources sm_90=1``). For the ``compiler`` engine any worker will do, unless some have the
resource ``triton``: then those. What a lost worker had not answered is given to another; each answer counts once.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from smem_lint.engines import Estimate, unanswered
from smem_lint.source.modules import Repository
from smem_lint.specialization import Specialization
from smem_lint.verify.answers import Answers
from smem_lint.verify.compiler import answer_key, as_estimate
from smem_lint.verify.compiler_process import CompilerProcess, CompilerUnavailable, Limits
from smem_lint.verify.cut import CannotCut, Cut, cut
from smem_lint.verify.cut_files import written
from smem_lint.verify.gpu import GpuEngine

_LOOK_EVERY = 2.0
_here = threading.local()


class FleetUnavailable(RuntimeError):
    """No cluster to work with; the message says what is missing."""


@dataclass(eq=False)
class FleetEngine:
    """Asks the workers of the scheduler at ``address``; ``kind`` is ``compiler`` or ``gpu``.

    ``python``: the interpreter that a worker asks (its own, unless given). ``grace``: seconds for which
    work waits while no worker can take it. Raises FleetUnavailable from ``estimate``.
    """

    address: str
    roots: Sequence[Path]
    kind: str = "compiler"
    limits: Limits = field(default_factory=Limits)
    progress: Callable[[int, int], None] | None = None
    resume: Path | None = None
    python: str = ""
    grace: float = 60.0

    def __post_init__(self) -> None:
        self.repository = Repository([Path(root) for root in self.roots])
        self.kept = Answers(self.resume) if self.resume is not None else None
        self.versions: dict[str, None] = {}
        self.name = self.kind

    @property
    def version(self) -> str:
        """The Triton versions that have answered."""
        return ", ".join(self.versions)

    def estimate(self, specializations: Iterable[Specialization]) -> Iterator[Estimate]:
        """One estimate each, in order."""
        wanted = list(specializations)
        distributed = _distributed()
        try:
            client = distributed.Client(self.address, timeout=10, set_as_default=False)
        except (OSError, ValueError) as error:
            raise FleetUnavailable(f"no dask scheduler at {self.address}: {error or type(error).__name__}") from error
        with client, client.as_current():
            return iter(_Run(self, client, wanted).answers())


class _Run:
    """One list of work on one cluster."""

    def __init__(self, engine: FleetEngine, client: Any, wanted: Sequence[Specialization]) -> None:
        self.engine, self.client, self.wanted = engine, client, wanted
        self.found: list[Estimate | None] = [None] * len(wanted)
        self.done = 0
        self.futures: dict[Any, int] = {}
        self.keys: dict[int, str] = {}
        self.needs: dict[int, str | None] = {}

    def answers(self) -> list[Estimate]:
        self._submit()
        waiting = time.monotonic()
        while self.futures:
            with contextlib.suppress(TimeoutError):
                _distributed().wait(list(self.futures), timeout=_LOOK_EVERY, return_when="FIRST_COMPLETED")
            ready = [future for future in self.futures if future.done()]
            for future in ready:
                self._take(future)
            if ready or self._can_go_on():
                waiting = time.monotonic()
            elif time.monotonic() - waiting > self.engine.grace:
                self._give_up()
        return [one if one is not None else unanswered(self.engine.kind, "no answer", failed=True) for one in self.found]

    def _submit(self) -> None:
        offered = self._offered()
        for index, one in enumerate(self.wanted):
            try:
                piece = cut(self.engine.repository, one.file, one.kernel, one.capability)
            except CannotCut as error:
                self._answer(index, unanswered(self.engine.kind, str(error)))
                continue
            key = answer_key(piece, one, f"{self.engine.kind} of a fleet", False)
            known = self.engine.kept.get(key) if self.engine.kept is not None else None
            if known is not None:
                self._answer(index, self._told(known))
                continue
            need = f"sm_{one.capability}" if self.engine.kind == "gpu" else "triton" if "triton" in offered else None
            self.keys[index], self.needs[index] = key, need
            future = self.client.submit(
                _ask, self.engine.kind, piece, json.dumps(one.to_record()), self.engine.limits, self.engine.python,
                key=f"smem-lint-{key}-{index}",
                resources={need: 1} if need else None, pure=False,
            )  # fmt: skip
            self.futures[future] = index

    def _offered(self) -> set[str]:
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        return {name for worker in workers for name in worker.get("resources", {})} | ({""} if workers else set())

    def _can_go_on(self) -> bool:
        """Whether some worker could take, or has, a piece of what is left."""
        offered = self._offered()
        return any((self.needs[index] or "") in offered for index in self.futures.values())

    def _take(self, future: Any) -> None:
        index = self.futures.pop(future)
        if future.status != "finished":
            error = future.exception()
            self._answer(index, unanswered(self.engine.kind, f"the worker failed: {type(error).__name__}: {error}", failed=True))
            return
        answer = future.result()
        if not answer.get("transient") and self.engine.kept is not None:
            self.engine.kept.put(self.keys[index], answer)
        self._answer(index, self._told(answer))

    def _told(self, answer: dict[str, Any]) -> Estimate:
        if answer.get("triton"):
            self.engine.versions[str(answer["triton"])] = None
        return as_estimate(answer, float(answer.get("seconds", 0.0)), self.engine.kind)

    def _answer(self, index: int, estimate: Estimate) -> None:
        self.found[index] = estimate
        self.done += 1
        if self.engine.progress is not None:
            self.engine.progress(self.done, len(self.wanted))

    def _give_up(self) -> None:
        for future, index in self.futures.items():
            offer = f"with the resource {self.needs[index]}" if self.needs[index] else "at all"
            reason = f"the fleet has had no worker {offer} for {self.engine.grace:g} s"
            self._answer(index, unanswered(self.engine.kind, reason, failed=True))
            future.cancel()
        self.futures = {}


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise FleetUnavailable("dask.distributed is not installed; `pip install smem-lint[fleet]` brings it") from error
    return distributed


def _ask(kind: str, piece: Cut, record: str, limits: Limits, python: str) -> dict[str, Any]:
    """On a worker: the answer to one specialization, with the Triton that gave it and the seconds that it took."""
    one = Specialization.from_record(json.loads(record))
    started = time.perf_counter()
    answer = _ask_gpu(one, piece, python) if kind == "gpu" else _ask_compiler(one, piece, limits, python)
    return {**answer, "seconds": time.perf_counter() - started}


def _ask_gpu(one: Specialization, piece: Cut, python: str) -> dict[str, Any]:
    engine: GpuEngine | None = getattr(_here, "gpu", None)
    if engine is None:
        engine = _here.gpu = GpuEngine([], python=python or sys.executable)
    answer = engine.ask(one, piece)
    return {**answer, "triton": engine.version if "shared" in answer else None}


def _ask_compiler(one: Specialization, piece: Cut, limits: Limits, python: str) -> dict[str, Any]:
    """A worker's thread keeps its compiler process for the next question, and starts another one after a crash."""
    try:
        child: CompilerProcess | None = getattr(_here, "child", None)
        if child is None:
            _here.folder = tempfile.TemporaryDirectory(prefix="smem-lint-fleet-")
            child = _here.child = CompilerProcess(python or sys.executable, limits)
        folder = written(piece, Path(_here.folder.name))
        answer = child.ask({"folder": str(folder), "main": piece.main, "kernel": piece.kernel, "record": one.to_record(), "full": False})
    except (CompilerUnavailable, OSError) as error:
        return {"error": str(error), "transient": True}
    if answer.get("transient"):
        child.close()
        _here.child = None
    return {**answer, "triton": child.version}
