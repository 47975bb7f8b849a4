"""Hold one pass of the model against the compiler's own, over a folder of dumps.

usage: python tests/differential/run_pass.py PASS [--function MODULE:NAME] [--dumps DIR] [--only GLOB] [--limit N] [-v NAME]

A dump is a folder that ``smem_lint.verify.oracle`` wrote: ``passes.txt`` (``NN name`` for each pass that ran, with ``(no change)``
behind the name where it changed nothing), ``NN-name.mlir`` for each pass that changed something, and ``record.json`` (the
specialization). For each run of PASS the newest text before it is parsed, the model's pass is applied, and the result compared
with the text after it; a pass that changed nothing must change nothing here either. ``-v NAME`` (``NAME`` or ``NAME:NN``) prints
both sides of one dump. PASS is a name of passes.txt; the model's function is looked up in REGISTRY unless ``--function`` names it.
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib
import json
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from smem_lint.model import version_of
from smem_lint.tile.ir import Module
from smem_lint.tile.unsupported import Unsupported
from smem_lint.verify.ir_text import IRTextError, difference, parse_module, print_module

_CLEANUP = "smem_lint.tile.cleanup."
_PASSES = "smem_lint.passes."
REGISTRY = {
    "inliner": _CLEANUP + "inliner:run",
    "gluon_inliner": _CLEANUP + "gluon_inliner:run",
    "canonicalizer": _PASSES + "canonicalize:run",
    "combine": _CLEANUP + "combine:run",
    "reorder_broadcast": _CLEANUP + "reorder_broadcast:run",
    "cse": _CLEANUP + "cse:run",
    "symbol_dce": _CLEANUP + "symbol_dce:run",
    "loop_unroll": _CLEANUP + "loop_unroll:run",
    "rewrite_tensor_descriptor_to_pointer": _CLEANUP + "rewrite_tensor_descriptor_to_pointer:run",
    "sccp": _CLEANUP + "sccp:run",
    "triton_licm": _CLEANUP + "licm:run",
    "loop_aware_cse": _CLEANUP + "loop_aware_cse:run",
    "fuse_nested_loops": _CLEANUP + "fuse_nested_loops:run",
    "combine_tensor_select_and_if": _CLEANUP + "combine_tensor_select_and_if:run",
    "optimize_accumulator_init": _CLEANUP + "optimize_accumulator_init:run",
    "convert_to_ttgpuir": _PASSES + "convert_to_ttgpuir:run",
    "coalesce": _PASSES + "coalesce:run",
    "f32_dot_tc": _PASSES + "f32_dot_tc:run",
    "plan_cta": _PASSES + "plan_cta:run",
    "remove_layout_conversions": _PASSES + "remove_layout_conversions:run",
    "optimize_thread_locality": _PASSES + "optimize_thread_locality:run",
    "accelerate_matmul": _PASSES + "accelerate_matmul:run",
    "optimize_dot_operands": _PASSES + "optimize_dot_operands:run",
    "optimize_descriptor_encoding": _PASSES + "optimize_descriptor_encoding:run",
    "assign_latencies": _PASSES + "assign_latencies:run",
    "schedule_loops": _PASSES + "schedule_loops:run",
    "pipeline": _PASSES + "pipeline:run",
    "warp_specialize": _PASSES + "warp_specialize:run",
    "prefetch": _PASSES + "prefetch:run",
    "tma_lowering": _PASSES + "tma_lowering:run",
    "coalesce_async_copy": _PASSES + "coalesce_async_copy:run",
    "reduce_data_duplication": _PASSES + "reduce_data_duplication:run",
    "reorder_instructions": _PASSES + "reorder_instructions:run",
    "fence_insertion": _PASSES + "fence_insertion:run",
    "hoist_tmem_alloc": _PASSES + "hoist_tmem_alloc:run",
    "scf_to_cf": _PASSES + "scf_to_cf:run",
}


class Case(NamedTuple):
    """One run of a pass in one dump; ``after`` is None where the pass changed nothing."""

    name: str
    number: int
    before: Path
    after: Path | None
    record: dict[str, Any]


def cases(dumps: Path, name: str, only: str = "*") -> Iterator[Case]:
    """Every run of pass ``name`` in the dumps below ``dumps`` whose folder name matches the glob ``only``."""
    for folder in sorted(dumps.iterdir()):
        order = folder / "passes.txt"
        if not order.exists() or not fnmatch.fnmatch(folder.name, only):
            continue
        record_file = folder / "record.json"
        record = json.loads(record_file.read_text()) if record_file.exists() else {}
        newest = None
        for ran, number, unchanged in ordered(order.read_text().splitlines()):
            written = None if unchanged else next(folder.glob(f"{number}-*.mlir"))
            if ran == name and newest is not None:
                yield Case(folder.name, int(number), newest, written, record)
            newest = written or newest


def ordered(lines: Iterable[str]) -> Iterator[tuple[str, str, bool]]:
    """Name, number and "changed nothing" of each pass of passes.txt; the inliner before allocation is ``gluon_inliner``."""
    lowered = False
    for line in lines:
        match = re.match(r"(\d+) (\w+)( +\(no change\))?$", line)
        assert match is not None, line
        ran = match.group(2)
        lowered |= ran == "convert_to_ttgpuir"
        yield "gluon_inliner" if ran == "inliner" and lowered else ran, match.group(1), bool(match.group(3))


def named(steps: Sequence[Any]) -> list[tuple[str, Any]]:
    """Steps of ``smem_lint.verify.oracle`` with their names in REGISTRY."""
    lines = [f"{number:02d} {step.name}" for number, step in enumerate(steps)]
    return [(name, step) for (name, _, _), step in zip(ordered(lines), steps, strict=True)]


def load(path: Path, record: dict[str, Any]) -> Module:
    """The program of a dumped text, with what only the launch options say."""
    module = parse_module(path.read_text())
    module.num_warps = record.get("num_warps", module.num_warps)
    module.num_stages = record.get("num_stages", module.num_stages)
    module.num_ctas = record.get("num_ctas", module.num_ctas)
    module.capability = int(record.get("target", f"cuda:{module.capability}").split(":")[1])
    module.version = version_of(record.get("triton", ""))
    return module


def compare(case: Case, function: Callable[[Module], object]) -> tuple[str | None, float]:
    """The first difference (None: identical), and the seconds that the model's pass took."""
    ours = load(case.before, case.record)
    theirs = load(case.after or case.before, case.record)
    start = time.perf_counter()
    function(ours)
    seconds = time.perf_counter() - start
    return difference(ours, theirs), seconds


