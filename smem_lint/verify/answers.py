"""Answers kept in a file as they come, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import contextlib
import json
import threading
from pathlib import Path
from typing import Any


class Answers:
    """One JSON object a line: ``key`` and ``answer``. A line that was cut short counts for nothing, and the next one starts afresh.

    A disk that fails never fails the run: ``problem`` then says why answers are not kept any longer.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem: str | None = None
        self._lock = threading.Lock()
        self._known: dict[str, dict[str, Any]] = {}
        self._torn = False
        try:
            data = path.read_bytes() if path.is_file() else b""
        except OSError as error:
            self.problem, data = f"{path}: {error.strerror or error}", b""
        self._torn = bool(data) and not data.endswith(b"\n")
        for line in data.splitlines():
            with contextlib.suppress(ValueError, KeyError, TypeError):
                kept = json.loads(line)
                self._known[kept["key"]] = dict(kept["answer"])

    def __len__(self) -> int:
        return len(self._known)

    def get(self, key: str) -> dict[str, Any] | None:
        return self._known.get(key)

    def put(self, key: str, answer: dict[str, Any]) -> None:
        line = json.dumps({"key": key, "answer": answer}) + "\n"
        with self._lock:
            self._known[key] = answer
            if self.problem is not None:
                return
            try:
                with self.path.open("ab") as file:
                    file.write((("\n" if self._torn else "") + line).encode())
                self._torn = False
            except OSError as error:
                self._torn = True
                self.problem = f"{self.path}: {error.strerror or error}; answers are not kept"
