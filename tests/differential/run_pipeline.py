"""Run the whole model on dumped specializations, and name the first pass after which it parts from the compiler.

usage: python tests/differential/run_pipeline.py --root DIR [--root DIR] [--dumps DIR] [--only GLOB] [--limit N] [-v NAME]

Dumps are those of ``run_pass.py``; one whose ``record.json`` holds ``source`` is read from that text.
"""

from __future__ import annotations

import argparse
import collections
import fnmatch
import json
import re
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

from smem_lint.allocation.allocate import allocate
from smem_lint.model import ModelEngine
from smem_lint.specialization import Specialization
from smem_lint.tile.ir import Module
from smem_lint.tile.unsupported import Unsupported
from smem_lint.verify.ir_text import difference, parse_module, print_module

_START = "cse"
"""Up to here programs differ in what later passes remove."""


class Parted(Exception):
    pass


def texts(dump: Path) -> list[tuple[str, Path]]:
    """(pass name, newest text after it) for each pass that ran, in order."""
    found, newest = [], None
    for line in (dump / "passes.txt").read_text().splitlines():
        match = re.match(r"(\d+) (\w+)", line)
        assert match is not None
        path = dump / f"{match.group(1)}-{match.group(2)}.mlir"
        newest = path if path.exists() else newest
        assert newest is not None
        found.append((match.group(2), newest))
    return found


def compare(engine: ModelEngine, dump: Path, record: dict[str, Any], verbose: bool) -> str | None:
    queue = collections.deque(texts(dump))
    started = False

    def watch(name: str, module: Module) -> None:
        nonlocal started
        while queue and queue[0][0] != name:
            queue.popleft()
        if not queue:
            return
        _, path = queue.popleft()
        started = started or name == _START
        if started and path != watch.last:
            watch.last = path
            theirs = parse_module(path.read_text())
            found = difference(module, theirs)
            if found:
                if verbose:
                    print("=== ours\n" + print_module(module) + "=== theirs\n" + print_module(theirs))
                raise Parted(f"{name}: {found}")

    watch.last = None
    try:
        program = engine.program(Specialization.from_record(record), watch)
        total = allocate(program, program.version).total
    except Parted as parted:
        return str(parted)
    return None if total == record["shared"] else f"allocation: {total} against {record['shared']}"


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--root", action="append", default=[])
    arguments.add_argument("--dumps", required=True)
    arguments.add_argument("--only", default="*")
    arguments.add_argument("--limit", type=int)
    arguments.add_argument("-v", "--verbose", action="store_true")
    given = arguments.parse_args()
    passes: collections.Counter[str] = collections.Counter()
    engines: dict[str, ModelEngine] = {}
    same = wrong_bytes = 0
    started = time.time()
    named = [path for path in sorted(Path(given.dumps).iterdir()) if fnmatch.fnmatch(path.name, given.only)]
    dumps = [path for path in named if (path / "record.json").exists()]
    for dump in dumps[: given.limit]:
        record = json.loads((dump / "record.json").read_text())
        version = record.get("triton", "")
        if "source" in record:
            folder = tempfile.mkdtemp()
            (Path(folder) / record["file"]).write_text(record["source"])
            here = ModelEngine([Path(folder)], version)
        else:
            here = engines.setdefault(version, ModelEngine([Path(root) for root in given.root], version))
        try:
            found = compare(here, dump, record, given.verbose)
        except Unsupported as error:
            found = f"unsupported: {error}"
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            found = f"{type(error).__name__} in {Path(where.filename).name}:{where.lineno}: {error}"
            if given.verbose:
                traceback.print_exc()
        if found is None:
            same += 1
            continue
        estimate = here.one(Specialization.from_record(record)) if not found.startswith(("allocation", "unsupported")) else None
        wrong = estimate is None or estimate.bytes != record["shared"]
        wrong_bytes += wrong
        passes[found.split(":")[0][:80]] += 1
        print(f"{dump.name} {record['kernel']} {'WRONG' if wrong else 'same bytes'} {found[:300]}")
    print(f"{same} of {len(dumps[: given.limit])} identical throughout; {wrong_bytes} with other bytes; {time.time() - started:.0f} s")
    for name, count in passes.most_common():
        print(f"  {count} part at {name}")
    return int(wrong_bytes > 0)


if __name__ == "__main__":
    sys.exit(main())
