"""Statements, calls and names against Triton 3.8.0: the program after the first clean-up passes is the compiler's.

``fixtures/truth/frontend.jsonl.gz`` is written by ``python -m tests.tile.frontend_truth``.
"""

from __future__ import annotations

import gzip
import json
from functools import lru_cache
from typing import Any

import pytest

from smem_lint.source.modules import Repository
from smem_lint.specialization import Specialization
from smem_lint.tile.cleanup import canonicalize, combine, cse, inliner, loop_unroll, reorder_broadcast, symbol_dce
from smem_lint.tile.frontend import build
from smem_lint.tile.unsupported import KernelError
from smem_lint.verify.ir_text import difference, parse_module

from .frontend_truth import KERNELS, TRUTH, compiled, specializations


@lru_cache(maxsize=1)
def _records() -> list[dict[str, Any]]:
    with gzip.open(TRUTH, "rt") as lines:
        return [json.loads(line) for line in lines]


@lru_cache(maxsize=1)
def _repository() -> Repository:
    return Repository([KERNELS])


def _name(record: dict[str, Any]) -> str:
    told = (str(value) for name, value in record["constexprs"].items() if name not in ("SIZE", "ROWS", "COLS"))
    return "-".join([record["kernel"], *told])


@pytest.mark.parametrize("record", [record for record in _records() if "ttir" in record], ids=_name)
def test_program_is_the_compilers(record: dict[str, Any]) -> None:
    module = build(_repository(), Specialization.from_record(record))
    for stage in (inliner, canonicalize, combine, reorder_broadcast, cse, symbol_dce, loop_unroll):
        stage.run(module)
    theirs = parse_module(record["ttir"])
    for program in (module, theirs):
        _name_callees(program)
    assert difference(module, theirs) is None


@pytest.mark.parametrize("record", [record for record in _records() if "error" in record], ids=_name)
def test_refused_as_by_the_compiler(record: dict[str, Any]) -> None:
    with pytest.raises(KernelError) as caught:
        build(_repository(), Specialization.from_record(record))
    assert caught.value.line is not None and caught.value.file == record["file"]


def test_truth_holds_what_is_compiled_here() -> None:
    assert [{**record, "ttir": None, "error": None} for record in _records()] == [
        {**record, "ttir": None, "error": None} for record in specializations()
    ]
    assert sum("error" in record for record in _records()) == 5


@pytest.mark.parametrize("index", [0, 7, 18, 30, 38])
def test_text_is_the_compilers(index: int) -> None:
    triton = pytest.importorskip("triton", reason="needs the compiler whose text is stored")
    if not triton.__version__.startswith("3.8."):
        pytest.skip("the stored text is of Triton 3.8")
    record = _records()[index]
    assert difference(parse_module(compiled(record)["ttir"]), parse_module(record["ttir"])) is None


def _name_callees(module: Any) -> None:
    """Functions that are kept carry their file's import name, which depends on where the file was loaded from."""
    names = {function.attrs["name"]: f"callee{index}" for index, function in enumerate(module.functions)}
    for function in module.functions:
        function.attrs["name"] = names[function.attrs["name"]]
        for op in function.walk():
            if op.name == "tt.call":
                op.attrs["callee"] = names[op.attrs["callee"]]
