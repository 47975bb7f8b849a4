"""``upper_bound`` is never below what is allocated: for every record of Triton 3.8.0, and where a loop is not what its source shows.

The bytes in ``SMALLEST`` are the model's own, which is exact for them (``Estimate.exact``); the records' are the compiler's.
"""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from test_probes import PROBES, specialization

from smem_lint.allocation.scratch import scratch_bytes
from smem_lint.bounds import upper_bound
from smem_lint.bounds.settled import Settled
from smem_lint.model import ModelEngine
from smem_lint.specialization import Specialization

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
RECORDS = [
    record
    for name in ("fixtures", "language")
    for record in map(json.loads, (FIXTURES / "truth" / f"{name}.jsonl").read_text("utf8").splitlines())
    if isinstance(record.get("shared"), int)
]


def _upper(engine: ModelEngine, one: Specialization) -> int:
    program = engine.front_end(one)
    assert program is not None
    return upper_bound(program, one)


def test_records():
    engine = ModelEngine([FIXTURES / "kernels"])
    assert len(RECORDS) > 600
    assert [r for r in RECORDS if _upper(engine, Specialization.from_record(r)) < r["shared"]] == []


def test_probes(tmp_path):
    low = []
    for probe in PROBES:
        (tmp_path / "probe.py").write_text(probe["source"], "utf8")
        if _upper(ModelEngine([tmp_path]), specialization(probe)) < probe["shared"]:
            low.append(probe["name"])
    assert low == []


def test_other_options_of_records():
    """Records with other warps, stages and targets than the compiler was asked for, against the exact model."""
    engine, rng, low = ModelEngine([FIXTURES / "kernels"]), random.Random(7), []
    for record in rng.sample(RECORDS, 150):
        capability, warps, stages = rng.choice([80, 86, 89, 90, 120]), rng.choice([1, 2, 4, 8, 16]), rng.randrange(1, 7)
        one = replace(Specialization.from_record(record), num_warps=warps, num_stages=stages, capability=capability)
        estimate, program = engine.one(one), engine.front_end(one)
        if program is not None and estimate.exact and upper_bound(program, one) < (estimate.bytes or 0):
            low.append(one)
    assert low == []


HEAD = """
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, c, n, s0, s1):
    m, k = tl.arange(0, 64), tl.arange(0, 64)
    at = m[:, None] * s0 + k[None, :]
"""
SMALLEST = {
    # Every copy of an unrolled body has its loads staged.
    "unrolled": (
        """
    for j in tl.range(0, n, num_stages=4, loop_unroll_factor=4):
        x = tl.load(a + at + j * s1)
        tl.store(b + at, x + tl.sum(x, 1, keep_dims=True))
""",
        {},
        98_304,
    ),
    # A flattened nest has the larger number of stages of its two loops, the launch's where that is 1.
    "flattened": (
        """
    for t in tl.range(0, n, flatten=True):
        acc = tl.zeros((64, 64), tl.float32)
        for j in tl.range(0, s1, num_stages=1):
            acc = tl.dot(tl.load(a + at + t * s1 + j), tl.load(b + at + j * s1), acc)
        tl.store(c + at + t * s1, acc)
""",
        {"num_stages": 6, "capability": 90},
        57_344,
    ),
}


@pytest.mark.parametrize("name", SMALLEST)
def test_smallest(name, tmp_path):
    body, options, held = SMALLEST[name]
    (tmp_path / "k.py").write_text(HEAD + body, "utf8")
    signature = {"a": "*fp16", "b": "*fp16", "c": "*fp16", "n": "i32", "s0": "i32", "s1": "i32"}
    facts = {argument: {"tt.divisibility": 16} for argument in signature}
    one = Specialization("k.py", "kernel", signature, {}, facts, **options)
    engine = ModelEngine([tmp_path])
    estimate = engine.one(one)
    assert estimate.exact and estimate.bytes is not None
    assert estimate.bytes == held
    assert estimate.bytes <= _upper(engine, one)


