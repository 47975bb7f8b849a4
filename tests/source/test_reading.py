"""Hostile files cost a message, never the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from smem_lint.source.reading import Unreadable, longest_chain, may_define_kernels, parse, read

PAD = b"\n# pad" * 60_000


@pytest.mark.parametrize(
    "source",
    [
        b"a" + b".b" * 20_000,
        b" and ".join([b"a"] * 10_000),
        b"(" * 3_000 + b")" * 3_000,
        b"-" * 100_000 + b"x",
        b"f" + b"()" * 50_000,
        b"not " * 50_000 + b"x",
        b"if a:\n pass\n" + b"elif b:\n pass\n" * 20_000,
        b"lambda:" * 10_000 + b"x",
        b"a if b else " * 10_000 + b"c",
        b"x = (a\n" + b".b\n" * 20_000 + b")" + PAD,
        b"x = '\0'",
        b"\xff\xfe\x00",
        b"def f(:\n",
        b"x = 1\n" * 2_000_000,
    ],
    ids=range(14),
)
def test_refused_with_one_message(source: bytes) -> None:
    with pytest.raises(Unreadable) as refusal:
        parse("f.py", source)
    assert refusal.value.problem.file == "f.py" and "\n" not in str(refusal.value)


def test_wide_is_not_deep() -> None:
    table = b"x = [\n" + b"".join(b"    (%d, -%d, 'a.b(c'),  # .....\n" % (i, i) for i in range(20_000)) + b"]\n"
    assert longest_chain(table)[0] < 10
    assert len(parse("f.py", table).body) == 1
    chain, line = longest_chain(b"y = 1\nx = (a\n.b\n.c\n)\nz = 2\n")
    assert (chain, line) == (4, 4)


def test_strings_and_comments_do_not_count() -> None:
    assert longest_chain(b'"""' + b"." * 999 + b'"""\n# ' + b"." * 999 + b"\nr'\\\\'; '...'\n")[0] == 0


def test_unreadable_paths(tmp_path: Path) -> None:
    for path, words in ((tmp_path / "none.py", "no such file"), (tmp_path, "not a file")):
        with pytest.raises(Unreadable, match=words):
            read("f.py", path)


def test_byte_search() -> None:
    assert may_define_kernels(b"import triton\n@triton.jit\n")
    assert not may_define_kernels(b"import triton\nx = triton.cdiv(1, 2)\n")
    assert not may_define_kernels(b"import os\n@numba.njit\n")
