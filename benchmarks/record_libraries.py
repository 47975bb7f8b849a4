"""Record libraries of PyPI with no GPU, and hold every record against the compiler.

usage: python benchmarks/record_libraries.py [--target sm_120] [--cache DIR] [--output FILE] [--sample N] [--report FILE] [PART ...]

Fetches liger-kernel, fla-core and moe-ops (``--cache DIR`` keeps them), runs ``recorded_program.py`` under
``smem-lint record --no-gpu`` and then ``smem-lint verify --engine compiler`` on what it wrote. Needs Triton and torch; no GPU.
PARTs are ``liger``, ``fla`` and ``moe``. Ends as ``verify`` does: 0 where every record is accepted and estimated rightly.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from score import fetch

PACKAGES = {
    "liger": [("liger-kernel", "0.8.5")], "fla": [("fla-core", "0.6.0"), ("einops", "0.8.1")], "moe": [("moe-ops", "0.1.0")],
}  # fmt: skip
PROGRAM = Path(__file__).with_name("recorded_program.py")
LINT = [sys.executable, "-c", "import sys; from smem_lint.cli import main; sys.exit(main())"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="liger, fla, moe (default: all)")
    parser.add_argument("--target", default="sm_120")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--output", default="launches.jsonl")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--report")
    parser.add_argument("--jobs", type=int, default=0)
    arguments = parser.parse_args()
    parts = arguments.parts or list(PACKAGES)
    with tempfile.TemporaryDirectory() as scratch:
        roots = fetch([one for part in parts for one in PACKAGES[part]], arguments.cache or Path(scratch))
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*map(str, roots), os.environ.get("PYTHONPATH", "")])}
        record = ["record", "--no-gpu", "--target", arguments.target, "--output", arguments.output]
        code = subprocess.run([*LINT, *record, "--", sys.executable, str(PROGRAM), *parts], env=environment).returncode
        if code:
            return 2
        verify = ["verify", arguments.output, "--engine", "compiler", "--jobs", str(arguments.jobs)]
        verify += [option for root in roots for option in ("--root", str(root))]
        verify += ["--sample", str(arguments.sample)] if arguments.sample else []
        verify += ["--report", arguments.report] if arguments.report else []
        return subprocess.run([*LINT, *verify]).returncode


if __name__ == "__main__":
    sys.exit(main())
