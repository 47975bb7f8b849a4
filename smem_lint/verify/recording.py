"""Runs a program whose Triton launches are written down: the parent's side of ``recorder/``, which runs in the program."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from smem_lint.devices import Device

_HOOK = Path(__file__).with_name("recorder")
_SIDE = ("autotune", "launch", "case")


class CannotRecord(RuntimeError):
    """The program could not be started, or nothing can be written where its records should go."""


@dataclass(slots=True)
class Recording:
    """What one run wrote. ``code`` is the program's exit code (128 + the signal that ended it), ``torn`` counts lines cut short,
    ``errors`` what could not be recorded, by kernel and reason, ``lost`` the records that found no room on the disk."""

    code: int
    records: int = 0
    kernels: int = 0
    torn: int = 0
    lost: int = 0
    versions: tuple[str, ...] = ()
    processes: int = 0
    errors: Counter[str] = field(default_factory=Counter)


def record(command: Sequence[str], output: Path, roots: Sequence[Path] = (), device: Device | None = None) -> Recording:
    """Run ``command`` and append each launch to ``output`` as it happens, in whichever of its processes; then drop what is twice there.

    ``device``: launch nothing, and stand in for it; None: observe. Raises CannotRecord.
    """
    try:
        output.write_bytes(b"")
    except OSError as error:
        raise CannotRecord(f"{output}: {error.strerror or error}") from error
    with tempfile.TemporaryDirectory(prefix="smem-lint-record-") as folder:
        notes = Path(folder) / "notes.jsonl"
        code = _run(_command(command), _environment(output, notes, roots, device))
        found = Recording(code)
        _count(notes, found)
    _tidy(output, found)
    return found


def _environment(output: Path, notes: Path, roots: Sequence[Path], device: Device | None) -> dict[str, str]:
    facts = None
    if device is not None:
        name = f"NVIDIA {device.cards[0]}" if device.cards else device.target
        facts = {"capability": device.capability, "optin": device.optin, "per_sm": device.per_sm, "name": name}
    settings = {
        "output": str(output.resolve()), "notes": str(notes), "roots": [os.path.realpath(root) for root in roots], "device": facts,
    }  # fmt: skip
    path = os.pathsep.join(part for part in (str(_HOOK), os.environ.get("PYTHONPATH", "")) if part)
    environment = {**os.environ, "PYTHONPATH": path, "SMEM_LINT_RECORD": json.dumps(settings)}
    if device is not None:
        environment.pop("TRITON_INTERPRET", None)
    return environment


def _command(command: Sequence[str]) -> list[str]:
    """A Python file that is not a program of its own is run by this interpreter."""
    first = Path(command[0])
    own = first.suffix == ".py" and first.is_file() and not os.access(first, os.X_OK)
    return [sys.executable, *command] if own else list(command)


def _run(command: Sequence[str], environment: Mapping[str, str]) -> int:
    try:
        process = subprocess.Popen(command, env=environment)
    except OSError as error:
        raise CannotRecord(f"cannot start {command[0]}: {error.strerror or error}") from error

    def pass_on(number: int, _: Any) -> None:
        with contextlib.suppress(OSError):
            process.send_signal(number)

    # Ctrl-C reaches the program by itself; it is the program that decides whether it ends.
    before = {signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN), signal.SIGTERM: signal.signal(signal.SIGTERM, pass_on)}
    try:
        code = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code


def _count(notes: Path, found: Recording) -> None:
    processes: set[int] = set()
    versions: dict[str, None] = {}
    for told in _lines(notes)[0]:
        processes.add(int(told["pid"]))
        if "triton" in told:
            versions[str(told["triton"])] = None
        if "error" in told:
            found.errors[f"{told['kernel']}: {told['error']}"] += 1
            found.lost += bool(told.get("disk"))
    found.processes, found.versions = len(processes), tuple(versions)


def _lines(path: Path) -> tuple[list[dict[str, Any]], int]:
    """The JSON objects of a file, and how many lines are none."""
    kept: list[dict[str, Any]] = []
    torn = 0
    with contextlib.suppress(OSError):
        for line in path.read_bytes().splitlines():
            try:
                value = json.loads(line)
            except ValueError:
                torn += 1
                continue
            kept.append(value)
    return kept, torn


def _tidy(output: Path, found: Recording) -> None:
    """Leave each record once: processes that ran the same kernels wrote the same, and a killed one may have left half a line."""
    if not output.is_file():  # a device or a pipe: what went there cannot be read again
        return
    kept, found.torn = _lines(output)
    unique: dict[str, dict[str, Any]] = {}
    for one in kept:
        unique.setdefault(json.dumps({name: one[name] for name in one if name not in _SIDE}, sort_keys=True), one)
    found.records = len(unique)
    found.kernels = len({(one["file"], one["kernel"]) for one in unique.values()})
    if len(unique) < len(kept) or found.torn:
        beside = output.with_name(output.name + ".tidy")
        try:
            beside.write_text("".join(json.dumps(one) + "\n" for one in unique.values()), "utf8")
            os.replace(beside, output)
        except OSError:  # no room for a second copy: what is there can be read all the same
            beside.unlink(missing_ok=True)
