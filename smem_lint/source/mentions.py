"""Whether a function is called, handed to a call, or decorates, in the bytes of a Python file: a quick look before it is parsed."""

from __future__ import annotations

import re

_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_DOTTED = _WORD | frozenset(b".")
_SPACE = frozenset(b" \t\n\r\f\v")
_CALLED = re.compile(rb"\s*\(")
_ENDS_ARGUMENT = re.compile(rb"\s*[,)]")


def calls(source: bytes, name: bytes) -> bool:
    """Whether ``name(``, ``(name,``, ``, name)`` or ``@name`` stands in a text, spaces aside."""
    at = source.find(name)
    while at >= 0:
        end = at + len(name)
        if (not at or source[at - 1] not in _WORD) and (end == len(source) or source[end] not in _WORD) and _is_call(source, at, end):
            return True
        at = source.find(name, end)
    return False


def lines_of(source: bytes, name: bytes) -> list[int] | None:
    """The numbers of the lines in which a name stands, ascending; None where lines end in other ways than with a newline."""
    if b"\r" in source:
        return None
    found: list[int] = []
    line, counted, at = 1, 0, source.find(name)
    while at >= 0:
        line += source.count(b"\n", counted, at)
        counted = at
        if not found or found[-1] != line:
            found.append(line)
        at = source.find(name, at + len(name))
    return found


def _is_call(source: bytes, at: int, end: int) -> bool:
    if _CALLED.match(source, end):
        return True
    before = at - 1
    while before >= 0 and source[before] in _SPACE:
        before -= 1
    if before >= 0 and source[before] in b"(," and _ENDS_ARGUMENT.match(source, end):
        return True
    while at > 0 and source[at - 1] in _DOTTED:
        at -= 1
    return at > 0 and source[at - 1] == ord("@")
