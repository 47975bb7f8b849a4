"""``smem_lint.prune``: a drop-in ``early_config_prune`` that keeps the configs which fit the device in use.

    @triton.autotune(configs, key=["M", "N", "K"], prune_configs_by={"early_config_prune": smem_lint.prune})

It asks the model with what the installed Triton would compile for the real arguments: first for a bound, for the exact bytes where the
bound does not stay within the limit, and the compiler where that leaves it open. Answers are kept for the next process (``pruned.py``).
What cannot be judged (tuples, descriptors that a hook shapes, kernels without a file, other devices than NVIDIA's) is kept.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smem_lint.pruned import Answers
from smem_lint.source.packages import package_root

if TYPE_CHECKING:
    from smem_lint.engines import Estimate
    from smem_lint.model import ModelEngine
    from smem_lint.specialization import Specialization

_HANDLED_BY_RUN = ("grid", "warmup")
_ENGINES: dict[tuple[Path, str], ModelEngine] = {}


class NothingFits(RuntimeError):
    """No config of the list fits the device; the message names the smallest and how many bytes it is over."""


def prune(configs: Sequence[Any], named_args: Mapping[str, Any], **kwargs: Any) -> list[Any]:
    """The configs of a Triton autotuner that the device in use can launch, in order.

    ``configs`` are ``triton.Config``, ``named_args`` the launch's positional arguments by name, ``kwargs`` its keyword arguments, as
    the autotuner hands them over. A config that cannot be judged is kept. Raises NothingFits where all are too large.
    """
    tuner = _autotuner()
    device = _Device.active()
    kernel = _Kernel.behind(tuner, device) if tuner is not None and device is not None else None
    if kernel is None or device is None or not configs:
        return list(configs)
    estimates = kernel.estimates(configs, {**named_args, **kwargs})
    kept = [config for config, one in zip(configs, estimates, strict=True) if one is None or one.lower <= device.limit]
    if not kept:
        smallest = min(range(len(configs)), key=lambda index: _need(estimates[index]))
        need = _need(estimates[smallest])
        raise NothingFits(
            f"none of the {len(configs)} configs of {kernel.name} fits this device (sm_{device.capability}, {device.limit:,} bytes of "
            f"shared memory a block): the smallest, {configs[smallest]}, needs {need:,} bytes, {need - device.limit:,} too many"
        )
    return kept


def _need(estimate: Estimate | None) -> int:
    assert estimate is not None
    return max(estimate.bytes or 0, estimate.lower)


def _autotuner() -> Any:
    """The autotuner that is pruning: Triton does not hand over the kernel, so it is read off the caller's frame."""
    frame = sys._getframe(1).f_back
    while frame is not None:
        owner = frame.f_locals.get("self")
        if owner is not None and hasattr(owner, "early_config_prune") and hasattr(owner, "fn"):
            return owner
        frame = frame.f_back
    return None


class _Device:
    """The device that Triton's driver uses: its number, capability (times ten) and opt-in limit (bytes)."""

    def __init__(self, number: int, capability: int, limit: int) -> None:
        self.number, self.capability, self.limit = number, capability, limit

    @staticmethod
    def active() -> _Device | None:
        """None where Triton is not loaded, or its device is no NVIDIA GPU."""
        triton = sys.modules.get("triton")
        if triton is None:
            return None
        driver = triton.runtime.driver.active
        target = driver.get_current_target()
        if target.backend != "cuda":
            return None
        number = driver.get_current_device()
        return _Device(number, int(target.arch), int(driver.utils.get_device_properties(number)["max_shared_mem"]))


