"""One process of the compiler, asked one specialization at a time."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_CHILD = Path(__file__).with_name("compile_child.py")
_TELLING = re.compile(r"Assertion `|LLVM ERROR|\berror: |MemoryError|cannot allocate memory|bad_alloc", re.IGNORECASE)


class CompilerUnavailable(RuntimeError):
    """There is no Triton to ask; the message says how to get one."""


@dataclass(slots=True)
class Limits:
    """For one specialization: ``seconds``, and ``memory`` in bytes of address space (0: no limit)."""

    seconds: float = 120.0
    memory: int = 0


class CompilerProcess:
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

    def __enter__(self) -> CompilerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The child's answer; one with ``transient`` set means that the child is gone and why."""
        assert self.process.stdin is not None
        before = os.fstat(self.log.fileno()).st_size
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            return {"error": f"the compiler's process ended: {self._last_words()}", "transient": True}
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
