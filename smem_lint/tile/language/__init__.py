"""The names of ``triton.language`` and what they do, with Triton's parameters and defaults (``core.py``, ``math.py``, 3.8.0).

``lookup`` finds a dotted name; ``attribute``, ``subscript``, ``binary`` and ``unary`` do what Python's syntax does to values.
An implementation takes the context and the arguments as the kernel gave them, with numbers plain.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smem_lint.tile import dtypes, loops
from smem_lint.tile.language import core, inductor, libdevice, library
from smem_lint.tile.language.members import DESCRIPTOR_METHODS, TENSOR_METHODS
from smem_lint.tile.language.registry import TABLE, builtin, guarded
from smem_lint.tile.semantic import operators, shapes
from smem_lint.tile.semantic.block_pointer import BlockPointer
from smem_lint.tile.semantic.context import Context, fail
from smem_lint.tile.semantic.descriptor import Descriptor
from smem_lint.tile.values import BoundMethod, Builtin, Handle, Namespace

Condition = loops.Condition

__all__ = ["PYTHON", "Condition", "attribute", "binary", "lookup", "subscript", "unary"]

assert core and library  # importing them fills TABLE

_LANGUAGE = "triton.language"
_LIBDEVICE = (f"{_LANGUAGE}.extra.libdevice.", f"{_LANGUAGE}.extra.cuda.libdevice.")
_MATH = frozenset({
    "umulhi", "exp", "exp2", "fma", "log", "log2", "cos", "rsqrt", "sin", "sqrt", "sqrt_rn", "abs", "fdiv", "div_rn", "erf",
    "floor", "ceil",
})  # fmt: skip
_MODULES = frozenset(
    f"{_LANGUAGE}{name}"
    for name in (
        "", ".math", ".core", ".standard", ".random", ".extra", ".extra.cuda", ".extra.libdevice", ".extra.cuda.libdevice",
        ".extra.cuda.gdc", ".extra.cuda.utils", ".target_info", ".PropagateNan",
    )
)  # fmt: skip
_PRIVATE_MODULES = ("core", "standard", "random", "semantic")

binary = operators.binary
unary = operators.unary


def lookup(dotted: str) -> Any:
    """What the full name stands for: a ``Builtin``, a type, a constant or a module; None if nothing does."""
    found = TABLE.get(dotted)
    if found is not None or not dotted.startswith(_LANGUAGE):
        return found if found is not None or not dotted.startswith("torch.") else inductor.lookup(dotted)
    if dotted in _MODULES:
        return Namespace(dotted)
    for prefix in _LIBDEVICE:
        if dotted.startswith(prefix):
            return _library_function(dotted.removeprefix(prefix))
    module, _, name = dotted.removeprefix(f"{_LANGUAGE}.").rpartition(".")
    if module == "math":
        return TABLE.get(f"{_LANGUAGE}.{name}") if name in _MATH else None
    if module in _PRIVATE_MODULES:
        return TABLE.get(f"{_LANGUAGE}.{name}")
    return None


def _library_function(name: str) -> Any:
    if not libdevice.known(name):
        return None
    found = TABLE.get(f"{_LIBDEVICE[1]}{name}")
    if found is None:
        found = Builtin(f"libdevice.{name}", lambda ctx, args, kwargs: libdevice.call(ctx, name, args, kwargs))
        TABLE[f"{_LIBDEVICE[1]}{name}"] = found
    return found


def attribute(ctx: Context, value: Any, name: str) -> Any:
    """``value.name`` of a handle, a block pointer, a descriptor or a type; raises KernelError where there is none."""
    if isinstance(value, Handle):
        return _of_handle(ctx, value, name)
    if isinstance(value, dtypes.DType):
        return _of_type(ctx, value, name)
    if isinstance(value, Descriptor):
        return _of_descriptor(ctx, value, name)
    if isinstance(value, BlockPointer):
        return _of_block_pointer(ctx, value, name)
    if isinstance(value, loops.Range) and name in ("start", "end", "step"):
        return getattr(value, name)
    raise fail(ctx, f"{value!r} has no attribute {name!r}")


def _of_handle(ctx: Context, value: Handle, name: str) -> Any:
    if name == "shape":
        return value.shape
    if name == "dtype":
        return value.dtype
    if name == "type":
        return value.type
    if name == "numel":
        return value.type.numel if value.type.block else 1
    if name == "T":
        return shapes.permute(ctx, value, (1, 0))
    method = TENSOR_METHODS.get(name)
    if method is None:
        raise fail(ctx, f"tensor has no attribute {name!r}")
    return BoundMethod(value, TABLE[f"{_LANGUAGE}.{method}"])


_TYPE_METHODS: dict[str, Builtin] = {
    name: Builtin(f"dtype.{name}", guarded(lambda ctx, type_, *args, method=method: method(type_, *args)))
    for name, method in dtypes.LANGUAGE_METHODS.items()
}


def _of_type(ctx: Context, value: dtypes.DType, name: str) -> Any:
    if name == "value":
        return value
    if name in dtypes.LANGUAGE_ATTRIBUTES and hasattr(value, name) and (name != "shape" or value.block):
        return getattr(value, name)
    method = _TYPE_METHODS.get(name)
    if method is None:
        raise fail(ctx, f"{value} has no attribute {name!r}")
    return BoundMethod(value, method)


def _of_descriptor(ctx: Context, value: Descriptor, name: str) -> Any:
    if name == "dtype":
        return value.block_type.element_ty
    if name == "block_shape":
        return value.block_type.shape
    if name == "block_type":
        return value.block_type
    if name == "shape":
        return tuple(value.sizes)
    if name == "strides":
        return tuple(value.strides)
    if name == "type":
        return value.type
    method = DESCRIPTOR_METHODS.get(name)
    if method is None:
        raise fail(ctx, f"tensor_descriptor has no attribute {name!r}")
    return BoundMethod(value, method)


def _of_block_pointer(ctx: Context, value: BlockPointer, name: str) -> Any:
    if name in ("dtype", "base", "offsets", "strides", "order"):
        return getattr(value, name)
    if name in ("shape", "block_shape"):
        return value.sizes if name == "shape" else value.block
    if name in ("advance", "load", "store"):
        return BoundMethod(value, TABLE[f"{_LANGUAGE}.{name}"])
    if name == "type":
        return value.type
    raise fail(ctx, f"block pointer has no attribute {name!r}")


def subscript(ctx: Context, value: Any, index: Any) -> Any:
    """``value[index]`` of a run-time value."""
    if isinstance(value, Handle):
        return shapes.index(ctx, value, index)
    raise fail(ctx, f"{value!r} cannot be indexed")


def _number_extremum(name: str, pick: Callable[[Any], Any]) -> Callable[..., Any]:
    def call(ctx: Context, *args: Any, propagate_nan: Any = None) -> Any:
        if not any(isinstance(each, Handle) for each in args):
            if propagate_nan is not None or any(each != each for each in args if isinstance(each, float)):
                raise fail(ctx, f"constexpr {name} does not support NaN values")
            try:
                return pick(args[0] if len(args) == 1 else args)
            except (TypeError, ValueError) as error:
                raise fail(ctx, str(error)) from None
        if len(args) < 2:
            raise fail(ctx, f"{name} requires at least 2 values")
        result = args[0]
        combine = TABLE[f"{_LANGUAGE}.{name}imum"]
        for each in args[1:]:
            result = combine.call(ctx, [result, each], {"propagate_nan": propagate_nan or "none"})
        return result

    return call


PYTHON: dict[str, Any] = {
    "min": builtin("python.min", _number_extremum("min", min)),
    "max": builtin("python.max", _number_extremum("max", max)),
    "print": TABLE[f"{_LANGUAGE}.device_print"],
}
"""Names of Python that Triton maps to functions of its language."""
