"""``smem-lint explain FILE::KERNEL [NAME=VALUE …]``."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

from smem_lint.cli.engines import engine_of
from smem_lint.cli.errors import UsageError
from smem_lint.cli.explain_base import Base, find_base
from smem_lint.cli.settings import existing, settings_of, targets_of, use_color, write_output
from smem_lint.explain import Explanation, explain
from smem_lint.report.style import Style
from smem_lint.source.comments import pairs


def run(arguments: argparse.Namespace) -> int:
    path, kernel = _named(arguments.kernel)
    roots = [root.resolve() for root in existing(arguments.root)] if arguments.root else [_package_root(path)]
    settings = settings_of(arguments, [path])
    device = targets_of(settings)[0]
    values, sweeps = _values(arguments.values)
    base = find_base(path, kernel, roots, values, settings, device)
    engine = engine_of(settings, roots, use_cache=not arguments.no_cache, default="model")
    try:
        found = explain(engine, base.specialization, device, sweeps, base.assumed)
    except KeyError as error:
        raise UsageError(f"{kernel} has no argument or option called {error.args[0]}") from error
    lines = path.read_text("utf8", "replace").splitlines()
    if arguments.output_format == "json":
        print(json.dumps(as_json(found), indent=1, default=str))
    else:
        from smem_lint.report.explanation import render

        sys.stdout.write(render(found, Style(use_color()), lines))
    _pictures(arguments, found, base, roots, lines)
    return 0 if found.headroom is not None and found.headroom >= 0 else 1


def _named(text: str) -> tuple[Path, str]:
    file, separator, kernel = text.rpartition("::")
    if not separator or not kernel:
        raise UsageError(f"{text}: expected FILE::KERNEL")
    path = existing([file])[0]
    if path.is_dir():
        raise UsageError(f"{file}: is a folder")
    return path.resolve(), kernel


def _package_root(path: Path) -> Path:
    folder = path.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


def _values(given: list[str]) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Single values, and lists to sweep over (the first of a list is the base's)."""
    values: dict[str, Any] = {}
    sweeps: dict[str, list[Any]] = {}
    for text in given:
        name, separator, rest = text.partition("=")
        if not separator or not name.strip():
            raise UsageError(f"{text}: expected NAME=VALUE")
        parts = [one for part in rest.split(",") for _, one in pairs(f"x={part}")] if rest else [""]
        values[name.strip()] = parts[0]
        if len(parts) > 1:
            sweeps[name.strip()] = parts
    return values, sweeps


def as_json(found: Explanation) -> dict[str, Any]:
    def row(one: Any) -> dict[str, Any]:
        return {"change": dict(one.change), **one.estimate.to_json()}

    return {
        "kernel": found.base.specialization.kernel, "file": found.base.specialization.file, "target": found.device.target,
        "limit": found.device.optin, "headroom": found.headroom, "assumed": list(found.assumed),
        "specialization": found.base.specialization.to_record(), "estimate": found.base.estimate.to_json(),
        "peak": dataclasses.asdict(found.peak) if found.peak is not None else None,
        "tables": {name: [row(one) for one in rows] for name, rows in found.tables.items()},
        "cliffs": {name: [row(before), row(after)] for name, (before, after) in found.cliffs.items()},
        "fits": [row(one) for one in found.fitting],
    }  # fmt: skip


def _pictures(arguments: argparse.Namespace, found: Explanation, base: Base, roots: list[Path], lines: list[str]) -> None:
    if arguments.plot:
        from smem_lint.report.plot import plot

        plot(found, Path(arguments.plot))
    if arguments.graph:
        from smem_lint.report.graph import draw

        draw(base.specialization, roots, Path(arguments.graph))
    if arguments.html:
        from smem_lint import __version__
        from smem_lint.report.html import render_explanation

        write_output(render_explanation(found, lines, __version__), arguments.html)
