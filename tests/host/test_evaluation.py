"""The abstract interpreter: what it knows is what Python computes, what it cannot know is unknown, and nothing takes long."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from smem_lint.host import Config, resolve
from smem_lint.host.program import Program
from smem_lint.host.values import UNKNOWN, DType, Symbol
from smem_lint.source.modules import Repository

PROGRAM = """
import functools, itertools, math
from collections import defaultdict
from dataclasses import dataclass, field
from enum import Enum

NUMBERS = [n for n in range(10) if n % 3]
NESTED = [(a, b) for a in (1, 2) for b in "xy" if not (a == 2 and b == "x")]
PRODUCT = list(itertools.product([1, 2], repeat=2))
TABLE = {k: v for k, v in zip("abc", range(3))}
MERGED = {**TABLE, "d": 9}
UNPACKED, *REST = 1, 2, 3
TEXT = f"{3:>4}|{2.5:.1f}|{TABLE['b']}"
CHAIN = 1 < 2 <= 2 != 3
SLICED = NUMBERS[1:-1:2]
TERNARY = "yes" if TABLE.get("z", 4) > 3 else "no"
LAMBDA = (lambda x, y=2: x * y)(4)
SORTED = sorted([3, 1, 2], reverse=True)
BY_KEY = sorted(["bb", "a"], key=len)
SUMMED = sum(x * x for x in NUMBERS)
WALRUS = [y for x in (1, 2) if (y := x + 1) > 2]
BITS = (1 << 5 | 3) & ~1
CEIL = math.ceil(7 / 2)
ANY = any(n > 8 for n in NUMBERS), all(n > 8 for n in NUMBERS)
REDUCED = functools.reduce(lambda a, b: a * b, [1, 2, 3, 4])

def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)
FIB = fibonacci(7)

def collect(limit, *extra, step=1, **options):
    out = []
    i = 0
    while True:
        i += step
        if i == 3:
            continue
        if i > limit:
            break
        out.append(i)
    for name, value in options.items():
        out.append((name, value))
    else:
        out.extend(extra)
    return out
COLLECTED = collect(5, "e", step=1, k=2)

def generate():
    for i in range(3):
        yield i
    yield from [7, 8]
GENERATED = list(generate())

def guarded(key):
    try:
        return {"a": 1}[key]
    except KeyError:
        return -1
    finally:
        pass
GUARDED = guarded("a"), guarded("b")

@dataclass
class Options:
    size: int
    warps: int = 4
    tags: list = field(default_factory=list)
    @property
    def total(self):
        return self.size * self.warps
    def scaled(self, by):
        return Options(self.size * by).total
TOTAL = Options(3).total
SCALED = Options(3, warps=1).scaled(2)

class Arch(Enum):
    ADA = 1
    HOPPER = 2
    @classmethod
    def named(cls, name):
        try:
            return cls[name.upper()].value
        except KeyError:
            return cls.ADA.value
ENUM = Arch.named("hopper"), Arch.named("none")

COUNTS = defaultdict(list)
for word in ("a", "b", "a"):
    COUNTS[word].append(len(COUNTS))
COUNTED = dict(COUNTS)

LADDER = []
for m in (1, 32, 64, 200):
    if m <= 16:
        LADDER.append(16)
    elif m <= 64:
        LADDER.append(m)
    else:
        LADDER.append(128)

REBOUND = [1, 2, 3, 4]
REBOUND = list(filter(lambda x: x > 1, REBOUND))
REBOUND = list(map(lambda x: x * 2, REBOUND))
if len(REBOUND) > 2:
    BRANCH = "long"
else:
    BRANCH = "short"
try:
    import json as J
    HAVE = True
except ImportError:
    HAVE = False
"""


def program(tmp_path: Path, text: str, capability: int = 120) -> tuple[Program, Any]:
    (tmp_path / "m.py").write_text(text)
    made = Program(Repository([tmp_path]), capability)
    return made, made.repository.module("m.py")


def test_what_is_known_is_what_python_computes(tmp_path: Path) -> None:
    expected: dict[str, Any] = {}
    exec(PROGRAM, expected)
    made, module = program(tmp_path, PROGRAM)
    names = [name for name in expected if name.isupper() and name not in ("COUNTS", "J")]
    assert len(names) > 30
    ours = {name: made.module_value(module, name) for name in names}
    assert ours == {name: expected[name] for name in names}


PLATFORM = """
import os
import torch
import triton
from packaging import version

def is_cuda():
    return triton.runtime.driver.active.get_current_target().backend == "cuda"
def is_hip():
    return triton.runtime.driver.active.get_current_target().backend == "hip"
def num_sms():
    return torch.cuda.get_device_properties("cuda").multi_processor_count
