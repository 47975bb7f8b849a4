"""``smem-lint configs``: every config that the host code can launch, resolved or not."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter

from smem_lint.cli.linting import absolute, python_files, root_of
from smem_lint.cli.scenarios import resolved
from smem_lint.cli.settings import existing, settings_of, targets_of, write_output
from smem_lint.host.config import Config
from smem_lint.source.modules import Repository


def run(arguments: argparse.Namespace) -> int:
    paths = existing(arguments.paths)
    settings = settings_of(arguments, paths)
    roots = list(dict.fromkeys(root_of(path) for path in paths))
    repository = Repository(roots)
    names = [repository.relative(absolute(path)) for path in python_files(paths, roots, settings.exclude)]
    lines, counts = [], Counter[str]()
    cut: set[str] = set()
    for device in targets_of(settings):
        for one in resolved(repository, names, device.capability, settings):
            if not isinstance(one, Config):
                print(f"{one.file}:{one.line or 1}: {one.message}", file=sys.stderr)
                counts["problems"] += 1
                continue
            counts[f"{one.origin} {'unresolved' if one.unresolved else 'resolved'}"] += 1
            cut |= {one.launch} if one.cut else set()
            lines.append(_jsonl(one, device.target) if arguments.output_format == "jsonl" else _text(one))
    write_output("".join(lines), arguments.output_file)
    if cut:
        counts["launches cut at a budget"] = len(cut)
    if arguments.statistics:
        for name, count in sorted(counts.items()):
            print(f"{name}: {count}", file=sys.stderr)
    return 0


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
