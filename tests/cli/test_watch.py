"""``check --watch`` as a process: it reports again after each change of a file or of the settings, and ends with Ctrl-C."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent as a signal")


@pytest.fixture
def watched(project):
    """The process, and a function that gives the next line that it writes and that holds a text."""
    command = [sys.executable, "-m", "smem_lint", "check", ".", "--watch", "--engine", "model", "--output-format", "concise"]
    restored = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)  # noqa: E731 - a shell may have it ignored
    process = subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=restored)

    timer = threading.Timer(60, process.kill)
    timer.start()  # what never comes ends the test

    def until(text):
        seen = []
        for line in process.stdout:
            seen.append(line)
            if text in line:
                return "".join(seen)
        raise AssertionError(f"it ended: {''.join(seen)}")

    yield process, until
    timer.cancel()
    process.kill()
    process.wait()
    process.stdout.close()


def write(path, text):
    """As editors save: the time of change is another one, also where clocks are coarse."""
    path.write_text(text)
    os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns + 1_000_000))


def test_from_clean_to_a_finding_to_other_settings(project, watched):
    process, until = watched
    until("watching; end with Ctrl-C")
    launch = project / "launch.py"
    write(launch, launch.read_text().replace("kernel[(1,)](x, BLOCK=64", "kernel[(1,)](x, BLOCK=64 +"))
    assert "launch.py:9:1: problem not valid Python" in until("watching")
    write(launch, "import triton; from kernels import kernel  # smem-lint: ignore[SMEM001]\n")
    assert "launch.py:1:44: SMEM011" in until("watching")
    write(project / "pyproject.toml", '[tool.smem-lint]\nignore = ["SMEM011"]\n')
    told = until("watching")
    assert "SMEM011" not in told
    write(project / "pyproject.toml", "[tool.smem-lint\n")
    until("smem-lint: error: ")
    until("watching")
    write(project / "pyproject.toml", "[tool.smem-lint]\n")
    assert "launch.py:1:44: SMEM011" in until("watching")
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 1 and "Traceback" not in process.stdout.read()