class _Kernel:
    """The kernel behind an autotuner, and the heuristics between them."""

    def __init__(self, function: Any, heuristics: Sequence[Mapping[str, Any]], path: Path, device: _Device) -> None:
        self.function, self.heuristics, self.device = function, heuristics, device
        self.name: str = function.fn.__name__
        self.root = package_root(path)
        self.file = path.relative_to(self.root).as_posix()
        self.names = [parameter.name for parameter in function.params]

    @staticmethod
    def behind(tuner: Any, device: _Device) -> _Kernel | None:
        """None where what is tuned is no jit function with a file: interpreted, made by ``exec``, of another language."""
        function, heuristics = tuner.fn, []
        while not hasattr(function, "device_caches"):
            if isinstance(getattr(function, "values", None), Mapping):
                heuristics.append(function.values)
            function = getattr(function, "fn", None)
            if function is None:
                return None
        try:
            source = inspect.getsourcefile(function.fn)
        except TypeError:
            return None
        path = Path(source).resolve() if source else None
        return _Kernel(function, heuristics, path, device) if path is not None and path.is_file() else None

    def estimates(self, configs: Sequence[Any], given: Mapping[str, Any]) -> list[Estimate | None]:
        """One estimate for each config; None where it cannot be judged. All are asked at once: the model shares what they share."""
        wanted = [self._specialization(config, given) for config in configs]
        before = Answers(self._source(), _triton(), self.device.limit)
        found = {repr(one): before.get(repr(one)) for one in wanted if one is not None}
        new = {repr(one): one for one in wanted if one is not None and found[repr(one)] is None}
        for key, answer in zip(new, self._answers(list(new.values())), strict=True):
            before.put(key, answer)
            found[key] = answer
        return [None if one is None else found[repr(one)] for one in wanted]

    def _source(self) -> str:
        """Triton's key for the source of the kernel and all that it uses, which it works out for the launch anyway."""
        try:
            return str(self.function.cache_key)
        except Exception:  # the launch itself will say what is wrong
            return str(getattr(self.function, "src", ""))

    def _answers(self, wanted: Sequence[Specialization]) -> list[Estimate]:
        """The model's estimates; the compiler's where the limit lies within the model's bounds."""
        if not wanted:
            return []
        limit = self.device.limit
        answers = _modelled(_engine(self.root), wanted, limit)
        open_ = [index for index, one in enumerate(answers) if one.lower <= limit and (one.upper is None or one.upper > limit)]
        if not open_:
            return answers
        from smem_lint.verify.compiler import CompilerEngine, CompilerUnavailable

        try:
            confirmed = list(CompilerEngine([self.root], jobs=1).estimate([wanted[index] for index in open_]))
        except CompilerUnavailable:
            return answers
        for index, one in zip(open_, confirmed, strict=True):
            if one.bytes is not None:
                answers[index] = one
        return answers

    def _specialization(self, config: Any, given: Mapping[str, Any]) -> Specialization | None:
        """What Triton would compile for a config; None where a specialization cannot say it, or Triton would refuse.

        Triton 3.5 to 3.9, ``runtime/jit.py``: the binder gives types and facts, ``_pack_args`` what the compiler is handed.
        """
        from smem_lint.specialization import Specialization

        values = {name: value for name, value in {**given, **config.all_kwargs()}.items() if name not in _HANDLED_BY_RUN}
        try:
            for rules in self.heuristics:
                for name, rule in rules.items():
                    values[name] = rule(dict(values))
            _, _, _, backend, bind = self.function.device_caches[self.device.number]
            bound, kinds, options = bind(**values)
            keywords = {name: value for name, value in values.items() if name not in self.names}
            options, signature, constexprs, attrs = self.function._pack_args(backend, keywords, bound, kinds, options)
        except Exception:  # the launch itself will say what is wrong
            return None
        if any(len(path) != 1 for path in (*constexprs, *attrs)) or not all(isinstance(kind, str) for kind in signature.values()):
            return None
        if config.pre_hook is not None and any("tensordesc" in kind for kind in signature.values()):
            return None
        return Specialization(
            self.file, self.name, dict(signature), {self.names[path[0]]: _plain(value) for path, value in constexprs.items()},
            {self.names[path[0]]: dict(facts) for path, facts in attrs.items() if facts},
            options.num_warps, options.num_stages, options.num_ctas, getattr(options, "maxnreg", None) or None, self.device.capability,
        )  # fmt: skip


def _plain(value: Any) -> Any:
    """A constexpr's value as specializations hold it."""
    if type(value).__name__ == "constexpr":
        value = value.value
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (tuple, list)):
        return [_plain(one) for one in value]
    if type(value).__module__ == "triton.language.core" and type(value).__name__ in ("dtype", "pointer_type", "block_type"):
        return {"dtype": str(value)}
    return {"repr": repr(value)}


def _modelled(engine: ModelEngine, wanted: Sequence[Specialization], limit: int) -> list[Estimate]:
    """The model's estimates; a bound where that stays within the limit already, which is cheaper."""
    from smem_lint.screening import screened

    answers = dict(screened(engine, wanted, lambda capability: limit, "it is bounded within the device's limit"))
    return [one for place in range(len(wanted)) if (one := answers[place]) is not None]


def _triton() -> str:
    """The version of the Triton that is loaded."""
    return str(getattr(sys.modules.get("triton"), "__version__", ""))


def _engine(root: Path) -> ModelEngine:
    """The model for the Triton that is loaded."""
    from smem_lint.model import ModelEngine

    version = _triton()
    if (root, version) not in _ENGINES:
        try:
            _ENGINES[root, version] = ModelEngine([root], version=version)
        except ValueError:
            _ENGINES[root, version] = ModelEngine([root])
    return _ENGINES[root, version]
