"""Estimates to findings, on configs and an engine made for each case. The limit of sm_120 is 101,376 bytes a block."""

from dataclasses import replace

import pytest

from smem_lint.check import findings
from smem_lint.devices import device
from smem_lint.engines import Estimate, unanswered
from smem_lint.host import resolve
from smem_lint.host.config import Config, Missing
from smem_lint.judging import judge, origins_of
from smem_lint.rules import built_in
from smem_lint.source.modules import Repository

SM_120 = device("sm_120")
LAUNCH = Config(
    "a.py",
    10,
    5,
    "kernel",
    "k.py",
    3,
    "launch",
    arguments=("x", "N"),
    types={"x": "*bf16"},
    constexprs={"N": 64},
    options={"num_stages": 3},
)
ENTRY = replace(LAUNCH, line=2, origin="autotune", of=3)


class Engine:
    """``size(specialization)``: bytes, an Estimate, or None for no answer."""

    name = "fake"

    def __init__(self, size):
        self.size, self.asked = size, []

    def estimate(self, specializations):
        for one in specializations:
            self.asked.append(one)
            answer = self.size(one)
            yield (
                answer
                if isinstance(answer, Estimate)
                else unanswered("fake", "refused")
                if answer is None
                else Estimate(answer, answer, answer, True, "fake")
            )


def found(configs, size, *codes, target=SM_120):
    rules = [rule for rule in built_in() if not codes or rule.id in codes]
    return findings(judge(configs, target, Engine(size)), rules)


def stages(table):
    return lambda one: table[one.num_stages]


def test_an_overflow_and_what_fits():
    (one,) = found([LAUNCH], stages({3: 120_000, 2: 90_000, 1: 60_000}), "SMEM001")
    assert (one.rule, one.severity, one.confidence, one.bytes, one.limit, one.target) == (
        "SMEM001",
        "error",
        "exact",
        120_000,
        101_376,
        "sm_120",
    )
    assert (one.file, one.line, one.column, one.kernel, one.kernel_file) == ("a.py", 10, 5, "kernel", "k.py")
    assert one.message == "kernel asks for 120,000 bytes of shared memory on sm_120, which has 101,376 a block: 18,624 too many"
    assert [(dict(fit.change), fit.bytes) for fit in one.fits] == [({"num_stages": 2}, 90_000), ({"num_stages": 1}, 60_000)]
    assert one.config == {
        "constexprs": {"N": 64}, "options": {"num_stages": 3}, "types": {"x": "*bf16"}, "index": 0, "of": 1, "origin": "launch",
    }  # fmt: skip
    assert one.fix == "lower-num-stages"


@pytest.mark.parametrize("size, rules", [(101_376, ["SMEM008"]), (101_377, ["SMEM001"]), (97_281, ["SMEM008"]), (97_280, []), (0, [])])
def test_the_edge(size, rules):
    assert [one.rule for one in found([LAUNCH], lambda one: size, "SMEM001", "SMEM008")] == rules


def test_the_same_launch_on_a_larger_device():
    assert found([LAUNCH], lambda one: 120_000, "SMEM001", target=device("sm_90")) == []


def test_a_guarded_launch_is_no_error():
    assert found([replace(LAUNCH, guarded=True)], lambda one: 120_000, "SMEM001", "SMEM002") == []


def test_confidence():
    bounded = Estimate(120_000, 110_000, 130_000, False, "fake")
    assert found([LAUNCH], lambda one: bounded, "SMEM001")[0].confidence == "bounded"
    assert found([replace(LAUNCH, when=("n is 3",))], lambda one: 120_000, "SMEM001")[0].confidence == "assumed"


def test_an_error_is_only_what_the_bounds_leave_no_doubt_of():
    doubtful = Estimate(120_000, 90_000, 130_000, False, "fake")
    assert found([LAUNCH], lambda one: doubtful, "SMEM001") == []
    (note,) = found([LAUNCH], lambda one: doubtful, "SMEM010")
    assert note.severity == "info" and "between 90,000 and 130,000" in note.message


def test_a_note_must_be_exact():
    assert found([LAUNCH], lambda one: Estimate(100_000, 0, None, False, "fake"), "SMEM008", "SMEM009") == []


