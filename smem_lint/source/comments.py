"""Comments that speak to smem-lint: ``# smem-lint: ignore[SMEM001] reason`` and ``# smem-lint: assume NAME=VALUE``."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from dataclasses import dataclass
from typing import Any

_MARK = re.compile(r"(?:^|(?<=\s))#\s*smem-lint:\s*(ignore-file|ignore|assume)\b\s*(.*)$")
_CODES = re.compile(r"\[([^\]]*)\]\s*(.*)$")
_ASSUMED = re.compile(r"([A-Za-z_]\w*)\s*=\s*")


@dataclass(frozen=True, slots=True)
class Suppression:
    """Silences the rules ``codes`` (none: all) at ``line``, or in the ``whole_file``.

    A comment that stands alone on its line speaks of the next line that holds code. Others may stand before it: ``# noqa  # smem-lint: …``.
    """

    line: int
    column: int
    codes: tuple[str, ...]
    reason: str
    whole_file: bool
    comment_line: int

    def covers(self, rule: str, first: int, last: int) -> bool:
        """Whether it silences ``rule`` for code that spans the lines ``first`` to ``last``."""
        named = not self.codes or any(rule.startswith(code) for code in self.codes)
        return named and (self.whole_file or first <= self.line <= last or first <= self.comment_line <= last)


@dataclass(frozen=True, slots=True)
class Assumption:
    """A value that the source's author vouches for, from ``line`` on in its file or for the function that it stands in."""

    line: int
    name: str
    value: Any


def suppressions(text: str) -> tuple[Suppression, ...]:
    """The suppressions of a file's text, in order; an unreadable rest of the file holds none."""
    found = []
    for kind, line, column, rest, covered in _marks(text):
        if kind == "assume":
            continue
        match = _CODES.match(rest)
        codes = tuple(code.strip() for code in match.group(1).split(",") if code.strip()) if match else ()
        reason = match.group(2) if match else rest
        found.append(Suppression(covered, column, codes, reason.strip(), kind == "ignore-file", line))
    return tuple(found)


def assumptions(text: str) -> tuple[Assumption, ...]:
    """The assumptions of a file's text: ``NAME=VALUE`` pairs, a value being a Python literal, or text as it stands."""
    found = []
    for kind, line, _, rest, _ in _marks(text):
        if kind == "assume":
            found += [Assumption(line, name, value) for name, value in pairs(rest)]
    return tuple(found)


def pairs(text: str) -> list[tuple[str, Any]]:
    """``A=1, B="x" C=*fp8e4nv`` as names and values."""
    starts = list(_ASSUMED.finditer(text))
    if not starts:
        return []
    result = []
    for match, following in zip(starts, [*starts[1:], None], strict=True):
        raw = text[match.end() : following.start() if following else len(text)].strip().rstrip(",").strip()
        result.append((match.group(1), _literal(raw)))
    return result


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _marks(text: str) -> list[tuple[str, int, int, str, int]]:
    """(kind, line, column, rest, line spoken of) of each comment that is one of ours."""
    if "smem-lint:" not in text:
        return []
    found: list[tuple[str, int, int, str, int]] = []
    pending: list[int] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                match = _MARK.search(token.string)
                if match:
                    alone = not token.line[: token.start[1]].strip()
                    if alone:
                        pending.append(len(found))
                    column = token.start[1] + match.start()
                    found.append((match.group(1), token.start[0], column, match.group(2), token.start[0]))
            elif pending and token.type not in (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
                for index in pending:
                    found[index] = (*found[index][:4], token.start[0])
                pending = []
    except (tokenize.TokenError, SyntaxError, IndentationError):
        pass
    return found
