"""What the front end says of kernels that it cannot or need not build, and where its operations come from."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from smem_lint.source.modules import Repository
from smem_lint.specialization import Specialization
from smem_lint.tile.frontend import build
from smem_lint.tile.ir import Module
from smem_lint.tile.unsupported import KernelError, Unsupported

HEAD = "import triton\nimport triton.language as tl\nfrom other import helper, helper_module\n\n"
OTHER = """
import triton
import triton.language as tl

@triton.jit
def helper(x):


    return tl.exp(x)

def helper_module():
    return 3
"""


def _build(tmp_path: Path, body: str, **constexprs: object) -> Module:
    (tmp_path / "kernels.py").write_text(HEAD + textwrap.dedent(body))
    (tmp_path / "other.py").write_text(OTHER)
    signature = {"x_ptr": "*fp32", "n": "i32", **dict.fromkeys(constexprs, "constexpr")}
    return build(Repository([tmp_path]), Specialization("kernels.py", "kernel", signature, constexprs))


def _kernel(*lines: str, parameters: str = "") -> str:
    return f"@triton.jit\ndef kernel(x_ptr, n{parameters}):\n" + "".join(f"    {line}\n" for line in lines)


def test_lines_are_those_of_the_kernels_file(tmp_path: Path) -> None:
    near = "@triton.jit\ndef near(x):\n    return x + 1.0\n\n"
    module = _build(tmp_path, near + _kernel("x = tl.load(x_ptr)", "x = helper(x)", "tl.store(x_ptr, near(x))"))
    lines = {op.name: op.line for op in module.kernel.walk()}
    assert (lines["tt.load"], lines["tt.store"], lines["arith.addf"]) == (11, 13, 7)
    assert lines["math.exp"] == 12, "an operation from another file has the line of the call"


def test_missing_file_and_kernel(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match=r"nowhere\.py"):
        build(Repository([tmp_path]), Specialization("nowhere.py", "kernel", {}))
    (tmp_path / "kernels.py").write_text(HEAD)
    with pytest.raises(LookupError, match="no function kernel"):
        build(Repository([tmp_path]), Specialization("kernels.py", "kernel", {}))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("y = undefined + 1",), "name 'undefined' is not defined"),
        (("y = tl.no_such_function(n)",), "no_such_function"),
        (("if x_ptr.dtype:", "    n += 1"), "a condition must be"),
        (("a = b = 1",), "several targets"),
        (("for i in [1, 2]:", "    n += i"), "can be iterated over"),
        (("for i in range(n):", "    return",), "return inside a loop"),
        (("for i in range(n):", "    break",), "Break"),
        (("y = 1 < n < 3",), "simultaneous"),
        (("x_ptr[0] = 1",), "assignment to Subscript"),
        (("y: tl.constexpr = 1", "y: tl.constexpr = 2"), "cannot be reassigned"),
        (("tl.static_assert(n)",), "not known at compile time"),
        (("return n",), "cannot return a value"),
        (("n = n.to(tl.float32)", "if n > 0:", "    n = n.to(tl.int32)"), "n is a fp32 before the branch"),
        (("y = 7 // 0",), "by zero"),
        (("import math",), "Import"),
    ],
)  # fmt: skip
def test_refused(tmp_path: Path, lines: tuple[str, ...], message: str) -> None:
    """Each of these is a CompilationError of Triton 3.8.0 (or, for ``return`` in a loop, of its verifier)."""
    with pytest.raises(KernelError, match=message) as caught:
        _build(tmp_path, _kernel(*lines))
    assert caught.value.file == "kernels.py"
    assert caught.value.line is not None and 6 < caught.value.line <= 6 + len(lines)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("with tl.something():", "    n += 1"), "with statement"),
        (("y = helper_module()",), "not a jit function"),
        (("y = 2 ** 100000 ** 2",), "beyond all bounds"),
        (("y = 1 << 100000000",), "beyond all bounds"),
        (("y = (1,) * 1000000000",), "no operator|beyond all bounds"),
        (("for i in tl.static_range(1000000000):", "    n += i"), "static_range over"),
    ],
)  # fmt: skip
def test_not_modelled(tmp_path: Path, lines: tuple[str, ...], message: str) -> None:
    with pytest.raises((Unsupported, KernelError), match=message):
        _build(tmp_path, _kernel(*lines))


def test_endless_recursion_and_compile_time_loops_end(tmp_path: Path) -> None:
    again = "@triton.jit\ndef again(x):\n    return again(x + 1)\n\n"
    with pytest.raises(KernelError, match="nested too deeply"):
        _build(tmp_path, again + _kernel("n = again(n)"))
    endless = "@triton.constexpr_function\ndef endless(x):\n    while True:\n        x += 1\n\n"
    with pytest.raises(Unsupported, match="runs too long"):
        _build(tmp_path, endless + _kernel("n += endless(1)"))


def test_only_what_changes_is_carried_in_the_order_of_first_sight(tmp_path: Path) -> None:
    """``b`` is assigned its own value, ``d`` is new in the loop; i1, then f32, then i32 are what Triton's scf.for carries."""
    lines = (
        "b = n * 2", "flag = n > 3", "total = 0.0", "count = n + 1",
        "for i in range(n):", "    count += i", "    b = b", "    d = total * 2", "    total = d + 1", "    flag = total > 3.0",
        "tl.store(x_ptr + count, total, mask=flag)", "tl.store(x_ptr, b)",
    )  # fmt: skip
    module = _build(tmp_path, _kernel(*lines))
    loop = next(op for op in module.kernel.walk() if op.name == "scf.for")
    assert [str(result.type) for result in loop.results] == ["i1", "f32", "i32"]
