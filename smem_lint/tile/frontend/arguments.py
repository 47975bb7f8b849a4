"""Arguments of a call matched with the parameters of a function, as Python does it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from smem_lint.tile.unsupported import KernelError


def bind(
    node: ast.FunctionDef, args: list[Any], kwargs: dict[str, Any], default: Callable[[ast.expr], Any]
) -> dict[str, Any]:
    """Parameter name → value, in the order of the parameters; raises KernelError where Python raises TypeError.

    ``default`` evaluates the expression of a default value.
    """
    spec = node.args
    positional = [*spec.posonlyargs, *spec.args]
    rest = dict(kwargs)
    bound: dict[str, Any] = {}
    if len(args) > len(positional) and spec.vararg is None:
        raise KernelError(f"{node.name}() takes {len(positional)} positional arguments but {len(args)} were given")
    first_default = len(positional) - len(spec.defaults)
    for index, parameter in enumerate(positional):
        name = parameter.arg
        if index < len(args):
            if name in rest:
                raise KernelError(f"{node.name}() got multiple values for argument {name!r}")
            bound[name] = args[index]
        elif name in rest:
            bound[name] = rest.pop(name)
        elif index >= first_default:
            bound[name] = default(spec.defaults[index - first_default])
        else:
            raise KernelError(f"{node.name}() misses the argument {name!r}")
    if spec.vararg is not None:
        bound[spec.vararg.arg] = tuple(args[len(positional) :])
    for parameter, expression in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
        name = parameter.arg
        if name in rest:
            bound[name] = rest.pop(name)
        elif expression is not None:
            bound[name] = default(expression)
        else:
            raise KernelError(f"{node.name}() misses the argument {name!r}")
    if rest:
        raise KernelError(f"{node.name}() got an unexpected argument {next(iter(rest))!r}")
    return bound
