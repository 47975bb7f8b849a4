"""Where files stand in a report: JSON names them from the path that was checked, all others from the current folder."""

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from smem_lint.cli import main
from smem_lint.findings import Finding, Problem, Related, Report
from smem_lint.report.from_here import from_here

FIXTURE = Path(__file__).parents[2] / "fixtures" / "kernels" / "mla_decode.py"


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """What ``check src/ops`` says in a format, started in the folder above."""
    (tmp_path / "src" / "ops").mkdir(parents=True)
    shutil.copy(FIXTURE, tmp_path / "src" / "ops")
    monkeypatch.chdir(tmp_path)

    def run(form, path="src/ops"):
        assert main(["check", path, "--engine", "model", "--output-format", form]) == 1
        return capsys.readouterr().out

    return run


def test_code_hosts_find_the_file(check):
    assert check("github").startswith("::error file=src/ops/mla_decode.py,line=82,")
    assert {one["location"]["path"] for one in json.loads(check("gitlab"))} == {"src/ops/mla_decode.py"}
    places = [one["locations"][0]["physicalLocation"] for one in json.loads(check("sarif"))["runs"][0]["results"]]
    assert {one["artifactLocation"]["uri"] for one in places} == {"src/ops/mla_decode.py"}
    assert {one.get("file") for one in ElementTree.fromstring(check("junit")).iter("testcase")} == {"src/ops/mla_decode.py"}


def test_so_do_terminals(check):
    for form in ("full", "concise"):
        assert check(form).startswith("src/ops/mla_decode.py:82:5: SMEM001 ")
    assert "(src/ops/mla_decode.py:44)" in check("full") and "explain: smem-lint explain src/ops/mla_decode.py:82" in check("full")


def test_so_does_what_a_fix_says(check, tmp_path, capsys):
    assert main(["check", "src/ops", "--engine", "model", "--diff"]) == 1
    told = capsys.readouterr()
    assert told.out.startswith("--- src/ops/mla_decode.py\n+++ src/ops/mla_decode.py\n")
    assert told.err.startswith("src/ops/mla_decode.py:82: would fix SMEM001: ")


def test_json_names_it_from_the_path_that_was_checked(check):
    assert {one["file"] for one in json.loads(check("json"))["results"]} == {"mla_decode.py"}
    assert {json.loads(line)["file"] for line in check("json-lines").splitlines()} == {"mla_decode.py"}


def test_what_lies_elsewhere_keeps_its_name(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "a.py").write_text("")
    monkeypatch.chdir(tmp_path / "here")
    finding = Finding("a.py", 1, 1, "SMEM001", "overflow", "error", "m", kernel_file="gone.py", related=(Related("a.py", 1, "m"),))
    report = Report([finding], [Problem("a.py", 1, "m")])
    assert from_here(report, [tmp_path / "there"]) == report
    monkeypatch.chdir(tmp_path)
    found = from_here(report, [tmp_path / "there"])
    (one,) = found.findings
    assert (one.file, one.kernel_file, one.related[0].file) == ("there/a.py", "gone.py", "there/a.py")
    assert found.problems[0].file == "there/a.py"
