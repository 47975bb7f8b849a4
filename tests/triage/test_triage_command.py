"""``smem-lint triage``: exit codes, both formats, and the config that asks for the bytes that the log tells.

The bytes of ``mla_decode.py`` are those of Triton 3.8.0 for sm_120 (``fixtures/truth``): 102,400 with two stages.
"""

import io
import json
import shlex
from pathlib import Path

import pytest

from smem_lint.cli import main

FIXTURES = Path(__file__).parents[2] / "fixtures"
LOGS = FIXTURES / "logs"
MLA = """\
(EngineCore pid=7) ERROR 11-20 10:22:01 [core.py:700] Traceback (most recent call last):
(EngineCore pid=7) ERROR 11-20 10:22:01 [core.py:700]   File "/opt/app/kernels/mla_decode.py", line 82, in mla_decode
(EngineCore pid=7) ERROR 11-20 10:22:01 [core.py:700]     _mla_decode_split[grid](
(EngineCore pid=7) ERROR 11-20 10:22:01 [core.py:700]   File "/opt/venv/lib/triton/runtime/jit.py", line 744, in run
(EngineCore pid=7) ERROR 11-20 10:22:01 [core.py:700]     kernel.run(grid_0, grid_1, grid_2, stream)
(EngineCore pid=7) ERROR 11-20 10:22:01 [core.py:700] triton.runtime.errors.OutOfResources: out of resource: shared memory, \
Required: 102400, Hardware limit: 101376. Reducing block sizes or `num_stages` may help.
"""


def test_exit_code_is_zero_for_a_healthy_log(capsys):
    assert main(["triage", str(LOGS / "healthy-ctrl-c.log")]) == 0
    assert "none: no failure" in capsys.readouterr().out


def test_exit_code_is_one_for_a_failure(capsys):
    assert main(["triage", str(LOGS / "shared-memory-vllm-profile.log")]) == 1
    told = capsys.readouterr().out
    assert "required: 102,400 bytes, limit: 101,376, over by 1,024" in told
    assert "stage profile" in told
    assert "sm_120" in told
    assert "the driver's version" in told


@pytest.mark.parametrize("log", ["missing.log", "empty.log", "folder"])
def test_exit_code_is_two_for_what_cannot_be_read(log, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.log").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    assert main(["triage", log]) == 2
    assert capsys.readouterr().err.startswith("smem-lint: error: ")


def test_standard_input(monkeypatch, capsys):
    class Input:
        buffer = io.BytesIO((LOGS / "illegal-access-sanitizer.log").read_bytes())

    monkeypatch.setattr("sys.stdin", Input)
    assert main(["triage", "-", "--output-format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["class"] == "illegal_access"


def test_source_names_the_config_and_what_fits(tmp_path, capsys):
    log = tmp_path / "server.log"
    log.write_text(MLA)
    arguments = ["triage", str(log), "--source", str(FIXTURES / "kernels"), "--output-format", "json", "--engine", "model"]
    assert main(arguments) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["kernel"], told["required"], told["limit"]) == ("_mla_decode_split", 102400, 101376)
    match = told["source"]["matches"][0]
    assert (match["kernel_file"], match["bytes"], match["config"]["num_stages"]) == ("mla_decode.py", 102400, 2)
    assert "*fp8e4nv" in match["config"]["signature"].values()
    assert {"settings": {"num_stages": 1}, "bytes": 83968} in told["source"]["fits"]
    assert told["change"][0] == "set num_stages=1: 83,968 bytes, which fits"


def test_the_command_that_explains_can_be_pasted(tmp_path, capsys, monkeypatch):
    (tmp_path / "server.log").write_text(MLA)
    folder = tmp_path / "my kernels"
    folder.mkdir()
    (folder / "mla_decode.py").write_bytes((FIXTURES / "kernels" / "mla_decode.py").read_bytes())
    monkeypatch.chdir(tmp_path)
    assert main(["triage", "server.log", "--source", "my kernels", "--engine", "model"]) == 1
    (told,) = [line for line in capsys.readouterr().out.splitlines() if "smem-lint explain" in line]
    command = shlex.split(told.split("`")[1])
    assert command == ["smem-lint", "explain", "my kernels/mla_decode.py:82"]
    assert main([*command[1:], "--engine", "model"]) == 1
    assert "One block asks for 102,400 B" in capsys.readouterr().out


def test_source_that_has_no_such_config_says_so(tmp_path, capsys):
    log = tmp_path / "server.log"
    log.write_text(MLA.replace("102400", "102401"))
    assert main(["triage", str(log), "--source", str(FIXTURES / "kernels" / "mla_decode.py"), "--engine", "model"]) == 1
    assert "no config asks for exactly 102,401 bytes" in capsys.readouterr().out


def test_what_comes_close_is_shown_as_such(tmp_path, capsys):
    log = tmp_path / "server.log"
    log.write_text(MLA.replace("102400", "101888"))
    assert main(["triage", str(log), "--source", str(FIXTURES / "kernels" / "mla_decode.py"), "--engine", "model"]) == 1
    told = capsys.readouterr().out
    assert "no config asks for exactly 101,888 bytes" in told and "the nearest asks for 102,400" in told
    assert "close enough for the log to come from another version" in told
    assert "asks for 102,400 bytes with" in told and "set " not in told


def test_a_renamed_kernel_is_found_by_the_function_that_launches_it(tmp_path, capsys):
    """The launch stands on another line of another version; the traceback shows only the first line of the call."""
    log = tmp_path / "server.log"
    log.write_text(
        MLA.replace("_mla_decode_split[grid](", "_kernel_of_old[").replace("line 82, in mla_decode", "line 40, in mla_decode_split")
    )
    assert main(["triage", str(log), "--source", str(FIXTURES / "kernels" / "mla_decode.py"), "--engine", "model"]) == 1
    told = capsys.readouterr().out
    assert "kernel: _kernel_of_old" in told and "asks for 102,400 bytes with" in told


def test_a_launch_that_the_source_lacks_is_said_to_be_missing(tmp_path, capsys):
    log = tmp_path / "server.log"
    log.write_text(MLA.replace("_mla_decode_split[grid](", "_unknown[grid](").replace("line 82", "line 7"))
    assert main(["triage", str(log), "--source", str(FIXTURES / "kernels" / "mla_decode.py"), "--engine", "model"]) == 1
    assert "no launch of this kernel was found" in capsys.readouterr().out


def test_control_characters_of_a_log_do_not_reach_the_terminal(tmp_path, capsys):
    log = tmp_path / "server.log"
    log.write_bytes(b"\x1b]0;title\x07\x1b[2J\nValueError: \x1b[31mred\x1b[0m \x9b2J\n")
    assert main(["triage", str(log)]) == 1
    assert not set(capsys.readouterr().out) & {"\x1b", "\x07", "\x9b"}
