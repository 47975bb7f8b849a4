"""``smem-lint explain FILE::KERNEL [NAME=VALUE …]``, or ``FILE:LINE`` as a finding names its launch."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from smem_lint.cli.engines import engine_of
from smem_lint.cli.errors import UsageError
from smem_lint.cli.explain_base import Base, find_bases, launched_at
from smem_lint.cli.explain_dtypes import by_dtypes
from smem_lint.cli.explain_values import check_values, parse_values
from smem_lint.cli.settings import existing, settings_of, targets_of, use_color, write_output
from smem_lint.config import Settings
from smem_lint.devices import Device
from smem_lint.engines import Engine
from smem_lint.explain import Explanation, Sweep, explain
from smem_lint.report.style import Style
from smem_lint.source.modules import Repository
from smem_lint.source.packages import package_root

_PLACE = re.compile(r"(?P<file>.+?\.py):(?P<line>\d+)(:\d+)?:?")


def run(arguments: argparse.Namespace) -> int:
    path, kernel, line = _named(arguments.kernel)
    roots = [root.resolve() for root in existing(arguments.root)] if arguments.root else [package_root(path)]
    if not any(path.is_relative_to(root) for root in roots):
        raise UsageError(f"{path}: is not below --root {', '.join(map(str, roots))}")
    settings = settings_of(arguments, [path])
    values, sweeps = parse_values(arguments.values)
    _writable(arguments)
    given = values if arguments.plot or arguments.html else None
    if line is not None:
        path, kernel, values = _launched_at(path, line, roots, settings, values, use_cache=not arguments.no_cache)
    found, bases = _explanations(path, kernel, roots, settings, values, sweeps, not arguments.no_cache, given)
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
    given: dict[str, Any] | None = None,
) -> tuple[list[Explanation], list[Base]]:  # fmt: skip
    """One explanation for each target, each from the launch that the target takes; with what a person gave, by other types too."""
    repository = Repository(roots)
    engine = engine_of(settings, roots, use_cache=use_cache, default="model")
    found, bases = [], []
    for device in targets_of(settings):
        candidates = find_bases(repository, path, kernel, values, settings, device)
        check_values(kernel, candidates[0].declared, values, sweeps, candidates[0].constexprs)
        base = _answered(engine, candidates)
        bases.append(base)
        one = explain(engine, base.specialization, device, sweeps, base.assumed, base.origin)
        if given is not None:
            known = candidates if given == values else None
            one = by_dtypes(engine, one, path, repository, settings, given, sweeps, known)
        found.append(one)
    return found, bases


def _answered(engine: Engine, candidates: Sequence[Base]) -> Base:
    """Of what agrees best with the values that were given, what takes the most; if the engine has no bytes for any, the next that it has.

    Dtypes that were only assumed may not go together.
    """
    sizes = [estimate.bytes for estimate in engine.estimate([base.specialization for base in candidates])]
    answered = [(base, size) for base, size in zip(candidates, sizes, strict=True) if size is not None]
    return max(answered, key=lambda one: (one[0].agreement, one[1]))[0] if answered else candidates[0]


def _launched_at(
    path: Path, line: int, roots: Sequence[Path], settings: Settings, values: dict[str, Any], use_cache: bool
) -> tuple[Path, str, dict[str, Any]]:
    """The kernel that is launched or tuned at a line, and the values of its config that takes the most there. Raises UsageError."""
    repository, device = Repository(roots), targets_of(settings)[0]
    launched = launched_at(repository, repository.relative(path), line, settings, device)
    wanted = [specialization for one in launched if (specialization := one.specialization(device.capability)) is not None]
    engine = engine_of(settings, roots, use_cache=use_cache, default="model")
    sizes = [estimate.bytes or 0 for estimate in engine.estimate(wanted)]
    if not sizes:
        raise UsageError(f"{path}:{line}: no launch that could be followed stands there")
    one = launched[max(range(len(sizes)), key=lambda index: sizes[index])]
    own = {**one.types, **{name: value for name, value in one.constexprs.items() if value is not None}, **one.options}
    found = next((root / one.kernel_file for root in roots if (root / one.kernel_file).is_file()), path)
    return found, one.kernel, {**own, **values}


def _named(text: str) -> tuple[Path, str, int | None]:
    """The file with a kernel's name, or with a line."""
    place = _PLACE.fullmatch(text)
    file, separator, kernel = (place["file"], "::", "") if place else text.rpartition("::")
    if not separator or not file or not (kernel or place):
        raise UsageError(f"{text}: expected FILE::KERNEL or FILE:LINE, e.g. kernels/decode.py::decode_kernel")
    path = existing([file])[0]
    if path.is_dir():
        raise UsageError(f"{file}: is a folder")
    return path.resolve(), kernel, int(place["line"]) if place else None


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