def test_a_type_that_crosses_the_cliff():
    fp8 = replace(LAUNCH, types={"x": "*fp8e4nv"}, when=("the cache is fp8e4nv",))
    found_ = found([LAUNCH, fp8], lambda one: 120_000 if one.signature["x"] == "*fp8e4nv" else 60_000, "SMEM001", "SMEM002")
    assert [one.rule for one in found_] == ["SMEM001", "SMEM002"]
    assert found_[0].message.endswith("18,624 too many (when the cache is fp8e4nv)")
    assert (
        found_[1].message == "kernel fits on sm_120 with x: *bf16 (60,000 bytes) and overflows with x: *fp8e4nv (120,000 of 101,376 bytes)"
    )


def test_another_size_is_no_twin():
    other = replace(LAUNCH, types={"x": "*fp32"}, constexprs={"N": 32})
    assert found([LAUNCH, other], lambda one: 120_000 if one.constexprs["N"] == 64 else 100, "SMEM002") == []


def test_conditions_that_make_no_difference_are_not_told():
    configs = [
        replace(LAUNCH, constexprs={"N": n}, when=("8 splits", f"pages of {page}", f"head {n}")) for n in (64, 128) for page in (16, 64)
    ]
    (one,) = found(configs, lambda one: 1_000 * one.constexprs["N"], "SMEM001")
    assert one.message.endswith("too many (when head 128)")
    assert one.when == ("8 splits", "pages of 16", "head 128")


def test_one_finding_for_configs_that_differ_in_nothing_that_matters():
    configs = [replace(LAUNCH, when=("a", "b")), replace(LAUNCH, when=("a",)), replace(LAUNCH, when=("a", "c"))]
    (one,) = found(configs, lambda one: 120_000, "SMEM001")
    assert one.when == ("a",)


def autotune(*blocks):
    return [replace(ENTRY, index=index, of=len(blocks), constexprs={"N": block}) for index, block in enumerate(blocks)]


def size_of_block(one):
    return 1_000 * one.constexprs["N"]


def test_dead_configs():
    (one,) = found(autotune(64, 128, 256), size_of_block)
    assert (one.rule, one.severity, one.line, one.bytes) == ("SMEM004", "warning", 2, 256_000)
    assert one.message == "2 of the 3 configs of kernel can never launch on sm_120 (#1, #2): the largest asks for 256,000 of 101,376 bytes"


def test_a_list_without_a_config_that_fits():
    (one,) = found(autotune(256, 128), size_of_block)
    assert (one.rule, one.severity, one.bytes) == ("SMEM003", "error", 128_000)
    assert found(autotune(64, 32), size_of_block) == []


def test_a_list_is_not_judged_by_a_part_of_it():
    configs = autotune(256, 128, 64)
    configs[2] = replace(configs[2], unresolved=(Missing("N", "not known"),))
    assert [one.rule for one in found(configs, size_of_block)] == []
    unknown = found(autotune(256, 128, 64), lambda one: None if one.constexprs["N"] == 64 else size_of_block(one))
    assert [one.rule for one in unknown] == []


def test_what_the_list_prunes_itself_is_not_dead():
    configs = autotune(64, 128, 256)
    assert found([configs[0], *(replace(one, pruned=True) for one in configs[1:])], size_of_block) == []
    (one,) = found([configs[0], configs[1], replace(configs[2], pruned=True)], size_of_block)
    assert one.message.startswith("1 of the 2 configs of kernel can never launch on sm_120 (#1 of the 3 before pruning): ")
    (one,) = found([replace(configs[0], pruned=True), *configs[1:]], size_of_block)
    assert one.rule == "SMEM003" and one.bytes == 128_000


def test_each_set_of_conditions_is_a_list_of_its_own():
    configs = [
        replace(one, when=(case,), types={"x": kind}) for case, kind in (("bf16", "*bf16"), ("fp32", "*fp32")) for one in autotune(64, 90)
    ]
    (one,) = found(configs, lambda one: size_of_block(one) * (2 if one.signature["x"] == "*fp32" else 1), "SMEM003", "SMEM004")
    assert one.rule == "SMEM003" and one.message.endswith("(when fp32)")


