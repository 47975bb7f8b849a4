"""The linter's answer where there is neither Triton nor torch: the same as the compiler's.

The environment has them, so a child process is started in which importing or finding either fails; 102,400 and 63,488 are what
``python -m smem_lint check FILE --engine compiler`` gives with ``triton==3.8.0``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "kernels"
BLOCKED = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("triton", "torch"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
sys.modules["triton"] = sys.modules["torch"] = None

from smem_lint.cli import main

sys.exit(main(sys.argv[1:]))
"""


def check(path: Path) -> dict:
    command = [sys.executable, "-c", BLOCKED, "check", str(path), "--output-format", "json", "--no-cache"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    return json.loads(done.stdout)


def overflows(report: dict) -> set[tuple[str, int, int, str]]:
    found = [one for one in report["results"] if one["rule"] == "SMEM001"]
    return {(one["kernel"], one["bytes"], one["limit"], one["engine"]) for one in found}


def test_the_fixture():
    report = check(FIXTURES / "mla_decode.py")
    assert ("_mla_decode_split", 102_400, 101_376, "model") in overflows(report)


def test_the_launch_in_vllm(library_root):
    file = library_root("vllm", "0.33.0") / "vllm/v1/attention/ops/triton_decode_attention.py"
    report = check(file)
    assert ("_fwd_grouped_kernel_stage1", 102_400, 101_376, "model") in overflows(report)
    (cliff,) = [one for one in report["results"] if one["rule"] == "SMEM002" and one["bytes"] == 102_400]
    assert "63,488 bytes" in cliff["message"]
