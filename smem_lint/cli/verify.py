"""``smem-lint verify``: the model's estimates against the compiler's, or a GPU's, own answers."""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from smem_lint import __version__
from smem_lint.cache import Cache, default_folder
from smem_lint.cli.errors import UsageError
from smem_lint.cli.progress import Progress
from smem_lint.cli.recorded import roots_of
from smem_lint.cli.scenarios import resolved
from smem_lint.cli.settings import existing, settings_of, targets_of, write_output
from smem_lint.config import Settings
from smem_lint.engines import Engine
from smem_lint.host.config import Config
from smem_lint.model import ModelEngine
from smem_lint.source.modules import Repository
from smem_lint.specialization import Specialization
from smem_lint.verify.answers import Answers
from smem_lint.verify.compare import Verdict, as_report, compare, explained, summary, table
from smem_lint.verify.compiler import CompilerEngine, CompilerUnavailable, Limits
from smem_lint.verify.fleet import FleetEngine, FleetUnavailable

Wanted = tuple[Specialization, int | None]


def run(arguments: argparse.Namespace) -> int:
    if arguments.check_hardware is not None:
        from smem_lint.cli.hardware import check_hardware

        return check_hardware(arguments)
    paths = existing(arguments.paths)
    settings = settings_of(arguments, paths)
    if settings.engine == "gpu" and not arguments.dask:
        from smem_lint.cli.hardware import verify_on_gpu

        return verify_on_gpu(arguments, settings, paths)
    wanted, roots = gather(arguments, settings, paths)
    if not wanted:
        return _nothing(paths)
    reference = _reference(arguments, settings, roots)
    verdicts = judged(wanted, roots, settings.triton, reference)
    about = {"tool": f"smem-lint {__version__}", "engine": reference.name, "triton": getattr(reference, "version", "")}
    return tell(verdicts, arguments, about, reference)


def _nothing(paths: Sequence[Path]) -> int:
    """Files without a launch are no failure: a commit need not touch one."""
    print(f"smem-lint: nothing to verify: no config was resolved in {', '.join(map(str, paths[:5]))}", file=sys.stderr)
    return 0


def gather(arguments: argparse.Namespace, settings: Settings, paths: Sequence[Path]) -> tuple[list[Wanted], list[Path]]:
    """What is to be verified: records with the bytes they hold, every resolved config, or what findings rest on; a sample of them.

    Raises UsageError, also for records that hold nothing.
    """
    records = [path for path in paths if path.suffix == ".jsonl"]
    folders = [path for path in paths if path.suffix != ".jsonl"]
    wanted: list[Wanted] = []
    roots = [root.resolve() for root in existing(arguments.root)] if arguments.root else _roots(records)
    for path in records:
        wanted += _records(path)
    if folders and getattr(arguments, "findings", False):
        found, more = _of_findings(settings, folders)
        wanted += found
        roots = list(dict.fromkeys([*roots, *more]))
    elif folders:
        from smem_lint.cli.files import python_files, root_of

        roots = list(dict.fromkeys([*roots, *(root_of(path) for path in folders)]))
        repository = Repository(roots)
        names = [repository.relative(path.resolve()) for path in python_files(folders, roots, settings.exclude)]
        for device in targets_of(settings):
            for one in resolved(repository, names, device.capability, settings):
                specialization = one.specialization(device.capability) if isinstance(one, Config) else None
                if specialization is not None:
                    wanted.append((specialization, None))
    unique = list({repr(one): (one, truth) for one, truth in wanted}.values())
    if not unique and not folders:
        raise UsageError(f"nothing to verify: {', '.join(map(str, records))} holds no record")
    if arguments.sample is not None and arguments.sample < len(unique):
        unique = random.Random(arguments.seed).sample(unique, arguments.sample)
    return unique, roots


def _of_findings(settings: Settings, folders: list[Path]) -> tuple[list[Wanted], list[Path]]:
    """What the findings of ``check`` rest on, as the model alone makes them, and the folders that their files are relative to."""
    from smem_lint.cli.linting import Lint

    lint = Lint(replace(settings, engine="model", baseline=""), folders)
    lint.keeps_judged, lint.notes = False, bool(settings.select)
    return [(one.specialization, None) for one in lint.report().findings if one.specialization is not None], lint.roots


