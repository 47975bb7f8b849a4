"""Findings that a second engine confirms: what is said to overflow is asked of the installed compiler before it is said.

Only what a finding names is asked, not every config behind it: the compiler takes a second for each, and the model is exact where it
says so. Where the two differ, the compiler's number stands, and the rules are asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from smem_lint.engines import ConfirmingEngine, Engine
from smem_lint.findings import Finding
from smem_lint.judging import Judged
from smem_lint.specialization import Specialization


def confirmed(judged: Sequence[Judged], tell: Callable[[], list[Finding]], engine: Engine) -> list[Finding]:
    """What ``tell`` says of the judged configs, once every overflow that it names has been confirmed, where the engine can do that.

    The estimates of the judged configs are changed to the confirmed ones.
    """
    found = tell()
    if not isinstance(engine, ConfirmingEngine):
        return found
    asked: set[str] = set()
    while wanted := _unasked(found, asked):
        answers = dict(zip(wanted, engine.confirmed(list(wanted.values())), strict=True))
        asked |= wanted.keys()
        for one in judged:
            answer = answers.get(repr(one.specialization))
            if answer is not None:
                one.estimate = answer
        found = tell()
    return found


def _unasked(found: Iterable[Finding], asked: set[str]) -> dict[str, Specialization]:
    wanted: dict[str, Specialization] = {}
    for one in found:
        overflows = one.bytes is not None and one.limit is not None and one.bytes > one.limit
        if overflows and one.specialization is not None and (key := repr(one.specialization)) not in asked:
            wanted[key] = one.specialization
    return wanted
