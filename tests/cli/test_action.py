"""``action.yml``: its steps are run here as GitHub runs them, with the inputs as variables and the files that a runner gives."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml", reason="PyYAML comes with pre-commit (extra dev)")
ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
(CHECK,) = [step for step in ACTION["runs"]["steps"] if step.get("id") == "check"]

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")


@pytest.fixture
def act(tmp_path):
    """Run the step in a folder with one fixture: (exit code, standard output, what it says of its exit code)."""
    (tmp_path / "my kernels").mkdir()
    shutil.copy(ROOT / "fixtures" / "kernels" / "mla_decode.py", tmp_path / "my kernels")
    shutil.copy(ROOT / "fixtures" / "kernels" / "softmax.py", tmp_path)

    def act(**given):
        inputs = {name: one.get("default", "") for name, one in ACTION["inputs"].items()} | {"args": "--engine model"} | given
        variables = {
            name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: inputs[found[1]], value) for name, value in CHECK["env"].items()
        }
        output = tmp_path / "output"
        output.write_text("")
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", CHECK["run"]], cwd=tmp_path, capture_output=True, text=True,
            env={**os.environ, **variables, "GITHUB_OUTPUT": str(output), "PATH": path}, timeout=120,
        )  # fmt: skip
        return done.returncode, done.stdout, output.read_text()

    return act


def test_findings_stand_as_annotations_and_fail_the_step(act):
    code, out, told = act()
    assert (code, told) == (1, "exit-code=1\n")
    (error,) = [line for line in out.splitlines() if line.startswith("::error")]
    assert error.startswith("::error file=my kernels/mla_decode.py,line=82,") and "102,400 bytes" in error


def test_paths_one_a_line_may_hold_spaces(act):
    assert act(paths="my kernels\n")[0] == 1
    assert act(paths="softmax.py\n\n")[0] == 0
    assert act(paths="softmax.py my\n")[0] == 2


def test_paths_are_separated_by_spaces(act, tmp_path):
    (tmp_path / "more").mkdir()
    shutil.copy(ROOT / "fixtures" / "kernels" / "reductions.py", tmp_path / "more")
    assert act(paths="softmax.py more")[0] == 0


def test_a_target_that_has_the_memory(act):
    assert act(target="H100")[0] == 0


def test_a_report_in_a_file(act, tmp_path):
    code, out, _ = act(**{"output-format": "sarif", "output-file": "smem-lint.sarif"})
    assert (code, out) == (1, "") and '"SMEM001"' in (tmp_path / "smem-lint.sarif").read_text()


def test_inputs_are_never_run(act, tmp_path):
    code, _, told = act(paths="$(touch ran);`touch ran`", args="--engine model $(touch${IFS}ran)")
    assert code == 2 and told == "exit-code=2\n" and not (tmp_path / "ran").exists()


def test_no_input_is_put_into_a_script():
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
    assert set(ACTION["inputs"]) - {"python-version"} == set(re.findall(r"inputs\.([\w-]+)", " ".join(CHECK["env"].values())))


@pytest.mark.parametrize(
    ("kind", "file"),
    [("actions", "action.yml"), ("workflows", ".github/workflows/ci.yml"), ("workflows", ".github/workflows/nightly-gpu.yml")],
)
def test_the_files_are_what_github_reads(kind, file):
    """Against the schemas of schemastore.org that check-jsonschema brings along."""
    pytest.importorskip("check_jsonschema", reason="the schemas come with check-jsonschema (extra dev)")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.github-{kind}", str(ROOT / file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_no_expression_of_github_is_put_into_a_script():
    """Text that stands in ``${{ … }}`` within a script would be run by it."""
    files = [ROOT / "action.yml", *sorted((ROOT / ".github" / "workflows").glob("*.yml"))]
    for file in files:
        read = yaml.safe_load(file.read_text())
        steps = read["runs"]["steps"] if "runs" in read else [step for job in read["jobs"].values() for step in job["steps"]]
        assert not [step["run"] for step in steps if "${{" in step.get("run", "")], file
