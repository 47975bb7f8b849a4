"""Small programs that play the compiler's, or a GPU's, process: each way of failing without Triton, and without a device."""

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from smem_lint.cli import main

ROOT = Path(__file__).parents[2]
KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def copy(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.load(x + i))


@triton.jit
def turn(x, y, N: tl.constexpr):
    i, j = tl.arange(0, N), tl.arange(0, N)
    tl.store(y + i[:, None] * N + j[None, :], tl.trans(tl.load(x + i[:, None] * N + j[None, :])))
"""
HELLO = "import json, os, signal, sys, time\nprint(json.dumps({'triton': '3.8.0'}), flush=True)\n"
ANSWER = """
for line in sys.stdin:
    record = json.loads(line)["record"]
    size = record["constexprs"]["N"]
    with open({log!r}, "a") as file:
        file.write(f"{{size}}\\n")
    {body}
    print(json.dumps({{"shared": 0}}), flush=True)
"""


def record(kernel="copy", size=64, target=120, **more):
    signature = {"x": "*fp32", "y": "*fp32", "N": "constexpr"}
    facts = {"x": {"tt.divisibility": 16}, "y": {"tt.divisibility": 16}}
    given = {"file": "kernels.py", "kernel": kernel, "signature": signature, "constexprs": {"N": size}, "attrs": facts}
    return {**given, "num_warps": 4, "num_stages": 3, "num_ctas": 1, "target": f"cuda:{target}", **more}


class Bench:
    """A folder with kernels and records, and ``smem-lint verify`` over them."""

    def __init__(self, folder, capsys):
        self.folder, self.capsys = folder, capsys
        self.log = folder / "asked.txt"
        (folder / "kernels.py").write_text(KERNEL)

    def records(self, records):
        path = self.folder / "records.jsonl"
        path.write_text("".join(json.dumps(one) + "\n" for one in records))
        return path

    def python(self, program):
        """An interpreter that runs this program, whatever it is asked to run."""
        number = len(list(self.folder.glob("child*.py")))
        child = self.folder / f"child{number}.py"
        child.write_text(program)
        script = self.folder / f"python{number}"
        script.write_text(f'#!/bin/sh\nexec {sys.executable} {child} "$@"\n')
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        return str(script)

    def compiler(self, body="pass"):
        """A compiler that finds no shared memory in anything, after ``body``; it writes down what it is asked."""
        return self.python(HELLO + ANSWER.format(log=str(self.log), body=body))

    def asked(self):
        return [int(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def command(self, *arguments):
        return ["verify", str(self.folder / "records.jsonl"), "--root", str(self.folder), "--no-cache", "-j", "1", *map(str, arguments)]

    def verify(self, *arguments):
        """(exit code, standard output, standard error)."""
        code = main(self.command(*arguments))
        captured = self.capsys.readouterr()
        return code, captured.out, captured.err

    def start(self, *arguments, **options):
        """The same in a process of its own, which heeds interrupts also where the tests run in the background."""
        program = "import sys; from smem_lint.cli import main; sys.exit(main())"
        command = [sys.executable, "-c", program, *self.command(*arguments)]
        heed = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed, **options)


needs_dev_full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="/dev/full plays the full disk")
