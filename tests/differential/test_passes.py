"""Each clean-up pass of the model against the compiler's own, for every kernel of ``fixtures/truth/fixtures.jsonl``.

The compiler's programs are made here, by ``smem_lint.verify.oracle``; without Triton 3.8 there is nothing to compare with.
The runner for a person is ``run_pass.py`` in this folder.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest

triton = pytest.importorskip("triton", reason="the passes of the installed Triton are what these tests compare with")
if not triton.__version__.startswith("3.8."):
    pytest.skip("the model's passes are those of Triton 3.8", allow_module_level=True)

from random_programs import program  # noqa: E402
from run_pass import REGISTRY, named, resolve  # noqa: E402

from smem_lint.source.modules import Repository  # noqa: E402
from smem_lint.specialization import Specialization  # noqa: E402
from smem_lint.verify.ir_text import difference, parse_module  # noqa: E402
from smem_lint.verify.oracle import Step, load, steps_of  # noqa: E402

_FIXTURES = Path(__file__).parents[2] / "fixtures"
_CLEANUP = (
    "inliner", "canonicalizer", "combine", "reorder_broadcast", "cse", "symbol_dce", "loop_unroll", "rewrite_tensor_descriptor_to_pointer",
    "sccp", "triton_licm", "loop_aware_cse", "fuse_nested_loops", "combine_tensor_select_and_if", "optimize_accumulator_init",
    "gluon_inliner",
)  # fmt: skip


def _records() -> list[dict[str, Any]]:
    """The first record of every kernel, and every seventh of the others."""
    lines = [json.loads(line) for line in (_FIXTURES / "truth" / "fixtures.jsonl").read_text().splitlines()]
    lines = [record for record in lines if "shared" in record]
    first = {(record["file"], record["kernel"]): record for record in reversed(lines)}
    return [*first.values(), *lines[::7]]


@functools.cache
def _steps(number: int, folder: Path) -> list[Step]:
    record = _records()[number]
    specialization = Specialization.from_record(record)
    kernel = load(Repository([_FIXTURES / "kernels"]), specialization, folder)
    return steps_of(kernel, specialization.to_record())


@pytest.mark.parametrize("number", range(len(_records())))
def test_passes(number: int, tmp_path: Path) -> None:
    record = _records()[number]
    compared, wrong, before = 0, [], ""
    for name, step in named(_steps(number, tmp_path)):
        if name in _CLEANUP and before:
            ours, theirs = (parse_module(text) for text in (before, step.text or before))
            for module in (ours, theirs):
                module.num_warps, module.num_stages = record["num_warps"], record["num_stages"]
                module.capability = int(record["target"].split(":")[1])
            resolve(name)(ours)
            found = difference(ours, theirs)
            compared += 1
            if found is not None:
                wrong.append(f"{name}: {found}")
        before = step.text or before
    assert compared > 15
    assert not wrong, f"{record['file']}::{record['kernel']}\n" + "\n".join(wrong)


def test_registry_is_complete() -> None:
    assert set(_CLEANUP) <= set(REGISTRY)


_ON_RANDOM_PROGRAMS = {
    "canonicalizer": ("common", "add_canonicalizer"), "cse": ("common", "add_cse"), "inliner": ("common", "add_inliner"),
    "combine": ("ttir", "add_combine"), "reorder_broadcast": ("ttir", "add_reorder_broadcast"),
    "loop_aware_cse": ("ttir", "add_loop_aware_cse"), "triton_licm": ("ttir", "add_triton_licm"),
}  # fmt: skip


def _compiled(text: str, name: str, tmp_path: Path) -> tuple[str, str]:
    from triton._C.libtriton import ir, passes

    context = ir.context()
    ir.load_dialects(context)
    path = tmp_path / "program.mlir"
    path.write_text(text)
    module = ir.parse_mlir_module(str(path), context)
    before = module.str_nodebug()
    manager = ir.pass_manager(context)
    group, adder = _ON_RANDOM_PROGRAMS[name]
    getattr(getattr(passes, group), adder)(manager)
    manager.run(module, name)
    return before, module.str_nodebug()


@pytest.mark.parametrize("name", sorted(_ON_RANDOM_PROGRAMS))
def test_random_programs(name: str, tmp_path: Path) -> None:
    wrong = []
    for seed in range(100, 140):
        before, after = _compiled(program(seed), name, tmp_path)
        ours = parse_module(before)
        resolve(name)(ours)
        found = difference(ours, parse_module(after))
        if found is not None:
            wrong.append(f"{seed}: {found}")
    assert not wrong, "\n".join(wrong)
