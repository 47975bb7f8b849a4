"""The table of Triton's names, and how an implementation becomes a ``Builtin``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smem_lint.tile.semantic.context import fail
from smem_lint.tile.semantic.hints import mark_foreign
from smem_lint.tile.unsupported import Unsupported
from smem_lint.tile.values import Builtin

TABLE: dict[str, Any] = {}
"""Functions, types and constants by full dotted name."""

_LANGUAGE = "triton.language"
_NO_TENSORS = (int, float, str, tuple, type(None))


def guarded(function: Callable[..., Any]) -> Callable[[Any, list[Any], dict[str, Any]], Any]:
    """``function(ctx, *args, **kwargs)`` as a ``Builtin`` calls it.

    Arguments that do not fit the parameters, numbers where a tensor is needed, and shapes that Triton refuses, are the kernel's
    error. A TypeError from within is a use that was not foreseen here, and raises Unsupported.
    """

    def call(ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        try:
            return function(ctx, *args, **kwargs)
        except ValueError as error:
            raise fail(ctx, str(error)) from error
        except (TypeError, AttributeError, IndexError) as error:
            trace = error.__traceback__
            if isinstance(error, TypeError) and trace is not None and trace.tb_next is None:
                raise fail(ctx, str(error)) from error
            if isinstance(error, AttributeError) and isinstance(error.obj, _NO_TENSORS):
                raise fail(ctx, str(error)) from error
            raise Unsupported(f"{function.__name__.rstrip('_')}: {error}", ctx.builder.line) from error

    return call


def builtin(name: str, function: Callable[..., Any], jit: bool = False) -> Builtin:
    """A ``Builtin`` of the implementation; ``jit``: Triton has it as a jit function, whose results take no hints."""
    call = guarded(function)
    if not jit:
        return Builtin(name, call)
    return Builtin(name, lambda ctx, args, kwargs: mark_foreign(ctx, call(ctx, args, kwargs)))


def register(name: str, function: Callable[..., Any], jit: bool = False) -> None:
    """Enter ``triton.language.<name>``."""
    TABLE[f"{_LANGUAGE}.{name}"] = builtin(name, function, jit)


def constant(name: str, value: Any) -> None:
    TABLE[f"{_LANGUAGE}.{name}"] = value
