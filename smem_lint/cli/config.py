"""``smem-lint config``: the settings in force for a path."""

from __future__ import annotations

import argparse
import json

from smem_lint.cli.settings import existing, settings_of


def run(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments, existing(arguments.paths))
    print(json.dumps(settings.to_json(), indent=1, default=str))
    return 0
