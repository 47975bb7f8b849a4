"""``smem-lint compare OLD NEW``: a fork and its upstream, or two revisions. Exit code 1 where the new tree has a new overflow."""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from smem_lint.cli.engines import engine_of
from smem_lint.cli.files import package_root
from smem_lint.cli.linting import Lint
from smem_lint.cli.revisions import sides
from smem_lint.cli.settings import settings_of, write_output
from smem_lint.comparison import Tree, compare
from smem_lint.config import Settings
from smem_lint.engines import Engine, Estimate
from smem_lint.findings import Report
from smem_lint.judging import Judged, estimated
from smem_lint.report.comparison import render
from smem_lint.source.modules import Repository
from smem_lint.specialization import Specialization


def run(arguments: argparse.Namespace) -> int:
    with sides([arguments.old, arguments.new]) as (old, new):
        settings = settings_of(arguments, [new.path])
        lint = Lint(settings, [new.path], use_cache=not arguments.no_cache)
        known: dict[str, Estimate] = {}
        before, after = (_tree(settings, [one.path], known, not arguments.no_cache) for one in (old, new))
        found = compare(before, after, [device.target for device in lint.devices])
        write_output(render(found, arguments.output_format, old.name, new.name), None)
        return 1 if found.new_overflows else 0


@dataclass(eq=False)
class Remembering:
    """An engine that is not asked again for a specialization of the same source, kernel and callees, in whichever tree it stands."""

    engine: Engine
    repository: Repository
    known: dict[str, Estimate]
    name: str = "remembering"
    _sources: dict[tuple[str, str, int], str] = field(default_factory=dict)

    def estimate(self, specializations: Iterable[Specialization]) -> Iterator[Estimate]:
        wanted = list(specializations)
        keys = [f"{self._source(one)} {one!r}" for one in wanted]
        new = {key: one for key, one in zip(keys, wanted, strict=True) if key not in self.known}
        self.known.update(zip(new, self.engine.estimate(list(new.values())), strict=True))
        return (self.known[key] for key in keys)

    def _source(self, one: Specialization) -> str:
        """Names the text of a kernel and of all it calls; where that cannot be told, the tree."""
        from smem_lint.verify.cut import CannotCut, cut

        key = (one.file, one.kernel, one.capability)
        if key not in self._sources:
            try:
                piece = cut(self.repository, *key)
                source = "" if piece.missing else repr(sorted(piece.modules.items()))
            except CannotCut:
                source = ""
            self._sources[key] = hashlib.sha256((source or repr(self.repository.roots)).encode()).hexdigest()
        return self._sources[key]


def _tree(settings: Settings, paths: list[Path], known: dict[str, Estimate], use_cache: bool) -> Tree:
    """The configs of one tree, under the settings of the new one. Raises UsageError."""
    lint, report = Lint(settings, paths, use_cache=use_cache), Report()
    if paths[0].is_file():
        # Named relative to its package, a file has the same name in both trees.
        lint.roots = [package_root(paths[0].resolve())]
        lint.repository = Repository(lint.roots)
    engine = Remembering(engine_of(settings, lint.roots, use_cache=use_cache), lint.repository, known)
    files = lint.files()
    judged: list[Judged] = []
    for device in lint.devices:
        judged += estimated(lint.configs(files, device, report.problems), device, engine)
    for problem in report.problems:
        print(f"{problem.file}: {problem.message}", file=sys.stderr)
    return Tree.of(judged, lint.repository)
