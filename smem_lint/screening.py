"""What needs no passes: specializations that a bound answers, that Triton refuses, and programs that are too large to be followed.

The program of one front end serves all its specializations (they differ in ``num_stages`` alone), and is handed on for those that
are left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from smem_lint.bounds import bounded
from smem_lint.engines import TOO_LARGE, Estimate, unanswered
from smem_lint.garbage import GarbageKept
from smem_lint.model import NAME, ModelEngine, front_key
from smem_lint.specialization import Specialization
from smem_lint.tile.ir import Module
from smem_lint.tile.unsupported import KernelError, TooLarge


def screened(
    engine: ModelEngine, wanted: Sequence[Specialization], enough: Callable[[int], int], reason: str, largest: int = 0,
    *, only_bounds: bool = False,
) -> Iterator[tuple[int, Estimate | None]]:  # fmt: skip
    """Each place with its answer: a bound that stays within ``enough`` bytes (of a capability; 0: none does), for the given reason,
    or else the engine's estimate; None for what needs one if ``only_bounds`` are wanted. Not in the order of the places.

    ``largest``: operations up to which a program is followed (0: all are).
    """
    alike: dict[str, list[int]] = {}
    for place, one in enumerate(wanted):
        alike.setdefault(front_key(one), []).append(place)
    for places in alike.values():
        with GarbageKept():  # around all of it, so that the program is still young when it is dropped
            answers = _of_one_front_end(engine, {place: wanted[place] for place in places}, enough, reason, largest, only_bounds)
        yield from answers.items()


def _of_one_front_end(
    engine: ModelEngine, wanted: Mapping[int, Specialization], enough: Callable[[int], int], reason: str, largest: int, only_bounds: bool
) -> dict[int, Estimate | None]:
    first = next(iter(wanted.values()))
    program = _made(engine, first, largest)
    answers: dict[int, Estimate | None] = {}
    for place, one in sorted(wanted.items(), key=lambda item: item[1].num_stages):
        hopeless = any(answer is None for answer in answers.values())  # more stages hold more
        answers[place] = None if hopeless else _answer(program, one, enough(one.capability), reason)
    left = [] if only_bounds else [place for place, answer in answers.items() if answer is None]
    programs = {front_key(first): program} if isinstance(program, Module) else {}
    answers.update(zip(left, engine.estimate([wanted[place] for place in left], programs), strict=True))
    return answers


def _made(engine: ModelEngine, one: Specialization, largest: int) -> Module | Estimate | None:
    """The program; the answer where there is none to be had, and None where the engine is to say why."""
    try:
        return engine.built(one, largest)
    except TooLarge as error:
        return unanswered(NAME, f"{TOO_LARGE}: {error}")
    except KernelError as error:
        return engine.refused(error)
    except Exception:
        return None


def _answer(program: Module | Estimate | None, one: Specialization, enough: int, reason: str) -> Estimate | None:
    if not isinstance(program, Module):
        return program
    if not enough:
        return None
    estimate = bounded(program, one, reason, enough=enough)
    return estimate if estimate.upper is not None and estimate.upper <= enough else None
