"""A check of many files in parts: what is found in some files, in processes of their own.

Host code and estimates of a part are worked out, judged and dropped in one process; only findings and counts come back, so that a
large repository needs little more memory than a small one. Files whose launches meet in one autotune list stay together, as
their configs are judged together. A process that dies costs the files that it had, with a message, and never the run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import networkx

from smem_lint.cli.progress import Progress
from smem_lint.config import Settings
from smem_lint.findings import Finding, Problem

if TYPE_CHECKING:
    from smem_lint.check import Judged
    from smem_lint.cli.linting import Lint

FILES = 12
"""Files in a part, where nothing holds more of them together."""

_SEVERAL = 48
_TUNED_KERNEL = re.compile(rb"autotune\((?:[^\n]*\n)*?def\s+(\w+)")
_WORD = re.compile(rb"\w+")


@dataclass(slots=True)
class Part:
    """What was found in some files. ``judged`` is empty where it was not asked for; ``cut`` are launches not followed on every path."""

    findings: list[Finding] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    kernels: set[tuple[str, str]] = field(default_factory=set)
    answered: int = 0
    unanswered: int = 0
    cut: set[object] = field(default_factory=set)
    judged: list[Judged] = field(default_factory=list)

    def add(self, other: Part) -> None:
        self.findings += other.findings
        self.problems += other.problems
        self.kernels |= other.kernels
        self.answered += other.answered
        self.unanswered += other.unanswered
        self.cut |= other.cut
        self.judged += other.judged


def worth_it(files: Sequence[Path], jobs: int) -> int:
    """How many processes to use for these files; 1: none but this one."""
    return (jobs or os.cpu_count() or 1) if len(files) >= _SEVERAL else 1


def parts_of(lint: Lint, files: Sequence[Path]) -> list[list[Path]]:
    """The files in groups to be judged together, the largest first, without those in which nothing can be found."""
    graph = networkx.Graph()
    tuned: dict[bytes, list[Path]] = {}
    words: dict[Path, frozenset[bytes]] = {}
    for path in files:
        folder = path.parent
        if path.suffix == ".json":
            graph.add_edge(path, folder)
            continue
        source = lint.source(path)
        if source is not None and not lint.may_hold(source):
            continue
        graph.add_node(path)
        source = source or b""
        for name in _TUNED_KERNEL.findall(source):
            tuned.setdefault(name, []).append(path)
        words[path] = frozenset(_WORD.findall(source))
    for path, found in words.items():
        for name in found & tuned.keys():
            graph.add_edges_from((path, home) for home in tuned[name] if home != path)
    groups = [[path for path in group if path in words or path.suffix == ".json"] for group in networkx.connected_components(graph)]
    return _joined(sorted((sorted(group) for group in groups), key=lambda group: (-len(group), group)))


def _joined(groups: Iterable[list[Path]]) -> list[list[Path]]:
    """Small groups put together, neighbours with neighbours."""
    found: list[list[Path]] = []
    small: list[list[Path]] = []
    for group in groups:
        (found if len(group) >= FILES else small).append(group)
    current: list[Path] = []
    for group in sorted(small):
        current += group
        if len(current) >= FILES:
            found.append(current)
            current = []
    return [*found, current] if current else found


def in_processes(lint: Lint, parts: Sequence[list[Path]], jobs: int) -> Iterator[tuple[int, Part]]:
    """Each part as it is done, with the number of its files. Raises UsageError where a part does."""
    left = list(parts)
    with ProcessPoolExecutor(jobs, initializer=_start, initargs=lint.setup) as pool:
        futures: dict[Future[Part], list[Path]] = {pool.submit(_done, part): part for part in parts}
        try:
            for future in as_completed(futures):
                yield len(futures[future]), future.result()
                left.remove(futures[future])
            return
        except BrokenProcessPool:
            pass
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    # A process died: what is left is done one file a process, so that only the culprit is lost.
    for path in (path for part in left for path in part):
        with ProcessPoolExecutor(1, initializer=_start, initargs=lint.setup) as pool:
            try:
                yield 1, pool.submit(_done, [path]).result()
            except BrokenProcessPool:
                yield 1, Part(problems=[Problem(lint.name(path), 0, "the process that checked it died")])


_lint: Lint | None = None


def _start(settings: Settings, paths: Sequence[Path], use_cache: bool, screened: bool, notes: bool) -> None:
    from smem_lint.cli.linting import Lint

    global _lint
    Progress.quiet = True
    _lint = Lint(replace(settings, jobs=1), paths, use_cache=use_cache)
    _lint.screened, _lint.notes, _lint.keeps_judged, _lint.keeps_sources = screened, notes, False, True


def _done(files: list[Path]) -> Part:
    assert _lint is not None
    return _lint.part(files)
