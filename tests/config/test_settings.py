"""Settings: which file is in force, what it may say, and how it is told what is wrong."""

from pathlib import Path

import pytest

from smem_lint.config import ConfigError, Settings, apply, find_config, load


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_nearest_file_wins(tmp_path):
    outer = write(tmp_path / "pyproject.toml", '[tool.smem-lint]\ntarget = "sm_90"\n')
    write(tmp_path / "a" / "pyproject.toml", '[project]\nname = "unrelated"\n')
    inner = write(tmp_path / "a" / "b" / "smem-lint.toml", 'target = "sm_80"\n')
    (tmp_path / "a" / "b" / "c").mkdir()
    assert find_config(tmp_path / "a") == outer
    assert find_config(tmp_path / "a" / "b" / "c") == inner
    assert load(find_config(tmp_path / "a" / "b" / "c" / "file.py")).target == "sm_80"
    assert load(outer).target == "sm_90" and load(outer).origin == str(outer)


def test_a_hidden_file_stands_before_the_others(tmp_path):
    write(tmp_path / "pyproject.toml", "[tool.smem-lint]\n")
    write(tmp_path / "smem-lint.toml", "")
    hidden = write(tmp_path / ".smem-lint.toml", "")
    assert find_config(tmp_path) == hidden


def test_a_broken_project_file_with_our_table_is_not_passed_over(tmp_path):
    path = write(tmp_path / "pyproject.toml", '[tool.smem-lint]\ntarget = "sm_90"\n[project\n')
    assert find_config(tmp_path) == path
    with pytest.raises(ConfigError, match=r"pyproject\.toml"):
        load(path)


def test_a_broken_project_file_of_others_is_passed_over(tmp_path):
    write(tmp_path / "pyproject.toml", "smem-lint = [")
    assert find_config(tmp_path) is None or find_config(tmp_path).parent != tmp_path


def test_every_setting(tmp_path):
    path = write(
        tmp_path / "smem-lint.toml",
        """
        target = ["sm_120", "H100"]
        triton = "3.8"
        engine = "model"
        select = ["SMEM"]
        ignore = "SMEM009"
        exclude = ["third_party"]
        profile = ["vllm", "mine"]
        near-limit = 2048
        max_configs = 10
        jobs = 2
        output-format = "concise"
        assume = { BLOCK_M = 128, KV_Buffer = "*fp8e4nv" }
        per-file-ignores = { "tests/*" = ["SMEM"], "a.py" = "SMEM001" }
        """,
    )
    settings = load(path)
    assert settings.target == "sm_120,H100" and settings.ignore == ("SMEM009",) and settings.near_limit == 2048
    assert settings.assume == {"BLOCK_M": 128, "KV_Buffer": "*fp8e4nv"}
    assert settings.per_file_ignores == {"tests/*": ("SMEM",), "a.py": ("SMEM001",)}
    assert settings.to_json()["per-file-ignores"] == {"tests/*": ["SMEM"], "a.py": ["SMEM001"]}


@pytest.mark.parametrize(
    "text, said",
    [
        ("targets = 'sm_120'", "unknown setting 'targets'; did you mean 'target'?"),
        ("near_limt = 3", "did you mean 'near-limit'?"),
        ("zzzzzz = 3", "unknown setting 'zzzzzz'"),
        ("target = 120", "target: expected text, got 120"),
        ("jobs = -1", "jobs: expected a whole number, got -1"),
        ("jobs = true", "jobs: expected a whole number, got True"),
        ("jobs = 1.5", "jobs: expected a whole number, got 1.5"),
        ("engine = 'magic'", "engine: 'magic' is not one of auto, model, compiler, gpu"),
        ("select = [1]", "select: expected a list of text"),
        ("assume = 'x'", "assume: expected a table"),
        ("per-file-ignores = { 'a' = 3 }", "per-file-ignores: a: expected a list of rules"),
        ("origin = 'x'", "unknown setting 'origin'"),
        ("a = [", "not TOML"),
        ("\x00", "not TOML"),
    ],
)
def test_what_is_wrong_is_told_with_the_file(tmp_path, text, said):
    path = write(tmp_path / "smem-lint.toml", text)
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert said in str(caught.value) and str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)


def test_a_file_that_is_not_there_or_not_text(tmp_path):
    with pytest.raises(ConfigError, match="No such file"):
        load(tmp_path / "nowhere.toml")
    (tmp_path / "smem-lint.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not TOML"):
        load(tmp_path / "smem-lint.toml")


def test_a_project_table_of_another_kind(tmp_path):
    with pytest.raises(ConfigError, match="expected a table"):
        load(write(tmp_path / "pyproject.toml", "[tool]\nsmem-lint = 3\n"))
    with pytest.raises(ConfigError, match="expected a table"):
        load(write(tmp_path / "smem-lint.toml", "tool = 3\n"))


def test_later_settings_win():
    first = apply(Settings(), {"target": "sm_90", "select": ["SMEM001"]}, "file")
    assert apply(first, {"target": "sm_120"}, "command line") == apply(Settings(), {"target": "sm_120", "select": ["SMEM001"]}, "both")
