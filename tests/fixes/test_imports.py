"""Where a new import goes: ``ruff check --isolated --select I`` (0.17.6, default settings) finds nothing to sort in the results."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from smem_lint.fixes.imports import importing
from smem_lint.fixes.text import Text

NEW = "import smem_lint\n"
USE = "\nx = 1\n"
CASES = {
    "between": ("import os\n\nimport numpy as np\n", "import torch\nimport triton\n" + USE),
    "before from": ("import numpy\n", "from triton import language\n" + USE),
    "below all": ("import numpy\nimport scipy\n", "\nfrom . import local\n" + USE),
    "docstring and future": ('"""Doc."""\n\nfrom __future__ import annotations\n\n', "import torch\n" + USE),
    "the header stays": ("# SPDX: MIT\n", "import torch\n" + USE),
    "a comment goes with its import": ("import numpy\n", "\n# for the kernels\nimport torch\n" + USE),
    "a comment above a section": ("import os\n\n", "\n# for the kernels\nimport torch\n" + USE),
    "try": ("import os\n\nimport numpy\n", "import torch\n\ntry:\n    import triton\nexcept ImportError:\n    triton = None\n"),
    "capitals": ("import PIL\n", "import Torchy\n" + USE),
    "brackets": ("import numpy\n", "from torch import (\n    Tensor,  # kept\n    nn,\n)\n" + USE),
}
ALONE = {
    "only future": ('"""Doc."""\n\nfrom __future__ import annotations\n', "\n" + NEW + USE, USE),
    "only standard library": ("import os\nimport sys\n", "\n" + NEW + USE, USE),
    "above relative": ("import os\n", "\n" + NEW + "\nfrom . import local\n" + USE, "\nfrom . import local\n" + USE),
    "only relative": ("", NEW + "\nfrom .. import local\n" + USE, "from .. import local\n" + USE),
    "none": ('"""Doc."""\n\n', NEW + USE, "x = 1\n"),
}
PAIRS = {
    **{
        name: (above + (below[1:] if name == "a comment above a section" else below), above + NEW + below)
        for name, (above, below) in CASES.items()
    },
    **{name: (above + before, above + after) for name, (above, after, before) in ALONE.items()},
}


def added(source, name="smem_lint"):
    text = Text(source.encode())
    return text.edited(importing(text, name)).decode()


@pytest.mark.parametrize(("source", "expected"), PAIRS.values(), ids=PAIRS)
def test_a_new_import_stands_where_isort_puts_it(source, expected):
    assert added(source) == expected


@pytest.mark.parametrize(("source", "expected"), PAIRS.values(), ids=PAIRS)
def test_ruff_has_nothing_to_sort(source, expected, tmp_path):
    ruff = Path(sys.executable).with_name("ruff")
    ruff = str(ruff) if ruff.exists() else shutil.which("ruff")
    if ruff is None:
        pytest.skip("ruff is not installed")
    path = tmp_path / "kernels.py"
    path.write_text(expected)
    assert added(source) == expected
    command = [ruff, "check", "--isolated", "--select", "I", "--no-cache", path.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_group_of_torch_is_the_one_of_packages():
    source = "from mine import a\n\nimport torch\n"
    assert added(source) == "from mine import a\n\nimport smem_lint\nimport torch\n"


def test_line_ends_and_a_missing_last_one():
    assert added("import torch\r\nx = 1\r\n") == "import smem_lint\r\nimport torch\r\nx = 1\r\n"
    assert added("import numpy") == "import numpy\nimport smem_lint\n"
