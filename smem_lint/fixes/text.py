"""A file's text as it stands on the disk, its syntax tree with byte spans, and edits of it."""

from __future__ import annotations

import bisect
import io
import os
import re
import tempfile
import tokenize
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper, ParentNodeProvider

_BOM = b"\xef\xbb\xbf"
Node = TypeVar("Node", bound=cst.CSTNode)
_LINE_END = re.compile(rb"\r\n|\r|\n")


class CannotEdit(Exception):
    """The file cannot be edited safely; the message says why."""


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """``text`` in place of the bytes from ``start`` to ``end`` of the source in UTF-8."""

    start: int
    end: int
    text: str


class Text:
    """The source of one file. Raises CannotEdit where it is no Python that libcst reads."""

    def __init__(self, data: bytes) -> None:
        self._bom = data.startswith(_BOM)
        body = data[len(_BOM) :] if self._bom else data
        try:
            self.encoding = tokenize.detect_encoding(io.BytesIO(body).readline)[0]
            self.utf8 = body.decode(self.encoding).encode()
            self.module = cst.parse_module(self.utf8.decode())
        except (SyntaxError, LookupError, UnicodeError, cst.ParserSyntaxError, RecursionError) as error:
            raise CannotEdit(f"it cannot be read: {error}") from error

    @cached_property
    def _wrapper(self) -> MetadataWrapper:
        return MetadataWrapper(self.module, unsafe_skip_copy=True)

    @cached_property
    def _spans(self) -> object:
        return self._wrapper.resolve(ByteSpanPositionProvider)

    @cached_property
    def _parents(self) -> object:
        return self._wrapper.resolve(ParentNodeProvider)

    @cached_property
    def line_starts(self) -> list[int]:
        """The offset of each line's first byte; lines end where Python's tokenizer ends them."""
        return [0, *(match.end() for match in _LINE_END.finditer(self.utf8))]

    @property
    def newline(self) -> str:
        """The file's line end: that of its first line."""
        match = _LINE_END.search(self.utf8)
        return match.group().decode() if match else "\n"

    def offset(self, line: int, column: int) -> int:
        """The byte at a line and column, both counted from 1, the column in UTF-8 bytes as ``ast`` has it."""
        return self.line_starts[line - 1] + column - 1 if line <= len(self.line_starts) else len(self.utf8)

    def line_of(self, offset: int) -> int:
        return bisect.bisect_right(self.line_starts, offset)

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """Start and end of a node in the bytes of the source, without the space around it."""
        found = self._spans[node]  # type: ignore[index]
        return found.start, found.start + found.length

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        return self._parents.get(node)  # type: ignore[attr-defined,no-any-return]

    def ancestors(self, node: cst.CSTNode) -> Iterable[cst.CSTNode]:
        above = self.parent(node)
        while above is not None:
            yield above
            above = self.parent(above)

    def nodes(self, kind: type[Node]) -> list[Node]:
        """Every node of a kind, in the order of the text."""
        found = [node for node in self._parents if isinstance(node, kind)]  # type: ignore[attr-defined]
        return sorted(found, key=lambda node: self.span(node)[0])

    def code(self, node: cst.CSTNode) -> str:
        return self.module.code_for_node(node)

    def indentation(self, offset: int) -> str:
        """The space that the line of an offset begins with."""
        start = self.line_starts[self.line_of(offset) - 1]
        line = self.utf8[start:].split(b"\n", 1)[0].decode(errors="replace")
        return line[: len(line) - len(line.lstrip(" \t\f"))]

    def edited(self, edits: Sequence[Edit]) -> bytes:
        """The file's new content. Raises CannotEdit where edits overlap or the result is no Python."""
        pieces, at = [], 0
        for edit in sorted(set(edits)):
            if edit.start < at:
                raise CannotEdit("two fixes change the same place")
            pieces += [self.utf8[at : edit.start], edit.text.encode()]
            at = edit.end
        new = b"".join([*pieces, self.utf8[at:]])
        try:
            cst.parse_module(new.decode())
            compile(new, "edited", "exec", dont_inherit=True, flags=0x400)  # PyCF_ONLY_AST
            return (_BOM if self._bom else b"") + new.decode().encode(self.encoding)
        except (SyntaxError, ValueError, cst.ParserSyntaxError, RecursionError) as error:
            raise CannotEdit(f"the result would not be Python: {error}") from error


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file's content in one step, keeping its mode; a link stays a link. Raises OSError, the file then being as before."""
    target = path.resolve()
    mode = target.stat().st_mode
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode & 0o7777)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise
