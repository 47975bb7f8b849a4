"""Calls found in text before it is parsed, held against what the parsed text says."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smem_lint.source.mentions import calls, lines_of


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("run(x)", True), ("a.run (x)", True), ("rerun(x)", False), ("runs(x)", False), ("f(run)", True), ("f(a,\n  run ,)", True),
        ("@run\ndef f(): ...", True), ("@a.b.run\ndef f(): ...", True), ("x = run", False), ("import run", False), ("f(run=1)", False),
        ("run\n(x)", True), ("", False), ("run", False), ("r = run; run(", True), ("@rerun", False), ("f(x.run)", False),
    ],
)  # fmt: skip
def test_calls(text: str, found: bool) -> None:
    assert calls(text.encode(), b"run") is found


PIECES = st.lists(st.sampled_from(["run", "f", "(", ")", ",", " ", "\n", "x", ".", "=", "1"]), max_size=14).map("".join)


@given(PIECES)
def test_no_call_in_a_program_is_missed(text: str) -> None:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    named = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "run"]
    given_to = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and any(ast.unparse(one) == "run" for one in node.args)]
    if named or given_to:
        assert calls(text.encode(), b"run")


def test_lines() -> None:
    assert lines_of(b"a\nrun run\n\nrun", b"run") == [2, 4]
    assert lines_of(b"a\r\nrun", b"run") is None
    assert lines_of(b"", b"run") == []
