"""The rules' small language: what it means, and that it can do nothing else."""

import pytest

from smem_lint.expression import Expression, ExpressionError, Message

FACTS = {"bytes": 102400, "limit": 101376, "origin": "launch", "guarded": False, "nothing": None, "codes": ("a", "b"), "half": 0.5}


@pytest.mark.parametrize(
    "text, truth",
    [
        ("bytes > limit", True), ("bytes - limit == 1024", True), ("0 < limit < bytes", True), ("limit < bytes < limit", False),
        ("origin == 'launch' and not guarded", True), ("origin in ('autotune', 'tuned-json')", False), ("'a' in codes", True),
        ("origin not in ['launch']", False), ("nothing > 3", False), ("nothing < 3", False), ("not nothing > 3", True),
        ("nothing is None", True), ("nothing is not None or bytes", True), ("nothing + 1 > 0", False), ("-nothing < 1", False),
        ("bytes // 1024 == 100 and bytes % 1024 == 0", True), ("bytes / 0 > 1", False), ("bytes % 0 == 1", False), ("half * 2 == 1", True),
        ("-bytes < 0", True), ("True", True), ("False or 0", False), ("guarded or nothing", False),
    ],
)  # fmt: skip
def test_meaning(text, truth):
    assert Expression(text)(FACTS) is truth


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')", "bytes.__class__", "codes[0]", "f'{bytes}'", "lambda: 1", "[x for x in codes]", "(x := 1)",
        "print(1)", "bytes ** 99999999", "1 << 99999999", "bytes if guarded else 1", "{1: 2}", "{1}", "*codes", "await bytes", "yield",
        "~bytes", "bytes | 1", "bytes @ 1", "import os", "bytes =", "", "a\x00b", "(" * 500 + ")" * 500, "1;2",
    ],
)  # fmt: skip
def test_everything_else_is_refused_when_it_is_read(text):
    with pytest.raises(ExpressionError):
        Expression(text)


@pytest.mark.parametrize(
    "text",
    ["origin + 1 > 0", "origin * 999999999 == 'x'", "codes + codes == 1", "bytes > origin", "1 in bytes", "byte > 1", "-origin == 1"],
)
def test_what_makes_no_sense_is_told_when_it_is_asked(text):
    with pytest.raises(ExpressionError, match=r"byte|origin|codes"):
        Expression(text)(FACTS)


def test_long_chains_are_no_trouble():
    assert Expression(" and ".join(["bytes"] * 3000))(FACTS) is True
    with pytest.raises(ExpressionError):
        Expression("not " * 5000 + "bytes")


def test_names():
    assert Expression("bytes > limit and origin == 'x'").names == {"bytes", "limit", "origin"}


def test_messages():
    assert (
        Message("{origin} asks for {bytes:,} bytes, {nothing} of {codes}").fill(FACTS) == "launch asks for 102,400 bytes, unknown of a, b"
    )


@pytest.mark.parametrize("template", ["{bytes.__class__}", "{codes[0]}", "{0}", "{}", "{bytes", "{bytes!r:{limit}}"])
def test_messages_reach_no_attributes(template):
    with pytest.raises(ExpressionError):
        Message(template).fill(FACTS)


def test_unknown_facts_of_messages():
    with pytest.raises(ExpressionError, match="no fact is called 'byte'"):
        Message("{byte}").fill(FACTS)
