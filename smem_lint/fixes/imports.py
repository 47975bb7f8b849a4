"""An import that new code needs, where isort and ruff's rule I001 would put it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import libcst as cst

from smem_lint.fixes.text import Edit, Text

_THIRD_PARTY = frozenset({"numpy", "torch", "triton"})


def importing(text: Text, name: str) -> list[Edit]:
    """``import name``, of a third-party package, in its place among the imports; nothing where the file has it.

    Sections are what isort makes of a file: ``__future__``, the standard library, other packages, relative imports; in each ``import x``
    stands before ``from x import y``. No other import moves. What is first-party only blank lines tell here: of several groups of
    packages the one with torch or triton counts, else the first. Where there is no import it goes above the first statement.
    """
    if bound(text, name):
        return []
    blocks = _blocks(text)
    groups = [group for block in blocks for group in _groups(block)]
    packages = [group for group in groups if any(_section(text, one) == 2 for one in group)]
    if packages:
        known = [group for group in packages if any(_package(text, one) in _THIRD_PARTY for one in group)]
        return [_among(text, [one for one in (known or packages)[0] if _section(text, one) == 2], name, blocks)]
    if blocks:
        return [_beside(text, blocks, name)]
    where = next((one for one in text.module.body if not _docstring(one)), None)
    start = text.line_starts[text.line_of(text.span(where)[0]) - 1] if where is not None else len(text.utf8)
    return [Edit(start, start, f"import {name}{text.newline * 2}")]


def bound(text: Text, name: str) -> bool:
    """Whether ``import name`` stands at the top level of the file."""
    for statement in text.module.body:
        if isinstance(statement, cst.SimpleStatementLine):
            for small in statement.body:
                if isinstance(small, cst.Import):
                    for alias in small.names:
                        if text.code(alias.name) == name and alias.asname is None:
                            return True
                        if text.code(alias.name).startswith(f"{name}.") and alias.asname is None:
                            return True
    return False


def _blocks(text: Text) -> list[list[cst.SimpleStatementLine]]:
    """The runs of imports at the top level above the first function or class; any other statement ends a run."""
    blocks: list[list[cst.SimpleStatementLine]] = [[]]
    for statement in text.module.body:
        if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
            break
        if isinstance(statement, cst.SimpleStatementLine) and isinstance(statement.body[0], (cst.Import, cst.ImportFrom)):
            blocks[-1].append(statement)
        else:
            blocks.append([])
    return [block for block in blocks if block]


def _groups(block: Sequence[cst.SimpleStatementLine]) -> list[list[cst.SimpleStatementLine]]:
    """The imports of a run between blank lines."""
    groups: list[list[cst.SimpleStatementLine]] = []
    for one in block:
        if not groups or (one.leading_lines and all(line.comment is None for line in one.leading_lines)):
            groups.append([])
        groups[-1].append(one)
    return groups


def _among(text: Text, group: Sequence[cst.SimpleStatementLine], name: str, blocks: Sequence[Sequence[cst.SimpleStatementLine]]) -> Edit:
    """Before the first import of a section that sorts after it, else after the last."""
    for one in group:
        if isinstance(one.body[0], cst.ImportFrom) or _module(text, one).lower() > name.lower():
            if any(one is block[0] for block in blocks):  # what stands above a run is not the import's own comment
                start, blank = _start(text, one), 0
            else:
                comments = sum(line.comment is not None for line in one.leading_lines)
                blank = int(bool(comments) and one is group[0])  # a blank line stands above a comment, a section's first aside
                start = _start(text, one, comments if one is group[0] else len(one.leading_lines))
            return Edit(start, start, f"import {name}{text.newline * (1 + blank)}")
    return _after(text, group[-1], f"import {name}{text.newline}")


def _beside(text: Text, blocks: Sequence[Sequence[cst.SimpleStatementLine]], name: str) -> Edit:
    """A section of its own: below ``__future__`` and the standard library, above relative imports."""
    before = [one for block in blocks for one in block if _section(text, one) < 2]
    if not before:
        start = _start(text, blocks[0][0])
        return Edit(start, start, f"import {name}{text.newline * 2}")
    block = next(block for block in blocks if any(one is before[-1] for one in block))
    after = next((one for one in block[block.index(before[-1]) + 1 :]), None)
    adjacent = after is not None and not any(line.comment is None for line in after.leading_lines)
    return _after(text, before[-1], f"{text.newline}import {name}{text.newline * (2 if adjacent else 1)}")


def _start(text: Text, statement: cst.SimpleStatementLine, above: int = 0) -> int:
    return text.line_starts[text.line_of(text.span(statement)[0]) - 1 - above]


def _after(text: Text, statement: cst.SimpleStatementLine, new: str) -> Edit:
    """Below the line that a statement ends on."""
    line = text.line_of(text.span(statement)[1] - 1)
    if line < len(text.line_starts):
        return Edit(text.line_starts[line], text.line_starts[line], new)
    return Edit(len(text.utf8), len(text.utf8), text.newline + new)


def _section(text: Text, statement: cst.SimpleStatementLine) -> int:
    package = _package(text, statement)
    if not package:
        return 3
    return 0 if package == "__future__" else 1 if package in sys.stdlib_module_names else 2


def _package(text: Text, statement: cst.SimpleStatementLine) -> str:
    """The package that a line imports first; empty for a relative import."""
    return _module(text, statement).split(".")[0]


def _module(text: Text, statement: cst.SimpleStatementLine) -> str:
    small = statement.body[0]
    if isinstance(small, cst.ImportFrom):
        return "" if small.relative or small.module is None else text.code(small.module)
    assert isinstance(small, cst.Import)
    return text.code(small.names[0].name)


def _docstring(statement: cst.CSTNode) -> bool:
    return (
        isinstance(statement, cst.SimpleStatementLine)
        and isinstance(statement.body[0], cst.Expr)
        and isinstance(statement.body[0].value, (cst.SimpleString, cst.ConcatenatedString))
    )
