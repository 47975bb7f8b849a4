"""``smem-lint configs``: every config that the host code can launch, resolved or not."""

from __future__ import annotations

import argparse
import json
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from smem_lint.cli.files import absolute, python_files, root_of
from smem_lint.cli.parts import CACHED_SOURCE_BYTES, parts_of, worth_it
from smem_lint.cli.progress import Progress
from smem_lint.cli.scenarios import resolved
from smem_lint.cli.settings import existing, settings_of, targets_of, write_output
from smem_lint.config import Settings
from smem_lint.host.config import Config
from smem_lint.host.configs import may_launch
from smem_lint.processes import Workers, in_processes
from smem_lint.source.modules import Repository


def run(arguments: argparse.Namespace) -> int:
    paths = existing(arguments.paths)
    settings = settings_of(arguments, paths)
    roots = list(dict.fromkeys(root_of(path) for path in paths))
    files = list(python_files(paths, roots, settings.exclude))
    found = _Found()
    for one in _in_parts(settings, roots, files, arguments.output_format):
        found.add(one)
    for problem in sorted(found.problems):
        print(problem, file=sys.stderr)
    order = {file: place for place, file in enumerate(Repository(roots).relative(absolute(path)) for path in files)}
    found.texts.sort(key=lambda one: (one[0], order.get(one[1], 0)))
    write_output("".join(zlib.decompress(text).decode() for _, _, text in found.texts), arguments.output_file)
    if found.cut:
        found.counts["launches cut at a budget"] = len(found.cut)
    if arguments.statistics:
        for name, count in sorted(found.counts.items()):
            print(f"{name}: {count}", file=sys.stderr)
    return 0


@dataclass(slots=True)
class _Found:
    """``texts`` are (place of the target, file, configs as they are printed, compressed: there may be very many)."""

    texts: list[tuple[int, str, bytes]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    cut: set[str] = field(default_factory=set)

    def add(self, other: _Found) -> None:
        self.texts += other.texts
        self.problems += other.problems
        self.counts += other.counts
        self.cut |= other.cut


def _in_parts(settings: Settings, roots: Sequence[Path], files: Sequence[Path], output_format: str) -> Iterator[_Found]:
    jobs = worth_it(files, settings.jobs)
    if jobs == 1:
        _start(settings, roots, output_format)
        yield _work(files)
        return
    repository = Repository(roots)
    def lost(path: Path) -> _Found:
        return _Found(problems=[f"{path}:1: the process that read it died"], counts=Counter({"problems": 1}))

    parts = parts_of(files, lambda path: repository.source_of(absolute(path)), may_launch)
    progress, done = Progress("reading"), 0
    for size, part in in_processes(parts, jobs, Workers(_start, (settings, roots, output_format), _work, lost)):
        done += size
        progress(done, sum(map(len, parts)))
        yield part


_setup: tuple[Settings, Repository, str] | None = None


def _start(settings: Settings, roots: Sequence[Path], output_format: str) -> None:
    global _setup
    _setup = settings, Repository(roots, cached_bytes=CACHED_SOURCE_BYTES), output_format


def _work(files: Sequence[Path]) -> _Found:
    assert _setup is not None
    settings, repository, output_format = _setup
    found = _Found()
    names = [repository.relative(absolute(path)) for path in files]
    for place, device in enumerate(targets_of(settings)):
        texts: dict[str, list[str]] = {}
        reading = ""

        def ticking(names: Sequence[str] = names) -> Iterator[str]:
            nonlocal reading
            for name in names:
                reading = name
                yield name

        for one in resolved(repository, ticking(), device.capability, settings):
            if not isinstance(one, Config):
                found.problems.append(f"{one.file}:{one.line or 1}: {one.message}")
                found.counts["problems"] += 1
                continue
            found.counts[f"{one.origin} {'unresolved' if one.unresolved else 'resolved'}"] += 1
            found.cut |= {one.launch} if one.cut else set()
            texts.setdefault(reading, []).append(_jsonl(one, device.target) if output_format == "jsonl" else _text(one))
        found.texts += [(place, file, zlib.compress("".join(lines).encode(), 1)) for file, lines in texts.items()]
    return found


def _jsonl(config: Config, target: str) -> str:
    return json.dumps({**config.to_json(), "target": target}, default=str) + "\n"


def _text(config: Config) -> str:
    place = f"#{config.index} of {config.of}" if config.index is not None else ""
    told = ", ".join(f"{name}={value}" for name, value in {**config.constexprs, **config.options}.items())
    lines = [f"{config.file}:{config.line}: {config.kernel} {config.origin} {place}".rstrip(), f"    {told}"]
    lines += [f"    when {condition}" for condition in config.when]
    lines += [f"    unresolved: {gap.name}: {gap.reason}" for gap in config.unresolved]
    lines += [f"    not all: {config.cut}"] if config.cut and not config.unresolved else []
    return "\n".join(lines) + "\n"
