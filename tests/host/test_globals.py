"""Module-level values that a kernel reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from smem_lint.host.globals import UNKNOWN, DType, global_value
from smem_lint.source.modules import Repository

TEXT = """
import triton.language as tl
from other import C as D, missing
A = 4
B: tl.constexpr = tl.constexpr(A * 2 + 1)
F = 1 << 10**9
G = -1.5
T = tl.bfloat16
P, Q = (1, "two")
for i in range(3):
    L = i
"""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("A", 4),
        ("B", 9),
        ("D", (4, None)),
        ("G", -1.5),
        ("L", 2),
        ("T", DType("bfloat16")),
        ("P", 1),
        ("Q", "two"),
        ("tl.int8", DType("int8")),
    ],
)
def test_known(tmp_path: Path, name: str, value: object) -> None:
    assert read(tmp_path, name) == value


@pytest.mark.parametrize("name", ["F", "missing", "absent", "tl.dot"])
def test_unknown(tmp_path: Path, name: str) -> None:
    assert read(tmp_path, name) is UNKNOWN


def read(tmp_path: Path, name: str) -> object:
    (tmp_path / "m.py").write_text(TEXT)
    (tmp_path / "other.py").write_text("C = (4, None)\n")
    repository = Repository([tmp_path])
    module = repository.module("m.py")
    assert module is not None
    return global_value(repository, module, name, 120)
