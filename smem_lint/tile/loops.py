"""What stands behind ``in`` of a kernel's ``for``, and ``tl.condition`` of a ``while`` (``core.py``, 3.8.0)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Range:
    """``range``, ``tl.range`` or (``static``) ``tl.static_range``; bounds are handles or numbers."""

    start: Any
    end: Any
    step: Any
    static: bool = False
    num_stages: Any = None
    loop_unroll_factor: Any = None
    disallow_acc_multi_buffer: bool = False
    flatten: bool = False
    warp_specialize: bool = False
    disable_licm: bool = False


@dataclass(frozen=True, slots=True)
class Condition:
    """``tl.condition``: the condition of a ``while`` with its hint."""

    condition: Any
    disable_licm: bool = False


def make_range(
    ctx: Any, arg1: Any, arg2: Any = None, step: Any = None, num_stages: Any = None, loop_unroll_factor: Any = None,
    disallow_acc_multi_buffer: bool = False, flatten: bool = False, warp_specialize: bool = False, disable_licm: bool = False,
) -> Range:  # fmt: skip
    """``tl.range`` with its parameters."""
    start, end = (0, arg1) if arg2 is None else (arg1, arg2)
    return Range(
        start, end, 1 if step is None else step, False, num_stages, loop_unroll_factor, bool(disallow_acc_multi_buffer), bool(flatten),
        bool(warp_specialize), bool(disable_licm),
    )  # fmt: skip


def make_static_range(ctx: Any, arg1: Any, arg2: Any = None, step: Any = None) -> Range:
    """``tl.static_range``, whose bounds are known at compile time."""
    start, end = (0, arg1) if arg2 is None else (arg1, arg2)
    return Range(start, end, 1 if step is None else step, True)


def make_condition(ctx: Any, arg1: Any, disable_licm: bool = False) -> Condition:
    return Condition(arg1, bool(disable_licm))
