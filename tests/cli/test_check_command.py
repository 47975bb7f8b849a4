"""``check`` on a small project: exit codes, suppressions, baselines, formats, colours, what is read, and what is asked."""

import json
import os

import pytest


def findings(out):
    return [(one["file"], one["line"], one["rule"], one["bytes"]) for one in json.loads(out)["results"]]


def as_json(lint, *arguments):
    code, out, _ = lint("check", "--output-format", "json", *arguments)
    return code, findings(out)


def test_an_overflow_ends_with_1(lint):
    code, found = as_json(lint)
    assert code == 1
    assert ("launch.py", 9, "SMEM001", 131072) in found
    assert lint("check", "--exit-zero")[0] == 0


def test_what_fits_ends_with_0(lint):
    code, out, _ = lint("check", "--target", "sm_90")
    assert code == 0 and "SMEM001" not in out and "sm_90" in out


def test_several_targets(lint):
    code, found = as_json(lint, "--target", "sm_90,RTX 5090,GB10", "--select", "SMEM001")
    assert code == 1 and found == [("launch.py", 9, "SMEM001", 131072)] * 2


def test_a_changed_file_alone_finds_its_kernel_next_door(lint):
    code, found = as_json(lint, "launch.py", "--select", "SMEM001")
    assert (code, found) == (1, [("launch.py", 9, "SMEM001", 131072)])
    assert as_json(lint, "kernels.py")[0] == 0


def test_select_and_ignore(lint, fake):
    assert as_json(lint, "--ignore", "SMEM001,SMEM008,SMEM009") == (0, [])
    assert as_json(lint, "--select", "SMEM003") == (0, [])
    fake.asked.clear()
    as_json(lint, "--select", "SMEM004")
    assert fake.asked == []


def test_a_suppression(lint, project):
    text = (project / "launch.py").read_text()
    (project / "launch.py").write_text(
        text.replace("BLOCK=64, num_stages=2)", "BLOCK=64, num_stages=2)  # smem-lint: ignore[SMEM001] known")
    )
    assert as_json(lint, "--select", "SMEM001,SMEM011") == (0, [])
    (project / "launch.py").write_text(
        text.replace("BLOCK=16, num_stages=2)", "BLOCK=16, num_stages=2)  # smem-lint: ignore[SMEM001] known")
    )
    assert as_json(lint, "--select", "SMEM001,SMEM011") == (1, [("launch.py", 5, "SMEM011", None), ("launch.py", 9, "SMEM001", 131072)])


def test_a_suppression_of_a_rule_that_is_not_applied_is_not_unused(lint, project):
    text = (project / "launch.py").read_text()
    (project / "launch.py").write_text(text.replace("BLOCK=64, num_stages=2)", "BLOCK=64, num_stages=2)  # smem-lint: ignore[SMEM001]"))
    assert as_json(lint, "--select", "SMEM003,SMEM011") == (0, [])
    assert as_json(lint, "--select", "SMEM011") == (0, [])


def test_ignored_files(lint, project):
    (project / "pyproject.toml").write_text('[tool.smem-lint]\nselect = ["SMEM001"]\nper-file-ignores = { "laun*.py" = ["SMEM0"] }\n')
    assert as_json(lint) == (0, [])
    (project / "pyproject.toml").write_text('[tool.smem-lint]\nselect = ["SMEM001"]\nexclude = ["launch.py"]\n')
    assert as_json(lint) == (0, [])
    assert as_json(lint, "launch.py")[0] == 1


def test_a_baseline(lint, project):
    code, out, _ = lint("baseline", "--output", "known.json")
    assert code == 0 and out == "known.json: 1 finding\n"
    known = json.loads((project / "known.json").read_text())
    assert known["version"] == 1 and {"fingerprint", "rule", "file", "line", "message"} == set(known["findings"][0])
    (project / "launch.py").write_text("# moved\n\n" + (project / "launch.py").read_text())
    assert as_json(lint, "--baseline", "known.json") == (0, [])
    (project / "launch.py").write_text((project / "launch.py").read_text().replace("BLOCK=64", "BLOCK=128"))
    assert [one[2] for one in as_json(lint, "--baseline", "known.json")[1]] == ["SMEM001"]
    (project / "pyproject.toml").write_text('[tool.smem-lint]\nbaseline = "known.json"\n')
    lint("baseline", "--output", "known.json")
    assert as_json(lint) == (0, [])


