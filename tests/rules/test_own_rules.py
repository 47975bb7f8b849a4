"""Rules of a project: the example of ``docs/own-rules.md`` as it stands there, and the names that the page lists."""

import json
import re
import shutil
from pathlib import Path

import pytest

from smem_lint.cli import main
from smem_lint.rules import SCOPES, built_in, facts_of

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "own-rules.md").read_text()
SETTINGS, RULE = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    (tmp_path / "lint").mkdir()
    (tmp_path / "lint" / "half-the-limit.toml").write_text(RULE)
    shutil.copy(ROOT / "fixtures" / "kernels" / "mla_decode.py", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found(capsys, *arguments):
    code = main(["check", "mla_decode.py", "--engine", "model", "--output-format", "json", *arguments])
    return code, [(one["rule"], one["severity"], one["bytes"], one["message"]) for one in json.loads(capsys.readouterr().out)["results"]]


def test_the_example_of_the_page(project, capsys):
    code, results = found(capsys, "--select", "OURS01")
    assert code == 1 and {one[:3] for one in results} == {("OURS01", "warning", 63_488), ("OURS01", "warning", 51_200)}
    assert results[0][3].startswith("_mla_decode_split takes ") and "of 101,376 bytes, more than half of what sm_120 has" in results[0][3]
    assert main(["rule", "ours01"]) == 0
    assert "## Example: one stage too many" in capsys.readouterr().out


@pytest.mark.parametrize("output_format", ["concise", "full", "github"])
def test_people_are_told_the_same(project, capsys, output_format):
    """Bounds that would do for the built-in rules are no answer to a project's own."""
    assert main(["check", "mla_decode.py", "--engine", "model", "--select", "OURS01", "--output-format", output_format]) == 1
    told = capsys.readouterr().out
    assert re.search("_mla_decode_split takes (63,488|51,200) of 101,376 bytes", told)


def test_other_numbers_of_stages_are_known_of_every_launch(project, capsys):
    """Far from the limit: ``explain dequant_gemm.py:64 --engine compiler BLOCK_M=16 num_warps=4 num_stages=4`` (and 5)."""
    rule = RULE.replace("exact and bytes * 2 > limit and not overflows", "next_stage_bytes > bytes and bytes < limit / 2")
    rule = re.sub(r'message = ".*"', 'message = "{bytes} then {next_stage_bytes}"', rule)
    (project / "lint" / "half-the-limit.toml").write_text(rule)
    shutil.copy(ROOT / "fixtures" / "kernels" / "dequant_gemm.py", project)
    assert main(["check", "dequant_gemm.py", "--engine", "model", "--select", "OURS01", "--output-format", "concise"]) == 1
    assert "dequant_gemm.py:64:5: OURS01 30720 then 40960" in capsys.readouterr().out


def test_it_is_one_of_all_rules(project, capsys):
    assert {one[0] for one in found(capsys)[1]} >= {"OURS01", "SMEM001", "SMEM002"}
    path = project / "mla_decode.py"
    launch = "    _mla_decode_split[grid]("
    path.write_text(path.read_text().replace(launch, f"{launch}  # smem-lint: ignore[OURS]"))
    assert found(capsys, "--select", "OURS01") == (0, [])


def test_an_id_of_a_built_in_rule_is_refused(project, capsys):
    (project / "lint" / "half-the-limit.toml").write_text(RULE.replace("OURS01", "SMEM001"))
    assert main(["check", "mla_decode.py"]) == 2
    error = capsys.readouterr().err
    assert "half-the-limit.toml" in error and "SMEM001" in error and error.count("\n") == 1


@pytest.mark.parametrize("template", ["{bytes:q}", "{bytes:>9999999999}", "{bytes!z}", "{bytes:{limit}}", "{bytes.real}"])
def test_a_message_that_cannot_be_written_is_told_at_once(project, capsys, template):
    (project / "lint" / "half-the-limit.toml").write_text(re.sub('message = ".*"', f'message = "{template}"', RULE))
    assert main(["check", "mla_decode.py"]) == 2
    error = capsys.readouterr().err
    assert "half-the-limit.toml" in error and error.count("\n") == 1


def test_a_number_as_text_is_told_where_it_comes_up(project, capsys):
    (project / "lint" / "half-the-limit.toml").write_text(re.sub('message = ".*"', 'message = "{kernel:,}"', RULE))
    assert main(["check", "mla_decode.py", "--engine", "model"]) == 2
    assert "a rule cannot be applied: '_mla_decode_split' cannot be written as ','" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ('__import__("os").system("touch ran")', "has no place in"),
        ("kernel.__class__ == 1", "has no place in"),
        ("no_such_fact > 1", "no fact is called 'no_such_fact'"),
        ("bytes >", "cannot read"),
    ],
)
def test_a_condition_that_is_none_is_refused(project, capsys, wrong, told):
    text = re.sub(r'^when = ".*"$', f"when = '{wrong}'", RULE, flags=re.MULTILINE)
    (project / "lint" / "half-the-limit.toml").write_text(text)
    assert main(["check", "mla_decode.py", "--engine", "model"]) == 2
    error = capsys.readouterr().err
    assert told in error and error.count("\n") == 1 and not (project / "ran").exists()


def test_the_page_names_every_scope_and_every_fact():
    told = set(re.findall(r"`(\w+)`", PAGE))
    assert set(SCOPES) <= told
    assert set().union(*(facts_of(rule) for rule in built_in())) <= told
