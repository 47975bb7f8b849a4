"""Files into syntax trees, safely: a byte search first, a guard against hostile shapes, one message for what cannot be read."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass
from pathlib import Path

MAX_BYTES = 8_000_000
MAX_CHAIN = 2_000
_SCAN_FROM_BYTES = 262_144
_SCAN_FROM_LINE = 16_384

_MENTIONS_TRITON = re.compile(rb"triton|\btl\.|gluon|\.jit\b|@jit\b")
_JIT = re.compile(rb"\bjit\b|\bautotune\b|\bConfig\s*\(")
_TOKENS = re.compile(
    rb"#[^\n]*"
    rb'|"""(?:[^\\]|\\.)*?(?:"""|\Z)' + rb"|'''(?:[^\\]|\\.)*?(?:'''|\Z)"
    rb'|"(?:[^"\\\n]|\\.)*"?' + rb"|'(?:[^'\\\n]|\\.)*'?"
    rb"|\\\r?\n|[\n;,]|[(\[{]|[)\]}]"
    rb"|[.+*/%@&|^~<>!=-]+|\b(?:and|or|not|if|lambda|await)\b",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Problem:
    """What kept a file from being read: ``line`` counts from 1, and is 0 where no line is to blame."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}" if self.line else f"{self.file}: {self.message}"


class Unreadable(Exception):
    """A file that gives no syntax tree; ``problem`` says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def mentions_triton(source: bytes) -> bool:
    """Whether a file can hold or launch a kernel at all: a search in its bytes, no parsing."""
    return _MENTIONS_TRITON.search(source) is not None


def may_define_kernels(source: bytes) -> bool:
    """Whether a file can define a kernel or an autotune list."""
    return mentions_triton(source) and _JIT.search(source) is not None


def longest_chain(source: bytes) -> tuple[int, int]:
    """The deepest run of nested brackets, operators, attribute accesses and boolean terms, and the line where it ends.

    Linear in the size of the text: one pass over its tokens with a counter for each open bracket. Commas, and ends of
    lines outside brackets, start a new run.
    """
    counters, total = [0], 0
    worst, worst_at = 0, 0
    for match in _TOKENS.finditer(source):
        token = match.group()
        first = token[:1]
        if first in b"([{":
            counters[-1] += 1
            counters.append(0)
            total += 1
        elif first in b")]}":
            total -= counters[-1]
            if len(counters) > 1:
                counters.pop()
            else:
                counters[-1] = 0
        elif first == b"," or (first in b"\n;" and len(counters) == 1):
            total -= counters[-1]
            counters[-1] = 0
        elif first not in b"\n#\"'\\;":
            counters[-1] += 1
            total += 1
        if total > worst:
            worst, worst_at = total, match.start()
    return worst, source.count(b"\n", 0, worst_at) + 1


def guard(file: str, source: bytes) -> None:
    """Refuse what no parser should be given; raises ``Unreadable``.

    CPython bounds its own recursion from 3.11 on, so ordinary files are spared the scan: it runs for large files and
    for files with a very long line.
    """
    if len(source) > MAX_BYTES:
        raise Unreadable(Problem(file, 0, f"too large: {len(source):,} bytes, the limit is {MAX_BYTES:,}"))
    if b"\0" in source:
        raise Unreadable(Problem(file, source.count(b"\n", 0, source.index(b"\0")) + 1, "binary: holds a null byte"))
    if len(source) >= _SCAN_FROM_BYTES or _has_long_line(source):
        chain, line = longest_chain(source)
        if chain > MAX_CHAIN:
            raise Unreadable(Problem(file, line, f"an expression of {chain:,} nested or chained terms, the limit is {MAX_CHAIN:,}"))


def _has_long_line(source: bytes) -> bool:
    if len(source) <= _SCAN_FROM_LINE:
        return False
    start = 0
    while len(source) - start > _SCAN_FROM_LINE:
        end = source.rfind(b"\n", start, start + _SCAN_FROM_LINE)
        if end < 0:
            return True
        start = end + 1
    return False


def parse(file: str, source: bytes) -> ast.Module:
    """The syntax tree of a file; raises ``Unreadable`` for whatever is wrong with it."""
    guard(file, source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except SyntaxError as error:
        raise Unreadable(Problem(file, error.lineno or 0, f"not valid Python: {error.msg}")) from None
    except (RecursionError, MemoryError):
        raise Unreadable(Problem(file, 0, "nested too deeply to be parsed")) from None
    except ValueError as error:
        raise Unreadable(Problem(file, 0, f"cannot be parsed: {error}")) from None


def read(file: str, path: Path) -> bytes:
    """The bytes of a file; raises ``Unreadable`` where it is missing, is no plain file, may not be read or is too large."""
    try:
        if not path.is_file():
            raise Unreadable(Problem(file, 0, "no such file" if not path.exists() else "not a file"))
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise Unreadable(Problem(file, 0, f"too large: {size:,} bytes, the limit is {MAX_BYTES:,}"))
        return path.read_bytes()
    except OSError as error:
        raise Unreadable(Problem(file, 0, f"cannot be read: {error.strerror or error}")) from None
