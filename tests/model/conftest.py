"""Libraries from PyPI, fetched once and kept, for the tests that read them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

CACHE = ROOT / ".smem_lint_cache" / "wheels"


@pytest.fixture(scope="session")
def library_root():
    """``library_root(name, version)``: the folder that the package's wheel unpacks to. Skips where PyPI is not reached."""
    from score import fetch

    def root(name: str, version: str) -> Path:
        try:
            (found,) = fetch([(name, version)], CACHE)
        except (subprocess.CalledProcessError, OSError) as error:
            pytest.skip(f"{name} {version} could not be fetched from PyPI: {error}")
        return found

    return root
