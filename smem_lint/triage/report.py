"""What triage says about a log, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

CLASSES = (
    "shared_memory", "device_memory", "kernel_dispatch", "stream_capture", "illegal_access", "host_shared_memory", "other", "none",
)  # fmt: skip
STAGES = ("load", "profile", "capture", "request", "other")


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a Python traceback; ``code`` is the first line of its statement."""

    file: str
    line: int
    function: str
    code: str = ""


@dataclass(slots=True)
class Failure:
    """A failure as the log tells it. ``line`` is the physical line (from 1) of the message; sizes in bytes."""

    kind: str
    line: int
    message: str
    process: str = ""
    stage: str = "other"
    frames: tuple[Frame, ...] = ()
    kernel: str | None = None
    launch: Frame | None = None
    required: int | None = None
    limit: int | None = None
    before: tuple[tuple[int, str], ...] = ()
    after: list[tuple[int, str]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {
            "class": self.kind, "stage": self.stage, "first_error_line": self.line, "message": self.message, "process": self.process,
            "kernel": self.kernel, "launch_file": self.launch.file if self.launch else None,
            "launch_line": self.launch.line if self.launch else None, "required": self.required, "limit": self.limit,
            "context": [{"line": number, "text": text} for number, text in (*self.before, (self.line, self.message), *self.after)],
        }  # fmt: skip


@dataclass(slots=True)
class Diagnosis:
    """The first failure, if there is one; what only repeated it; facts that a report would want."""

    failure: Failure | None
    lines: int
    bytes: int
    echoes: list[tuple[int, str]] = field(default_factory=list)
    echo_count: int = 0
    facts: dict[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return self.failure.kind if self.failure else "none"
