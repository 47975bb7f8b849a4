"""``smem-lint verify``: the model's estimates against the compiler's, or a GPU's, own answers."""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from smem_lint import __version__
from smem_lint.cli.engines import engine_of
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
from smem_lint.verify.compare import Verdict, as_report, compare, explained, summary, table

Wanted = tuple[Specialization, int | None]


def run(arguments: argparse.Namespace) -> int:
    if arguments.check_hardware is not None:
        from smem_lint.cli.hardware import check_hardware

        return check_hardware(arguments)
    paths = existing(arguments.paths)
    settings = settings_of(arguments, paths)
    if settings.engine == "gpu":
        from smem_lint.cli.hardware import verify_on_gpu

        return verify_on_gpu(arguments, settings, paths)
    wanted, roots = gather(arguments, settings, paths)
    reference = _reference(arguments, settings, roots)
    verdicts = judged(wanted, ModelEngine(roots, version=settings.triton), reference)
    about = {"tool": f"smem-lint {__version__}", "engine": reference.name, "triton": getattr(reference, "version", "")}
    return tell(verdicts, arguments, about)


def gather(arguments: argparse.Namespace, settings: Settings, paths: Sequence[Path]) -> tuple[list[Wanted], list[Path]]:
    """What is to be verified: records with the bytes they hold, or every resolved config; a sample of them. Raises UsageError."""
    records = [path for path in paths if path.suffix == ".jsonl"]
    folders = [path for path in paths if path.suffix != ".jsonl"]
    wanted: list[Wanted] = []
    roots = [root.resolve() for root in existing(arguments.root)] if arguments.root else []
    for path in records:
        roots = roots or roots_of(path) or [path.resolve().parent]
        wanted += _records(path)
    if folders:
        from smem_lint.cli.linting import python_files, root_of

        roots = list(dict.fromkeys([*roots, *(root_of(path) for path in folders)]))
        repository = Repository(roots)
        names = [repository.relative(path.resolve()) for path in python_files(folders, roots, settings.exclude)]
        for device in targets_of(settings):
            for one in resolved(repository, names, device.capability, settings):
                specialization = one.specialization(device.capability) if isinstance(one, Config) else None
                if specialization is not None:
                    wanted.append((specialization, None))
    unique = list({repr(one): (one, truth) for one, truth in wanted}.values())
    if not unique:
        raise UsageError("nothing to verify: no record and no resolved config was found")
    if arguments.sample is not None and arguments.sample < len(unique):
        unique = random.Random(arguments.seed).sample(unique, arguments.sample)
    return unique, roots


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
    if arguments.dask:
        from smem_lint.verify.fleet import FleetEngine

        return FleetEngine(arguments.dask, roots)
    engine = engine_of(settings, roots, use_cache=not arguments.no_cache, default="compiler")
    if arguments.python or arguments.resume or arguments.timeout != 120.0 or arguments.memory:
        from smem_lint.verify.compiler import CompilerEngine, CompilerUnavailable, Limits

        assert isinstance(engine, CompilerEngine)
        engine = CompilerEngine(
            roots, python=arguments.python or sys.executable, jobs=settings.jobs, limits=Limits(arguments.timeout, arguments.memory),
            cache=engine.cache, progress=engine.progress, resume=Path(arguments.resume) if arguments.resume else None,
        )  # fmt: skip
        try:
            engine.version  # noqa: B018 - asked once before the work
        except CompilerUnavailable as error:
            raise UsageError(str(error)) from error
    return engine


def judged(wanted: Sequence[Wanted], model: Engine, reference: Engine) -> list[Verdict]:
    """Every verdict, in order."""
    specializations = [one for one, _ in wanted]
    answers = list(reference.estimate(specializations))
    progress = Progress("estimating")
    verdicts = []
    for index, ((one, truth), estimate, answer) in enumerate(zip(wanted, model.estimate(specializations), answers, strict=True), 1):
        verdicts.append(compare(one, estimate, answer, truth))
        progress(index, len(wanted))
    return verdicts


def tell(verdicts: Sequence[Verdict], arguments: argparse.Namespace, about: dict[str, Any]) -> int:
    """Print the table and every disagreement, write the report; 1 on any disagreement."""
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
        f"{len(unverified)} not verified"
    )
    if arguments.report:
        write_output(json.dumps(as_report(verdicts, about), indent=1, default=str) + "\n", arguments.report)
    return 1 if told["disagreements"] or told["limit_disagrees"] else 0
