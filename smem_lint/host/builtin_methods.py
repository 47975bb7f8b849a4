"""The methods of Python's built-in types, on values that may be unknown."""

from __future__ import annotations

import ast
import string
from typing import TYPE_CHECKING, Any

from smem_lint.host.builtin import items, sorted_values
from smem_lint.host.limits import Raised, TooMuch
from smem_lint.host.operators import check_key, has_unknown
from smem_lint.host.platform import DeviceCapability
from smem_lint.host.tables import is_open_key, left_behind, listed_entry
from smem_lint.host.values import (
    UNKNOWN,
    DType,
    Rest,
    Scope,
    Symbol,
    TunedConfig,
    describe,
    words,
)

if TYPE_CHECKING:
    from smem_lint.host.evaluation import Evaluation

_PLAIN_METHODS = words(
    "bit_length union intersection difference issubset issuperset index count add update discard copy is_integer isdisjoint"
)
_STRING_METHODS = words(
    "lower upper strip lstrip rstrip startswith endswith split rsplit replace find count isdigit isalpha title capitalize "
    "partition rpartition removeprefix removesuffix casefold splitlines index"
)


def method(run: Evaluation, receiver: Any, name: str, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    """A method of a built-in value."""
    args = [run.definite(argument) for argument in args]
    if isinstance(receiver, str):
        return _string_method(run, receiver, name, args, kwargs)
    if isinstance(receiver, list):
        return _list_method(run, receiver, name, args, kwargs, node, scope)
    if isinstance(receiver, dict):
        return _dict_method(run, receiver, name, args, kwargs, node, scope)
    if isinstance(receiver, TunedConfig) and name == "all_kwargs":
        options = {option: getattr(receiver, option) for option in ("num_warps", "num_stages", "num_ctas", "maxnreg")}
        return {**receiver.kwargs, **{key: value for key, value in options.items() if value is not None}}
    if isinstance(receiver, DeviceCapability) and name in ("to_int", "as_version_str"):
        return getattr(receiver, name)()
    if isinstance(receiver, (set, frozenset, tuple, int, float, range)) and name in _PLAIN_METHODS and not has_unknown([receiver, *args]):
        try:
            return getattr(receiver, name)(*args)
        except (TypeError, ValueError, AttributeError) as error:
            raise Raised(type(error).__name__) from None
    return UNKNOWN


def _string_method(run: Evaluation, receiver: str, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if name == "join" and len(args) == 1:
        parts = items(run, args[0])
        if parts is None or not all(isinstance(part, str) for part in parts):
            return Symbol("''.join(…)", "text that is put together from unknown parts")
        if sum(map(len, parts)) + len(receiver) * len(parts) > run.path.limits.characters:
            raise TooMuch("a string too long")
        return receiver.join(parts)
    if name == "format" and not has_unknown(args) and not has_unknown(list(kwargs.values())):
        return _format(run, receiver, args, kwargs)
    if name == "format" or name not in _STRING_METHODS or has_unknown(args) or kwargs:
        return Symbol(f"{describe(receiver)}.{name}(…)", "text that is put together from unknown parts")
    if (
        name == "replace"
        and len(args) >= 2
        and isinstance(args[1], str)
        and len(receiver) * max(len(args[1]), 1) > run.path.limits.characters
    ):
        raise TooMuch("a string too long")
    try:
        return getattr(receiver, name)(*args)
    except (TypeError, ValueError) as error:
        raise Raised(type(error).__name__) from None


def _format(run: Evaluation, template: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """``template.format(…)`` for plain fields: no attribute access, no format specification."""
    parts: list[str] = []
    given = 0
    try:
        for text, field, specification, conversion in string.Formatter().parse(template):
            parts.append(text)
            if field is None:
                continue
            key = field or str(given)
            given += not field
            value = args[int(key)] if key.isdigit() else kwargs[key]
            if specification or conversion or not isinstance(value, str | int):
                return Symbol(f"{describe(template)}.format(…)", "text that is put together from unknown parts")
            parts.append(str(value))
    except (ValueError, KeyError, IndexError) as error:
        raise Raised(type(error).__name__) from None
    if sum(map(len, parts)) > run.path.limits.characters:
        raise TooMuch("a string too long")
    return "".join(parts)


def _list_method(
    run: Evaluation, receiver: list[Any], name: str, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope
) -> Any:
    if len(receiver) >= run.path.limits.items:
        raise TooMuch("a list too long")
    if name == "append":
        receiver.append(args[0])
        return None
    if name == "extend":
        more = items(run, args[0])
        if more is None:
            raise TooMuch("a list extended by what is not known")
        receiver.extend(more)
        return None
    if name == "sort":
        ordered = sorted_values(run, receiver, kwargs, node, scope)
        if not isinstance(ordered, list):
            raise TooMuch("a list sorted by what is not known")
        receiver[:] = ordered
        return None
    if name in ("copy", "reverse", "clear", "pop", "insert", "count", "index", "remove") and (
        name in ("pop", "insert") or not has_unknown(args)
    ):
        try:
            return getattr(receiver, name)(*args)
        except (IndexError, ValueError, TypeError) as error:
            raise Raised(type(error).__name__) from None
    return UNKNOWN


def _dict_method(
    run: Evaluation, receiver: dict[Any, Any], name: str, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope
) -> Any:
    if name in ("keys", "values"):
        return list(getattr(receiver, name)())
    if name == "items":
        return [tuple(pair) for pair in receiver.items()]
    if name == "copy":
        return dict(receiver)
    if name == "update":
        more = run.definite(args[0]) if args else {}
        if not isinstance(more, dict):
            raise TooMuch("a dict updated with what is not known")
        receiver.update(more)
        receiver.update(kwargs)
        return None
    if name in ("get", "pop", "setdefault") and args:
        key = run.path.concrete(args[0]) if isinstance(args[0], Symbol) else args[0]
        default = args[1] if len(args) > 1 else kwargs.get("default")
        if (isinstance(key, Symbol) or key is UNKNOWN) and receiver:
            if (
                isinstance(key, Symbol)
                and len(receiver) <= 16
                and all(isinstance(one, (str, int, tuple, DType)) for one in receiver)
                and name == "get"
            ):
                return _get_unknown(run, receiver, key, default)
            return Symbol(f"{describe(receiver)}.get({describe(key)})", "an entry for a key that is not known")
        if name == "get" and is_open_key(run, receiver, key):
            return listed_entry(run, receiver, key, default)
        if name == "get" and not receiver and type(receiver) is dict:
            return left_behind(run, receiver, scope, default)
        check_key(key)
        try:
            found = key in receiver
        except TypeError:
            found = False
        if isinstance(receiver, Rest) and isinstance(key, str) and not found:
            receiver[key] = Symbol(key, f"{key} is given by the caller")
            found = True
            if not isinstance(default, Symbol) and default is not UNKNOWN and (default is not None or name == "get"):
                run.path.notes[f"default {key}"] = default
        if name == "setdefault" and not found:
            receiver[key] = default
        if not found and name == "pop" and len(args) < 2:
            raise Raised("KeyError")
        return (receiver.pop(key) if name == "pop" else receiver[key]) if found else default
    if name == "clear":
        receiver.clear()
        return None
    return UNKNOWN


def _get_unknown(run: Evaluation, table: dict[Any, Any], key: Symbol, default: Any) -> Any:
    options = [*table.items(), (UNKNOWN, default)]
    taken = run.path.choose(len(options))
    found, value = options[taken]
    if found is not UNKNOWN:
        run.path.fix(key, found)
    else:
        run.path.when.append(f"{key.text} is none of the {len(table)} listed")
    return value
