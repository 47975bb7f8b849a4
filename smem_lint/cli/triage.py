"""``smem-lint triage``: a server's log read; which failure came first, and what to do about it."""

from __future__ import annotations

import argparse
import ast
import json
import os
import shlex
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from smem_lint.cli.errors import UsageError
from smem_lint.cli.settings import settings_of, targets_of
from smem_lint.devices import Device
from smem_lint.host.config import Config
from smem_lint.triage import Diagnosis, scan
from smem_lint.triage.advice import device_of
from smem_lint.triage.matching import Search
from smem_lint.triage.report import Frame

if TYPE_CHECKING:
    from smem_lint.source.modules import Repository


def run(arguments: argparse.Namespace) -> int:
    sources = [Path(path) for path in arguments.source]
    for path in sources:
        if not path.exists():
            raise UsageError(f"--source {path}: no such file or folder")
    diagnosis = _scanned(arguments.log)
    devices = device_of(diagnosis, _preferred(arguments))
    found = _searched(arguments, diagnosis, sources, devices) if sources else None
    if arguments.output_format == "json":
        from smem_lint.triage.as_json import as_json

        print(json.dumps(as_json(arguments.log, diagnosis, devices, found), indent=1, default=str))
    else:
        from smem_lint.triage.as_text import as_text

        print("\n".join(as_text(arguments.log, diagnosis, devices, found)))
    return 1 if diagnosis.failure else 0


def _scanned(log: str) -> Diagnosis:
    if log == "-":
        return _read(sys.stdin.buffer, "standard input")
    try:
        with open(log, "rb") as stream:
            return _read(stream, log)
    except OSError as error:
        raise UsageError(f"{log}: {error.strerror or error}") from error


def _read(stream: BinaryIO, name: str) -> Diagnosis:
    diagnosis = scan(stream)
    if not diagnosis.bytes:
        raise UsageError(f"{name}: the log is empty")
    return diagnosis


def _preferred(arguments: argparse.Namespace) -> tuple[Device, ...]:
    return targets_of(settings_of(arguments, [])) if arguments.target else ()


def _searched(arguments: argparse.Namespace, diagnosis: Diagnosis, sources: list[Path], devices: tuple[Device, ...]) -> Search | None:
    """Look for the config under the sources, where the log names bytes and the kernel or the launch."""
    failure = diagnosis.failure
    if not (failure and failure.required and failure.limit and devices and (failure.kernel or failure.launch)):
        return None
    from smem_lint.cli.engines import engine_of
    from smem_lint.cli.files import absolute, package_root, python_files, root_of
    from smem_lint.cli.scenarios import resolved
    from smem_lint.source.modules import Repository
    from smem_lint.triage.matching import search

    settings = settings_of(arguments, sources)
    roots = list(dict.fromkeys(root_of(path) if path.is_dir() else package_root(absolute(path)) for path in sources))
    repository = Repository(roots)
    launch = failure.launch.file.replace("\\", "/").rsplit("/", 1)[-1] if failure.launch else None
    files = [
        repository.relative(absolute(path))
        for path in python_files(sources, roots, settings.exclude)
        if path.suffix == ".py" and (path.name == launch or (failure.kernel and _mentions(path, failure.kernel)))
    ]
    configs = [one for one in resolved(repository, files, devices[0].capability, settings) if isinstance(one, Config)]
    wanted = [one for one in configs if one.kernel == failure.kernel]
    if not wanted and failure.launch:
        wanted = [one for one in configs if one.line == failure.launch.line and one.file.endswith(launch or "")]
        wanted = wanted or _launched_in(repository, configs, failure.launch)
    engine = engine_of(settings, roots, default="model")
    found = search(wanted, failure.required, failure.limit, engine, devices[0].capability)
    if found.matches:
        found.place = _place(roots, found.matches[0].config)
    return found


def _launched_in(repository: Repository, configs: Iterable[Config], launch: Frame) -> list[Config]:
    """Configs that are launched by the function of a frame: in another version it stands on another line, its kernel may be renamed."""
    name, function = launch.file.replace("\\", "/").rsplit("/", 1)[-1], launch.function.rpartition(".")[2]
    spans: dict[str, list[range]] = {}
    found = []
    for one in configs:
        file, _, line = one.launch.rpartition(":") if one.launch else (one.file, "", str(one.line))
        if file.rsplit("/", 1)[-1] != name:
            continue
        if file not in spans:
            spans[file] = list(_spans(repository, file, function))
        if any(int(line) in span for span in spans[file]):
            found.append(one)
    return found


def _spans(repository: Repository, file: str, function: str) -> Iterator[range]:
    text = next((path.read_bytes() for root in repository.roots if (path := root / file).is_file()), b"")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == function:
            yield range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _place(roots: list[Path], config: Config) -> str:
    """The file and line of a launch or list, named from the current folder and safe to paste into a shell."""
    path = next((root / config.file for root in roots if (root / config.file).is_file()), Path(config.file))
    return shlex.quote(f"{os.path.relpath(path)}:{config.line}")


def _mentions(path: Path, name: str) -> bool:
    try:
        return name.encode() in path.read_bytes()
    except OSError:
        return False