def test_records_in_place_of_host_code(lint, project):
    record = {
        "file": "kernels.py",
        "kernel": "kernel",
        "signature": {"x": "*fp32", "BLOCK": "constexpr"},
        "constexprs": {"BLOCK": 64},
        "num_stages": 2,
    }
    (project / "r.jsonl").write_text(json.dumps(record) + "\n")
    assert as_json(lint, "--records", "r.jsonl", "--select", "SMEM001") == (1, [("kernels.py", 6, "SMEM001", 131072)])


@pytest.mark.parametrize(
    "variables, terminal, coloured",
    [({}, False, False), ({}, True, True), ({"NO_COLOR": "1"}, True, False), ({"FORCE_COLOR": "1"}, False, True),
     ({"TERM": "dumb"}, True, False),
     ({"NO_COLOR": ""}, True, True), ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, True)],
)  # fmt: skip
def test_colour(lint, monkeypatch, variables, terminal, coloured):
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    assert ("\x1b[" in lint("check")[1]) is coloured


def test_hostile_file_names(lint, project):
    (project / "\x1b]0;owned\x07.py").write_text((project / "launch.py").read_text())
    os.rename(project / "launch.py", os.fsencode(project) + b"/\xff.py")
    code, out, _ = lint("check", "--select", "SMEM001")
    assert code == 1 and "\x1b" not in out and "\x07" not in out
    assert "\\x1b]0;owned\\x07.py:9:5: SMEM001" in out and "\\udcff.py:9:5: SMEM001" in out
    for name in ("json", "json-lines", "sarif", "github", "gitlab", "junit", "concise"):
        code, out, _ = lint("check", "--select", "SMEM001", "--output-format", name, "--output-file", "out.txt")
        assert (code, out) == (1, "") and (project / "out.txt").stat().st_size > 0


def test_statistics_go_to_standard_error(lint):
    _, out, err = lint("check", "--output-format", "json", "--statistics")
    json.loads(out)
    assert "configs: 2\n" in err and "files: 2\n" in err


def test_an_output_file_holds_the_report(lint, project):
    assert lint("check", "--output-format", "json", "--output-file", "out.json")[1] == ""
    assert findings((project / "out.json").read_text())[0][:3] == ("launch.py", 9, "SMEM001")


def test_configs(lint):
    code, out, _ = lint("configs", "--output-format", "jsonl")
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 0 and [(one["file"], one["line"], one["constexprs"]["BLOCK"]) for one in lines] == [
        ("launch.py", 5, 16),
        ("launch.py", 9, 64),
    ]
    wanted = {"file", "line", "kernel", "kernel_file", "origin", "index", "of", "constexprs", "options", "types", "unresolved", "when"}
    assert wanted <= set(lines[0]) and lines[0]["origin"] == "launch" and lines[0]["kernel_file"] == "kernels.py"


def test_small_commands(lint):
    code, out, _ = lint("devices")
    assert code == 0 and any(line.startswith("sm_120") and "101,376" in line for line in out.splitlines())
    assert {one["target"]: one["optin"] for one in json.loads(lint("devices", "--output-format", "json")[1])}["sm_90"] == 232448
    code, out, _ = lint("rule")
    assert code == 0 and len(out.splitlines()) == 11
    for name in ("SMEM001", "smem001", "overflow"):
        assert lint("rule", name)[1].startswith("# SMEM001 overflow\n")
    code, out, _ = lint("config", "--target", "GB10")
    assert code == 0 and json.loads(out)["target"] == "GB10"


def test_watch_checks_again_after_a_change(project, fake):
    from smem_lint.cli.arguments import parser
    from smem_lint.cli.watching import state, watch

    arguments = parser().parse_args(["check", str(project), "--watch"])
    calls = []

    def check():
        calls.append(1)
        if len(calls) == 1:
            (project / "launch.py").write_text("# changed\n")
            os.utime(project / "launch.py", (1, 1))
        return len(calls)

    before = state(arguments, [project])
    assert str(project / "pyproject.toml") in before
    assert watch(arguments, [project], lambda: 7, interval=0.01, rounds=1) == 7
    # What changes while a check runs is seen after it.
    assert calls == []
