"""``smem_lint.prune``: a drop-in ``early_config_prune`` that keeps the configs which fit the device in use.

    @triton.autotune(configs, key=["M", "N", "K"], prune_configs_by={"early_config_prune": smem_lint.prune})

It asks the model with the real arguments; where the model is not exact and the limit lies within its bounds, the compiler.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from smem_lint.engines import Engine, Estimate
from smem_lint.specialization import Specialization

_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
_TYPES = {
    "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64", "float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
    "bool": "i1",
}  # fmt: skip
_KNOWN: dict[tuple[str, int], Estimate] = {}


class NothingFits(RuntimeError):
    """No config of the list fits the device; the message names the smallest and how many bytes it is over."""


def prune(configs: Sequence[Any], named_args: Mapping[str, Any], **kwargs: Any) -> list[Any]:
    """The configs of a Triton autotuner that the device in use can launch, in order.

    ``configs`` are ``triton.Config``, ``named_args`` the launch's arguments by name, ``kwargs`` its keyword arguments, as the
    autotuner hands them over. A config that cannot be judged is kept. Raises NothingFits where all are too large.
    """
    tuner = _autotuner()
    if tuner is None:
        return list(configs)
    capability, limit = _device()
    kernel = _Kernel(tuner.fn, capability)
    estimates = [kernel.estimate({**named_args, **kwargs, **config.all_kwargs()}) for config in configs]
    kept = [config for config, one in zip(configs, estimates, strict=True) if one is None or one.bytes is None or one.bytes <= limit]
    if not kept and configs:
        smallest = min(range(len(configs)), key=lambda index: _bytes(estimates[index]))
        need = _bytes(estimates[smallest])
        raise NothingFits(
            f"none of the {len(configs)} configs of {kernel.name} fits this device (sm_{capability}, {limit:,} bytes of shared memory a "
            f"block): the smallest, {configs[smallest]}, needs {need:,} bytes, {need - limit:,} too many"
        )
    return kept


def _bytes(estimate: Estimate | None) -> int:
    return estimate.bytes if estimate is not None and estimate.bytes is not None else 1 << 62


def _autotuner() -> Any:
    """The autotuner that is pruning: Triton does not hand over the kernel, so it is read off the caller's frame."""
    frame = sys._getframe(1)
    while frame is not None:
        owner = frame.f_locals.get("self")
        if owner is not None and hasattr(owner, "early_config_prune") and hasattr(owner, "fn"):
            return owner
        frame = frame.f_back  # type: ignore[assignment]
    return None


def _device() -> tuple[int, int]:
    """Capability (times ten) and opt-in limit (bytes) of the device that Triton's driver uses."""
    active = sys.modules["triton"].runtime.driver.active
    target = active.get_current_target()
    limit = active.utils.get_device_properties(active.get_current_device())["max_shared_mem"]
    return int(target.arch), int(limit)


class _Kernel:
    """The kernel behind an autotuner (and the heuristics between), and what decides its specializations."""

    def __init__(self, function: Any, capability: int) -> None:
        self.heuristics: list[Mapping[str, Any]] = []
        while not hasattr(function, "params"):
            if hasattr(function, "values"):
                self.heuristics.append(function.values)
            function = function.fn
        self.function, self.capability = function, capability
        self.name: str = function.fn.__name__
        path = Path(inspect.getsourcefile(function.fn) or "").resolve()
        self.root = _package_root(path)
        self.file = path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)

    def estimate(self, values: dict[str, Any]) -> Estimate | None:
        for rules in self.heuristics:
            for name, rule in rules.items():
                values[name] = rule(dict(values))
        specialization = self._specialization(values)
        if specialization is None:
            return None
        key = (repr(specialization), hash(self.function.src) if hasattr(self.function, "src") else 0)
        if key not in _KNOWN:
            _KNOWN[key] = _ask(_engine(self.root), specialization)
        return _KNOWN[key]

    def _specialization(self, values: Mapping[str, Any]) -> Specialization | None:
        signature: dict[str, str] = {}
        constexprs: dict[str, Any] = {}
        attrs: dict[str, dict[str, int]] = {}
        for parameter in self.function.params:
            value = values.get(parameter.name, getattr(parameter, "default", None))
            kind = "constexpr" if parameter.is_constexpr else _kind(value, getattr(parameter, "do_not_specialize", False))
            if kind is None:
                return None
            signature[parameter.name] = kind
            if kind == "constexpr":
                constexprs[parameter.name] = _constant(value)
            elif _divisible(value) and not getattr(parameter, "do_not_specialize", False):
                attrs[parameter.name] = {"tt.divisibility": 16}
        options = {name: values[name] for name in _OPTIONS if values.get(name) is not None}
        known = Specialization(self.file, self.name, signature, constexprs, attrs, capability=self.capability)
        return replace(known, **options)


def _package_root(path: Path) -> Path:
    folder = path.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


def _kind(value: Any, plain: bool) -> str | None:
    """Triton's type of an argument (see its specialization rules); None where it is not known here."""
    if value is None or (type(value) is int and value == 1 and not plain):
        return "constexpr"
    if isinstance(value, bool):
        return "u1"
    if isinstance(value, int):
        return "i32" if -(1 << 31) <= value < 1 << 31 else ("i64" if value < 1 << 63 else "u64")
    if isinstance(value, float):
        return "fp32"
    if hasattr(value, "data_ptr") and hasattr(value, "dtype"):
        name = _TYPES.get(str(value.dtype).removeprefix("torch."))
        return f"*{name}" if name else None
    return None


def _divisible(value: Any) -> bool:
    if hasattr(value, "data_ptr"):
        return bool(value.data_ptr() % 16 == 0)
    return isinstance(value, int) and not isinstance(value, bool) and value % 16 == 0


def _constant(value: Any) -> Any:
    if hasattr(value, "value") and type(value).__name__ == "constexpr":
        value = value.value
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (tuple, list)):
        return [_constant(one) for one in value]
    return {"dtype": str(value)} if type(value).__name__ == "dtype" else {"repr": repr(value)}


_ENGINES: dict[Path, Engine] = {}


def _engine(root: Path) -> Engine:
    if root not in _ENGINES:
        from smem_lint.model import ModelEngine

        _ENGINES[root] = ModelEngine([root])
    return _ENGINES[root]


def _ask(engine: Engine, specialization: Specialization) -> Estimate:
    """The model's estimate; the compiler's where the model is not exact."""
    (estimate,) = engine.estimate([specialization])
    if estimate.exact:
        return estimate
    from smem_lint.verify.compiler import CompilerEngine, CompilerUnavailable

    try:
        (confirmed,) = CompilerEngine([_root_of(engine)], jobs=1).estimate([specialization])
    except CompilerUnavailable:
        return estimate
    return confirmed if confirmed.bytes is not None else estimate


def _root_of(engine: Engine) -> Path:
    return next(root for root, known in _ENGINES.items() if known is engine)
