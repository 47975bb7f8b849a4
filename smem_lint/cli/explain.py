"""``smem-lint explain FILE::KERNEL [NAME=VALUE …]``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from smem_lint.cli.engines import engine_of
from smem_lint.cli.errors import UsageError
from smem_lint.cli.explain_base import Base, find_bases
from smem_lint.cli.explain_values import check_values, parse_values
from smem_lint.cli.settings import existing, settings_of, targets_of, use_color, write_output
from smem_lint.config import Settings
from smem_lint.devices import Device
from smem_lint.engines import Engine
from smem_lint.explain import Explanation, Sweep, explain
from smem_lint.report.style import Style
from smem_lint.source.modules import Repository
from smem_lint.source.packages import package_root


def run(arguments: argparse.Namespace) -> int:
    path, kernel = _named(arguments.kernel)
    roots = [root.resolve() for root in existing(arguments.root)] if arguments.root else [package_root(path)]
    if not any(path.is_relative_to(root) for root in roots):
        raise UsageError(f"{path}: is not below --root {', '.join(map(str, roots))}")
    settings = settings_of(arguments, [path])
    values, sweeps = parse_values(arguments.values)
    _writable(arguments)
    found, bases = _explanations(path, kernel, roots, settings, values, sweeps, use_cache=not arguments.no_cache)
    lines = path.read_text("utf8", "replace").splitlines()
    if arguments.output_format == "json":
        from smem_lint.report.explanation_json import render

        _print(json.dumps(render(found), indent=1, default=str) + "\n")
    else:
        from smem_lint.report.explanation import render as render_text

        _print(render_text(found[0], Style(use_color()), lines, found[1:]))
    _pictures(arguments, found, bases[0], roots, settings, lines)
    return 0 if all(one.headroom is not None and one.headroom >= 0 for one in found) else 1


def _explanations(
    path: Path, kernel: str, roots: Sequence[Path], settings: Settings, values: dict[str, Any], sweeps: Sequence[Sweep], use_cache: bool,
) -> tuple[list[Explanation], list[Base]]:  # fmt: skip
    """One explanation for each target, each from the launch that the target takes."""
    repository = Repository(roots)
    engine = engine_of(settings, roots, use_cache=use_cache, default="model")
    found, bases = [], []
    for device in targets_of(settings):
        candidates = find_bases(repository, path, kernel, values, settings, device)
        check_values(kernel, candidates[0].declared, values, sweeps)
        base = _answered(engine, candidates)
        bases.append(base)
        found.append(explain(engine, base.specialization, device, sweeps, base.assumed, base.origin))
    return found, bases


def _answered(engine: Engine, candidates: Sequence[Base]) -> Base:
    """The first that the engine has bytes for: dtypes that were only assumed may not go together."""
    for base in candidates:
        (estimate,) = engine.estimate([base.specialization])
        if estimate.bytes is not None:
            return base
    return candidates[0]


def _named(text: str) -> tuple[Path, str]:
    file, separator, kernel = text.rpartition("::")
    if not separator or not kernel or not file:
        raise UsageError(f"{text}: expected FILE::KERNEL, e.g. kernels/decode.py::decode_kernel")
    path = existing([file])[0]
    if path.is_dir():
        raise UsageError(f"{file}: is a folder")
    return path.resolve(), kernel


def _writable(arguments: argparse.Namespace) -> None:
    """Pictures that cannot be drawn are told before the work is done."""
    for option, suffixes in (("plot", (".svg", ".png")), ("graph", (".svg", ".png", ".dot"))):
        name = getattr(arguments, option)
        if name and Path(name).suffix.lower() not in suffixes:
            raise UsageError(f"--{option} {name}: expected a name that ends in {', '.join(suffixes[:-1])} or {suffixes[-1]}")
    for name in (arguments.plot, arguments.graph, arguments.html):
        if name and name != "-" and not Path(name).absolute().parent.is_dir():
            raise UsageError(f"{name}: no such folder")


def _print(text: str) -> None:
    """To standard output, in ASCII where it holds no more."""
    try:
        sys.stdout.write(text)
    except UnicodeEncodeError:
        plain = text.replace("×", "x").replace("…", "...")
        sys.stdout.write(plain.encode("ascii", "backslashreplace").decode())


def _pictures(
    arguments: argparse.Namespace, found: Sequence[Explanation], base: Base, roots: Sequence[Path], settings: Settings,
    lines: Sequence[str],
) -> None:  # fmt: skip
    from smem_lint.report.drawing import NotDrawn

    try:
        if arguments.plot:
            from smem_lint.report.plot import plot

            plot(found, Path(arguments.plot))
        if arguments.graph:
            _graph(base, roots, settings, found[0].device, Path(arguments.graph), lines)
        if arguments.html:
            from smem_lint import __version__
            from smem_lint.report.html import render_explanation

            write_output(render_explanation(found[0], lines, __version__, found[1:]), arguments.html)
    except NotDrawn as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        raise UsageError(f"{error.filename or arguments.plot or arguments.graph}: {error.strerror or error}") from error


def _graph(base: Base, roots: Sequence[Path], settings: Settings, device: Device, file: Path, lines: Sequence[str]) -> None:
    from smem_lint.model import ModelEngine
    from smem_lint.report.graph import draw, program_graph
    from smem_lint.tile.unsupported import KernelError, Unsupported

    try:
        graph = program_graph(ModelEngine(roots, version=settings.triton), base.specialization, lines)
    except (KernelError, Unsupported, LookupError) as error:
        raise UsageError(f"--graph: {error.args[0] if error.args else error}") from error
    draw(graph, file, f"{base.specialization.kernel} on {device.target}")
