"""``smem-lint record -- CMD …``: run a program of the user's own and write its Triton launches as specialization records.

Exit code: the program's own (128 + the signal that ended it); 2 where it ended with 0 but records were lost, or where it could not
be started.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from smem_lint.cli.errors import UsageError
from smem_lint.cli.settings import existing
from smem_lint.devices import Device, UnknownTarget, parse_targets
from smem_lint.verify.recording import CannotRecord, Recording, record

_SHOWN = 10


def run(arguments: argparse.Namespace) -> int:
    command = arguments.program[1:] if arguments.program[:1] == ["--"] else arguments.program
    if not command:
        raise UsageError("record: which program? `smem-lint record -- python train.py`")
    device = _device(arguments.target) if arguments.no_gpu else None
    roots = existing(arguments.root) if arguments.root else []
    if device is not None:
        print(f"smem-lint: runs {command[0]} with a stand-in for {device.label}: nothing is launched", file=sys.stderr)
    try:
        found = record(command, Path(arguments.output), roots, device)
    except CannotRecord as error:
        raise UsageError(str(error)) from error
    _tell(found, arguments.output)
    return 2 if found.code == 0 and found.lost else found.code


def _device(target: str) -> Device:
    try:
        devices = parse_targets(target)
    except UnknownTarget as error:
        raise UsageError(str(error)) from error
    if len(devices) != 1:
        raise UsageError(f"--target {target}: a program runs on one device")
    return devices[0]


def _tell(found: Recording, output: str) -> None:
    said = sys.stderr
    if not found.versions:
        print("smem-lint: no process of the program imported Triton (`python -I` and `-E` keep the recorder out)", file=said)
    for reason, count in found.errors.most_common(_SHOWN):
        print(f"smem-lint: not recorded: {reason}" + (f" ({count} times)" if count > 1 else ""), file=said)
    if len(found.errors) > _SHOWN:
        print(f"smem-lint: not recorded: {len(found.errors) - _SHOWN} more reasons", file=said)
    if found.code:
        print(f"smem-lint: the program ended with exit code {found.code}", file=said)
    triton = f" by Triton {', '.join(found.versions)}" if found.versions else ""
    print(
        f"smem-lint: {found.records} records of {found.kernels} kernels{triton}, {found.errors.total()} errors, "
        f"{found.processes} processes: {output}",
        file=said,
    )
