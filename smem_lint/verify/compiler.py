"""The ``compiler`` engine: the installed Triton's own answer, for any target, on a CPU.

Each specialization's kernel is cut out of its source (``cut``), and a child process asks the compiler (``compile_child``). A child
that dies or takes too long costs one specialization. Answers are kept on disk, keyed by the source, the specialization and the
compiler's version.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import queue
import re
import select
import subprocess
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
from smem_lint.verify.cut import CannotCut, Cut, cut
from smem_lint.verify.cut_files import written

NAME = "compiler"
_CHILD = Path(__file__).with_name("compile_child.py")
_SCHEMA = 2
_TELLING = re.compile(r"Assertion `|LLVM ERROR|\berror: |MemoryError|cannot allocate memory", re.IGNORECASE)


class CompilerUnavailable(RuntimeError):
    """There is no Triton to ask; the message says how to get one."""


@dataclass(slots=True)
class Limits:
    """For one specialization: ``seconds``, and ``memory`` in bytes of address space (0: no limit)."""

    seconds: float = 120.0
    memory: int = 0


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
        self._lock = threading.Lock()

    @property
    def version(self) -> str:
        """The version of the Triton that answers."""
        if self._version is None:
            with _Child(self.python, self.limits) as child:
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
        resumed = self._resumed()
        for index, one in enumerate(wanted):
            piece = self._cut(one)
            if isinstance(piece, str):
                answers[index] = unanswered(NAME, piece)
                done.add()
                continue
            key = _key(piece, one, version, self.full)
            known = resumed.get(key) or (self.cache.get(key) if self.cache is not None else None)
            if known is not None:
                answers[index] = _estimate(known, 0.0)
                done.add()
            else:
                work.put((index, one, piece, key))
        self._ask_all(work, answers, done)
        return iter([one if one is not None else unanswered(NAME, "no answer") for one in answers])

    def _ask_all(self, work: queue.Queue[tuple[int, Specialization, Cut, str]], answers: list[Estimate | None], done: _Counter) -> None:
        count = min(self.jobs or os.cpu_count() or 1, work.qsize())
        workers = [threading.Thread(target=self._worker, args=(work, answers, done), daemon=True) for _ in range(count)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    def _worker(self, work: queue.Queue[tuple[int, Specialization, Cut, str]], answers: list[Estimate | None], done: _Counter) -> None:
        child: _Child | None = None
        try:
            while True:
                try:
                    index, one, piece, key = work.get_nowait()
                except queue.Empty:
                    return
                started = time.perf_counter()
                try:
                    child = child or _Child(self.python, self.limits)
                    answer = child.ask(self._request(one, piece))
                except CompilerUnavailable as error:
                    answer = {"error": str(error), "transient": True}
                if answer.get("transient") and child is not None:
                    child.close()
                    child = None
                answers[index] = _estimate(answer, time.perf_counter() - started)
                if not answer.get("transient"):
                    self._keep(key, answer)
                done.add()
        finally:
            if child is not None:
                child.close()

    def _resumed(self) -> dict[str, dict[str, Any]]:
        """The answers that an interrupted run kept; a line that was cut short is asked for again."""
        found: dict[str, dict[str, Any]] = {}
        if self.resume is not None and self.resume.exists():
            for line in self.resume.read_text("utf8").splitlines():
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    kept = json.loads(line)
                    found[kept["key"]] = kept["answer"]
        return found

    def _keep(self, key: str, answer: dict[str, Any]) -> None:
        if self.cache is not None:
            self.cache.put(key, answer)
        if self.resume is not None:
            with self._lock, self.resume.open("a", encoding="utf8") as file:
                file.write(json.dumps({"key": key, "answer": answer}) + "\n")

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


class _Child:
    """One compiler process; asked one line at a time. Its standard error is kept for the message of a crash."""

    def __init__(self, python: str, limits: Limits) -> None:
        self.limits = limits
        self.log = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        environment = {**os.environ, "TRITON_CACHE_DIR": os.environ.get("TRITON_CACHE_DIR", tempfile.gettempdir() + "/smem-lint-triton")}
        environment.pop("TRITON_INTERPRET", None)
        try:
            self.process = subprocess.Popen(
                [python, str(_CHILD), str(limits.memory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, env=environment,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise CompilerUnavailable(f"cannot start {python}: {error.strerror or error}") from error
        self.pending = b""
        hello = self._read(60.0)
        if hello is None or hello.get("triton") is None:
            self.close()
            reason = (hello or {}).get("error") or self._last_words()
            raise CompilerUnavailable(f"no Triton to ask in {python} ({reason}); `pip install smem-lint[compiler]` brings one")
        self.version = str(hello["triton"])

    def __enter__(self) -> _Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The child's answer; one with ``transient`` set means that the child is gone and why."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            return {"error": f"the compiler's process ended: {self._last_words()}", "transient": True}
        before = os.fstat(self.log.fileno()).st_size
        answer = self._read(self.limits.seconds)
        if answer is not None:
            if "PassManager::run failed" in str(answer.get("error")):
                answer["error"] = f"{answer['error']}: {self._last_words(before)}"
            return answer
        if self.process.poll() is None:
            return {"error": f"the compiler took longer than {self.limits.seconds:g} s", "transient": True}
        return {"error": f"the compiler crashed ({_ended(self.process.returncode)}): {self._last_words()}", "transient": True}

    def _read(self, seconds: float) -> dict[str, Any] | None:
        """One line within the time, or None: the process has ended or is still busy."""
        assert self.process.stdout is not None
        deadline = time.monotonic() + seconds
        while b"\n" not in self.pending:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                return None
            chunk = os.read(self.process.stdout.fileno(), 1 << 16)
            if not chunk:
                self.process.wait()
                return None
            self.pending += chunk
        line, _, self.pending = self.pending.partition(b"\n")
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        return answer if isinstance(answer, dict) else {"error": "the compiler's process answered nonsense", "transient": True}

    def _last_words(self, since: int = 0) -> str:
        """What the compiler said went wrong: an assertion or an error, else its last line."""
        end = self.log.seek(0, os.SEEK_END)
        self.log.seek(max(since, end - 100_000))
        lines = self.log.read().decode("utf8", "replace").strip().splitlines()
        telling = [line for line in lines if _TELLING.search(line)]
        return (telling or lines or ["no message"])[0 if telling else -1].strip()[-300:]

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


def _ended(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


def _key(piece: Cut, one: Specialization, version: str, full: bool) -> str:
    told = (_SCHEMA, version, full, sorted(piece.modules.items()), json.dumps(one.to_record(), sort_keys=True, default=str))
    return hashlib.sha256(repr(told).encode()).hexdigest()


def _estimate(answer: dict[str, Any], seconds: float) -> Estimate:
    if "shared" not in answer:
        return unanswered(NAME, str(answer.get("error", "no answer")), seconds)
    total = int(answer["shared"])
    return Estimate(total, total, total, True, NAME, _buffers(answer), seconds=seconds)


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
