"""The command line. This file imports nothing heavy: a command's own module is loaded when the command is known.

Exit codes, as ruff's: 0 clean, 1 findings (or disagreement), 2 the tool could not do its work.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

from smem_lint.cli.arguments import parsed, parser
from smem_lint.cli.errors import UsageError

CLEAN, FINDINGS, FAILED = 0, 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code. Bad input gives one line on standard error, never a traceback."""
    arguments = parsed(list(sys.argv[1:] if argv is None else argv))
    if arguments.command is None:
        parser().print_help()
        return FAILED
    try:
        module = importlib.import_module(f"smem_lint.cli.{arguments.module}")
        return int(module.run(arguments))
    except UsageError as error:
        print(f"smem-lint: error: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("smem-lint: interrupted", file=sys.stderr)
        return FAILED
    except BrokenPipeError:
        # The reader of our output has gone, e.g. `head`: what is left to flush at exit must go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:
        if os.environ.get("SMEM_LINT_DEBUG"):
            raise
        told = " ".join(str(error).split())[:300]
        print(f"smem-lint: internal error: {type(error).__name__}: {told} (SMEM_LINT_DEBUG=1 shows where)", file=sys.stderr)
        return FAILED