PRODUCT = """
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, c, d, K, s0, s1, s2, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    at = c + m[:, None] * s2 + n[None, :]
    {before}
    acc = {start}
    for j in tl.range(0, K, BK):
        x = tl.load(a + m[:, None] * s0 + (j + k)[None, :], mask=(j + k)[None, :] < K, other=0.0)
        y = tl.load(b + (j + k)[:, None] * s1 + n[None, :])
        {inside}
    {after}
    tl.store(at, {stored})
"""
ARGUMENTS = {"a": "*bf16", "b": "*bf16", "c": "*bf16", "d": "*fp32", "K": "i32", "s0": "i32", "s1": "i32", "s2": "i32"}
CHOICES = {
    "before": ["pass", "r = tl.load(d + m[:, None] * s2 + n[None, :])", "r = tl.load(d + n)[None, :]"],
    "start": ["tl.zeros((M, N), tl.float32)", "tl.load(at).to(tl.float32)"],
    "inside": [
        "acc = tl.dot(x, y, acc)", "acc = tl.dot(x, y, acc) * 0.5", "acc += tl.dot((x * 2).to(x.dtype), y)",
        "acc += tl.dot(x, y) * tl.load(d + m + j)[:, None]", "acc = tl.where(m[:, None] >= n[None, :] + j, tl.dot(x, y, acc), 0.0)",
        "acc = tl.dot(x, y, acc) if j % 3 == 0 else acc + 1.0", "acc = tl.dot(x + tl.load(d + k + j)[None, :], y, acc)",
    ],
    "after": [
        "pass", "acc = tl.maximum(acc, 0.0) * 0.1", "acc = acc / tl.sum(acc, 1, keep_dims=True)", "acc = acc + tl.load(at)",
        "acc = acc * tl.load(d + m)[:, None] + tl.load(d + n)[None, :]",
        "acc = tl.where(acc > tl.trans(m[None, :]) + n[None, :], acc, 0.0)",
        "tl.store(at, tl.exp(acc))", "acc = tl.reshape(acc, (M, N)) - tl.max(acc, 0, keep_dims=True)",
    ],
    "stored": ["acc", "acc.to(tl.bfloat16)", "(acc + 1.0).to(c.dtype.element_ty)"],
}  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_programs_around_one_dot(seed, tmp_path):
    """What is left out of the bound (coordinates, and what has the dot's layout) is in no allocation of the exact model."""
    rng, low, answered = random.Random(seed), [], 0
    for number in range(25):
        chosen = {name: rng.choice(options) for name, options in CHOICES.items()}
        if "r = " in chosen["before"]:
            chosen["after"] = rng.choice(["acc = acc + r", "acc = acc * r - 1.0"])
        (tmp_path / f"k{number}.py").write_text(PRODUCT.format(**chosen), "utf8")
        sizes = {"M": rng.choice([16, 32, 64, 128, 256]), "N": rng.choice([16, 32, 64, 128]), "BK": rng.choice([16, 32, 64])}
        kind = rng.choice(["*fp16", "*bf16", "*fp32"])
        signature = {**ARGUMENTS, "a": kind, "b": kind, "c": rng.choice(["*fp32", "*bf16"])}
        facts = {name: {"tt.divisibility": 16} for name in signature if rng.random() < 0.9}
        one = Specialization(
            f"k{number}.py", "kernel", {**signature, **dict.fromkeys(sizes, "constexpr")}, sizes, facts, rng.choice([1, 2, 4, 8]),
            rng.randrange(1, 6), capability=rng.choice([80, 89, 90, 120, 120, 120]),
        )  # fmt: skip
        engine = ModelEngine([tmp_path])
        estimate, program = engine.one(one), engine.front_end(one)
        if program is not None and estimate.exact:
            answered += 1
            if upper_bound(program, one) < (estimate.bytes or 0):
                low.append((chosen, one, upper_bound(program, one), estimate.bytes))
    assert low == [] and answered > 12


