"""``check --watch``: the report again whenever a file that was looked at, or a setting, changes."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from smem_lint.cli.errors import UsageError
from smem_lint.cli.files import python_files, root_of
from smem_lint.cli.settings import settings_of, use_color
from smem_lint.config import find_config

_INTERVAL = 0.5


def watch(
    arguments: argparse.Namespace,
    paths: Sequence[Path],
    check: Callable[[], int],
    *,
    interval: float = _INTERVAL,
    rounds: int | None = None,
) -> int:
    """Call ``check`` now and after each change, until interrupted (or for so many ``rounds``); its last exit code."""
    seen = state(arguments, paths)  # before the check: what changes while it runs is checked again
    code = _round(check)
    try:
        _say_how_to_end()
        while rounds is None or rounds > 1:
            time.sleep(interval)
            now = state(arguments, paths)
            if now != seen:
                seen = now
                code = _again(check)
                _say_how_to_end()
                rounds = rounds - 1 if rounds is not None else None
    except KeyboardInterrupt:  # the way to end it
        print(file=sys.stderr)
    return code


def state(arguments: argparse.Namespace, paths: Sequence[Path]) -> Mapping[str, tuple[int, int]]:
    """Time and size of every file that can change the report."""
    try:
        exclude = settings_of(arguments, list(paths)).exclude
    except UsageError:  # the check says what is wrong with the settings
        exclude = ()
    files = [*python_files(paths, [root_of(path) for path in paths], exclude)]
    files += [found for path in paths if (found := find_config(path)) is not None]
    stamps = {}
    for file in files:
        try:
            status = file.stat()
        except OSError:
            continue
        stamps[os.fspath(file)] = (status.st_mtime_ns, status.st_size)
    return stamps


def _again(check: Callable[[], int]) -> int:
    """A further round: settings that were broken in the meantime are told, and watched until they are mended."""
    try:
        return _round(check)
    except UsageError as error:
        print(f"smem-lint: error: {error}", file=sys.stderr)
        return 2


def _round(check: Callable[[], int]) -> int:
    if use_color(sys.stdout):
        sys.stdout.write("\x1b[2J\x1b[H")
    return check()


def _say_how_to_end() -> None:
    print(f"[{time.strftime('%H:%M:%S')}] watching; end with Ctrl-C", file=sys.stderr)
