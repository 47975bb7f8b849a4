"""What a baseline holds is known by its content: moved lines, files and folders do not bring it back, a copy of it is new."""

import json

import pytest

COPY = "\n\ndef copy(x):\n    kernel[(1,)](x, BLOCK=64, num_stages=2)\n"


@pytest.fixture
def known(lint, project):
    assert lint("baseline", "--output", "known.json")[0] == 0
    return project


def overflows(lint, *arguments):
    _, out, _ = lint("check", "--output-format", "json", "--select", "SMEM001", *arguments, "--baseline", "known.json")
    return [(one["file"], one["line"]) for one in json.loads(out)["results"]]


def test_lines_that_move(lint, known):
    path = known / "launch.py"
    path.write_text("# one\n# two\n\n" + path.read_text().replace("def small", "X = 1\n\n\ndef small"))
    assert overflows(lint) == []


def test_a_launch_that_is_only_indented_or_followed_by_others(lint, known):
    path = known / "launch.py"
    path.write_text(path.read_text().replace("    kernel[(1,)](x, BLOCK=64", "    if x is not None:\n        kernel[(1,)](x, BLOCK=64"))
    assert overflows(lint) == []


def test_files_that_move_and_another_folder_to_start_in(lint, known, monkeypatch):
    folder = known / "ops"
    folder.mkdir()
    for name in ("launch.py", "kernels.py"):
        (known / name).rename(folder / name)
    assert overflows(lint) == [] and overflows(lint, "ops") == []


def test_a_copy_is_new(lint, known):
    path = known / "launch.py"
    path.write_text(path.read_text() + COPY)
    assert overflows(lint) == [("launch.py", 13)]
    assert lint("baseline", "--output", "known.json")[0] == 0
    assert overflows(lint) == []


def test_more_bytes_are_new(lint, known):
    path = known / "launch.py"
    path.write_text(path.read_text().replace("BLOCK=64", "BLOCK=128"))
    assert overflows(lint) == [("launch.py", 9)]


def test_what_is_known_is_counted(lint, known):
    _, out, _ = lint("check", "--output-format", "json", "--baseline", "known.json")
    assert json.loads(out)["summary"]["in_baseline"] == 1
    assert lint("check", "--baseline", "known.json")[1].endswith(" 1 finding of the baseline is left out.\n")


@pytest.mark.parametrize("text", ["", "[]", '{"version": 2, "findings": []}', '{"version": 1, "findings": [{}]}'])
def test_what_is_no_baseline(lint, known, text):
    (known / "known.json").write_text(text)
    code, _, told = lint("check", "--baseline", "known.json")
    assert code == 2 and "known.json: not a baseline" in told
