"""The kernels of ``fixtures/kernels/frontend`` as Triton's clean-up leaves them.

usage: python -m tests.tile.frontend_truth      (needs Triton 3.8; writes fixtures/truth/frontend.jsonl.gz)

For each specialization the text of ``make_ttir`` of the NVIDIA backend (front end, inliner, canonicalizer, combine,
reorder_broadcast, cse, symbol_dce, loop_unroll), or what the compiler said when it refused.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "fixtures" / "kernels" / "frontend"
TRUTH = ROOT / "fixtures" / "truth" / "frontend.jsonl.gz"

_X = "*fp32"
_XO = {"x_ptr": _X, "out_ptr": _X}
_XON = {**_XO, "n": "i32"}
_64 = {"SIZE": 64}


def specializations() -> list[dict[str, Any]]:
    """One record for each way in which a kernel is compiled here."""
    return [
        _record("control.py", "branch_results", _XON, _64),
        _record("control.py", "branch_nested", {**_XON, "m": "i32"}, _64),
        *(_record("control.py", "early_returns", {**_XON, "m": "i32"}, {**_64, "FLAG": flag}) for flag in (True, False)),
        *(_record("control.py", "ternaries", {**_XON, "m": "i32"}, {**_64, "FLAG": flag}) for flag in (True, False)),
        _record("control.py", "loop_carried", {"x_ptr": _X, "y_ptr": _X, "out_ptr": _X, "n": "i32"}, _64),
        _record("control.py", "loop_of_loops", {**_XON, "m": "i32"}, _64),
        _record("control.py", "loop_bounds", {**_XON, "big": "i64", "ptr": "*i32"}, {**_64, "COUNT": 4}),
        _record("control.py", "static_loops", _XON, {**_64, "COUNT": 3}),
        _record("control.py", "loop_attributes", _XON, {**_64, "STAGES": 2}),
        _record("control.py", "while_loops", _XON, _64),
        _record("control.py", "hints", _XON, _64),
        _record("control.py", "numbers", {**_XON, "f": "fp32"}, {**_64, "N": 7, "F": 1.5, "B": True}),
        _record("control.py", "numbers", {"x_ptr": "*bf16", "out_ptr": _X, "n": "i64", "f": "fp32"}, {**_64, "N": 7, "F": 1.5, "B": False}),
        _record("control.py", "comparisons", _XON, {**_64, "MODE": "double", "NOTHING": None}),
        _record("control.py", "comparisons", {"x_ptr": "*fp16", "out_ptr": "*fp16", "n": "i32"}, {**_64, "MODE": "none", "NOTHING": 3}),
        _record("control.py", "comparisons", _XON, {"SIZE": 8, "MODE": "half", "NOTHING": 3}),
        _record("functions.py", "calls", _XON, _64),
        _record("functions.py", "early_callees", {**_XON, "m": "fp32"}, _64),
        _record("functions.py", "callee_loops", _XON, _64),
        _record("functions.py", "combines", _XO, {"ROWS": 16, "COLS": 32}),
        *(_record("functions.py", "constants", _XO, {**_64, "KIND": kind}) for kind in ("large", "even", "other")),
        _record("functions.py", "tuples", {"x_ptr": _X, "y_ptr": _X, "out_ptr": _X, "n": "i32"}, _64),
        _record("functions.py", "walrus", _XON, _64),
        _record("functions.py", "block_pointers", {**_XON, "stride": "i32"}, {"ROWS": 16, "COLS": 32}),
        _record("functions.py", "descriptors", {**_XON, "m": "i32"}, {"ROWS": 16, "COLS": 32}),
        *_odd(),
    ]


def _odd() -> list[dict[str, Any]]:
    tiles = {"BM": 64, "BN": 32, "D": 64}
    pointers = dict.fromkeys(("q_ptr", "k_ptr", "v_ptr", "out_ptr"), "*bf16")
    types = [
        (_X, "*bf16", "*i32", "i32"), (_X, "*bf16", "*i32", "i64"), (_X, "*fp16", "*i64", "i32"), ("*fp64", "*fp16", "*u8", "i32"),
        ("*fp16", "*bf16", "*i8", "u1"),
    ]  # fmt: skip
    return [
        _record("odd.py", "evaluated_twice", {"x_ptr": "*i32", "out_ptr": "*i32", "n": "i32"}, {}),
        _record("odd.py", "induction_after", _XON, _64),
        _record("odd.py", "swaps", _XON, _64),
        *(_record("odd.py", "shadow", _XON, {**_64, "K": k}) for k in (2, 4)),
        *(_record("odd.py", "promotions", {"x_ptr": x, "h_ptr": h, "i_ptr": i, "out_ptr": _X, "n": n}, _64) for x, h, i, n in types),
        _record("odd.py", "loads_in_conditions", _XON, _64),
        _record("odd.py", "none_loops", {"x_ptr": _X, "mask_ptr": "*i1", "out_ptr": _X, "n": "i32"}, _64),
        _record("odd.py", "none_loops", _XON, {**_64, "mask_ptr": None}),
        *(_record("odd.py", "dot_chain", {**pointers, "n": "i32"}, {**tiles, "CAUSAL": causal}) for causal in (True, False)),
        _record("odd.py", "constexpr_in_loop", _XON, _64),
        _record("odd.py", "types_in_branches", _XON, _64),
        _record("odd.py", "plain_global", _XON, _64),
        _record("odd.py", "keyword_only", _XON, _64),
    ]


def _record(file: str, kernel: str, types: dict[str, str], constexprs: dict[str, Any]) -> dict[str, Any]:
    return {
        "file": file, "kernel": kernel, "signature": {**types, **dict.fromkeys(constexprs, "constexpr")}, "constexprs": constexprs,
        "attrs": {}, "num_warps": 4, "num_stages": 3, "num_ctas": 1, "target": "cuda:120",
    }  # fmt: skip


def compiled(record: dict[str, Any]) -> dict[str, str]:
    """``ttir``, or ``error`` where Triton refuses the record."""
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.compiler.compiler import make_backend
    from triton.compiler.errors import CompilationError

    kernel = getattr(_module(record["file"]), record["kernel"])
    names = [parameter.name for parameter in kernel.params]
    constexprs = {(names.index(name),): value for name, value in record["constexprs"].items()}
    backend = make_backend(GPUTarget("cuda", 120, 32))
    options = backend.parse_options({"num_warps": 4, "num_stages": 3})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    source = ASTSource(kernel, {name: record["signature"][name] for name in names}, constexprs, {})
    implementation, modules = backend.get_codegen_implementation(options), backend.get_module_map()
    try:
        module = source.make_ir(GPUTarget("cuda", 120, 32), options, implementation, modules, context)
    except CompilationError as error:
        return {"error": str(error)[-400:]}
    return {"ttir": backend.make_ttir(module, {}, options, 120).str_nodebug()}


def _module(file: str) -> Any:
    name = f"frontend_kernels_{Path(file).stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, KERNELS / file)
        assert spec is not None and spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def main() -> None:
    with gzip.GzipFile(TRUTH, "wb", mtime=0) as out:
        for record in specializations():
            out.write((json.dumps({**record, **compiled(record)}) + "\n").encode())


if __name__ == "__main__":
    main()
