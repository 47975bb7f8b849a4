"""``verify --engine gpu`` and ``verify --check-hardware``: what a real device says, now and on record."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from smem_lint import __version__
from smem_lint.cli.errors import UsageError
from smem_lint.cli.progress import Progress
from smem_lint.cli.settings import existing, write_output
from smem_lint.cli.verify import gather, say_problem
from smem_lint.config import Settings
from smem_lint.devices import UnknownTarget, by_capability
from smem_lint.engines import Estimate, is_refusal
from smem_lint.model import ModelEngine
from smem_lint.specialization import Specialization
from smem_lint.verify.cliff import find_cliff
from smem_lint.verify.gpu import GpuAnswer, GpuEngine, GpuUnavailable

RECORDS = Path("fixtures") / "hardware"


def verify_on_gpu(arguments: argparse.Namespace, settings: Settings, paths: Sequence[Path]) -> int:
    """Every specialization on this machine's device, both sides of each kernel's cliff, and the fixtures' own runs."""
    wanted, roots = gather(arguments, settings, paths)
    if not wanted:
        raise UsageError("nothing to verify: no config was resolved")
    gpu = GpuEngine(
        roots, python=arguments.python or GpuEngine.python, jobs=settings.jobs or 4, progress=Progress("asking the GPU"),
        resume=Path(arguments.resume) if arguments.resume else None,
    )  # fmt: skip
    try:
        about = gpu.about
    except GpuUnavailable as error:
        raise UsageError(str(error)) from error
    here = list({repr(one): one for one in (replace(one, capability=about["capability"]) for one, _ in wanted)}.values())
    model = ModelEngine(roots, version=about["triton"])
    cliffs = _cliffs(model, here, about["limit"])
    every = [("sample", one, None) for one in here] + cliffs
    estimates = list(model.estimate([one for _, one, _ in every]))
    answers = gpu.answers([one for _, one, _ in every])
    results = [_result(*row) for row in zip(every, estimates, answers, strict=True)]
    runs = {path.name: gpu.run_fixture(path) for path in _fixtures(here, roots)} if gpu.lost is None else {}
    report = {
        "version": 1, "tool": f"smem-lint {__version__}", "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        **about, "table_limit": _table_limit(about["capability"]), "results": results, "runs": runs,
    }  # fmt: skip
    code = _tell(report)
    say_problem(gpu.kept)
    if arguments.report:
        write_output(json.dumps(report, indent=1, default=str) + "\n", arguments.report)
    if gpu.lost is not None:
        print(f"smem-lint: {gpu.lost}: {sum(one.transient for one in answers)} specializations were not verified", file=sys.stderr)
    return code or (2 if any(one.transient for one in answers) else 0)


def _table_limit(capability: int) -> int | None:
    try:
        return by_capability(capability).optin
    except UnknownTarget:
        return None


def _cliffs(model: ModelEngine, here: Sequence[Specialization], limit: int) -> list[tuple[str, Specialization, str | None]]:
    """For each kernel (and set of argument types) the two sides of its cliff."""
    seen: set[tuple[Any, ...]] = set()
    found: list[tuple[str, Specialization, str | None]] = []
    for one in here:
        key = (one.file, one.kernel, *sorted(one.signature.items()))
        if key in seen:
            continue
        seen.add(key)
        cliff = find_cliff(model, one, limit)
        if cliff is not None:
            found += [("below the cliff", cliff.below, cliff.step), ("above the cliff", cliff.above, cliff.step)]
    return found


def _result(row: tuple[str, Specialization, str | None], estimate: Estimate, answer: GpuAnswer) -> dict[str, Any]:
    kind, one, step = row
    return {
        "kind": kind, "step": step, "specialization": one.to_record(), "gpu": answer.to_json(),
        "estimate": _told(estimate),
    }  # fmt: skip


def _told(estimate: Estimate) -> dict[str, Any]:
    return {name: getattr(estimate, name) for name in ("bytes", "lower", "upper", "exact", "error")}


def _fixtures(here: Sequence[Specialization], roots: Sequence[Path]) -> list[Path]:
    files = dict.fromkeys(root / one.file for one in here for root in roots if (root / one.file).is_file())
    return [path for path in files if "\ndef run(" in path.read_text("utf8", "replace")]