def test_what_is_unresolved_is_told_once():
    gaps = (Missing("N", "the result of f() is not known", 4),)
    configs = [replace(LAUNCH, unresolved=gaps, when=("a",)), replace(LAUNCH, unresolved=gaps)]
    (one,) = found(configs, lambda one: 0)
    assert (one.rule, one.severity, one.bytes) == ("SMEM010", "info", None)
    assert one.message == "kernel could not be evaluated: N: the result of f() is not known"
    (one,) = found([LAUNCH], lambda one: None)
    assert one.message == "kernel could not be evaluated: refused"


def test_an_occupancy_cliff():
    (one,) = found([LAUNCH], stages({4: 80_000, 3: 60_000, 2: 40_000}), "SMEM009")
    assert one.message == "kernel takes 60,000 bytes on sm_120: one block a multiprocessor, where num_stages=2 (40,000 bytes) gives 2"


def test_nothing_is_asked_twice_and_nothing_that_no_rule_needs():
    engine = Engine(lambda one: 1_000)
    judge([LAUNCH, replace(LAUNCH, when=("a",)), *autotune(1, 2)], SM_120, engine)
    assert len(engine.asked) == 3
    engine = Engine(lambda one: 1_000)
    rules = [rule for rule in built_in() if rule.id in ("SMEM003", "SMEM004")]
    judge([LAUNCH, *autotune(1, 2)], SM_120, engine, origins=origins_of(rules))
    assert [one.constexprs["N"] for one in engine.asked] == [1, 2]


def test_where_the_bytes_come_from():
    from smem_lint.engines import Buffer

    buffers = (
        Buffer(0, 100, "scratch", "tt.reduce", "reduction", "", 7),
        Buffer(100, 119_900, "staged", "ttg.local_alloc", "2 x 4", "", 5),
    )
    (one,) = found([LAUNCH], lambda one: Estimate(120_000, 120_000, 120_000, True, "fake", buffers), "SMEM001")
    assert [buffer.size for buffer in one.buffers] == [119_900, 100]
    assert [(place.file, place.line) for place in one.related] == [("k.py", 3), ("k.py", 5), ("k.py", 7)]


def test_a_size_that_nobody_knows_is_no_overflow_but_a_threshold(tmp_path):
    """Bytes by the fake engine: 1,024 for each element of BLOCK."""
    (tmp_path / "one.py").write_text(
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(x, BLOCK: tl.constexpr):\n"
        "    tl.store(x + tl.arange(0, BLOCK), 0.0)\n\n\ndef launch(x):\n    kernel[(1,)](x, BLOCK=x.shape[1])\n"
    )
    configs = [one for one in resolve(Repository([tmp_path]), ["one.py"]) if isinstance(one, Config)]

    def estimate(one):
        n = one.constexprs["BLOCK"] * 200
        return Estimate(n, n, n, True, "fake")

    assert found(configs, estimate, "SMEM001") == []
    (note,) = found(configs, estimate, "SMEM010")
    assert (
        "x.shape[1] is not known; it overflows where BLOCK = x.shape[1] is 1,024 (204,800 of 101,376 bytes) and fits at 128 (25,600)"
        in note.message
    )

    def always(one):
        return Estimate(120_000, 120_000, 120_000, True, "fake")

    assert {one.bytes for one in found(configs, always, "SMEM001")} == {120_000}
    assert found(configs, always, "SMEM010") == []


def test_a_stride_that_is_one_is_of_no_other_type():
    strided = replace(LAUNCH, types={"x": "*bf16", "stride": "i32"}, when=("x is strided",))
    size = lambda one: 120_000 if "stride" in one.signature and one.signature["stride"] == "i32" else 60_000  # noqa: E731
    assert found([strided, LAUNCH], size, "SMEM002") == []
    fp8 = replace(LAUNCH, types={"x": "*fp8e4nv", "scale": "*fp32"}, when=("the cache is fp8",))
    (one,) = found([fp8, LAUNCH], lambda one: 120_000 if one.signature["x"] == "*fp8e4nv" else 60_000, "SMEM002")
    assert "x: *bf16" in one.message and "scale" not in one.message
