"""The compiler engine with the real Triton: answers, refusals, crashes, the cache, and that it runs none of the linted code."""

import textwrap
from pathlib import Path

import pytest

from smem_lint.cache import Cache
from smem_lint.specialization import Specialization

pytest.importorskip("triton", reason="the compiler itself is asked")
from smem_lint.verify.compiler import CompilerEngine, CompilerUnavailable, Limits

COPY = """
import triton
import triton.language as tl


@triton.jit
def transpose(x, y, N: tl.constexpr):
    i, j = tl.arange(0, N), tl.arange(0, N)
    tl.store(y + i[:, None] * N + j[None, :], tl.trans(tl.load(x + i[:, None] * N + j[None, :])))
"""


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / (name.replace("__", "/").replace("INIT", "__init__") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return folder


def special(kernel: str, constexprs=None, file="kernels.py", kind="*fp32", **options) -> Specialization:
    constexprs = constexprs if constexprs is not None else {"N": 64}
    signature = {"x": kind, "y": kind, **dict.fromkeys(constexprs, "constexpr")}
    facts = {"x": {"tt.divisibility": 16}, "y": {"tt.divisibility": 16}}
    return Specialization(file, kernel, signature, constexprs, facts, **options)


def test_an_answer_has_bytes_and_buffers(tmp_path):
    write(tmp_path, kernels=COPY)
    (answer,) = CompilerEngine([tmp_path], jobs=1).estimate([special("transpose")])
    assert (answer.bytes, answer.lower, answer.upper, answer.exact, answer.engine) == (16384, 16384, 16384, True, "compiler")
    (buffer,) = answer.buffers
    assert (buffer.offset, buffer.size, buffer.op, buffer.kind, buffer.line) == (0, 16384, "ttg.convert_layout", "scratch", 9)


def test_a_refusal_is_an_answer_without_bytes(tmp_path):
    write(tmp_path, kernels=COPY)
    (answer,) = CompilerEngine([tmp_path], jobs=1).estimate([special("transpose", {"N": 48})])
    assert answer.bytes is None and not answer.exact
    assert answer.error == "CompilationError: arange's range must be a power of 2 (line 2 of the function)"


def test_what_is_not_there(tmp_path):
    write(tmp_path, kernels=COPY)
    wanted = [special("nothing"), special("transpose", file="nowhere.py"), special("transpose", {"N": 64, "M": 1}), special("transpose")]
    answers = [one.error for one in CompilerEngine([tmp_path], jobs=2).estimate(wanted)]
    assert answers[0] == "kernels.py: no function is called nothing"
    assert "nowhere.py" in answers[1]
    assert answers[2] == "ValueError: transpose has no argument M"
    assert answers[3] is None


def test_an_assertion_of_the_compiler_costs_one_answer(tmp_path):
    """A running sum carried by its own reduction trips an assertion of OptimizeThreadLocality (3.6 to 3.8)."""
    write(
        tmp_path,
        kernels=COPY
        + """

@triton.jit
def crashes(x, y, N: tl.constexpr):
    i, j = tl.arange(0, 8), tl.arange(0, N)
    carry = tl.zeros([8], dtype=tl.float32)
    for start in range(0, 1024, N):
        tile = tl.load(x + i[:, None] * 1024 + start + j[None, :])
        tl.store(y + i[:, None] * 1024 + start + j[None, :], tl.cumsum(tile, axis=1) + carry[:, None])
        carry += tl.sum(tile, axis=1)
""",
    )
    crashed, fine = CompilerEngine([tmp_path], jobs=1).estimate([special("crashes", {"N": 256}), special("transpose")])
    assert crashed.bytes is None
    assert "Assertion `loopResult.hasOneUse()' failed" in crashed.error and "\n" not in crashed.error
    assert fine.bytes == 16384


def test_time_runs_out(tmp_path):
    write(
        tmp_path,
        kernels="""
        import triton
        import triton.language as tl

        @triton.jit
        def long(x, y, N: tl.constexpr):
            total = 0.0
            for i in tl.static_range(N):
                total += tl.load(x + i)
            tl.store(y, total)
        """,
    )
    slow = special("long", {"N": 1_000_000})
    (answer,) = CompilerEngine([tmp_path], jobs=1, limits=Limits(seconds=2.0)).estimate([slow])
    assert answer.bytes is None and answer.error == "the compiler took longer than 2 s"


def test_memory_runs_out(tmp_path):
    write(tmp_path, kernels=COPY)
    engine = CompilerEngine([tmp_path], jobs=1, limits=Limits(memory=64 << 20))
    with pytest.raises(CompilerUnavailable):
        engine.version  # noqa: B018 - not even the compiler itself can be loaded


def test_answers_are_kept_and_a_change_of_the_kernel_or_its_callees_is_seen(tmp_path, monkeypatch):
    helper = "import triton, triton.language as tl\n\n\n@triton.jit\ndef turned(x):\n    return tl.trans(x)\n"
    kernel = COPY.replace("tl.trans(tl.load(", "turned(tl.load(").replace(
        "import triton\n", "import triton\nfrom helper import turned\n", 1
    )
    write(tmp_path, kernels=kernel, helper=helper)
    cache = Cache(tmp_path / "cache", "compiler")
    seen = []

    def estimate():
        engine = CompilerEngine([tmp_path], jobs=1, cache=cache)
        original = engine._request
        monkeypatch.setattr(engine, "_request", lambda *a: seen.append(1) or original(*a))
        return next(engine.estimate([special("transpose")])).bytes

    assert estimate() == 16384 and len(seen) == 1
    assert estimate() == 16384 and len(seen) == 1
    write(tmp_path, helper=helper.replace("tl.trans(x)", "x"))
    assert estimate() == 0 and len(seen) == 2


def test_a_kernel_of_other_types_of_source(tmp_path):
    """Nested kernels, aliases chosen by a condition, constants across files, helpers reached through a package."""
    write(
        tmp_path,
        pkg__INIT="from pkg.ops import double",
        pkg__ops="""
        import triton
        import triton.language as tl
        from . import consts

        if hasattr(tl, "no_such_thing"):
            pick = tl.no_such_thing
        else:
            pick = tl.trans

        SCALE: tl.constexpr = 2.0
        SIZE = tl.constexpr(consts.WIDTH * 2)

        @triton.jit
        def double(x):
            return x * SCALE
        """,
        pkg__consts="WIDTH = 32\n",
        kernels="""
        import functools
        import triton
        import triton.language as tl
        from pkg import double
        from pkg.ops import SIZE, pick
        import pkg.ops as ops

        def make(flag):
            @functools.cache
            @triton.jit
            def nested(x, y, N: tl.constexpr):
                i = tl.arange(0, SIZE)
                tile = double(tl.load(x + i[:, None] * N + i[None, :]))
                tl.store(y + i[:, None] * N + i[None, :], pick(tile) + ops.SCALE)
            return nested
        """,
    )
    (answer,) = CompilerEngine([tmp_path], jobs=1).estimate([special("nested")])
    assert (answer.bytes, answer.error) == (16384, None)
    assert answer.buffers[0].line == 15


def test_targets_differ(tmp_path):
    """By ``python fixtures/record.py``'s engine with Triton 3.8.0: the same product on three targets."""
    root = Path(__file__).parents[2] / "fixtures" / "kernels"
    signature = {"a_ptr": "*bf16", "b_ptr": "*bf16", "c_ptr": "*bf16", "M": "i32", "N": "i32", "K": "i32"}
    strides = {"stride_am": "i32", "stride_ak": "constexpr", "stride_bk": "i32", "stride_bn": "constexpr", "stride_cm": "i32"}
    constexprs = {
        "stride_ak": 1,
        "stride_bn": 1,
        "stride_cn": 1,
        "BLOCK_M": 128,
        "BLOCK_N": 128,
        "BLOCK_K": 64,
        "GROUP_M": 8,
        "ACTIVATION": "",
    }
    signature = {
        **signature,
        **strides,
        "stride_cn": "constexpr",
        **dict.fromkeys(("BLOCK_M", "BLOCK_N", "BLOCK_K", "GROUP_M", "ACTIVATION"), "constexpr"),
    }
    facts = {name: {"tt.divisibility": 16} for name, kind in signature.items() if kind != "constexpr"}
    wanted = [Specialization("gemm.py", "matmul_kernel", signature, constexprs, facts, 4, 4, capability=one) for one in (80, 90, 120)]
    assert [one.bytes for one in CompilerEngine([root], jobs=1).estimate(wanted)] == [98304, 131072, 98304]
