"""The builtins of Python that a kernel may use (``builtin_namespace`` in ``triton/compiler/code_generator.py``, 3.8.0)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smem_lint.tile import dtypes, language
from smem_lint.tile.unsupported import KernelError
from smem_lint.tile.values import Builtin, Composite, Handle, is_runtime


def _static(function: Callable[..., Any], *types: type) -> Callable[[Any, list[Any], dict[str, Any]], Any]:
    def call(ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if kwargs or len(args) != 1 or not isinstance(args[0], types):
            raise KernelError(f"{function.__name__}() of what is not known at compile time")
        try:
            return function(args[0])
        except (TypeError, ValueError, OverflowError) as error:
            raise KernelError(str(error)) from None

    return call


def _range(ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    raise KernelError("range() outside a for statement")


_INSTANCES: dict[str, Callable[[Any], bool]] = {
    "tensor": lambda value: isinstance(value, Handle),
    "constexpr": lambda value: False,
    "tuple": lambda value: isinstance(value, tuple),
    "dtype": lambda value: isinstance(value, dtypes.DType),
    "block_type": lambda value: isinstance(value, dtypes.BlockType),
    "pointer_type": lambda value: isinstance(value, dtypes.PointerType),
    "python.int": lambda value: isinstance(value, int),
    "python.float": lambda value: isinstance(value, float),
    "python.list": lambda value: False,
    "python.range": lambda value: False,
}


def _isinstance(ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> bool:
    if len(args) != 2:
        raise KernelError("isinstance() takes two arguments")
    value, kinds = args
    for kind in kinds if isinstance(kinds, tuple) else (kinds,):
        name = kind.name if isinstance(kind, Builtin) else ""
        if name in _INSTANCES:
            if _INSTANCES[name](value):
                return True
        elif isinstance(value, Composite) and name.startswith("tensor_descriptor"):
            return True
        elif not name:
            raise KernelError("isinstance() of something that is not a type")
    return False


def _getattr(ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    from smem_lint.tile.frontend.attributes import get_attribute

    if not 2 <= len(args) <= 3 or not isinstance(args[1], str):
        raise KernelError("getattr() needs the name of an attribute")
    try:
        return get_attribute(ctx, args[0], args[1])
    except KernelError:
        if len(args) == 3:
            return args[2]
        raise


def _hasattr(ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> bool:
    try:
        _getattr(ctx, args[:2], kwargs)
    except KernelError:
        return False
    return True


def _list(ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if len(args) == 1 and isinstance(args[0], tuple) and not is_runtime(args[0]):
        return tuple(args[0])
    raise KernelError("list() of what is not a tuple")


PYTHON_NAMES: dict[str, Any] = {
    "len": Builtin("python.len", _static(len, tuple, str)),
    "int": Builtin("python.int", _static(int, int, float, str)),
    "float": Builtin("python.float", _static(float, int, float, str)),
    "range": Builtin("python.range", _range),
    "list": Builtin("python.list", _list),
    "isinstance": Builtin("python.isinstance", _isinstance),
    "getattr": Builtin("python.getattr", _getattr),
    "hasattr": Builtin("python.hasattr", _hasattr),
    **language.PYTHON,
}