def _roots(records: Sequence[Path]) -> list[Path]:
    """Where the records say that their files lie, else beside them."""
    return list(dict.fromkeys(root for path in records for root in roots_of(path) or [path.resolve().parent]))


def _records(path: Path) -> list[Wanted]:
    found: list[Wanted] = []
    try:
        lines = path.read_text("utf8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                record: dict[str, Any] = json.loads(line)
                found.append((Specialization.from_record(record), record.get("shared")))
            except (ValueError, AttributeError) as error:
                raise UsageError(f"{path}:{number}: {error}") from error
    return found


def _reference(arguments: argparse.Namespace, settings: Settings, roots: Sequence[Path]) -> Engine:
    """Who is asked beside the model. Raises UsageError where there is nobody."""
    limits = Limits(arguments.timeout, arguments.memory)
    resume = Path(arguments.resume) if arguments.resume else None
    if arguments.dask:
        kind = "gpu" if settings.engine == "gpu" else "compiler"
        return FleetEngine(arguments.dask, roots, kind, limits, Progress("asking the fleet"), resume, arguments.python or "")
    folder = Path(settings.cache_dir) if settings.cache_dir else default_folder(roots[0])
    engine = CompilerEngine(
        roots, arguments.python or sys.executable, settings.jobs, limits, None if arguments.no_cache else Cache(folder, "compiler"),
        Progress("compiling"), resume=resume,
    )  # fmt: skip
    try:
        engine.version  # noqa: B018 - asked once before the work
    except CompilerUnavailable as error:
        raise UsageError(str(error)) from error
    return engine


def judged(wanted: Sequence[Wanted], roots: Sequence[Path], version: str, reference: Engine) -> list[Verdict]:
    """Every verdict, in order. The model is of Triton ``version``, or else of the one that answers. Raises UsageError."""
    specializations = [one for one, _ in wanted]
    try:
        answers = list(reference.estimate(specializations))
    except FleetUnavailable as error:
        raise UsageError(str(error)) from error
    model = ModelEngine(roots, version=version or str(getattr(reference, "version", "")).partition(",")[0])
    progress = Progress("estimating")
    verdicts = []
    for index, ((one, truth), estimate, answer) in enumerate(zip(wanted, model.estimate(specializations), answers, strict=True), 1):
        verdicts.append(compare(one, estimate, answer, truth))
        progress(index, len(wanted))
    return verdicts


def tell(verdicts: Sequence[Verdict], arguments: argparse.Namespace, about: dict[str, Any], reference: Engine) -> int:
    """Print the table and every disagreement, write the report; 1 on any disagreement, 2 where an answer failed to come."""
    print("\n".join(table(verdicts)))
    for one in verdicts:
        if one.disagrees or not one.limit_agrees:
            print("\n" + "\n".join(explained(one)))
    told = summary(verdicts)
    unverified = [one for one in verdicts if one.status == "unverified"]
    for one in unverified[:10]:
        print(f"not verified: {one.specialization.file}::{one.specialization.kernel}: {one.reference.error}")
    print(
        f"\n{told['specializations']} specializations of {told['kernels']} kernels against {about['engine']} {about.get('triton', '')}: "
        f"{told['exact']} exact, {told['disagreements']} disagreements, {told['limit_disagrees']} with another verdict at the limit, "
        f"{len(unverified)} not verified",
        flush=True,
    )
    say_problem(getattr(reference, "kept", None))
    if arguments.report:
        write_output(json.dumps(as_report(verdicts, about), indent=1, default=str) + "\n", arguments.report)
    if told["disagreements"] or told["limit_disagrees"]:
        return 1
    return 2 if len(unverified) == len(verdicts) or any(one.failed for one in unverified) else 0


def say_problem(kept: Answers | None) -> None:
    """That the answers of this run could not be kept for ``--resume``."""
    if kept is not None and kept.problem is not None:
        print(f"smem-lint: warning: {kept.problem}", file=sys.stderr)
