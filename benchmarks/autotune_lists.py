"""Autotune lists against what Python itself makes of them: equal config by config and in order, unresolved, or wrong.

    python benchmarks/autotune_lists.py TRUTH_DIR ROOTS_DIR

``TRUTH_DIR`` holds one ``NAME.jsonl`` a library (file, line of the first decorator, kernel, keys, configs), ``ROOTS_DIR`` the
unpacked libraries under the same names. Exits with 1 when a list is wrong or fewer than 97% are equal.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from smem_lint.host.autotune import applied_in, autotune_of
from smem_lint.host.program import Program
from smem_lint.host.values import Kernel, TunedConfig
from smem_lint.source.modules import Repository


def record(config: TunedConfig) -> dict[str, Any]:
    options = {name: config.option(name) for name in ("num_warps", "num_stages", "num_ctas")}
    return {"kwargs": config.kwargs, **options}


def compare(program: Program, row: dict[str, Any]) -> tuple[str, str]:
    """``equal``, ``unresolved`` or ``wrong``, and why."""
    module = program.repository.module(row["file"])
    entries = module.function_entries(row["kernel"]) if module is not None else []
    nodes = [e.node for e in entries if e.node.decorator_list and e.node.decorator_list[0].lineno == row["line"]]
    if module is None or not nodes:
        return "unresolved", "the kernel is not found"
    kernels = [Kernel(module, nodes[0], "jit", program.module_scope(module))]
    kernels += [kernel for kernel in applied_in(program, module) if kernel.node is nodes[0]]
    lists = [one for kernel in kernels if (one := autotune_of(program, kernel)) is not None]
    known = [one for one in lists if one.configs is not None]
    if not known:
        return "unresolved", lists[0].reason if lists else "no autotune decorator is seen"
    for one in known:
        if [record(config) for config in one.configs or ()] == row["configs"] and list(one.keys) == row["keys"]:
            return "equal", ""
    return "wrong", f"{len(known[0].configs or ())} configs, expected {len(row['configs'])}"


def main(truth: Path, roots: Path) -> int:
    totals = {"equal": 0, "unresolved": 0, "wrong": 0}
    print(f"{'library':<28}{'lists':>7}{'equal':>7}{'unresolved':>12}{'wrong':>7}{'seconds':>9}")
    for path in sorted(truth.glob("*.jsonl")):
        start = time.perf_counter()
        program = Program(Repository([roots / path.stem]), 120)
        counts = dict.fromkeys(totals, 0)
        notes = []
        for line in path.read_text("utf8").splitlines():
            row = json.loads(line)
            outcome, why = compare(program, row)
            counts[outcome] += 1
            if why:
                notes.append(f"    {outcome}: {row['file']}:{row['line']} {row['kernel']}: {why}")
        for outcome, count in counts.items():
            totals[outcome] += count
        seconds = time.perf_counter() - start
        print(f"{path.stem:<28}{sum(counts.values()):>7}{counts['equal']:>7}{counts['unresolved']:>12}{counts['wrong']:>7}{seconds:>9.2f}")
        print("\n".join(notes), end="\n" if notes else "")
    lists = sum(totals.values())
    share = totals["equal"] / lists if lists else 0.0
    print(f"{'all':<28}{lists:>7}{totals['equal']:>7}{totals['unresolved']:>12}{totals['wrong']:>7}    equal {share:.1%}")
    return 0 if share >= 0.97 and not totals["wrong"] else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
