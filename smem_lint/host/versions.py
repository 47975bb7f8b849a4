"""Versions: those of torch and Triton that are taken to be installed, and how host code reads and compares them."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from smem_lint.host.values import UNKNOWN, Outside, Scope, Symbol, describe, line_of

if TYPE_CHECKING:
    from smem_lint.host.evaluation import Evaluation

TRITON_VERSION = "3.8.0"
TORCH_VERSION = "2.13.0"


@dataclass(frozen=True, order=True, slots=True)
class Version:
    """A version number, compared part by part."""

    parts: tuple[int, ...]

    @staticmethod
    def parse(text: str) -> Version:
        numbers = []
        for part in text.partition("+")[0].split("."):
            digits = "".join(itertools.takewhile(str.isdigit, part))
            if not digits:
                break
            numbers.append(int(digits))
        while numbers and numbers[-1] == 0:
            numbers.pop()
        return Version(tuple(numbers))

    @property
    def fields(self) -> dict[str, Any]:
        padded = (*self.parts, 0, 0, 0)
        return {
            "major": padded[0],
            "minor": padded[1],
            "micro": padded[2],
            "release": padded[:3],
            "base_version": ".".join(map(str, padded[:3])),
        }


def _parse_version(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    text = run.definite(args[0]) if args else UNKNOWN
    if isinstance(text, Version):
        return text
    return (
        Version.parse(text)
        if isinstance(text, str)
        else Symbol(f"version({describe(text)})", "a version that is not known", line=line_of(node))
    )


def _installed_version(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    known = {"triton": TRITON_VERSION, "torch": TORCH_VERSION}
    name = args[0] if args else ""
    return (
        known.get(name)
        if name in known
        else Symbol(f"version of {describe(name)}", f"whether {describe(name)} is installed", line=line_of(node))
    )


def _find_spec(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    name = args[0] if args else ""
    if name in ("triton", "torch", "numpy"):
        return Outside(f"spec of {name}")
    return Symbol(f"find_spec({describe(name)})", f"whether {describe(name)} is installed", line=line_of(node))


CALLS: dict[str, Callable[..., Any]] = {
    "packaging.version.parse": _parse_version, "packaging.version.Version": _parse_version, "pkg_resources.parse_version": _parse_version,
    "importlib.metadata.version": _installed_version, "importlib.util.find_spec": _find_spec,
}  # fmt: skip
