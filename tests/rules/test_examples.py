"""The rules' examples are their tests: a bad one gives what its comments state, in bytes that the compiler gives, a good one nothing.

A comment ``# SMEM001: 131072`` (the bytes may be left out) stands at the line of the finding, ``# ^ SMEM001`` below it.
"""

import re

import pytest

from smem_lint.api import check
from smem_lint.rules import built_in

_EXPECTED = re.compile(r"#\s*(\^\s*)?(SMEM\d{3})(?::\s*(\d+))?")
EXAMPLES = [(rule, example, f"{rule.id}_{place}.py") for rule in built_in() for place, example in enumerate(rule.examples)]
IMPLEMENTED = ("SMEM001", "SMEM002", "SMEM003", "SMEM004", "SMEM005", "SMEM006", "SMEM008", "SMEM009", "SMEM010", "SMEM011")


def expected(code):
    found = set()
    for number, line in enumerate(code.splitlines(), 1):
        for above, rule, size in _EXPECTED.findall(line):
            found.add((rule, number - bool(above), int(size) if size else None))
    return found


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    pytest.importorskip("triton", reason="the compiler gives the bytes of the examples")
    folder = tmp_path_factory.mktemp("examples")
    for _, example, name in EXAMPLES:
        (folder / name).write_text(example.code)
    report = check([folder], engine="compiler", cache_dir=str(folder / ".cache"), jobs=2)
    assert not report.problems
    return report.findings


def test_every_rule_that_is_applied_has_examples_of_both_kinds():
    for rule in built_in():
        if rule.id in IMPLEMENTED:
            assert {example.bad for example in rule.examples} == {True, False}, rule.id


@pytest.mark.parametrize("rule, example, name", EXAMPLES, ids=[name for _, _, name in EXAMPLES])
def test_example(found, rule, example, name):
    wanted = expected(example.code)
    mine = [one for one in found if one.file == name]
    if example.bad:
        assert rule.id in {code for code, _, _ in wanted}
        sizes = {(code, line) for code, line, size in wanted if size is None}
        told = {
            (one.rule, one.line, None if (one.rule, one.line) in sizes else one.bytes) for one in mine if one.fails or one.rule == rule.id
        }
        assert told == wanted
    else:
        assert not wanted
        assert [(one.rule, one.line) for one in mine if one.fails or one.rule == rule.id] == []
