"""Lines and columns as editors count them, for texts whose columns are known in bytes of UTF-8."""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Encoding = Literal["utf-8", "utf-16", "utf-32"]

_LINE_END = re.compile(r"\r\n|\r|\n")
_UNIT = {"utf-8": 1, "utf-16": 2, "utf-32": 4}


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A line and a character, both counted from 0, the character in units of the encoding that was agreed with the editor."""

    line: int
    character: int


@dataclass(frozen=True)
class Places:
    """The places of one text. Lines end where Python's tokenizer and the protocol end them, and nowhere else."""

    text: str
    encoding: Encoding = "utf-16"

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text, without their ends."""
        return _LINE_END.split(self.text)

    @cached_property
    def _starts(self) -> list[int]:
        """The offset of each line's first byte in UTF-8."""
        starts, at, seen = [0], 0, 0
        for match in _LINE_END.finditer(self.text):
            at += len(self.text[seen : match.end()].encode("utf-8", "surrogatepass"))
            seen = match.end()
            starts.append(at)
        return starts

    def at(self, line: int, column: int) -> Place:
        """A line and column, both counted from 1, the column in bytes of UTF-8, as findings have them."""
        if line > len(self.lines):
            return Place(len(self.lines) - 1, self._units(self.lines[-1]))
        data = self.lines[line - 1].encode("utf-8", "surrogatepass")
        return Place(line - 1, self._units(data[: max(column, 1) - 1].decode("utf-8", "replace")))

    def offset(self, offset: int) -> Place:
        """The place of a byte of the text in UTF-8."""
        line = bisect.bisect_right(self._starts, offset)
        return self.at(line, offset - self._starts[line - 1] + 1)

    def end(self, line: int) -> Place:
        """Behind the last character of a line (counted from 1) that is no space."""
        return Place(line - 1, self._units(self.lines[line - 1].rstrip()))

    def _units(self, text: str) -> int:
        codec = self.encoding if self.encoding == "utf-8" else f"{self.encoding}-le"
        return len(text.encode(codec, "surrogatepass")) // _UNIT[self.encoding]
