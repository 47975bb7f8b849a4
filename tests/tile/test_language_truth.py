"""The front end against Triton 3.8.0's, operation by operation, on kernels of every construct of the language.

``fixtures/truth/language_frontend.jsonl.gz`` holds, for each specialization of the kernels in ``fixtures/kernels/language``, the
text of ``ASTSource(kernel, signature, constexprs, attrs).make_ir(target, options, …)``: the IR before any pass.
``test_text_is_the_compilers`` makes it anew where Triton is installed.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from smem_lint.source.modules import Repository
from smem_lint.specialization import Specialization
from smem_lint.tile.frontend import build
from smem_lint.tile.unsupported import KernelError
from smem_lint.verify.ir_text import difference

from . import compiler_frontend

FIXTURES = Path(__file__).parents[2] / "fixtures"


@lru_cache(maxsize=1)
def _records() -> list[dict[str, Any]]:
    with gzip.open(FIXTURES / "truth" / "language_frontend.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


@lru_cache(maxsize=1)
def _repository() -> Repository:
    return Repository([FIXTURES / "kernels"])


def _kernels() -> list[str]:
    return sorted({f"{record['file']}::{record['kernel']}" for record in _records()})


@pytest.mark.parametrize("kernel", _kernels())
def test_same_operations_as_the_compiler(kernel: str) -> None:
    file, _, name = kernel.partition("::")
    for record in _records():
        if (record["file"], record["kernel"]) == (file, name):
            ours = compiler_frontend.tidied(build(_repository(), Specialization.from_record(record)))
            theirs = compiler_frontend.of_text(record["frontend"])
            assert difference(ours, theirs) is None, record["signature"] | record["constexprs"]


def test_refused_as_by_the_compiler() -> None:
    """``uint8 / int32`` differ in signedness, sm_80 has no fp8e4nv: errors of Triton 3.8.0."""
    refused = [
        record for record in map(json.loads, (FIXTURES / "truth" / "language.jsonl").read_text().splitlines()) if "error" in record
    ]
    assert len(refused) == 3
    for record in refused:
        with pytest.raises(KernelError, match=r"signedness|fp8e4nv is not supported"):
            build(_repository(), Specialization.from_record(record))


@pytest.mark.parametrize("index", [0, 40, 80, 120, 160, 200])
def test_text_is_the_compilers(index: int) -> None:
    pytest.importorskip("triton", reason="needs the compiler whose text is stored")
    record = _records()[index]
    assert difference(compiler_frontend.of_text(_frontend_text(record)), compiler_frontend.of_text(record["frontend"])) is None


def _frontend_text(record: dict[str, Any]) -> str:
    import triton
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.compiler.compiler import make_backend

    if not triton.__version__.startswith("3.8."):
        pytest.skip("the stored text is of Triton 3.8")
    spec = importlib.util.spec_from_file_location("kernels_under_test", FIXTURES / "kernels" / record["file"])
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kernel = getattr(module, record["kernel"])
    names = list(record["signature"])
    constexprs = {(names.index(name),): _plain(value) for name, value in record["constexprs"].items()}
    attrs = {(names.index(name),): [[key, value] for key, value in facts.items()] for name, facts in record["attrs"].items()}
    target = GPUTarget("cuda", int(record["target"].split(":")[1]), 32)
    backend = make_backend(target)
    options = backend.parse_options({"num_warps": record["num_warps"], "num_stages": record["num_stages"]})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    source = ASTSource(kernel, record["signature"], constexprs, attrs)
    made = source.make_ir(target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context)
    return str(made.str_nodebug())


def _plain(value: Any) -> Any:
    import triton.language as tl

    if isinstance(value, dict):
        names = {"fp8e4nv": "float8e4nv", "fp8e5": "float8e5", "bf16": "bfloat16"}
        name = value["dtype"]
        return getattr(tl, names.get(name, name.replace("fp", "float")))
    return value
