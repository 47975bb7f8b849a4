"""Recorded launches, read to be linted: each becomes a config at the line that launched it, or at its kernel."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from smem_lint.cli.errors import UsageError
from smem_lint.host.config import Config
from smem_lint.source.modules import Repository
from smem_lint.specialization import Specialization


def recorded(path: Path, repository: Repository) -> list[Config]:
    """Each record of a file as a config. Raises UsageError where the file, or one of its lines, cannot be read.

    Entries of one autotune list that was recorded for several shapes are told apart by ``when``: what the list does not set.
    """
    records = list(_records(path))
    shapes: dict[tuple[Any, ...], set[str]] = {}
    for record, one in records:
        shapes.setdefault(_list(record, one), set()).add(_shape(record, one))
    return [_config(record, one, repository, len(shapes[_list(record, one)]) > 1) for record, one in records]


def roots_of(path: Path) -> list[Path]:
    """The folders that a file of records says its files are relative to, where they are there."""
    roots = dict.fromkeys(record["root"] for record, _ in _records(path) if isinstance(record.get("root"), str))
    return [Path(root) for root in roots if Path(root).is_dir()]


def files_of(configs: list[Config], roots: list[Path]) -> list[Path]:
    """The source files that recorded configs name: where they launch and where their kernels stand."""
    names = dict.fromkeys(name for one in configs for name in (one.file, one.kernel_file))
    return [found for name in names if (found := next((root / name for root in roots if (root / name).is_file()), None))]


def _records(path: Path) -> Iterator[tuple[dict[str, Any], Specialization]]:
    try:
        lines = path.read_text("utf8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                record = parsed(line)
                yield record, Specialization.from_record(record)
            except (ValueError, RecursionError) as error:
                raise UsageError(f"{path}:{number}: {error}") from error


def _list(record: dict[str, Any], one: Specialization) -> tuple[Any, ...]:
    return (one.file, one.kernel, record.get("launch"), *sorted(one.signature.items()))


def _tuned(record: dict[str, Any]) -> dict[str, Any]:
    told = record.get("autotune")
    return told if isinstance(told, dict) and isinstance(told.get("of"), int) and told["of"] > 1 else {}


def _shape(record: dict[str, Any], one: Specialization) -> str:
    """The constexprs that the autotune list does not set; nothing where the record does not say which it sets."""
    names = _tuned(record).get("names")
    if not isinstance(names, list):
        return ""
    fixed = {name: value for name, value in one.constexprs.items() if name not in names and isinstance(value, (bool, int, float, str))}
    return ", ".join(f"{name}={value}" for name, value in fixed.items())


def _config(record: dict[str, Any], one: Specialization, repository: Repository, several: bool) -> Config:
    module = repository.module(one.file)
    kernel = module.find_function(one.kernel) if module is not None else None
    kernel_line = kernel.lineno if kernel is not None else 0
    file, line = _place(record, repository) or (one.file, kernel_line or 1)
    tuned = _tuned(record)
    shape = _shape(record, one) if several and tuned else ""
    return Config(
        file=file, line=line, column=1, kernel=one.kernel, kernel_file=one.file, kernel_line=kernel_line,
        origin="autotune" if tuned else "launch", index=int(tuned.get("index", 0)), of=int(tuned.get("of", 1)),
        constexprs=dict(one.constexprs), types={name: kind for name, kind in one.signature.items() if kind != "constexpr"},
        attrs=dict(one.attrs), arguments=tuple(one.signature), when=(f"recorded with {shape}",) if shape else (),
        options={"num_warps": one.num_warps, "num_stages": one.num_stages, "num_ctas": one.num_ctas, "maxnreg": one.maxnreg},
        pruned=tuned.get("kept") is False,
    )  # fmt: skip


def _place(record: dict[str, Any], repository: Repository) -> tuple[str, int] | None:
    """The line that launched, where its file lies under the roots."""
    file, _, line = str(record.get("launch", "")).rpartition(":")
    if not file or not line.isdigit() or repository.module(file) is None:
        return None
    return file, int(line)


def parsed(line: str) -> dict[str, Any]:
    record = json.loads(line)
    if not isinstance(record, dict):
        raise ValueError("not a JSON object")
    return record
