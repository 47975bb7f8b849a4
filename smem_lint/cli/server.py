"""``smem-lint server``: an editor's language server, on standard input and output."""

from __future__ import annotations

import argparse
import importlib.util

from smem_lint.cli.errors import UsageError
from smem_lint.cli.settings import existing, settings_of, targets_of


def run(arguments: argparse.Namespace) -> int:
    """Serve one editor until it says that it is done. Raises UsageError where pygls is missing or a setting cannot be used."""
    if importlib.util.find_spec("pygls") is None:
        raise UsageError("the server needs pygls: pip install 'smem-lint[lsp]'")
    targets_of(settings_of(arguments, existing([])))
    from smem_lint.cli.editor.protocol import serve

    serve(arguments).start_io()
    return 0
