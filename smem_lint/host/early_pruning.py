"""What the pruning function of an autotune list keeps of it for one launch, and whether it prunes by bytes alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from smem_lint.host.autotune import Autotune
from smem_lint.host.config import Guard
from smem_lint.host.evaluation import Evaluation, Launch
from smem_lint.host.guards import byte_guard
from smem_lint.host.kernel_facts import KernelFacts
from smem_lint.host.limits import Raised, TooMuch, Undecided
from smem_lint.host.values import Function, Symbol

LARGE = 4096
"""For a size that nothing on the path bounds."""


def kept_configs(run: Evaluation, launch: Launch, facts: KernelFacts, autotune: Autotune) -> tuple[list[Any] | None, Guard | None]:
    """The entries that the kernel's own early pruning keeps for this launch; None where there is none, or it is not known.

    With it the test of bytes that it holds, which is not ``alone`` where sizes that were only supposed decide; None where it has none.
    """
    if autotune.prune is None or not autotune.configs:
        return None, None
    found = _pruned(run, launch, facts, autotune, _largest)
    if found is None or not found.kept:
        return None, None
    function = found.function
    guard = byte_guard(function.module, function.node) if isinstance(function, Function) else None
    if guard is not None and guard.alone and found.supposed:
        again = _pruned(run, launch, facts, autotune, _smallest)
        same = again is not None and [id(one) for one in again.kept] == [id(one) for one in found.kept]
        guard = replace(guard, alone=same)
    return found.kept, guard


@dataclass(frozen=True, slots=True)
class _Pruned:
    """What a pruning function keeps; ``supposed`` are sizes that were open."""

    function: Any
    kept: list[Any]
    supposed: list[str]


def _pruned(run: Evaluation, launch: Launch, facts: KernelFacts, autotune: Autotune, size: Callable[[Any, Any], int]) -> _Pruned | None:
    """Ask the pruning function, with sizes that are still open as ``size`` makes them from what the path allows.

    Triton 3.8.0, ``runtime/autotuner.py``: the function gets the list, the positional arguments by name, and the rest.
    """
    assert autotune.prune is not None and autotune.configs is not None
    run.path.frozen += 1
    supposed = _suppose(run, (*launch.args, *launch.kwargs.values()), size)
    try:
        table = run.definite(run.expr(autotune.prune, autotune.kernel.scope))
        function = table.get("early_config_prune") if isinstance(table, dict) else None
        if function is None:
            return None
        named = {name: run.path.settle(value) for name, value in zip(facts.names, launch.args, strict=False)}
        rest = {name: run.path.settle(value) for name, value in launch.kwargs.items()}
        kept = run.definite(run.call(function, (list(autotune.configs), named), rest, None, autotune.kernel.scope))
    except (Undecided, Raised, TooMuch):
        return None
    finally:
        run.path.frozen -= 1
        for text in supposed:
            del run.path.values[text]
    return _Pruned(function, kept, supposed) if isinstance(kept, list) else None


def _largest(low: Any, high: Any) -> int:
    """For pruning by size to keep what it may keep."""
    return high if high is not None else LARGE


def _smallest(low: Any, high: Any) -> int:
    return max(1, low or 1)


def _suppose(run: Evaluation, values: tuple[Any, ...], size: Callable[[Any, Any], int]) -> list[str]:
    """Give sizes that are still open a value that the path allows; their texts."""
    texts: list[str] = []
    for value in values:
        for base in value.bases() if isinstance(value, Symbol) else ():
            if base.low is not None and isinstance(run.path.value(base), Symbol):
                run.path.values[base.text] = size(*run.path.bounds.get(base.text, (None, None)))
                texts.append(base.text)
    return texts
