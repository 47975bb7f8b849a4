"""``smem-lint rule [ID]``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from smem_lint.cli.errors import UsageError
from smem_lint.cli.settings import settings_of
from smem_lint.rules import Rule, RuleError, load_rules, pages


def run(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments, [])
    folder = Path(settings.origin).parent if settings.origin else Path.cwd()
    try:
        rules = load_rules(folder / place for place in settings.rules)
    except RuleError as error:
        raise UsageError(str(error)) from error
    if arguments.output_dir:
        return _write(rules, Path(arguments.output_dir))
    if arguments.rule is None:
        for rule in rules:
            print(f"{rule.id}  {rule.severity:<8} {rule.name:<20} {' '.join(rule.what.split())}")
        return 0
    wanted = arguments.rule.lower()
    found = next((rule for rule in rules if wanted in (rule.id.lower(), rule.name)), None)
    if found is None:
        raise UsageError(f"no rule is called {arguments.rule!r}; `smem-lint rule` lists them")
    print(found.page(), end="")
    return 0


def _write(rules: Sequence[Rule], folder: Path) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in pages(rules).items():
            (folder / name).write_text(text, "utf8")
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror or error}") from error
    return 0
