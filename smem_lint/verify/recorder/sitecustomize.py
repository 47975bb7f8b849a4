"""Read by every Python that the recorded program starts: hooks the recorder in, then the site customisation that this one hides."""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _start() -> None:
    try:
        import smem_lint_recorder

        smem_lint_recorder.install()
    except Exception as error:  # a recorder that cannot start must not stop the program
        print(f"smem-lint record: nothing is recorded in process {os.getpid()}: {error}", file=sys.stderr)


def _hidden() -> None:
    others = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


if os.environ.get("SMEM_LINT_RECORD"):
    _start()
_hidden()