CUDA, HIP = is_cuda(), is_hip()
HOPPER = torch.cuda.get_device_capability()[0] == 9
BLACKWELL = torch.cuda.get_device_capability() >= (10, 0)
FLAG = os.getenv("SOME_FLAG", "0") == "1"
OTHER = os.environ.get("OTHER") is None
ROCM = torch.version.hip is not None
LIMIT = triton.runtime.driver.active.utils.get_device_properties(0)["max_shared_mem"]
SMS = num_sms()
NEW = version.parse(triton.__version__) >= version.parse("3.4.0")
STAGES = 2 if is_hip() else 4
"""


@pytest.mark.parametrize(
    ("capability", "expected"),
    [
        (120, {"HOPPER": False, "BLACKWELL": True, "LIMIT": 101_376, "SMS": 188}),
        (90, {"HOPPER": True, "BLACKWELL": False, "LIMIT": 232_448, "SMS": 132}),
    ],
)
def test_the_machine_is_the_target(tmp_path: Path, capability: int, expected: dict[str, Any]) -> None:
    made, module = program(tmp_path, PLATFORM, capability)
    always = {"CUDA": True, "HIP": False, "FLAG": False, "OTHER": True, "ROCM": False, "NEW": True, "STAGES": 4}
    for name, value in {**expected, **always}.items():
        assert made.module_value(module, name) == value, name


UNKNOWNS = """
import torch
import somewhere
A = somewhere.size()
B = A + 1
if A > 3:
    C = 1
else:
    C = 2
D = [x for x in A]
try:
    import absent_package
    E = True
except ImportError:
    E = False
F = "x" if A else "y"
"""


@pytest.mark.parametrize("name", ["A", "B", "C", "D", "F"])
def test_what_is_not_known_says_why(tmp_path: Path, name: str) -> None:
    made, module = program(tmp_path, UNKNOWNS)
    value = made.module_value(module, name)
    assert isinstance(value, Symbol) and value.reason


@pytest.mark.parametrize(
    "text",
    [
        "X = 1 << 10**9",
        "X = 'a' * 10**10",
        "X = [i for i in range(10**12)]",
        "X = list(range(10**12))",
        "import itertools\nX = list(itertools.product(*[range(10)] * 10))",
        "X = 9**9**9**9",
        "X = 'x'\nfor i in range(100): X = X + X",
        "X = [1]\nfor i in range(10**12): X.append(i)",
        "def f(): return f()\nX = f()",
        "def f(): return g()\ndef g(): return f()\nX = f()",
        "def f(n): return f(n - 1) + f(n - 2)\nX = f(60)",
        "def f():\n    while True: pass\nX = f()",
        "X = Y\nY = X",
        "X = (lambda f: f(f))(lambda f: f(f))",
        "X = f'{1:>1000000000}'",
        "X = 'a'.replace('a', 'a' * 10**6).replace('a', 'a' * 10**6)",
        "import math\nX = math.factorial(10**8)",
        "X = [[]] * 99999\nX = [X] * 99999 == [X] * 99998",
        "T = (1,)\nfor i in range(64): T = (T, T)\nX = {T: 1}",
        "X = sum(range(10**9))",
        "X = 10**4000 * 10**4000",
    ],
)
def test_hostile_input_ends_soon(tmp_path: Path, text: str) -> None:
    start = time.perf_counter()
    made, module = program(tmp_path, text)
    value = made.module_value(module, "X")
    assert isinstance(value, Symbol) or value is UNKNOWN
    assert time.perf_counter() - start < 8


def test_ten_thousand_configs(tmp_path: Path) -> None:
    made, module = program(tmp_path, "import triton\nX = [triton.Config({'A': i}, num_warps=4) for i in range(10000)]")
    value = made.module_value(module, "X")
    assert len(value) == 10_000 and value[-1].kwargs == {"A": 9_999}


def test_types_of_torch_and_triton_are_one(tmp_path: Path) -> None:
    made, module = program(
        tmp_path, "import torch\nimport triton.language as tl\nA = torch.bfloat16\nB = tl.bfloat16\nC = torch.float8_e4m3fn"
    )
    assert made.module_value(module, "A") == made.module_value(module, "B") == DType("bfloat16")
    assert made.module_value(module, "C") == DType("float8e4nv")


def test_a_package_that_may_be_missing_is_not_decided(tmp_path: Path) -> None:
    made, module = program(tmp_path, UNKNOWNS)
    assert isinstance(made.module_value(module, "E"), Symbol)


GLOBALS = """
import torch, triton
import triton.language as tl

_resolved = False
_width = 256

def _resolve():
    global _resolved, _width
    _resolved = True
    if torch.cuda.get_device_properties(0).shared_memory_per_block_optin <= 106496:
        _width = 128

@triton.jit
def kernel(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 0)

def run(x):
    if not _resolved:
        _resolve()
    kernel[(1,)](x, BLOCK=_width)
"""


def test_a_function_that_assigns_module_level_names(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(GLOBALS)
    for capability, width in ((120, 128), (90, 256)):
        found = [item for item in resolve(Repository([tmp_path]), ["m.py"], capability=capability) if isinstance(item, Config)]
        assert [config.constexprs["BLOCK"] for config in found] == [width]
