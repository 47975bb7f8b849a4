"""The library's face: what the commands ``estimate`` and ``check`` do, as functions."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from smem_lint.config import Settings, apply, find_config, load
from smem_lint.devices import device
from smem_lint.engines import Estimate
from smem_lint.findings import Report
from smem_lint.source.packages import package_root
from smem_lint.specialization import Specialization


def estimate(
    kernel: str | Path | Any, name: str | None = None, *, signature: Mapping[str, str], constexprs: Mapping[str, Any] | None = None,
    attrs: Mapping[str, Mapping[str, int]] | None = None, num_warps: int = 4, num_stages: int = 3, target: str = "sm_120",
    root: str | Path | None = None, engine: str = "model",
) -> Estimate:  # fmt: skip
    """What one block of a kernel asks for, in bytes.

    ``kernel`` is a jit function, or the path of its file with ``name``. ``signature`` maps every argument to its type (``*bf16``,
    ``i32``, ``constexpr``); ``attrs`` defaults to pointers that are aligned to 16 bytes and integers divisible by 16. ``root`` is the
    folder of the outermost package (found from the file where not given). Raises UnknownTarget, ValueError.
    """
    from smem_lint.cli.engines import engine_of

    path, name = _located(kernel, name)
    base = Path(root).resolve() if root is not None else package_root(path)
    facts = attrs if attrs is not None else _aligned(signature)
    specialization = Specialization(
        path.relative_to(base).as_posix(), name, dict(signature), dict(constexprs or {}), facts, num_warps, num_stages,
        capability=device(target).capability,
    )  # fmt: skip
    (answer,) = engine_of(apply(Settings(), {"engine": engine}, "engine"), [base]).estimate([specialization])
    return answer


def check(paths: Sequence[str | Path], **settings: Any) -> Report:
    """Lint files and folders; ``settings`` are those of the configuration file, with ``_`` for ``-``. Raises ConfigError, UsageError."""
    from smem_lint.cli.linting import Lint
    from smem_lint.cli.settings import existing

    found = existing([str(path) for path in paths])
    return Lint(apply(load(find_config(found[0])), settings, "check()"), found).report()


def _located(kernel: Any, name: str | None) -> tuple[Path, str]:
    if isinstance(kernel, (str, Path)):
        path = Path(kernel).resolve()
        if name is None:
            raise ValueError(f"{kernel}: which kernel? give its name")
        return path, name
    function = kernel
    while not hasattr(function, "__code__"):
        function = function.fn
    return Path(function.__code__.co_filename).resolve(), name or function.__name__


def _aligned(signature: Mapping[str, str]) -> dict[str, dict[str, int]]:
    return {name: {"tt.divisibility": 16} for name, kind in signature.items() if kind.startswith("*") or kind in ("i32", "i64")}


def parse_value(text: str) -> Any:
    """A value of the command line: a Python literal, or the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
