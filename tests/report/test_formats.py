"""Every output format of one report, against the schemas of JSON and SARIF and the grammars of the others."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from smem_lint.engines import Buffer
from smem_lint.findings import Finding, Fit, Problem, Related, Report
from smem_lint.report import Options, render

jsonschema = pytest.importorskip("jsonschema", reason="reports are held against their schemas")
SCHEMA = json.loads((Path(__file__).parents[2] / "smem_lint" / "report" / "schema.json").read_text("utf8"))
SARIF = json.loads(Path(__file__).with_name("sarif-2.1.0-rtm.4.json").read_text("utf8"))

OVERFLOW = Finding(
    "ops/mla.py", 120, 5, "SMEM001", "overflow", "error", "stage1 asks for 102,400 bytes of shared memory", "assumed", "stage1",
    "ops/kernel.py", "sm_120", 102400, 102400, 102400, 101376, ("the cache is fp8e4nv",),
    {"constexprs": {"BLOCK_N": 32, "stride_k": 1}, "options": {"num_stages": 2}, "types": {"kv": "*fp8e4nv", "n": "i32"},
     "index": 0, "of": 1, "origin": "launch"},
    (Buffer(0, 65536, "staged", "ttg.local_alloc", "2 x 512x32 bf16", "4", 31, 0, 9),
     Buffer(65536, 36864, "scratch", "ttg.convert_layout")),
    (Fit({"num_stages": 1}, 83968),), (Related("ops/kernel.py", 31, "65,536 bytes: staged"),), "lower-num-stages",
    "    stage1[grid](q, kv)", "model", fixable="safe",
)  # fmt: skip
NOTE = Finding(
    "ops/a b%.py", 3, 1, "SMEM008", "near-limit", "info", "fits with 1,024 to spare", target="sm_120", bytes=100352, limit=101376
)
HOSTILE = Finding("evil\x1b[2J\n::error::x.py", 1, 1, "SMEM004", "dead-config", "warning", "100% of,\nthem: <&\x07\ud800>")
REPORT = Report(
    [OVERFLOW, NOTE, HOSTILE],
    [Problem("broken.py", 7, "invalid syntax"), Problem("x\x1b.py", None, "empty\x00")],
    {"files": 5, "kernels": 2, "configs": 9, "unresolved": 1},
    ("sm_120",),
)


def rendered(name, report=REPORT, **options):
    return render(name, report, Options(version="0.1.0", **options))


def test_json_is_as_its_schema_says():
    document = json.loads(rendered("json"))
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(document, SCHEMA)
    first = document["results"][0]
    assert (first["bytes"], first["limit"], first["when"], first["line"]) == (102400, 101376, ["the cache is fp8e4nv"], 120)
    assert first["fits"] == [{"change": {"num_stages": 1}, "bytes": 83968, "exact": True}]
    assert document["summary"] == {
        "findings": 3, "by_severity": {"error": 1, "warning": 1, "info": 1}, "by_rule": {"SMEM001": 1, "SMEM004": 1, "SMEM008": 1},
        "problems": 2, "targets": ["sm_120"], "files": 5, "kernels": 2, "configs": 9, "unresolved": 1,
    }  # fmt: skip


def test_the_schema_refuses_what_is_no_report():
    document = json.loads(rendered("json"))
    document["results"][0]["severity"] = "fatal"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, SCHEMA)


def test_json_lines():
    lines = [json.loads(line) for line in rendered("json-lines").splitlines()]
    assert lines == json.loads(rendered("json"))["results"]


def test_sarif_is_as_its_schema_says():
    document = json.loads(rendered("sarif"))
    jsonschema.Draft4Validator(SARIF).validate(document)
    (run,) = document["runs"]
    assert [one["id"] for one in run["tool"]["driver"]["rules"]] == ["SMEM001", "SMEM004", "SMEM008"]
    results = run["results"]
    assert [(one["ruleId"], one["level"], run["tool"]["driver"]["rules"][one["ruleIndex"]]["id"]) for one in results] == [
        ("SMEM001", "error", "SMEM001"), ("SMEM008", "note", "SMEM008"), ("SMEM004", "warning", "SMEM004"),
    ]  # fmt: skip
    place = results[1]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "ops/a%20b%25.py", "uriBaseId": "ROOT"}, "region": {"startLine": 3, "startColumn": 1}}
    assert results[0]["relatedLocations"][0]["physicalLocation"]["region"] == {"startLine": 31}
    assert len({one["partialFingerprints"]["smemLint/v1"] for one in results}) == 3
    assert [one["message"]["text"] for one in run["invocations"][0]["toolExecutionNotifications"]] == ["invalid syntax", "empty\x00"]
    assert run["invocations"][0]["executionSuccessful"] is True


def test_sarif_of_nothing():
    jsonschema.Draft4Validator(SARIF).validate(json.loads(rendered("sarif", Report())))


def test_github_annotations_cannot_be_forged():
    lines = rendered("github").splitlines()
    assert (
        lines[0] == "::error file=ops/mla.py,line=120,col=5,title=SMEM001 overflow::SMEM001 stage1 asks for 102,400 bytes of shared memory"
    )
    assert lines[1].startswith(
        "::warning file=evil\\x1b[2J%0A%3A%3Aerror%3A%3Ax.py,line=1,col=1,title=SMEM004 dead-config::SMEM004 100%25 of,%0Athem: <&"
    )
    assert lines[2] == "::warning file=broken.py,line=7::invalid syntax"
    assert len(lines) == 4 and all(line.startswith("::") for line in lines)
    assert any(line.startswith("::notice file=ops/a b%25.py,line=3") for line in rendered("github", show_info=True).splitlines())


def test_gitlab():
    entries = json.loads(rendered("gitlab"))
    assert entries[0] == {
        "description": "SMEM001 stage1 asks for 102,400 bytes of shared memory", "check_name": "SMEM001",
        "fingerprint": OVERFLOW.fingerprint, "severity": "critical", "location": {"path": "ops/mla.py", "lines": {"begin": 120}},
    }  # fmt: skip
    assert len({entry["fingerprint"] for entry in entries}) == len(entries) == 3


def test_junit():
    root = ElementTree.fromstring(rendered("junit"))
    assert (root.get("tests"), root.get("failures")) == ("2", "2")
    case = root.find("testsuite[@name='ops/mla.py']/testcase")
    assert (case.get("name"), case.get("line")) == ("SMEM001", "120")
    assert case.find("failure").get("message") == OVERFLOW.message
    clean = ElementTree.fromstring(rendered("junit", Report([NOTE])))
    assert (clean.get("tests"), clean.get("failures")) == ("1", "0")


def test_concise():
    lines = rendered("concise").splitlines()
    assert lines[0] == "ops/mla.py:120:5: SMEM001 stage1 asks for 102,400 bytes of shared memory"
    assert lines[1] == r"evil\x1b[2J\n::error::x.py:1:1: SMEM004 100% of,\nthem: <&\x07\ud800>"
    assert lines[2:4] == ["broken.py:7:1: problem invalid syntax", r"x\x1b.py:1:1: problem empty\x00"]
    assert lines[4] == (
        "Found 2 problems in 9 configs of 2 kernels on sm_120. 1 can be fixed (--diff shows how, --fix does it). "
        "1 note is not shown (--show-info). 2 files could not be read whole."
    )


def test_full():
    text = rendered("full")
    assert text.startswith(
        "ops/mla.py:120:5: SMEM001 stage1 asks for 102,400 bytes of shared memory\n"
        "   120 |     stage1[grid](q, kv)\n"
        "  needs: 102,400 bytes of 101,376: 1,024 too many [assumed]\n"
        "  when: the cache is fp8e4nv\n"
        "  config: BLOCK_N=32, num_stages=2\n"
        "  types: kv: *fp8e4nv\n"
        "  buffer: 65,536 bytes at 0: staged 2 x 512x32 bf16 (ops/kernel.py:31)\n"
        "  buffer: 36,864 bytes at 65,536: scratch (ttg.convert_layout)\n"
        "  fits: num_stages=1 (83,968 bytes)\n"
    )
    assert "SMEM008" not in text and "SMEM008" in rendered("full", show_info=True)


@pytest.mark.parametrize("name", ["full", "concise"])
def test_terminals_see_our_colours_alone(name):
    assert "\x1b" not in rendered(name)
    coloured = rendered(name, color=True)
    assert "\x1b[31;1mSMEM001\x1b[0m" in coloured
    assert "\x1b[2J" not in coloured and "\x07" not in coloured


def test_a_lint_of_nothing_is_no_pass():
    assert (
        rendered("concise", Report(statistics={"files": 3})) == "Nothing was checked: no config of a Triton kernel was found in 3 files.\n"
    )
    passed = Report(statistics={"configs": 4, "kernels": 1}, targets=("sm_120", "sm_90"))
    assert rendered("concise", passed) == "All checks passed: 4 configs of 1 kernel on sm_120, sm_90.\n"


@pytest.mark.parametrize("name", ["full", "concise", "json", "json-lines", "sarif", "github", "gitlab", "junit"])
def test_every_format_can_be_written_as_utf_8(name):
    rendered(name).encode("utf8")


def test_fingerprints_survive_moved_lines_and_tell_findings_apart():
    from dataclasses import replace

    assert replace(OVERFLOW, line=500, column=8).fingerprint == OVERFLOW.fingerprint
    for change in ({"file": "b.py"}, {"rule": "SMEM008"}, {"kernel": "other"}, {"target": "sm_90"}, {"bytes": 1}, {"source_line": "x"}):
        assert replace(OVERFLOW, **change).fingerprint != OVERFLOW.fingerprint


def test_one_launch_is_read_once():
    """The same rule at the same place with other numbers: the case that assumes least, and what else there is."""
    from dataclasses import replace

    worse = [
        replace(OVERFLOW, bytes=size, when=("a", "b"), because=(f"pages of {size}",)) for size in (200000, 300000, 400000, 500000, 600000)
    ]
    report = Report([worse[0], OVERFLOW, *worse[1:]], statistics={"configs": 6, "kernels": 1}, targets=("sm_120",))
    lines = rendered("concise", report).splitlines()
    assert lines == [
        "ops/mla.py:120:5: SMEM001 stage1 asks for 102,400 bytes of shared memory [and 5 cases more]",
        "Found 1 problem in 6 configs of 1 kernel on sm_120. 1 can be fixed (--diff shows how, --fix does it).",
    ]
    text = rendered("full", report)
    assert "  also: 200,000 bytes when pages of 200000\n" in text and "  also: 1 case more (--output-format json has them all)\n" in text
    assert len(rendered("github", report).splitlines()) == 1
    assert len(json.loads(rendered("json", report))["results"]) == 6
    other = Report([OVERFLOW, replace(OVERFLOW, target="sm_90")])
    assert len(rendered("github", other).splitlines()) == 2


def test_the_next_step_is_told(tmp_path, monkeypatch):
    """How to see why, as it is typed from here, and that there is a fix."""
    from dataclasses import replace

    (tmp_path / "a b" / "ops").mkdir(parents=True)
    (tmp_path / "a b" / "ops" / "mla.py").write_text("")
    monkeypatch.chdir(tmp_path)
    mended = Report([replace(OVERFLOW, fix="lower-num-stages")], statistics={"configs": 6, "kernels": 1}, targets=("sm_120",))
    text = rendered("full", mended, folders=(tmp_path / "a b",))
    assert "  explain: smem-lint explain 'a b/ops/mla.py:120'\n" in text
    closing = "Found 1 problem in 6 configs of 1 kernel on sm_120. 1 can be fixed (--diff shows how, --fix does it)."
    assert text.splitlines()[-1] == rendered("concise", mended).splitlines()[-1] == closing
    assert "explain:" not in rendered("full", mended)
    (tmp_path / "a b" / "ops" / "kernel.py").write_text("")
    guard = Report([replace(OVERFLOW, line=9, elsewhere=True)])
    text = rendered("full", guard, folders=(tmp_path / "a b",))
    assert "  explain: smem-lint explain 'a b/ops/kernel.py::stage1' BLOCK_N=32 num_stages=2\n" in text
    assert "can be fixed" not in rendered("concise", Report([replace(OVERFLOW, fixable="")], statistics={"configs": 6, "kernels": 1}))


@pytest.mark.parametrize(
    ("kinds", "told"),
    [
        (("safe", "unsafe", ""), " 1 can be fixed (--diff shows how, --fix does it), 1 more with --unsafe-fixes."),
        (("unsafe", "unsafe"), " 2 can be fixed with --unsafe-fixes."),
        (("", ""), ""),
    ],
)
def test_what_fixes_take_away_is_counted(kinds, told):
    from dataclasses import replace

    findings = [replace(OVERFLOW, line=line, fixable=kind) for line, kind in enumerate(kinds, 1)]
    report = Report(findings, statistics={"configs": 6, "kernels": 1}, targets=("sm_120",))
    assert rendered("concise", report).splitlines()[-1] == f"Found {len(kinds)} problems in 6 configs of 1 kernel on sm_120.{told}"
