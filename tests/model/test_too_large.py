"""A program that a lint run does not follow: it is said, the exact answer is there when it is asked for, and the compiler is not."""

from smem_lint.cli.engines import AutoEngine
from smem_lint.engines import TOO_LARGE, Estimate
from smem_lint.model_pool import ModelPool
from smem_lint.specialization import Specialization

KERNEL = """
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, TURNS: tl.constexpr):
    at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    total = tl.zeros((64, 64), tl.float32)
    for turn in tl.static_range(TURNS):
        x = tl.load(a + at + turn * 4096)
        total += tl.dot(x, tl.trans(x))
    tl.store(b + at, total)
"""


def specialization(turns):
    return Specialization("k.py", "kernel", {"a": "*fp16", "b": "*fp32", "TURNS": "constexpr"}, {"TURNS": turns})


def test_a_loop_unrolled_too_often(tmp_path):
    (tmp_path / "k.py").write_text(KERNEL)
    wanted = [specialization(4), specialization(1500)]
    few, many = ModelPool([tmp_path], jobs=1, below=lambda capability: 1).estimate(wanted)
    assert few.exact and few.bytes is not None
    assert many.bytes is None and many.error is not None and many.error.startswith(TOO_LARGE)
    assert next(ModelPool([tmp_path], jobs=1).exactly([specialization(200)])).exact


def test_the_compiler_is_not_asked_for_it(tmp_path):
    (tmp_path / "k.py").write_text(KERNEL)
    asked = []

    class Compiler:
        name = "compiler"

        def estimate(self, wanted):
            asked.extend(wanted)
            return iter([Estimate(1, 1, 1, True, "compiler") for _ in asked])

    (answer,) = AutoEngine(ModelPool([tmp_path], jobs=1, below=lambda capability: 1), Compiler()).estimate([specialization(1500)])
    assert answer.bytes is None and asked == []