def resolve(name: str, given: str | None = None) -> Callable[[Module], object]:
    """The model's function for a pass; raises KeyError for a name that the registry does not know."""
    module, _, function = (given or REGISTRY[name]).partition(":")
    found: Callable[[Module], object] = getattr(importlib.import_module(module), function)
    return found


def _show(case: Case, function: Callable[[Module], object]) -> None:
    ours = load(case.before, case.record)
    print(f"==== {case.name}:{case.number} before ({case.before.name})\n{print_module(ours)}")
    function(ours)
    print(f"==== ours\n{print_module(ours)}")
    print(f"==== theirs\n{print_module(load(case.after or case.before, case.record))}")
    print(f"==== {difference(ours, load(case.after or case.before, case.record))}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", metavar="PASS")
    parser.add_argument("--function", help="dotted MODULE:NAME of the model's pass, instead of the registry's")
    parser.add_argument("--dumps", type=Path, default=Path("dumps"))
    parser.add_argument("--only", default="*", help="folders to take, a glob")
    parser.add_argument("--limit", type=int, default=0, help="stop after this many runs")
    parser.add_argument("--changed", action="store_true", help="only runs that changed something")
    parser.add_argument("--all", action="store_true", help="print every mismatch, not the first 12")
    parser.add_argument("--traceback", action="store_true", help="let exceptions through")
    parser.add_argument("-v", "--verbose", metavar="NAME[:NN]", help="print both sides of one dump")
    options = parser.parse_args()
    function = resolve(options.name, options.function)
    wanted, _, number = (options.verbose or "").partition(":")
    counts = {"matched": 0, "mismatched": 0, "raised": 0, "unsupported": 0, "unreadable": 0}
    changed, shown, times = 0, 0, []
    for case in cases(options.dumps, options.name, options.only):
        if wanted:
            if case.name == wanted and (not number or case.number == int(number)):
                _show(case, function)
            continue
        if options.changed and case.after is None:
            continue
        if options.limit and sum(counts.values()) >= options.limit:
            break
        outcome, found = "matched", None
        try:
            found, seconds = compare(case, function)
            times.append(seconds)
            outcome = "matched" if found is None else "mismatched"
        except IRTextError as error:
            outcome, found = "unreadable", str(error)
        except Unsupported as error:
            outcome, found = "unsupported", str(error)
        except Exception as error:
            if options.traceback:
                raise
            where = traceback.extract_tb(error.__traceback__)[-1]
            outcome, found = "raised", f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
        counts[outcome] += 1
        changed += outcome == "matched" and case.after is not None
        if found is not None and (options.all or shown < 12):
            shown += 1
            print(f"{outcome} {case.name}:{case.number}{'' if case.after else ' (no change)'}: {found[:400]}")
    if not wanted:
        times.sort()
        middle = f", median {1000 * times[len(times) // 2]:.2f} ms, worst {1000 * times[-1]:.1f} ms" if times else ""
        totals = ", ".join(f"{n} {k}" for k, n in counts.items() if n or k == "matched")
        print(f"{options.name}: {totals} ({changed} matched runs changed something){middle}")
    return 1 if counts["mismatched"] or counts["raised"] else 0


if __name__ == "__main__":
    sys.exit(main())
