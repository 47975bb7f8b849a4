"""``smem-lint completion SHELL``: the scripts, asked by the shells themselves where they are installed."""

import re
import shlex
import shutil
import subprocess

import pytest

from smem_lint.cli import main
from smem_lint.cli.completion import SHELLS, commands

COMMANDS = [one.name for one in commands()]
CASES = [
    ("", COMMANDS),
    ("tri", ["triage"]),
    ("check --eng", ["--engine"]),
    ("check --engine ", ["model", "compiler", "gpu", "auto"]),
    ("check --engine=c", ["compiler"]),
    ("check --target sm_12", ["sm_120", "sm_121"]),
    ("check --target sm_90,sm_12", ["sm_90,sm_120", "sm_90,sm_121"]),
    ("check --select SMEM00", [f"SMEM00{number}" for number in range(1, 10)]),
    ("rule SMEM01", ["SMEM010", "SMEM011"]),
    ("completion ", list(SHELLS)),
    ("check kernels/m", ["kernels/mla.py"]),
    ("explain kernels/mla.py::k --plot kernels/m", ["kernels/mla.py"]),
]


def script(shell, capsys):
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def needs(shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "mla.py").write_text("")
    (tmp_path / "kernels" / "other.py").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("line", "expected"), CASES, ids=[line for line, _ in CASES])
def test_bash(line, expected, folder, capsys):
    needs("bash")
    (folder / "complete.bash").write_text(script("bash", capsys))
    words = ["smem-lint", *re.findall(r"=|[^\s=]+", line), *([""] if not line or line[-1].isspace() else [])]  # as readline breaks them
    ask = f"source complete.bash; COMP_WORDS=({' '.join(map(shlex.quote, words))}); COMP_CWORD={len(words) - 1}; _smem_lint"
    done = subprocess.run(["bash", "--norc", "-c", ask + r'; printf "%s\n" "${COMPREPLY[@]}"'], capture_output=True, text=True, timeout=30)
    assert done.stderr == ""
    found = done.stdout.split()
    assert found == [*expected, "--help", "--version"] if not line else sorted(found) == sorted(expected)


@pytest.mark.parametrize(("line", "expected"), CASES, ids=[line for line, _ in CASES])
def test_fish(line, expected, folder, capsys):
    needs("fish")
    (folder / "complete.fish").write_text(script("fish", capsys))
    ask = f"source complete.fish; complete -C {shlex.quote('smem-lint ' + line)}"
    done = subprocess.run(["fish", "--no-config", "-c", ask], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    found = [one.split("\t")[0].removeprefix("--engine=") for one in done.stdout.splitlines()]
    assert sorted(found) == sorted(expected)


def test_zsh_takes_the_script(folder, capsys):
    needs("zsh")
    (folder / "complete.zsh").write_text(script("zsh", capsys))
    ask = "autoload -Uz compinit; compinit -u -D; source complete.zsh; print $_comps[smem-lint]; whence -w _smem_lint"
    done = subprocess.run(["zsh", "-f", "-c", ask], capture_output=True, text=True, timeout=60)
    assert (done.stdout.split("\n")[:2], done.stderr) == (["_smem_lint", "_smem_lint: function"], "")


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_and_long_option_is_there(shell, capsys):
    text = script(shell, capsys)
    for command in commands():
        for name in (name for word in command.options for name in word.names if name.startswith("--")):
            assert command.name in text and (f"-l {name[2:]} " if shell == "fish" else name) in text


def test_an_unknown_shell_is_refused(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["completion", "tcsh"])
    assert "invalid choice: 'tcsh'" in capsys.readouterr().err
