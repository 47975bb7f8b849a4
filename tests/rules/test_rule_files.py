"""The rule files: their format, their pages, and which rules a run applies."""

from pathlib import Path

import pytest

from smem_lint.cli import main
from smem_lint.rules import RuleError, built_in, facts_of, load_rules, pages, read_rule, selected

GOOD = """
id = "MINE01"
name = "too-big"
severity = "warning"
scope = "config"
since = "1.0"
when = "bytes > 1"
message = "{kernel} asks for {bytes:,}"
what = "x"
why = "y"
"""
FACTS = {
    "config": {
        "kernel", "file", "kernel_file", "origin", "guarded", "target", "limit", "per_sm", "capability", "when", "condition", "bytes",
        "lower",
        "upper", "exact", "overflows", "over", "headroom", "num_stages", "num_warps", "next_stage_bytes", "near_limit", "cliff",
        "blocks_by_shared_memory", "blocks_by_threads", "smaller", "smaller_bytes", "smaller_blocks",
    },
    "list": {
        "kernel", "file", "kernel_file", "origin", "guarded", "target", "limit", "per_sm", "capability", "when", "condition", "bytes", "of",
        "evaluated", "fitting", "dead", "dead_configs", "own", "named",
    },
    "unresolved": {"kernel", "file", "kernel_file", "origin", "guarded", "target", "limit", "per_sm", "capability", "when", "condition",
        "reason", "threshold", "bytes",
    },
    "guard": {"kernel", "file", "target", "limit", "condition", "bytes", "guard", "pruner", "verdict", "lets_through", "turns_away",
        "hard_coded",
    },
    "suppression": {"used", "codes", "reason"},
}  # fmt: skip
FACTS["types"] = FACTS["config"] | {"fitting_types", "fitting_bytes", "types"}


@pytest.mark.parametrize("rule", built_in(), ids=lambda rule: rule.id)
def test_a_built_in_rule(rule):
    assert rule.id.startswith("SMEM") and len(rule.id) == 7 and rule.name == rule.name.lower()
    if rule.scope in FACTS:
        assert facts_of(rule) <= FACTS[rule.scope]
    page = rule.page()
    assert page.startswith(f"# {rule.id} {rule.name}\n") and "## What it does" in page and "## Why is this bad?" in page
    assert rule.what.strip()[0].isupper() and rule.what.strip().endswith(".")


def test_the_eleven():
    assert [rule.id for rule in built_in()] == [f"SMEM{number:03}" for number in range(1, 12)]
    assert len({rule.name for rule in built_in()}) == 11


def test_file_names_say_what_is_inside():
    for path in (Path(__file__).parents[2] / "rules").glob("*.toml"):
        rule = read_rule(path)
        assert path.stem == f"{rule.id}-{rule.name}"


def test_every_page_says_how_it_is_fixed():
    for rule in built_in():
        page = rule.page()
        assert "\n## Fix\n\n" in page, rule.id
        assert (f"Fix: `{rule.fix}` (safe: `check --fix` applies it" in page) == bool(rule.fix)
        assert rule.fixing.strip().startswith(f"`{rule.fix}` " if rule.fix else "None")
    pruning = next(rule for rule in built_in() if rule.id == "SMEM004").page()
    assert "`add-pruning` is unsafe and needs `--unsafe-fixes`" in pruning and "It removes them for every GPU" in pruning


def test_the_pages_in_docs_are_those_of_the_rules(tmp_path):
    """``smem-lint rule --output-dir docs/rules`` writes them."""
    assert main(["rule", "--output-dir", str(tmp_path)]) == 0
    written = {path.name: path.read_text("utf8") for path in tmp_path.iterdir()}
    folder = Path(__file__).parents[2] / "docs" / "rules"
    assert written == pages(built_in()) == {path.name: path.read_text("utf8") for path in folder.iterdir()}
    assert len(written) == 12


@pytest.mark.parametrize(
    "change, said",
    [
        (("severity = \"warning\"", "severity = \"fatal\""), "severity 'fatal' is not one of error, warning, info"),
        (("scope = \"config\"", "scope = \"file\""), "scope 'file' is not one of"),
        (("name = \"too-big\"\n", ""), "name missing"),
        (("bytes > 1", "open('x')"), "Call has no place in"),
        (("{bytes:,}", "{bytes.real}"), "is no fact in"),
        (("id = ", "id "), "Expected"),
        (("name = \"too-big\"", "name = 3"), "name: expected text"),
        (("when = \"bytes > 1\"", "when = 3"), "when: expected text"),
        (("why = \"y\"", "why = \"y\"\nfixing = 3"), "fixing: expected text"),
        (("why = \"y\"", "why = \"y\"\n[[example]]\nbad = true"), "example 1: code missing"),
        (("why = \"y\"", "why = \"y\"\nexample = 3"), "example: expected tables"),
    ],
)  # fmt: skip
def test_a_broken_rule_is_told_with_its_file(tmp_path, change, said):
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.replace(*change))
    with pytest.raises(RuleError) as caught:
        read_rule(path)
    assert str(caught.value).startswith(f"{path}: ") and said in str(caught.value)


def test_rules_of_ones_own(tmp_path):
    (tmp_path / "mine.toml").write_text(GOOD)
    assert load_rules([tmp_path])[-1].id == "MINE01" == load_rules([tmp_path / "mine.toml"])[-1].id
    (tmp_path / "again.toml").write_text(GOOD)
    with pytest.raises(RuleError, match="MINE01 is taken by 'too-big'"):
        load_rules([tmp_path])
    (tmp_path / "empty").mkdir()
    for place in ("empty", "nowhere.toml"):
        with pytest.raises(RuleError):
            load_rules([tmp_path / place])


@pytest.mark.parametrize(
    "select, ignore, chosen",
    [
        ([], [], "123456789ab"), (["SMEM001"], [], "1"), (["SMEM01"], [], "ab"), (["SMEM"], ["SMEM00"], "ab"), (["ALL"], ["SMEM"], ""),
        (["SMEM001", "near-limit"], [], "18"), ([], ["overflow", "SMEM01"], "2345678" + "9"), (["SMEM"], ["SMEM"], ""),
        (["SMEM001"], ["SMEM"], "1"), (["ALL"], ["SMEM009"], "12345678ab"), ([], ["ALL"], ""),
    ],
)  # fmt: skip
def test_select_and_ignore(select, ignore, chosen):
    names = dict(zip("123456789ab", built_in(), strict=True))
    assert selected(built_in(), select, ignore) == tuple(names[one] for one in chosen)


def test_a_rule_that_there_is_not():
    with pytest.raises(RuleError, match="no rule is called 'SMEM999'"):
        selected(built_in(), ["SMEM999"], [])
