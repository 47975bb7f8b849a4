"""What findings name is confirmed by a second engine, and nothing else is asked of it. The limit of sm_120 is 101,376 bytes a block."""

from dataclasses import replace

import pytest
from test_findings import ENTRY, LAUNCH, SM_120, Engine

from smem_lint.check import findings
from smem_lint.confirming import confirmed
from smem_lint.engines import Estimate
from smem_lint.judging import judge
from smem_lint.rules import built_in


class Confirming(Engine):
    """Asks ``compiler(specialization)`` for bytes where it is to confirm; ``compiled`` are the stages that it asked for."""

    def __init__(self, size, compiler):
        super().__init__(size)
        self.compiler, self.compiled = compiler, []

    def confirmed(self, specializations):
        for one in specializations:
            self.compiled.append(one.num_stages)
            size = self.compiler(one)
            yield Estimate(size, size, size, True, "compiler")


def told(configs, size, compiler, *codes):
    engine = Confirming(size, compiler)
    judged = judge(configs, SM_120, engine)
    rules = [rule for rule in built_in() if rule.id in codes]
    return confirmed(judged, lambda: findings(judged, rules), engine), engine.compiled


def entries(*stages):
    return [replace(ENTRY, index=index, of=len(stages), options={"num_stages": one}) for index, one in enumerate(stages)]


def test_the_launch_that_overflows():
    (one,), compiled = told([LAUNCH], lambda one: 120_000, lambda one: 120_000, "SMEM001")
    assert (one.bytes, one.engine, compiled) == (120_000, "compiler", [3])


def test_only_what_a_finding_names():
    """Three entries overflow; the finding shows the largest."""
    (one,), compiled = told(
        entries(2, 3, 4, 5), lambda one: 40_000 * one.num_stages, lambda one: 40_000 * one.num_stages, "SMEM003", "SMEM004"
    )
    assert "#1, #2, #3" in one.message and compiled == [5]


@pytest.mark.parametrize("size", [60_000, 101_376])
def test_what_fits_is_not_asked(size):
    assert told([LAUNCH], lambda one: size, lambda one: 120_000, "SMEM001") == ([], [])


def test_where_the_two_differ_the_second_is_believed_and_the_rules_are_asked_again():
    assert told([LAUNCH], lambda one: 120_000, lambda one: 60_000, "SMEM001") == ([], [3])
    found, compiled = told(entries(2, 3, 4), lambda one: 40_000 * one.num_stages, lambda one: 50_000, "SMEM003", "SMEM004")
    assert (found, compiled) == ([], [4, 3])
