"""Many files in parts, to be worked on some files a process.

What a part needs is worked out and dropped in one process, and only results come back, so that a large repository needs little more
memory than a small one. Files whose launches meet in one autotune list stay together, as their configs are judged together.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import networkx

FILES = 12
"""Files in a part, where nothing holds more of them together."""

_TUNED_FILES = 48
"""Tuned files are small, and those of a folder go through the same launches."""

CACHED_SOURCE_BYTES = 2_000_000
"""Source text that a process keeps the trees of: there are several of them."""

_SEVERAL = 48
_DEVICE = re.compile(r"device_name=[^,]*")
_TUNED_KERNEL = re.compile(rb"autotune\((?:[^\n]*\n)*?def\s+(\w+)")
_WORD = re.compile(rb"\w+")


def worth_it(files: Sequence[Path], jobs: int) -> int:
    """How many processes to use for these files; 1: none but this one."""
    return (jobs or os.cpu_count() or 1) if len(files) >= _SEVERAL else 1


def parts_of(files: Sequence[Path], source_of: Callable[[Path], bytes | None], may_hold: Callable[[bytes], bool]) -> list[list[Path]]:
    """The files in groups to be looked at together, the largest first, without those in which nothing can be found.

    ``source_of`` gives a file's bytes, None where it cannot be read (it is kept, for the problem to be told).
    """
    graph = networkx.Graph()
    tuned: dict[bytes, list[Path]] = {}
    words: dict[Path, frozenset[bytes]] = {}
    for path in files:
        folder = path.parent
        if path.suffix == ".json":
            graph.add_edge(path, (folder, _DEVICE.sub("", path.name)))
            continue
        source = source_of(path)
        if source is not None and not may_hold(source):
            continue
        graph.add_node(path)
        source = source or b""
        for name in _TUNED_KERNEL.findall(source):
            tuned.setdefault(name, []).append(path)
        words[path] = frozenset(_WORD.findall(source))
    for path, found in words.items():
        for name in found & tuned.keys():
            graph.add_edges_from((path, home) for home in tuned[name] if home != path)
    groups = [[path for path in group if isinstance(path, Path)] for group in networkx.connected_components(graph)]
    return _joined(sorted((sorted(group) for group in groups), key=lambda group: (-len(group), group)))


def _joined(groups: Iterable[list[Path]]) -> list[list[Path]]:
    """Small groups put together, neighbours with neighbours."""
    found: list[list[Path]] = []
    small: list[list[Path]] = []
    for group in groups:
        (found if len(group) >= FILES else small).append(group)
    for wanted, of_kind in ((_TUNED_FILES, True), (FILES, False)):
        current: list[Path] = []
        for group in sorted(group for group in small if (group[0].suffix == ".json") is of_kind):
            current += group
            if len(current) >= wanted:
                found.append(current)
                current = []
        found += [current] if current else []
    return found
