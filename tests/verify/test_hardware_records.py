"""Today's estimates against the records of real devices in ``fixtures/hardware``, as ``verify --check-hardware`` replays them."""

import copy
import json
from pathlib import Path

import pytest
from verify_bench import ROOT

from smem_lint.cli import main
from smem_lint.devices import by_capability

RECORDS = sorted((ROOT / "fixtures" / "hardware").glob("*.json"))
ABOUT = {"version", "tool", "date", "triton", "capability", "limit", "multiprocessors", "device", "driver", "cuda", "torch", "table_limit"}


def _read(path):
    return json.loads(path.read_text())


def test_there_are_records():
    assert [path.name for path in RECORDS][:1] == ["nvidia-h200-triton-3.6.0.json"]


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_holds_what_the_readme_says(path):
    report = _read(path)
    assert set(report) == ABOUT | {"results", "runs"}
    assert path.stem == f"{report['device'].lower().replace(' ', '-')}-triton-{report['triton']}"
    assert report["limit"] == by_capability(report["capability"]).optin
    for result in report["results"]:
        gpu = result["gpu"]
        assert isinstance(gpu["shared"], int) and gpu["launches"] == (gpu["shared"] <= report["limit"])
        if gpu["launches"]:
            assert gpu["registers"] > 0 and gpu["spills"] >= 0 and gpu["blocks_per_sm"] >= 1
        else:
            assert (gpu["refused"]["required"], gpu["refused"]["limit"]) == (gpu["shared"], report["limit"])


def test_the_h200_record_is_large_enough():
    """At least 60 specializations of 20 kernels, and no side of a cliff without the other."""
    report = _read(RECORDS[0])
    by_kind = {kind: [one for one in report["results"] if one["kind"] == kind] for kind in ("sample", "below the cliff", "above the cliff")}
    assert len({json.dumps(one["specialization"], sort_keys=True) for one in report["results"]}) >= 60
    assert len({one["specialization"]["kernel"] for one in report["results"]}) >= 20
    for below, above in zip(by_kind["below the cliff"], by_kind["above the cliff"], strict=True):
        assert below["specialization"]["kernel"] == above["specialization"]["kernel"]
        assert below["gpu"]["launches"] and not above["gpu"]["launches"]
    assert len(report["runs"]) >= 15 and all(run["passed"] for run in report["runs"].values())


def test_the_estimates_of_today_agree(monkeypatch, capsys):
    """The command that CI runs."""
    monkeypatch.chdir(ROOT)
    assert main(["verify", "--check-hardware"]) == 0
    out = capsys.readouterr().out
    assert "0 disagreements" in out and "185 specializations of 24 kernels: 152 launch, 33 refused, 185 estimated to the byte" in out


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda report: report["results"][0]["gpu"].update(shared=-1), "the device -1"),
        (lambda report: report["results"][0]["gpu"].update(shared=1 << 24), "16,777,216 of 232,448 bytes, and it launches"),
        (lambda report: report.update(limit=1000), "the device table says 232,448 bytes a block, the device 1,000"),
        (lambda report: report["runs"].update({"gemm.py": {"passed": False, "error": "nan"}}), "gemm.py: its own run failed: nan"),
        (lambda report: _refused(report)["gpu"]["refused"].update(required=1), "refused with 1 of 232448"),
        (lambda report: _refused(report)["gpu"].update(refused=None), "of 232,448 bytes, and it launches"),
    ],
)
def test_what_does_not_agree_is_told(tmp_path, monkeypatch, capsys, change, said):
    report = copy.deepcopy(_read(RECORDS[0]))
    report["results"] = [report["results"][0], _refused(report)]
    change(report)
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(report))
    monkeypatch.chdir(ROOT)
    assert main(["verify", "--check-hardware", str(path)]) == 1
    assert said in capsys.readouterr().out


def _refused(report):
    return next(one for one in report["results"] if one["kind"] == "above the cliff")


@pytest.mark.parametrize("text", ["", "[]", '{"version": 2, "results": []}', '{"version": 1}'])
def test_what_is_no_record(tmp_path, capsys, text):
    path = Path(tmp_path) / "odd.json"
    path.write_text(text)
    assert main(["verify", "--check-hardware", str(path)]) == 2
    assert str(path) in capsys.readouterr().err


def test_nothing_to_replay(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["verify", "--check-hardware"]) == 2
    assert "no hardware record was found" in capsys.readouterr().err
