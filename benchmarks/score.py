"""The model, and the usual formula, against what the compiler allocated.

usage: python benchmarks/score.py [TRUTH.jsonl ...] [--root DIR ...] [--limit-bytes 101376] [--markdown] [--worst N] [--jobs N]

TRUTH files hold specialization records with ``shared``; without any, those of ``fixtures/truth`` are taken and the libraries
they come from are fetched from PyPI (``--cache DIR`` keeps them). Printed for each file and in all: records, answered, exact,
exact where any shared memory is used, claimed exact but wrong, outside the bounds, overflows missed, false alarms, seconds.
The formula is (BLOCK_M + BLOCK_N) x BLOCK_K x num_stages x element size, as tuners use it; it answers for kernels with such tiles.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import statistics
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from smem_lint.engines import Estimate
from smem_lint.model import ModelEngine
from smem_lint.specialization import Specialization

HERE = Path(__file__).resolve().parent.parent
_BITS = {"fp8e4nv": 8, "fp8e5": 8, "i8": 8, "u8": 8, "fp16": 16, "bf16": 16, "fp32": 32, "i32": 32}
Record = dict[str, Any]


def fetch(packages: Iterable[tuple[str, str]], cache: Path) -> list[Path]:
    """Wheels of PyPI, unpacked: the roots that records of those packages are relative to."""
    roots = []
    for name, version in sorted(set(packages)):
        place = cache / f"{name}-{version}"
        if not (place / ".done").exists():
            wheels = cache / "wheels"
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(wheels), f"{name}=={version}"]
            subprocess.run(command, check=True)
            (wheel,) = wheels.glob(f"{name.replace('-', '_')}-{version}-*.whl")
            zipfile.ZipFile(wheel).extractall(place)
            wheel.unlink()
            (place / ".done").touch()
        roots.append(place)
    return roots


def formula(record: Record) -> int | None:
    """(M + N) x K x stages x bytes, from the names that tile sizes go by; None where a kernel has no such tiles."""
    sizes = {}
    for name, value in record["constexprs"].items():
        match = re.fullmatch(r"(?:BLOCK|block|TILE)_?(?:SIZE)?_?([MNK])", name)
        if match and isinstance(value, int):
            sizes[match.group(1)] = value
    if set(sizes) != {"M", "N", "K"}:
        return None
    pointers = [kind[1:] for kind in record["signature"].values() if kind.startswith("*")]
    size = max((_BITS.get(kind, 16) for kind in pointers[:2]), default=16) // 8
    return int((sizes["M"] + sizes["N"]) * sizes["K"] * record["num_stages"] * size)


def estimates(records: list[Record], roots: list[Path]) -> list[Estimate]:
    engine = ModelEngine(roots)
    return [engine.one(Specialization.from_record(record)) for record in records]


def figures(records: list[Record], answers: list[Estimate], limit: int) -> Counter[str]:
    count: Counter[str] = Counter()
    for record, answer in zip(records, answers, strict=True):
        truth = record["shared"]
        told = answer.bytes is not None
        count["records"] += 1
        count["answered"] += told or answer.upper is not None
        count["nonzero"] += truth > 0
        count["exact"] += answer.bytes == truth
        count["nonzero_exact"] += truth > 0 and answer.bytes == truth
        count["claimed"] += answer.exact
        count["claimed_wrong"] += answer.exact and answer.bytes != truth
        count["outside"] += not answer.lower <= truth <= (answer.upper if answer.upper is not None else 1 << 62)
        count["overflows"] += truth > limit
        count["missed"] += truth > limit and (answer.bytes is None or answer.bytes <= limit)
        count["false_alarms"] += truth <= limit < (answer.bytes or 0)
    return count


def naive(records: list[Record], limit: int) -> Counter[str]:
    answers = []
    for record in records:
        value = formula(record)
        answers.append(Estimate(value, 0, None, False, "formula") if value is not None else Estimate(None, 0, None, False, "formula"))
    return figures(records, answers, limit)


_COLUMNS = (
    "records", "answered", "exact", "exact, any used", "claimed exact, wrong", "outside bounds", "overflows missed", "false alarms",
    "median", "95th",
)  # fmt: skip


def row(count: Counter[str], seconds: list[float]) -> list[str]:
    def share(part: str, whole: str) -> str:
        return f"{100 * count[part] / count[whole]:.1f}%" if count[whole] else "-"

    times = sorted(seconds)
    return [
        str(count["records"]), share("answered", "records"), share("exact", "records"), share("nonzero_exact", "nonzero"),
        str(count["claimed_wrong"]), str(count["outside"]), f"{count['missed']} of {count['overflows']}", str(count["false_alarms"]),
        f"{1000 * statistics.median(times):.0f} ms" if times else "-", f"{1000 * times[int(len(times) * 0.95)]:.0f} ms" if times else "-",
    ]  # fmt: skip


def show(rows: list[tuple[str, list[str]]], markdown: bool) -> None:
    if markdown:
        print("| | " + " | ".join(_COLUMNS) + " |\n|" + "---|" * (len(_COLUMNS) + 1))
        for name, cells in rows:
            print(f"| {name} | " + " | ".join(cells) + " |")
        return
    widths = [max(len(title), *(len(cells[place]) for _, cells in rows)) for place, title in enumerate(_COLUMNS)]
    first = max(len(name) for name, _ in rows)
    print(" " * first + "  " + "  ".join(title.rjust(width) for title, width in zip(_COLUMNS, widths, strict=True)))
    for name, cells in rows:
        print(name.ljust(first) + "  " + "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)))


def _chunk(task: tuple[list[Record], list[Path]]) -> list[Estimate]:
    return estimates(*task)


def worst(records: list[Record], answers: list[Estimate], number: int) -> None:
    groups: dict[tuple[str, str], list[tuple[Record, Estimate]]] = {}
    for record, answer in zip(records, answers, strict=True):
        if answer.bytes != record["shared"]:
            groups.setdefault((record["file"], record["kernel"]), []).append((record, answer))
    for (file, kernel), pairs in sorted(groups.items(), key=lambda item: -len(item[1]))[:number]:
        record, answer = pairs[0]
        reason = answer.error or "; ".join(answer.reasons) or "claimed exact"
        print(f"  {len(pairs)} x {file}::{kernel}: {answer.bytes} against {record['shared']} ({reason[:200]})")


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("truth", nargs="*", type=Path)
    arguments.add_argument("--root", action="append", default=[], type=Path)
    arguments.add_argument("--cache", type=Path, default=HERE / ".smem_lint_cache" / "wheels")
    arguments.add_argument("--limit-bytes", type=int, default=101376)
    arguments.add_argument("--markdown", action="store_true")
    arguments.add_argument("--worst", type=int, default=0)
    arguments.add_argument("--every", type=int, default=1)
    arguments.add_argument("--jobs", type=int, default=1)
    given = arguments.parse_args()
    files = given.truth or sorted((HERE / "fixtures" / "truth").glob("libraries*.jsonl"))
    rows, every_record, every_answer = [], [], []
    for path in files:
        records = [record for record in map(json.loads, path.read_text("utf8").splitlines()) if "shared" in record][:: given.every]
        roots = given.root or fetch(((r["package"], r["version"]) for r in records if "package" in r), given.cache)
        chunks = [records[place : place + 40] for place in range(0, len(records), 40)]
        if given.jobs > 1:
            with ProcessPoolExecutor(given.jobs) as pool:
                answers = [one for part in pool.map(_chunk, [(chunk, roots) for chunk in chunks]) for one in part]
        else:
            answers = estimates(records, roots)
        rows.append((path.stem, row(figures(records, answers, given.limit_bytes), [one.seconds for one in answers])))
        every_record += records
        every_answer += answers
    rows.append(("all", row(figures(every_record, every_answer, given.limit_bytes), [one.seconds for one in every_answer])))
    rows.append(("the formula", row(naive(every_record, given.limit_bytes), [])))
    show(rows, given.markdown)
    worst(every_record, every_answer, given.worst)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
