"""The workflow files and docs/verification.md: every command of smem-lint in them is one that the command line understands."""

import re
import shlex

import pytest
from verify_bench import ROOT

from smem_lint.cli.arguments import parser

PLACES = [".github/workflows/ci.yml", ".github/workflows/nightly-gpu.yml", "docs/verification.md"]


def commands(name):
    yaml = pytest.importorskip("yaml", reason="workflows are YAML")
    text = (ROOT / name).read_text()
    if name.endswith(".md"):
        lines = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    else:
        steps = [step for job in yaml.safe_load(text)["jobs"].values() for step in job["steps"] if "run" in step]
        lines = [line for step in steps for line in step["run"].splitlines()]
    for line in lines:
        words = shlex.split(re.sub(r"\$\{\{.*?\}\}|\$[A-Z_]+", "7", line), comments=True)
        if words and words[0].rpartition("/")[2] == "smem-lint":
            yield words[1:]


@pytest.mark.parametrize("name", PLACES)
def test_commands(name):
    found = list(commands(name))
    assert found
    for command in found:
        arguments = parser().parse_args(command)
        assert arguments.command == command[0]
        for path in [*getattr(arguments, "paths", []), *getattr(arguments, "root", [])]:
            assert not path.startswith("fixtures/") or (ROOT / path).exists()


def test_what_ci_replays_is_there():
    assert ["verify", "--check-hardware"] in list(commands(".github/workflows/ci.yml"))


def test_the_night_asks_the_device_and_keeps_its_answers():
    (night,) = [one for one in commands(".github/workflows/nightly-gpu.yml") if "gpu" in one]
    assert {"--resume", "--report", "--sample", "--seed"} <= set(night)
