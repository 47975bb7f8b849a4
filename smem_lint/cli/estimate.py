"""``smem-lint estimate RECORDS.jsonl``: one estimate a line, in the records' order."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from smem_lint.cli.engines import engine_of
from smem_lint.cli.errors import UsageError
from smem_lint.cli.recorded import parsed
from smem_lint.cli.settings import existing, settings_of, write_output
from smem_lint.engines import Estimate, unanswered
from smem_lint.specialization import Specialization


def run(arguments: argparse.Namespace) -> int:
    records = existing([arguments.records])[0]
    roots = existing(arguments.root) if arguments.root else [records.resolve().parent]
    settings = settings_of(arguments, roots)
    read = list(read_records(records))
    engine = engine_of(settings, roots, use_cache=not arguments.no_cache, default="model")
    known = [one for one in read if isinstance(one, Specialization)]
    answers = engine.estimate(known)
    lines = []
    for one in read:
        estimate: Estimate = unanswered("none", one) if isinstance(one, str) else next(answers)
        lines.append(json.dumps(estimate.to_json()) + "\n")
    write_output("".join(lines), arguments.output)
    bad = [one for one in read if isinstance(one, str)]
    if bad:
        more = f" (and {len(bad) - 1} more lines)" if len(bad) > 1 else ""
        print(f"smem-lint: {bad[0]}{more}", file=sys.stderr)
    return 2 if read and not known else 0


def read_records(path: Path) -> Iterator[Specialization | str]:
    """Each line's specialization, or why it is none; blank lines are passed over. Raises UsageError where the file cannot be read."""
    try:
        text = path.read_text("utf8")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8: {error.reason} at byte {error.start}") from error
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield Specialization.from_record(parsed(line))
        except (ValueError, RecursionError) as error:
            yield f"{path}:{number}: {error}"
