"""Lifetimes in words, sweeps, and the choice of what fits; no kernel is read."""

from smem_lint.devices import device
from smem_lint.engines import Buffer, Estimate, Loop
from smem_lint.explain import Sweep, changed, explain, lifetime, merged, peak
from smem_lint.specialization import Specialization

LOOPS = (Loop(10, 20, 5), Loop(30, 60, 9), Loop(40, 50, 11))


def alive(start, end):
    return lifetime(Buffer(0, 1, "staged", "op", start=start, end=end), LOOPS)


def test_a_lifetime_is_told_by_the_loops():
    assert alive(2, 4) == "before the loop at line 5"
    assert alive(12, 14) == "within the loop at line 5"
    assert alive(5, 20) == "through the loop at line 5"
    assert alive(5, 60) == "through the loops at lines 5, 9, 11"
    assert alive(22, 25) == "after the loop at line 5"
    assert alive(42, 43) == "within the loop at line 11"
    assert alive(35, 50) == "through the loop at line 11"
    assert alive(70, 71) == "after the loop at line 11"
    assert lifetime(Buffer(0, 1, "staged", "op"), ()) == ""


def test_the_peak_is_where_the_highest_address_is_in_use():
    low = Buffer(0, 100, "staged", "op", start=0, end=50)
    high = Buffer(128, 64, "scratch", "op", start=10, end=11)
    other = Buffer(128, 32, "scratch", "op", start=20, end=21)
    found = peak(Estimate(192, 192, 192, True, "model", (low, high, other)))
    assert found is not None and found.buffers == (low, high) and (found.total, found.gaps, found.position) == (192, 28, 10)
    assert peak(Estimate(0, 0, 0, True, "model")) is None


def test_sweeps_over_the_same_types_are_one():
    types = ("*bf16", "*fp8e4nv")
    found = merged([Sweep(("k",), types), Sweep(("BLOCK",), (16, 32)), Sweep(("v",), types), Sweep(("M",), (16, 32))])
    assert [one.names for one in found] == [("k", "v"), ("BLOCK",), ("M",)]


BASE = Specialization("a.py", "k", {"x": "*bf16", "BLOCK_N": "constexpr", "D": "constexpr"}, {"BLOCK_N": 64, "D": 128}, num_stages=4)


class Bytes:
    """Bytes as ``BLOCK_N * D * width * num_stages``."""

    name = "fake"

    def __init__(self):
        self.asked = []

    def estimate(self, specializations):
        wanted = list(specializations)
        self.asked += wanted
        for one in wanted:
            width = {"*bf16": 2, "*fp32": 4, "*fp8e5": 1}[one.signature["x"]]
            total = one.constexprs["BLOCK_N"] * one.constexprs["D"] * width * one.num_stages
            yield Estimate(total, total, total, True, "fake")


def test_what_fits_is_nearest_first():
    base = changed(BASE, {"num_stages": 8})  # 131,072 bytes of 101,376
    found = explain(Bytes(), base, device("sm_120"), [Sweep(("x",), ("*bf16", "*fp8e5"))])
    assert [(row.change, row.estimate.bytes) for row in found.fitting[:4]] == [
        ({"num_stages": 6}, 98304), ({"num_stages": 5}, 81920), ({"num_stages": 4}, 65536), ({"num_stages": 3}, 49152),
    ]  # fmt: skip
    before, after = found.cliffs["num_stages"]
    assert (before.change, after.change) == ({"num_stages": 6}, {"num_stages": 7})


def test_a_smaller_block_is_tried_where_it_may_be_chosen():
    found = explain(Bytes(), changed(BASE, {"D": 1024}), device("sm_120"))
    assert [row.change for row in found.fitting] == []  # one stage of 64x1024 bf16 is 131,072 bytes, half of it fits at no 4 stages
    found = explain(Bytes(), changed(BASE, {"D": 256}), device("sm_120"))
    assert {"BLOCK_N": 32} in [row.change for row in found.fitting] and {"D": 128} not in [row.change for row in found.fitting]


def test_a_variant_is_estimated_once():
    engine = Bytes()
    explain(engine, BASE, device("sm_120"), [Sweep(("BLOCK_N",), (64, 32))])
    assert len(engine.asked) == len({repr(one) for one in engine.asked})
