"""Findings as text, JSON, SARIF …: one file per output format.

A format is a function ``render(report, options) -> str``; ``FORMATS`` names them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from smem_lint.findings import Report

_MODULES = {
    "full": "full", "concise": "concise", "json": "as_json", "json-lines": "json_lines", "sarif": "sarif", "github": "github",
    "gitlab": "gitlab", "junit": "junit",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Options:
    """``color``: use terminal colours. ``show_info``: show what does not fail a run, in the formats for people.

    ``folders`` are what the files of findings are relative to.
    """

    color: bool = False
    show_info: bool = False
    version: str = ""
    folders: tuple[Path, ...] = ()


def render(name: str, report: Report, options: Options) -> str:
    """The report in one of ``config.OUTPUT_FORMATS``."""
    module = importlib.import_module(f"smem_lint.report.{_MODULES[name]}")
    function: Callable[[Report, Options], str] = module.render
    return function(report, options)
