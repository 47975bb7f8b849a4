"""Processes that work is given to end with the work: on Ctrl-C at once, and when the process that gave it is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from smem_lint.processes import Workers, in_processes, pool

PARENT = """
import os, time
from smem_lint.processes import pool
with pool(2, time.sleep, (0,)) as processes:
    both = [processes.submit(os.getpid) for _ in range(20)]
    print(*{one.result() for one in both}, flush=True)
    both = [processes.submit(time.sleep, 600) for _ in range(4)]
    both[0].result()
"""


def _gone(pids: list[int], seconds: float = 20) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not any(_alive(pid) for pid in pids):
            return True
        time.sleep(0.05)
    return False


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_an_exception_ends_what_still_runs() -> None:
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt), pool(2, time.sleep, (0,)) as processes:
        pid = processes.submit(os.getpid).result()
        for _ in range(5):
            processes.submit(time.sleep, 600)
        raise KeyboardInterrupt
    assert _gone([pid]) and time.monotonic() - started < 30


def _heeds_interrupts() -> None:
    """A shell has what it starts in the background ignore them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc")
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL])
def test_nothing_outlives_the_command(by: signal.Signals) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=_heeds_interrupts
    )
    assert parent.stdout is not None
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert pids
    parent.send_signal(by)
    assert _gone([parent.pid, *pids])
    parent.communicate()


def _nothing() -> None:
    pass


def _dies_once(files: list[Path]) -> list[Path]:
    if files[0].name == "bad" or not files[0].exists():
        files[0].touch()
        os._exit(1)
    return files


def test_a_part_is_tried_again_before_its_files_are(tmp_path: Path) -> None:
    """Processes die for other reasons than their work, too, e.g. where memory is short."""
    parts = [[tmp_path / "once", tmp_path / "other"], [tmp_path / "bad", tmp_path / "third"]]
    (tmp_path / "third").touch()
    workers = Workers(_nothing, (), _dies_once, lambda path: [path / "lost"])
    found = sorted(in_processes(parts, 1, workers))
    assert found == sorted([(2, parts[0]), (1, [tmp_path / "bad" / "lost"]), (1, [tmp_path / "third"])])
