"""Whether a value holds, where that needs no choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from smem_lint.host.values import (
    UNKNOWN,
    Class,
    Function,
    Kernel,
    Outside,
    Symbol,
    Tensor,
)

if TYPE_CHECKING:
    from smem_lint.host.evaluation import Evaluation


def truth_if_known(run: Evaluation, value: Any) -> bool | None:
    """The truth of a value as far as the path has fixed it, deciding nothing."""
    if isinstance(value, Symbol):
        value = run.path.value(value)
        if isinstance(value, Symbol):
            known = run.path.memo.get(value.text)
            if known is None:
                known = run.path.known(value)
            return known
    if value is UNKNOWN:
        return None
    if isinstance(value, (Tensor, Kernel, Function, Class, Outside)):
        return True
    try:
        return bool(value)
    except TypeError:
        return None
