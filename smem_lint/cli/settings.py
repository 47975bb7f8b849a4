"""From arguments and the configuration file to the settings, paths, engine and output of a command."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from smem_lint import config
from smem_lint.cli.errors import UsageError
from smem_lint.config import ConfigError, Settings
from smem_lint.devices import Device, UnknownTarget, parse_targets
from smem_lint.pinned import project_triton
from smem_lint.source.comments import pairs

_GIVEN = ("target", "triton", "engine", "jobs", "cache_dir", "baseline", "output_format")
_LISTED = ("select", "ignore", "profile")
_OF_A_PROJECT = frozenset({"check", "explain", "baseline", "compare", "configs", "server"})
"""Commands that look at a project's own launches, so that the Triton it pins is the one to model."""


def settings_of(arguments: argparse.Namespace, paths: list[Path]) -> Settings:
    """The settings in force for ``paths``: the nearest configuration file's, under the command line's. Raises UsageError."""
    named = getattr(arguments, "config", None)
    try:
        settings = config.load(Path(named) if named else config.find_config(paths[0] if paths else Path.cwd()))
        settings = config.apply(settings, _from_arguments(arguments, settings), "command line")
    except ConfigError as error:
        raise UsageError(str(error)) from error
    if paths and not settings.triton and arguments.command in _OF_A_PROJECT:
        return replace(settings, triton=project_triton(paths[0]))
    return settings


def _from_arguments(arguments: argparse.Namespace, settings: Settings) -> dict[str, Any]:
    given = {name: value for name in _GIVEN if (value := getattr(arguments, name, None)) is not None}
    given.pop("output_format", None) if arguments.command != "check" else None
    for name in _LISTED:
        text = getattr(arguments, name, None)
        if text is not None:
            given[name] = [part.strip() for part in text.split(",") if part.strip()]
    if getattr(arguments, "exclude", None):
        given["exclude"] = [*settings.exclude, *arguments.exclude]
    if getattr(arguments, "assume", None):
        given["assume"] = {**settings.assume, **_assumed(arguments.assume)}
    return given


def _assumed(given: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for text in given:
        read = pairs(text)
        if not read:
            raise UsageError(f"--assume {text!r}: expected NAME=VALUE")
        found.update(read)
    return found


def targets_of(settings: Settings) -> tuple[Device, ...]:
    """The devices to judge for. Raises UsageError."""
    try:
        return parse_targets(settings.target)
    except UnknownTarget as error:
        raise UsageError(str(error)) from error


def existing(paths: list[str]) -> list[Path]:
    """The paths, each of which exists and can be read (the current folder for none). Raises UsageError."""
    found = [Path(path) for path in paths or ["."]]
    for path in found:
        if not path.exists():
            raise UsageError(f"{path}: no such file or folder")
        if not os.access(path, os.R_OK):
            raise UsageError(f"{path}: cannot be read")
    return found


def write_output(text: str, file: str | None) -> None:
    """To a file, or to standard output. Raises UsageError."""
    if not file or file == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    try:
        Path(file).write_text(text, "utf8")
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror or error}") from error


def use_color(stream: Any = None) -> bool:
    """Colour on a terminal; ``NO_COLOR`` and ``FORCE_COLOR`` decide first."""
    if os.environ.get("FORCE_COLOR"):
        return True
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool((stream or sys.stdout).isatty())
