"""Lists of configs that stand in YAML and JSON files, read by code that looks first for the maker of the device.

``shelf/expected.json`` is what Python makes of the lists: ``python -m pytest tests/host/test_lists_in_data_files.py`` with Triton, torch
and PyYAML compares it with a child that imports the package on a stand-in for sm_120, with an ``nvidia-smi`` on its path.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from smem_lint.host.autotune import applied_in, autotune_of
from smem_lint.host.config import Config
from smem_lint.host.configs import resolve
from smem_lint.host.program import Program
from smem_lint.host.values import Kernel, Symbol
from smem_lint.source.modules import Repository

SHELF = Path(__file__).parent / "shelf"
EXPECTED = json.loads((SHELF / "expected.json").read_text("utf8"))

CHILD = """
import importlib.util, json, sys
sys.path.insert(0, sys.argv[1])
spec = importlib.util.spec_from_file_location("stand_in", sys.argv[2])
stand_in = importlib.util.module_from_spec(spec)
spec.loader.exec_module(stand_in)
import torch, triton
triton.runtime.driver.set_active(stand_in.Driver({"capability": 120, "optin": 101376, "per_sm": 102400, "name": "a stand-in"}))
class Properties: major, minor = 12, 0
torch.cuda.get_device_properties = lambda device: Properties
from shelf import kernels
lists = {}
for name in ("copied", "products", "tuned"):
    tuner = getattr(kernels, name)
    lists[tuner.base_fn.__name__] = [
        {"kwargs": one.kwargs, "num_warps": one.num_warps, "num_stages": one.num_stages} for one in tuner.configs
    ]
print(json.dumps(lists))
"""


def lists_of(root: Path, capability: int = 120) -> dict[str, object]:
    program = Program(Repository([root]), capability)
    module = program.repository.module("shelf/kernels.py")
    assert module is not None
    kernels = [Kernel(module, entry.node, "jit", program.module_scope(module)) for name in ("copied", "products")
               for entry in module.function_entries(name)]  # fmt: skip
    found = {}
    for kernel in (*kernels, *applied_in(program, module)):
        autotune = autotune_of(program, kernel)
        assert autotune is not None
        found[kernel.name] = autotune.reason if autotune.configs is None else [
            {"kwargs": one.kwargs, "num_warps": one.num_warps, "num_stages": 3 if one.num_stages is None else one.num_stages}
            for one in autotune.configs
        ]  # fmt: skip
    return found


def test_the_lists_are_those_that_python_makes() -> None:
    assert lists_of(SHELF) == EXPECTED


def test_python_makes_these_lists(tmp_path: Path) -> None:
    for package in ("triton", "torch", "yaml"):
        pytest.importorskip(package, reason=f"the lists are made by Python with {package}")
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\nexit 0\n")
    tool.chmod(0o755)
    stand_in = Path(__file__).parents[2] / "smem_lint" / "verify" / "recorder" / "smem_lint_stand_in.py"
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    made = subprocess.run([sys.executable, "-c", CHILD, str(SHELF), str(stand_in)], env=environment, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout) == EXPECTED


def test_another_generation_takes_another_way() -> None:
    """On sm_90 the package takes the list out, as its GENERATIONS say; Python raises KeyError there."""
    assert lists_of(SHELF, 90)["copied"] == "KeyError"


def test_a_kernel_that_is_tuned_by_a_call_is_launched_with_its_list() -> None:
    launches = [one for one in resolve(Repository([SHELF]), ["shelf/kernels.py"]) if isinstance(one, Config) and one.launch]
    assert [(one.kernel, one.constexprs, one.options["num_warps"]) for one in launches] == [
        ("scaled", {"ROUND": 1, "BLOCK": 128}, 1),
        ("scaled", {"ROUND": 1, "BLOCK": 1024}, 4),
    ]


def read(root: Path, expression: str, files: dict[str, str]) -> object:
    for name, text in files.items():
        (root / name).write_text(text)
    (root / "reading.py").write_text(f"import importlib, json, os, re, yaml\nfrom pathlib import Path\n\nvalue = {expression}\n")
    program = Program(Repository([root]), 120)
    module = program.repository.module("reading.py")
    assert module is not None
    return program.module_value(module, "value")


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("expression", "files"),
    [
        ("yaml.safe_load(open('bomb.yaml'))", {"bomb.yaml": BOMB}),
        ("yaml.safe_load(open('self.yaml'))", {"self.yaml": "&a [*a]\n"}),
        ("yaml.safe_load(open('deep.yaml'))", {"deep.yaml": "[" * 20_000}),
        ("json.load(open('deep.json'))", {"deep.json": "[" * 200_000}),
        ("json.load(open('large.json'))", {"large.json": "[" + "0," * 1_500_000 + "0]"}),
        ("open('../outside.txt').read()", {}),
        ("open('/etc/passwd').read()", {}),
        ("open('link.txt').read()", {}),
        ("(Path(__file__).parent / '..' / 'outside.txt').read_text()", {}),
        ("open('new.txt', 'w')", {}),
        ("open('\\0').read()", {}),
        ("open('a' * 5000).read()", {}),
        ("importlib.import_module('a' * 5000)", {}),
        ("importlib.import_module('a.' * 3000 + 'a')", {}),
        ("re.match('(a+)+$', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!')", {}),
        ("re.match('a*a*a*a*a*a*a*a*b', 'a' * 200)", {}),
        ("yaml.load(open('code.yaml'), yaml.UnsafeLoader)", {"code.yaml": "!!python/object/apply:os.system [touch made]\n"}),
    ],
)  # fmt: skip
def test_hostile_files_are_not_known_soon(tmp_path: Path, expression: str, files: dict[str, str]) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside.txt").write_text("secret")
    (root / "link.txt").symlink_to(tmp_path / "outside.txt")
    started = time.monotonic()
    assert isinstance(read(root, expression, files), Symbol)
    assert time.monotonic() - started < 10
    assert not (root / "new.txt").exists() and not (root / "made").exists()


def test_data_is_read_as_it_stands(tmp_path: Path) -> None:
    files = {"data.yaml": "a: [1, 2.5, yes, null, text]\n", "data.json": '{"b": [1, true]}'}
    assert read(tmp_path, "yaml.safe_load(open('data.yaml'))", files) == {"a": [1, 2.5, True, None, "text"]}
    assert read(tmp_path, "json.load(Path('data.json').open())", {}) == {"b": [1, True]}
    assert read(tmp_path, "[one.name for one in Path('.').iterdir() if one.suffix == '.yaml']", {}) == ["data.yaml"]
    assert read(tmp_path, "os.path.exists('data.json')", {}) is True
    assert read(tmp_path, r"re.match(r'(\d+)\.(\d+)', '2.13.0').groups()", {}) == ("2", "13")
