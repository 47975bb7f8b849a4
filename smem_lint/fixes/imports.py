"""An import that new code needs."""

from __future__ import annotations

import libcst as cst

from smem_lint.fixes.text import Edit, Text


def importing(text: Text, name: str) -> list[Edit]:
    """``import name`` after the last import above the file's first function or class; nothing where the file has it.

    Where there is no import it goes below the docstring and ``from __future__``, above the first statement.
    """
    if bound(text, name):
        return []
    last: cst.CSTNode | None = None
    where: cst.CSTNode | None = None
    for statement in text.module.body:
        if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
            where = where or statement
            break
        if isinstance(statement, cst.SimpleStatementLine) and isinstance(statement.body[0], (cst.Import, cst.ImportFrom)):
            last = statement
        elif where is None and not _docstring(statement):
            where = statement
    if last is not None:
        end = text.span(last)[1]
        end = text.line_starts[line] if (line := text.line_of(end - 1)) < len(text.line_starts) else len(text.utf8)
        return [Edit(end, end, f"import {name}{text.newline}")]
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


def _docstring(statement: cst.CSTNode) -> bool:
    return (
        isinstance(statement, cst.SimpleStatementLine)
        and isinstance(statement.body[0], cst.Expr)
        and isinstance(statement.body[0].value, (cst.SimpleString, cst.ConcatenatedString))
    )
