"""The engine that a command asks, by its name."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from smem_lint.cache import Cache, default_folder
from smem_lint.cli.errors import UsageError
from smem_lint.cli.progress import Progress
from smem_lint.config import Settings
from smem_lint.devices import by_capability
from smem_lint.engines import REFUSED, TOO_LARGE, Engine, Estimate, ScreeningEngine
from smem_lint.specialization import Specialization

Below = Callable[[int], int]


def engine_of(
    settings: Settings,
    roots: Sequence[Path],
    *,
    use_cache: bool = True,
    default: str = "auto",
    screen: Below | None = None,
    keep: bool = False,
) -> Engine:
    """The engine of ``settings.engine``; ``auto`` is ``default`` where a command has a reason of its own. Raises UsageError.

    ``screen``: bounds answer where they stay under so many bytes, for a linter whose rules ask no further there. ``keep``: see ModelPool.
    """
    name = settings.engine if settings.engine != "auto" else default
    if name == "compiler":
        compiler = _checked(compiler_engine(settings, roots, use_cache))
        return ScreenedEngine(_bounds(settings, roots, screen, keep), compiler) if screen else compiler
    if name == "gpu":
        return _answering(settings, roots)
    model = model_engine(settings, roots, screen=screen, keep=keep)
    if name == "model" or importlib.util.find_spec("triton") is None:
        return model
    return AutoEngine(model, compiler_engine(settings, roots, use_cache))


def _answering(settings: Settings, roots: Sequence[Path]) -> Engine:
    """The machine's device. Raises UsageError where none answers."""
    from smem_lint.verify.gpu import GpuUnavailable, gpu_engine

    engine = gpu_engine(settings, roots)
    try:
        engine.about  # noqa: B018 - asks the device once, before any work is done
    except GpuUnavailable as error:
        raise UsageError(str(error)) from error
    return engine


def model_engine(settings: Settings, roots: Sequence[Path], *, screen: Below | None = None, keep: bool = False) -> Engine:
    """The model: several processes where many are asked for, in this one otherwise. Raises UsageError for a bad version."""
    from smem_lint.model import ModelEngine, version_of
    from smem_lint.model_pool import ModelPool

    try:
        version_of(settings.triton)
    except ValueError as error:
        raise UsageError(str(error)) from error
    if screen:
        return ModelPool(roots, settings.triton, settings.jobs, screen, Progress("estimating"), keep=keep)
    if settings.jobs > 1:
        return ModelPool(roots, settings.triton, settings.jobs, progress=Progress("estimating"))
    return ModelEngine(roots, version=settings.triton)


def _bounds(settings: Settings, roots: Sequence[Path], below: Below, keep: bool) -> Engine:
    from smem_lint.model_pool import ModelPool

    return ModelPool(roots, "", settings.jobs, below, Progress("bounding"), only_bounds=True, keep=keep)


def the_limit(capability: int) -> int:
    """Bytes that a block may have: what is below cannot overflow."""
    return by_capability(capability).optin


def half_the_limit(capability: int) -> int:
    """Bytes below which nothing is near the limit, nor alone on its multiprocessor."""
    return by_capability(capability).optin // 2


def compiler_engine(settings: Settings, roots: Sequence[Path], use_cache: bool = True) -> Engine:
    from smem_lint.verify.compiler import CompilerEngine

    folder = Path(settings.cache_dir) if settings.cache_dir else default_folder(roots[0])
    cache = Cache(folder, "compiler") if use_cache else None
    return CompilerEngine(roots, jobs=settings.jobs, cache=cache, progress=Progress("compiling"))


def _checked(engine: Engine) -> Engine:
    from smem_lint.verify.compiler import CompilerEngine, CompilerUnavailable

    assert isinstance(engine, CompilerEngine)
    try:
        engine.version  # noqa: B018 - asks the interpreter once, before any work is done
    except CompilerUnavailable as error:
        raise UsageError(str(error)) from error
    return engine


@dataclass(eq=False)
class ScreenedEngine:
    """An engine that is slow, asked only for what the bounds do not keep under half the limit."""

    bounds: Engine
    engine: Engine
    name: str = "compiler"

    def estimate(self, specializations: Iterable[Specialization]) -> Iterator[Estimate]:
        wanted = list(specializations)
        answers = list(self.bounds.estimate(wanted))
        left = [index for index, answer in enumerate(answers) if answer.bytes is None]
        for index, answer in zip(left, self.engine.estimate([wanted[index] for index in left]), strict=True):
            answers[index] = answer
        return iter(answers)

    def exactly(self, specializations: Iterable[Specialization]) -> Iterator[Estimate]:
        return self.engine.estimate(specializations)


@dataclass(eq=False)
class AutoEngine:
    """The model; the installed compiler is asked what it cannot decide at the limit, and to confirm what findings say to overflow."""

    model: Engine
    compiler: Engine
    name: str = "auto"

    def estimate(self, specializations: Iterable[Specialization]) -> Iterator[Estimate]:
        wanted = list(specializations)
        return self._decided(wanted, list(self.model.estimate(wanted)))

    def exactly(self, specializations: Iterable[Specialization]) -> Iterator[Estimate]:
        wanted = list(specializations)
        ask = self.model.exactly if isinstance(self.model, ScreeningEngine) else self.model.estimate
        return self._decided(wanted, list(ask(wanted)))

    def confirmed(self, specializations: Iterable[Specialization]) -> Iterator[Estimate]:
        wanted = list(specializations)
        return self._compiled(wanted, list(self.model.estimate(wanted)), range(len(wanted)))

    def _decided(self, wanted: list[Specialization], answers: list[Estimate]) -> Iterator[Estimate]:
        doubtful = [index for index, (one, answer) in enumerate(zip(wanted, answers, strict=True)) if _doubtful(one, answer)]
        return self._compiled(wanted, answers, doubtful)

    def _compiled(self, wanted: list[Specialization], answers: list[Estimate], which: Sequence[int]) -> Iterator[Estimate]:
        for index, compiled in zip(which, self.compiler.estimate([wanted[index] for index in which]), strict=True):
            if compiled.bytes is not None:
                answers[index] = compiled
        return iter(answers)


def _doubtful(one: Specialization, answer: Estimate) -> bool:
    limit = by_capability(one.capability).optin
    if answer.bytes is None:
        return not (answer.error or "").startswith((REFUSED, TOO_LARGE))
    return not answer.exact and (answer.upper is None or answer.upper > limit)
