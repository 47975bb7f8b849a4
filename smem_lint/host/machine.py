"""What host code learns of the machine that it runs on: Linux with an NVIDIA GPU, its tools installed, those of other makers not.

Threads are run where they are started, one after the other; queues hold what they are given in order.
"""

from __future__ import annotations

import ast
import posixpath
import shlex
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from smem_lint.host.limits import Raised, TooMuch
from smem_lint.host.values import UNKNOWN, Native, Record, Scope, Symbol, describe, words

if TYPE_CHECKING:
    from smem_lint.host.evaluation import Evaluation

_TOOLS_OF_OTHERS = words(
    "rocm-smi rocminfo amd-smi npu-smi cnmon mx-smi mthreads-gmi ixsmi xpu-smi hy-smi tsm_smi pt_smi hl-smi sycl-ls efsmi aipu"
)
PACKAGES_OF_OTHERS = words(
    "torch_npu torch_mlu torch_musa torch_gcu torch_xla torch_txda torch_xmlu torch_dipu torch_sdaa habana_frameworks"
)
"""Packages that make torch run on devices of other makers."""


def _run(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    command = run.definite(args[0]) if args else UNKNOWN
    text = command if isinstance(command, str) else None
    if isinstance(command, list) and all(isinstance(part, str) for part in command):
        if not command:
            raise Raised("IndexError")
        text = command[0]
    program = posixpath.basename(text.split()[0]) if text and text.split() else ""
    if program in _TOOLS_OF_OTHERS:
        raise Raised("FileNotFoundError")
    line = node.lineno if node is not None else 0
    output = Symbol(f"the output of {program or describe(command)}", f"what {program or describe(command)} prints", line=line)
    if program == "nvidia-smi":
        return Record({"returncode": 0, "stdout": output, "stderr": ""})
    return Symbol(f"subprocess.run({describe(command)[:40]})", "what another program answers", line=line)


def _split(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    text = run.definite(args[0]) if args else UNKNOWN
    if not isinstance(text, str):
        return Symbol(f"split({describe(text)})", "text that is not known")
    try:
        return shlex.split(text)
    except ValueError:
        raise Raised("ValueError") from None


def _thread(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    target = kwargs.get("target")
    given = run.definite(kwargs.get("args", ()))
    named = run.definite(kwargs.get("kwargs", {}))

    def start(run: Evaluation, ignored: list[Any], none: dict[str, Any]) -> None:
        if target is not None and isinstance(given, (tuple, list)) and isinstance(named, dict):
            with suppress(Raised):  # an exception ends its thread alone
                run.call(target, tuple(given), named, None, scope)

    return Record({"start": Native(start), "join": Native(lambda run, args, kwargs: None)})


def _queue(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    held: list[Any] = []

    def put(run: Evaluation, args: list[Any], kwargs: dict[str, Any]) -> None:
        if len(held) >= run.path.limits.items:
            raise TooMuch("a queue too long")
        held.append(args[0] if args else kwargs.get("item", UNKNOWN))

    def get(run: Evaluation, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if not held:
            raise Raised("Empty")
        return held.pop(0)

    sizes = {"empty": Native(lambda run, args, kwargs: not held), "qsize": Native(lambda run, args, kwargs: len(held))}
    both = {"put": put, "put_nowait": put, "get": get, "get_nowait": get}
    return Record({**sizes, **{name: Native(answer) for name, answer in both.items()}})


CALLS: dict[str, Callable[..., Any]] = {
    "subprocess.run": _run, "shlex.split": _split, "threading.Thread": _thread, "queue.Queue": _queue, "queue.SimpleQueue": _queue,
}  # fmt: skip