def disagreements(report: dict[str, Any]) -> list[str]:
    """What a hardware report holds against the model and the device table, in words."""
    found = []
    if report["table_limit"] is not None and report["table_limit"] != report["limit"]:
        found.append(f"the device table says {report['table_limit']:,} bytes a block, the device {report['limit']:,}")
    for result in report["results"]:
        told = _about_result(result, report["limit"])
        if told is not None:
            spec = result["specialization"]
            found.append(f"{spec['file']}::{spec['kernel']} num_stages={spec['num_stages']} ({result['kind']}): {told}")
    for name, run in report["runs"].items():
        if not run.get("passed"):
            found.append(f"{name}: its own run failed: {run.get('error') or run.get('cases')}")
    return found


def _about_result(result: dict[str, Any], limit: int) -> str | None:
    gpu, estimate = result["gpu"], result["estimate"]
    shared, refused = gpu["shared"], gpu["refused"]
    if shared is None and not is_refusal(str(gpu["error"])):
        return None
    if shared is None:
        return None if estimate["bytes"] is None else f"the device gives no number ({gpu['error']}), the model {estimate['bytes']:,}"
    if refused is not None and refused["what"] == "shared memory" and (refused["required"], refused["limit"]) != (shared, limit):
        return f"refused with {refused['required']} of {refused['limit']}, compiled with {shared} of {limit}"
    if (refused is not None and refused["what"] == "shared memory") != (shared > limit):
        return f"{shared:,} of {limit:,} bytes, and it {'is refused' if refused else 'launches'}"
    if estimate["bytes"] is None:
        return None
    upper = estimate["upper"] if estimate["upper"] is not None else 1 << 62
    if not estimate["lower"] <= shared <= upper:
        return f"the model says {estimate['lower']:,} to {upper:,}, the device {shared:,}"
    return None


def _tell(report: dict[str, Any]) -> int:
    results = report["results"]
    exact = sum(one["estimate"]["exact"] and one["estimate"]["bytes"] == one["gpu"]["shared"] for one in results)
    equal = sum(one["gpu"]["shared"] is not None and one["estimate"]["bytes"] == one["gpu"]["shared"] for one in results)
    launch = sum(one["gpu"]["launches"] for one in results)
    refused = sum(one["gpu"]["refused"] is not None for one in results)
    unverified = sum(one["gpu"]["shared"] is None and not is_refusal(str(one["gpu"]["error"])) for one in results)
    found = disagreements(report)
    for text in found:
        print(text)
    kernels = {(one["specialization"]["file"], one["specialization"]["kernel"]) for one in results}
    pairs = sum(one["kind"] == "above the cliff" for one in results)
    passed = sum(bool(run.get("passed")) for run in report["runs"].values())
    limit = f"sm_{report['capability']}, {report['limit']:,} bytes a block"
    print(f"{report['device']} ({limit}), Triton {report['triton']}, driver {report['driver']}")
    print(
        f"{len(results)} specializations of {len(kernels)} kernels: {launch} launch, {refused} refused, "
        f"{equal} estimated to the byte, {exact} of them said to be exact, both sides of {pairs} cliffs, "
        f"{unverified} not verified, {passed} of {len(report['runs'])} fixture files ran right, {len(found)} disagreements"
    )
    return 1 if found else 0


def check_hardware(arguments: argparse.Namespace) -> int:
    """Replay today's estimates against the records of real devices; needs no GPU. 1 on any disagreement."""
    files = existing([arguments.check_hardware]) if arguments.check_hardware else sorted(RECORDS.glob("*.json"))
    if not files:
        raise UsageError(f"no hardware record was found in {RECORDS}")
    roots = [root.resolve() for root in existing(arguments.root)] if arguments.root else [Path("fixtures/kernels").resolve()]
    wrong = 0
    for path in files:
        report = _read(path)
        model = ModelEngine(roots, version=report["triton"])
        specializations = [Specialization.from_record(one["specialization"]) for one in report["results"]]
        for result, estimate in zip(report["results"], model.estimate(specializations), strict=True):
            result["estimate"] = _told(estimate)
        print(f"{path}:")
        wrong += _tell(report)
    return 1 if wrong else 0


def _read(path: Path) -> dict[str, Any]:
    try:
        report = json.loads(path.read_text("utf8"))
        if report["version"] != 1 or not isinstance(report["results"], list):
            raise ValueError("not a hardware record of version 1")
        return dict(report)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path}: {error}") from error
