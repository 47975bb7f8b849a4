"""``value.name`` for every kind of value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from smem_lint.host import dtypes, outside, paths_on_disk, platform
from smem_lint.host.limits import Raised
from smem_lint.host.operators import either
from smem_lint.host.paths_on_disk import FilePath
from smem_lint.host.type_info import TypeInfo
from smem_lint.host.values import (
    CONFIG_DEFAULTS,
    UNKNOWN,
    Bound,
    Class,
    DType,
    EnumMember,
    Function,
    Instance,
    Kernel,
    Outside,
    Partial,
    Symbol,
    Tensor,
    TunedConfig,
    describe,
)
from smem_lint.source.modules import SourceModule

if TYPE_CHECKING:
    from smem_lint.host.evaluation import Evaluation

_SIZES = ("shape", "ndim", "itemsize", "nbytes")
_TENSOR_VIEWS = ("T", "mT", "data", "grad", "H", "real")


def attribute(run: Evaluation, value: Any, name: str, line: int) -> Any:
    """``value.name``; raises ``Raised`` AttributeError only where it is certain."""
    value = run.path.settle(value)
    if isinstance(value, Symbol) and value.kind == "if":
        spread = _both(run, value, name, line)
        if spread is not None:
            return spread
        value = run.path.concrete(value)
    if isinstance(value, Symbol) and value.kind == "later":
        value = run.definite(value)
    if isinstance(value, SourceModule):
        return run.program.module_attribute(run, value, name)
    if isinstance(value, Outside):
        return outside.attribute(run, value.dotted, name)
    if isinstance(value, Instance):
        return _instance(run, value, name, line)
    if isinstance(value, Class):
        return _class(run, value, name)
    if isinstance(value, Tensor):
        return _tensor(value, name, line)
    if isinstance(value, Symbol):
        run.path.is_used(value)
        return _symbol(run, value, name, line)
    if isinstance(value, TunedConfig):
        return _tuned(value, name)
    if isinstance(value, EnumMember):
        if name in ("value", "name"):
            return value.value if name == "value" else value.name
        found = value.cls.find(name)
        return _bind(run, found, value) if found is not UNKNOWN else UNKNOWN
    if isinstance(value, DType):
        return dtypes.dtype_attribute(value, name)
    if isinstance(value, TypeInfo) and name in ("min", "max", "bits", "eps"):
        return getattr(value, name)
    if isinstance(value, Kernel):
        return _kernel(run, value, name)
    if isinstance(value, Partial):
        return {"func": value.function, "args": value.args, "keywords": value.kwargs}.get(name, UNKNOWN)
    if isinstance(value, Function):
        return {"__name__": value.name, "__wrapped__": value}.get(name, UNKNOWN)
    if isinstance(value, (int, float, str, list, dict, tuple, set, frozenset, range, bytes)):
        if hasattr(value, name):
            found = getattr(value, name)
            return Bound(value, name) if callable(found) else found if isinstance(found, int) else UNKNOWN
        if name == "value":  # of a ``tl.constexpr``, which is held as its value
            return value
        raise Raised("AttributeError")
    if value is None:
        raise Raised("AttributeError")
    if isinstance(value, FilePath):
        return paths_on_disk.attribute(run, value, name)
    if isinstance(value, platform.Properties) and name not in platform.PROPERTIES:
        raise Raised("AttributeError")
    fields = getattr(value, "fields", None)
    if isinstance(fields, dict):
        return fields.get(name, UNKNOWN)
    return UNKNOWN


def _both(run: Evaluation, value: Symbol, name: str, line: int) -> Any:
    """An attribute of a tensor that depends on a condition, for both ways at once; None where they are not alike."""
    condition, first, second = value.operands
    if not (tensor_like(first) and tensor_like(second)):
        return None
    if name in run.program.METHOD_NAMES:
        return Bound(value, name)
    merged = either(condition, attribute(run, first, name, line), attribute(run, second, name, line), line)
    return merged if merged is not UNKNOWN else None


def tensor_like(value: Any) -> bool:
    """Whether a value may be a tensor on every path."""
    if isinstance(value, Symbol) and value.kind == "if":
        return tensor_like(value.operands[1]) and tensor_like(value.operands[2])
    return isinstance(value, Tensor) or (isinstance(value, Symbol) and value.is_base and value.low is None)


def _instance(run: Evaluation, value: Instance, name: str, line: int) -> Any:
    if name in value.attributes:
        return run.program.force(run, value.attributes[name])
    if name == "__class__":
        return value.cls
    if name == "save_for_backward" and value.symbolic:
        return Bound(value, name)
    if name == "__dict__":
        return value.attributes
    found = value.cls.find(name)
    if found is not UNKNOWN:
        return _bind(run, found, value)
    known = platform.attribute(run.program.target, name)
    if known is not UNKNOWN:
        return known
    owner = value.cls.name if not value.symbolic or value.cls.name == "ctx" else "self"
    return Symbol(f"{owner}.{name}", f"the attribute {name} is not known", line=line)


def _bind(run: Evaluation, found: Any, receiver: Any) -> Any:
    found = run.program.force(run, found)
    if isinstance(found, Partial) and found.function == "property":
        return run.call(found.args[0], (receiver,), {}, None, found.args[0].scope)
    if isinstance(found, Partial) and found.function == "staticmethod":
        return found.args[0]
    if isinstance(found, Partial) and found.function == "classmethod":
        cls = receiver if isinstance(receiver, Class) else receiver.cls
        return Bound(cls, found.args[0])
    if isinstance(found, Function):
        return Bound(receiver, found)
    return found


def _class(run: Evaluation, value: Class, name: str) -> Any:
    found = run.program.force(run, value.find(name))
    if found is UNKNOWN:
        if name == "__name__":
            return value.name
        if name == "__members__" and value.is_enum:
            return {key: member for key, member in value.attributes.items() if isinstance(member, EnumMember)}
        return Bound(value, name) if not value.is_enum else UNKNOWN
    if isinstance(found, Partial) and found.function in ("staticmethod", "classmethod"):
        return _bind(run, found, value)
    return found


def _tensor(value: Tensor, name: str, line: int) -> Any:
    if name == "dtype":
        return value.dtype
    if name in ("shape", "ndim") and value.like is not None:
        return Symbol(f"{value.like.text}.{name}", f"the {name} of a tensor", line=line, low=0 if name == "ndim" else None)
    if name == "shape":
        return tuple(value.shape) if value.shape is not None else Symbol(f"{value.name}.shape", "the shape of a tensor", line=line)
    if name == "ndim":
        return len(value.shape) if value.shape is not None else Symbol(f"{value.name}.ndim", "the rank of a tensor", line=line, low=0)
    if name in ("T", "mT"):
        shape = [*value.shape[:-2], value.shape[-1], value.shape[-2]] if value.shape is not None and len(value.shape) >= 2 else None
        return Tensor(f"{value.name}.T", value.dtype, shape, contiguous=False, line=line)
    if name in _TENSOR_VIEWS:
        return value
    if name == "is_cuda":
        return True
    if name in ("device", "itemsize", "requires_grad", "nbytes"):
        return Symbol(f"{value.name}.{name}", f"{name} of a tensor", line=line)
    return Bound(value, name)


def _symbol(run: Evaluation, value: Symbol, name: str, line: int) -> Any:
    known = platform.attribute(run.program.target, name)
    if known is not UNKNOWN:
        return known
    if name in run.program.METHOD_NAMES or name == "bit_length":
        return Bound(value, name)
    low = 0 if name in ("ndim", "itemsize", "nbytes") else None
    return Symbol(f"{value.text}.{name}", value.reason or f"{value.text} is not known", line=line, low=low)


def _tuned(value: TunedConfig, name: str) -> Any:
    if name == "kwargs":
        return value.kwargs
    if name == "all_kwargs":
        return Bound(value, name)
    if name in CONFIG_DEFAULTS:
        return value.option(name)
    raise Raised("AttributeError")


def _best_config(run: Evaluation, value: Kernel) -> Any:
    """The config that an autotuner has picked: each of its list is a path."""
    configs = run.program.configs_of(run, value)
    if not isinstance(configs, list) or not configs:
        return Symbol(f"{value.name}.best_config", "the config that was found best")
    taken = run.path.choose(len(configs))
    run.path.when.append(f"config {taken + 1} of {len(configs)} was found best")
    return configs[taken]


def _kernel(run: Evaluation, value: Kernel, name: str) -> Any:
    if name in ("run", "warmup"):
        return Bound(value, name)
    if name == "fn":
        inner = value.peeled + 1
        if inner < len(value.node.decorator_list):
            return Kernel(value.module, value.node, value.kind, value.scope, inner)
        return Function(value.module, value.node, value.scope)
    if name in ("kernel", "base_fn"):
        return value
    if name == "__name__":
        return value.name
    if name == "configs":
        return run.program.configs_of(run, value)
    if name == "best_config":
        return _best_config(run, value)
    if name == "arg_names":
        return [argument.arg for argument in value.node.args.args]
    return Symbol(f"{describe(value)}.{name}", f"{name} of a kernel")
