"""What an estimate costs: CPU time a record and a pass, and memory.

    python benchmarks/speed.py [RECORDS.jsonl ...] [--root DIR ...] [--every N] [--passes]

Without records, those of ``fixtures/truth/fixtures.jsonl`` on the kernels of ``fixtures/kernels``. Printed: records, CPU milliseconds
(median, 95th percentile, mean; import excluded, reading and parsing of the files and the collection of garbage included), records a
CPU second, peak memory; with ``--passes`` then each pass's mean and its share (a second run, the collector at rest). CPU time, since
wall time on a shared machine says little; it still varies by a fifth with what else runs.

What was learned, on 242 records of five libraries (every tenth; about 260 operations each at the end):

* Python's collector took 40% of the mean and most of the 95th percentile (50 to 30 ms, 176 to 70 ms): it looked through all syntax
  trees again and again while programs grew. ``tile.garbage`` lets it rest during an estimate; looking at the objects of that one
  estimate afterwards takes 2 ms.
* Of 6,700 attempts to fold an operation 33 succeeded, over 29 greedy rewrites a record. ``Op.unsettled`` says where folding may find
  something; the rewriter writes its worklist down only once something happens. Attempts fell by three quarters, time by a tenth at
  most (no more than the noise of a busy machine).
* Memory was syntax trees: 20 to 40 bytes for a byte of text, held by the front end's evaluated modules when the repository had long
  dropped them. Layouts and types are small in comparison (22,000 of them after 400 records, some 5 MB).
* What is left: the removal of layout conversions (a third; a quarter of it backward slices), the front end
  (a sixth, and parsing a file once), CSE (a tenth: seven runs a record), axis information (a twentieth).
* ``estimate`` of a whole list at once makes the front half once for configs that differ in ``num_stages`` alone.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import statistics
import time
from collections import Counter, defaultdict
from pathlib import Path

from smem_lint.allocation.allocate import allocate
from smem_lint.buffers import reported
from smem_lint.model import ModelEngine
from smem_lint.specialization import Specialization
from smem_lint.tile.ir import Module

HERE = Path(__file__).resolve().parent.parent


def read(files: list[Path], every: int) -> list[Specialization]:
    records = [json.loads(line) for path in files for line in path.read_text("utf8").splitlines()]
    return [Specialization.from_record(record) for record in records if "shared" in record][::every]


def whole(roots: list[Path], records: list[Specialization]) -> list[float]:
    """CPU seconds of each estimate."""
    engine = ModelEngine(roots)
    found = []
    for record in records:
        started = time.process_time()
        engine.one(record)
        found.append(time.process_time() - started)
    return found


def by_pass(roots: list[Path], records: list[Specialization]) -> dict[str, float]:
    """CPU seconds of each pass, the n-th run of a pass by itself, over all records that the model answers."""
    engine = ModelEngine(roots)
    spent: dict[str, float] = defaultdict(float)
    for record in records:
        runs: Counter[str] = Counter()
        last = time.process_time()

        def watch(name: str, _: Module, runs: Counter[str] = runs) -> None:
            nonlocal last
            runs[name] += 1
            spent[f"{name} {runs[name]}"] += time.process_time() - last
            last = time.process_time()

        gc.disable()
        try:
            module = engine.program(record, watch)
            last = time.process_time()
            found = allocate(module)
            watch("allocation", module)
            reported(found)
            watch("buffers", module)
        except Exception:  # what the model does not answer costs nothing here
            continue
        finally:
            gc.enable()
    return spent


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("records", nargs="*", type=Path)
    arguments.add_argument("--root", action="append", default=[], type=Path)
    arguments.add_argument("--every", type=int, default=1)
    arguments.add_argument("--passes", action="store_true")
    given = arguments.parse_args()
    records = read(given.records or [HERE / "fixtures" / "truth" / "fixtures.jsonl"], given.every)
    roots = given.root or [HERE / "fixtures" / "kernels"]
    seconds = sorted(whole(roots, records))
    total = sum(seconds)
    figures = {
        "median": statistics.median(seconds), "95th percentile": seconds[int(len(seconds) * 0.95)], "mean": total / len(seconds),
    }  # fmt: skip
    print(f"records          {len(records):>8}")
    for name, value in figures.items():
        print(f"{name:<17}{1000 * value:>8.1f} ms of CPU")
    print(f"rate             {len(records) / total:>8.1f} records a CPU second")
    print(f"peak memory      {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:>8.0f} MB")
    if given.passes:
        spent = by_pass(roots, records)
        everything = sum(spent.values())
        print(f"\n{'pass':<36}{'mean ms':>9}{'share':>8}")
        for name, value in sorted(spent.items(), key=lambda item: -item[1]):
            print(f"{name:<36}{1000 * value / len(records):>9.2f}{value / everything:>8.1%}")


if __name__ == "__main__":
    main()
