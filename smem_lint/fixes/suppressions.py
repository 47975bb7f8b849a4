"""``drop-suppression``: a comment that silences nothing goes, with its line where it stands alone."""

from __future__ import annotations

import re

import libcst as cst

from smem_lint.fixes.text import CannotEdit, Edit, Text

_MARK = re.compile(r"(?:^|(?<=\s))#\s*smem-lint:")


def dropping(text: Text, line: int) -> list[Edit]:
    """Remove the comment of a line from its mark on; what the comment says before the mark stays. Raises CannotEdit."""
    comments = [node for node in text.nodes(cst.Comment) if text.line_of(text.span(node)[0]) == line]
    mark = _MARK.search(comments[0].value) if comments else None
    if mark is None:
        raise CannotEdit("the suppression was not found")
    start, end = text.span(comments[0])
    start += len(comments[0].value[: mark.start()].encode())
    first = text.line_starts[line - 1]
    before = text.utf8[first:start]
    if before.strip():
        return [Edit(first + len(before.rstrip()), end, "")]
    following = text.line_starts[line] if line < len(text.line_starts) else len(text.utf8)
    return [Edit(first, following, "")]
