"""Bytes to logical lines in bounded memory.

A physical line ends at a line feed. What is wrapped inside it becomes several logical lines of the same number: the parts between
carriage returns (progress bars), and the lines of a text that JSON has escaped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

CHUNK = 1 << 18
PIECE = 1 << 15  # bytes of a physical line that are looked at together
OVERLAP = 512
_ANSI = re.compile(r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])|\x1b|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_KEYED = re.compile(r'^\s*"([^"\\]{1,60})"\s*:\s*"')
_LEVELS = ("level", "severity", "levelname", "log_level")
_TEXTS = (
    "log", "message", "msg", "text", "MESSAGE", "error", "err", "exception", "exc_info", "stack", "stacktrace", "traceback", "detail",
    "textPayload", "body", "line", "content", "@message",
)  # fmt: skip


class Line(NamedTuple):
    """One logical line: the number of its physical line (from 1), its text without colours, what wrapped it, a level if that says so."""

    number: int
    text: str
    wrapped: bool = False
    level: str = ""


class Source(Protocol):
    """What bytes can be read from."""

    def read(self, size: int, /) -> bytes: ...


class Counted:
    """A source that counts the bytes and the lines that are read from it."""

    def __init__(self, stream: Source) -> None:
        self.stream, self.bytes, self._feeds, self._last = stream, 0, 0, b""

    def read(self, size: int, /) -> bytes:
        found = self.stream.read(size)
        self.bytes += len(found)
        self._feeds += found.count(b"\n")
        self._last = found[-1:] or self._last
        return found

    @property
    def lines(self) -> int:
        return self._feeds + (self._last not in (b"", b"\n"))


def physical(stream: Source) -> Iterator[tuple[int, bytes]]:
    """The lines of a stream, numbered from 1; one longer than ``PIECE`` comes in overlapping pieces of the same number."""
    number, rest = 1, b""
    while True:
        chunk = stream.read(CHUNK)
        if not chunk:
            break
        lines = (rest + chunk).split(b"\n")
        rest = lines.pop()
        for line in lines:
            yield from _pieces(number, line)
            number += 1
        while len(rest) > PIECE:
            yield number, rest[:PIECE]
            rest = rest[PIECE - OVERLAP :]
    if rest:
        yield from _pieces(number, rest)


def _pieces(number: int, line: bytes) -> Iterator[tuple[int, bytes]]:
    if len(line) <= PIECE:
        yield number, line
        return
    for start in range(0, len(line) - OVERLAP, PIECE - OVERLAP):
        yield number, line[start : start + PIECE]


def logical(stream: Source) -> Iterator[Line]:
    """The logical lines of a log, without an indentation that all have; never fails on what it holds."""
    margin = OVERLAP
    for number, raw in physical(stream):
        text = raw.decode("utf8", "replace")
        if "\x1b" in text or not text.isprintable():
            text = _ANSI.sub("", text)
        if margin and text and not text.isspace():
            margin = min(margin, len(text) - len(text.lstrip(" ")))
            text = text[margin:]
        if "\r" in text:
            for part in text.split("\r"):
                if part or text in ("", "\r"):
                    yield from _unwrapped(number, part)
        else:
            yield from _unwrapped(number, text)


def _unwrapped(number: int, text: str) -> Iterator[Line]:
    start = text.find("{")
    if 0 <= start < 120 and text.rstrip().endswith("}") and '"' in text:
        found = _object(text[start:])
        if found:
            head = text[:start]
            level = next((str(found[name]) for name in _LEVELS if isinstance(found.get(name), str)), "")
            texts = [value for name, value in _strings(found, 0) if name in _TEXTS or "\n" in value]
            if texts:
                for value in texts:
                    for part in value.split("\n"):
                        yield Line(
                            number, _ANSI.sub("", (head if not head.strip() or part is value else "") + part.rstrip("\r")), True, level
                        )
                return
    keyed = _KEYED.match(text)
    if "\\n" in text or keyed:
        body = text[keyed.end() :] if keyed else text
        if keyed:
            body = body.rstrip().rstrip(",").removesuffix('"')
        for part in body.replace("\\\\n", "\\n").split("\\n"):
            yield Line(number, part.replace('\\"', '"').replace("\\t", "\t").replace("\\u001b", "").rstrip(), True)
        return
    yield Line(number, text)


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _strings(value: Any, depth: int, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield name, value
    elif depth < 4 and isinstance(value, dict):
        for key, inner in value.items():
            yield from _strings(inner, depth + 1, str(key))
    elif depth < 4 and isinstance(value, list):
        for inner in value[:64]:
            yield from _strings(inner, depth + 1, name)
