"""The ``compiler`` engine: the installed Triton's own answer, for any target, on a CPU.

Each specialization's kernel is cut out of its source (``cut``), and a child process asks the compiler (``compile_child``). A child
that dies or takes too long costs one specialization. Answers are kept on disk, keyed by the source, the specialization and the
compiler's version.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from smem_lint.buffers import reported
from smem_lint.cache import Cache
from smem_lint.engines import Buffer, Estimate, unanswered
from smem_lint.source.modules import Repository
from smem_lint.specialization import Specialization
from smem_lint.verify.answers import Answers
from smem_lint.verify.compiler_process import CompilerProcess, CompilerUnavailable, Limits
from smem_lint.verify.cut import CannotCut, Cut, cut
from smem_lint.verify.cut_files import written

__all__ = ["CompilerEngine", "CompilerUnavailable", "Limits", "answer_key", "as_estimate"]

NAME = "compiler"
_SCHEMA = 2


@dataclass(eq=False)
class CompilerEngine:
    """Asks Triton in ``jobs`` child processes of ``python``. ``progress`` is called with (done, all) after each answer.

    Raises CompilerUnavailable from ``version`` and ``estimate`` where that interpreter has no Triton.
    """

    roots: Sequence[Path]
    python: str = sys.executable
    jobs: int = 0
    limits: Limits = field(default_factory=Limits)
    cache: Cache | None = None
    progress: Callable[[int, int], None] | None = None
    full: bool = False
    run_host_functions: bool = False
    resume: Path | None = None
    name: str = NAME

    def __post_init__(self) -> None:
        self.repository = Repository([Path(root) for root in self.roots])
        self._version: str | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="smem-lint-cut-")
        self._cuts: dict[tuple[str, str, int], Cut | str] = {}
        self.kept = Answers(self.resume) if self.resume is not None else None

    @property
    def version(self) -> str:
        """The version of the Triton that answers."""
        if self._version is None:
            with CompilerProcess(self.python, self.limits) as child:
                self._version = child.version
        return self._version

    def close(self) -> None:
        self._folder.cleanup()

    def estimate(self, specializations: Iterable[Specialization]) -> Iterator[Estimate]:
        """The compiler's allocation of each, in order: exact, or unanswered with the compiler's refusal."""
        wanted = list(specializations)
        if not wanted:
            return iter(())
        version = self.version
        answers: list[Estimate | None] = [None] * len(wanted)
        work: queue.Queue[tuple[int, Specialization, Cut, str]] = queue.Queue()
        done = _Counter(len(wanted), self.progress)
        for index, one in enumerate(wanted):
            piece = self._cut(one)
            if isinstance(piece, str):
                answers[index] = unanswered(NAME, piece)
                done.add()
                continue
            key = answer_key(piece, one, version, self.full)
            known = self._known(key)
            if known is not None:
                answers[index] = as_estimate(known, 0.0)
                done.add()
            else:
                work.put((index, one, piece, key))
        self._ask_all(work, answers, done)
        return iter([one if one is not None else unanswered(NAME, "no answer", failed=True) for one in answers])

    def _ask_all(self, work: queue.Queue[tuple[int, Specialization, Cut, str]], answers: list[Estimate | None], done: _Counter) -> None:
        count = min(self.jobs or os.cpu_count() or 1, work.qsize())
        workers = [threading.Thread(target=self._worker, args=(work, answers, done), daemon=True) for _ in range(count)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    def _worker(self, work: queue.Queue[tuple[int, Specialization, Cut, str]], answers: list[Estimate | None], done: _Counter) -> None:
        child: CompilerProcess | None = None
        try:
            while True:
                try:
                    index, one, piece, key = work.get_nowait()
                except queue.Empty:
                    return
                started = time.perf_counter()
                try:
                    child = child or CompilerProcess(self.python, self.limits)
                    answer = child.ask(self._request(one, piece))
                except (CompilerUnavailable, OSError) as error:
                    answer = {"error": str(error), "transient": True}
                if answer.get("transient") and child is not None:
                    child.close()
                    child = None
                answers[index] = as_estimate(answer, time.perf_counter() - started)
                if not answer.get("transient"):
                    self._keep(key, answer)
                done.add()
        finally:
            if child is not None:
                child.close()

    def _known(self, key: str) -> dict[str, Any] | None:
        return (self.kept.get(key) if self.kept is not None else None) or (self.cache.get(key) if self.cache is not None else None)

    def _keep(self, key: str, answer: dict[str, Any]) -> None:
        if self.cache is not None:
            self.cache.put(key, answer)
        if self.kept is not None:
            self.kept.put(key, answer)

    def _cut(self, one: Specialization) -> Cut | str:
        key = (one.file, one.kernel, one.capability)
        if key not in self._cuts:
            try:
                self._cuts[key] = cut(self.repository, *key, run_host_functions=self.run_host_functions)
            except CannotCut as error:
                self._cuts[key] = str(error)
        return self._cuts[key]

    def _request(self, one: Specialization, piece: Cut) -> dict[str, Any]:
        folder = written(piece, Path(self._folder.name))
        record = one.to_record()
        return {"folder": str(folder), "main": piece.main, "kernel": piece.kernel, "record": record, "full": self.full}


class _Counter:
    def __init__(self, total: int, report: Callable[[int, int], None] | None) -> None:
        self.total, self.report, self.done, self.lock = total, report, 0, threading.Lock()

    def add(self) -> None:
        with self.lock:
            self.done += 1
            if self.report is not None:
                self.report(self.done, self.total)


def answer_key(piece: Cut, one: Specialization, version: str, full: bool) -> str:
    """Names one question: the source of a kernel and all it calls, its specialization, and who is asked."""
    told = (_SCHEMA, version, full, sorted(piece.modules.items()), json.dumps(one.to_record(), sort_keys=True, default=str))
    return hashlib.sha256(repr(told).encode()).hexdigest()


def as_estimate(answer: dict[str, Any], seconds: float, engine: str = NAME) -> Estimate:
    """The answer of a process as an estimate: exact, or unanswered with what it said."""
    if answer.get("shared") is None:
        return unanswered(engine, str(answer.get("error", "no answer")), seconds, bool(answer.get("transient")))
    total = int(answer["shared"])
    return Estimate(total, total, total, True, engine, _buffers(answer), error=answer.get("error"), seconds=seconds)


def _buffers(answer: dict[str, Any]) -> tuple[Buffer, ...]:
    """The compiler's buffers: read from its last IR, with sizes and lifetimes that it does not print."""
    from smem_lint.allocation.allocate import allocate
    from smem_lint.tile.unsupported import Unsupported
    from smem_lint.verify.ir_text import IRTextError, parse_module

    if not answer.get("ir"):
        return ()
    try:
        module = parse_module(answer["ir"])
        placed = [op for op in module.walk() if "allocation.offset" in op.attrs and op.name != "tt.func"]
        for op, line in zip(placed, answer.get("lines", ()), strict=False):
            op.line = line
        allocation = allocate(module)
    except (IRTextError, Unsupported, ValueError, KeyError, AssertionError, AttributeError):
        return ()
    return reported(allocation) if allocation.total == answer["shared"] else ()