def test_no_coordinates_are_converted():
    """In the programs that are allocated no conversion through shared memory is one of coordinates of a whole tile."""
    engine, converted = ModelEngine([FIXTURES / "kernels"]), 0
    for record in random.Random(3).sample(RECORDS, 60):
        program = engine.program(Specialization.from_record(record))
        for function in program.functions:
            ops = list(function.walk())
            coordinates = Settled(ops, program.num_warps).coordinates
            conversions = [op for op in ops if op.name == "ttg.convert_layout" and scratch_bytes(op, program.capability)]
            converted += len(conversions)
            assert [op for op in conversions if op.operands[0] in coordinates] == []
    assert converted > 50


@pytest.mark.parametrize(("stages", "held"), [(2, 32_768), (3, 65_536), (4, 98_304)])
def test_a_plain_product_is_bounded_closely(stages, held, tmp_path):
    """Tiles of 128 x 64 and 64 x 128 in bf16, ``stages - 1`` of each, and the result on its way out where that is larger."""
    chosen = {name: options[0] for name, options in CHOICES.items()} | {"stored": "acc.to(tl.bfloat16)"}
    (tmp_path / "k.py").write_text(PRODUCT.format(**chosen), "utf8")
    sizes = {"M": 128, "N": 128, "BK": 64}
    one = Specialization("k.py", "kernel", {**ARGUMENTS, **dict.fromkeys(sizes, "constexpr")}, sizes,
                         {name: {"tt.divisibility": 16} for name in ARGUMENTS}, 4, stages)  # fmt: skip
    engine = ModelEngine([tmp_path])
    assert engine.one(one).bytes == held
    assert held <= _upper(engine, one) <= held + 2_048


UNROLLED = """
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, TURNS: tl.constexpr):
    i = tl.arange(0, 64)
    at = i[:, None] * 64 + i[None, :]
    x = tl.load(a + at)
    s = tl.full((64, 64), 1.0, tl.float32) * tl.program_id(0)
    last = tl.full((), 2, tl.int32)
    for turn in tl.static_range(TURNS):
        x = x * 1.5 + 0.5
        s = s + s
        last = last + last
    y = (x + s).to(tl.float16)
    acc = tl.zeros((64, 64), tl.float32)
    for turn in range(0, last):
        acc += tl.dot(y, tl.load(b + at + turn).to(tl.float16))
    acc += tl.dot(y, acc.to(tl.float16))
    tl.store(b + at, acc)
"""


@pytest.mark.parametrize("turns", [40, 600])
def test_what_is_worked_out_in_many_steps_takes_no_longer_than_it_has_steps(tmp_path, turns):
    """Each step uses the one before twice: ways to walk back double with every step, and a recursion goes as deep as there are steps."""
    (tmp_path / "k.py").write_text(UNROLLED, "utf8")
    engine = ModelEngine([tmp_path])
    few, many = (
        Specialization("k.py", "kernel", {"a": "*fp32", "b": "*fp32", "TURNS": "constexpr"}, {"TURNS": n}, num_stages=4) for n in (2, turns)
    )
    assert _upper(engine, many) == _upper(engine, few) >= (engine.one(few).bytes or 0) > 0


BRANCH = """
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, N):
    i = tl.arange(0, 64)
    at = i[:, None] * 64 + i[None, :]
    acc = tl.zeros((64, 64), tl.float32)
    for turn in tl.range(0, N, num_stages=2):
        x = tl.load(a + at + turn * 64)
        y = tl.load(a + at + turn * 128)
        if turn >= 0:
            acc += tl.dot(x, y)
    tl.store(b + at, acc)
"""


def test_a_dot_in_a_branch_of_a_loop_with_stages_of_its_own(tmp_path):
    """The branch is done last, so that two stages take two buffers for each load where the dot alone would take one."""
    (tmp_path / "k.py").write_text(BRANCH, "utf8")
    engine = ModelEngine([tmp_path])
    attrs = {name: {"tt.divisibility": 16} for name in ("a", "b")}
    one = Specialization("k.py", "kernel", {"a": "*fp32", "b": "*fp32", "N": "i32"}, {}, attrs, num_warps=8, num_stages=2)
    assert engine.one(one).bytes == 65_536 <= _upper(engine, one)
