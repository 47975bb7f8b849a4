"""Python's built-in functions, on values that may be unknown."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from smem_lint.host import data_files, dynamic
from smem_lint.host.comprehensions import iterate
from smem_lint.host.limits import Raised, TooMuch, Undecided
from smem_lint.host.operators import binary, check_key, has_unknown
from smem_lint.host.paths import Strict
from smem_lint.host.platform import PROPERTIES, Properties
from smem_lint.host.truth import truth_if_known
from smem_lint.host.values import (
    UNKNOWN,
    Assumed,
    Bound,
    Builtin,
    Class,
    DType,
    Function,
    Instance,
    Kernel,
    Outside,
    Partial,
    Possible,
    Scope,
    Symbol,
    Tensor,
    TunedConfig,
    assumed,
    describe,
    words,
)
from smem_lint.source.modules import SourceModule

if TYPE_CHECKING:
    from smem_lint.host.evaluation import Evaluation

NAMES = words(
    "len range min max abs int float bool str list tuple dict set frozenset sorted sum any all zip enumerate map filter "
    "isinstance issubclass hasattr getattr setattr print round divmod pow reversed iter next type callable id repr hash super "
    "property staticmethod classmethod object slice vars format chr ord bytes Exception ValueError TypeError RuntimeError "
    "KeyError NotImplementedError ImportError AssertionError AttributeError IndexError OSError BaseException complex open "
    "locals globals NotImplemented Ellipsis compile exec"
)

_PURE: dict[str, Callable[..., Any]] = {
    "abs": abs, "int": int, "float": float, "bool": bool, "str": str, "round": round, "divmod": divmod, "repr": repr, "chr": chr,
    "ord": ord, "pow": pow, "format": format,
}  # fmt: skip


def call(run: Evaluation, name: str, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    """A built-in function's value."""
    args = [run.definite(argument) for argument in args]
    handler = _SPECIAL.get(name)
    if handler is not None:
        return handler(run, args, kwargs, node, scope)
    if name in _PURE:
        return pure(run, name, _PURE[name], args, node)
    if name == "open":
        return data_files.opened(run, args, kwargs, node)
    if name in ("compile", "exec", "globals"):
        return dynamic.call(run, name, args, scope)
    if name in ("list", "tuple", "set", "frozenset", "dict", "sorted", "reversed", "enumerate", "zip", "iter"):
        return _collect(run, name, args, kwargs, node, scope)
    return Symbol(f"{name}({', '.join(describe(a)[:24] for a in args[:3])})", f"the result of {name}()", line=node.lineno if node else 0)


def pure(run: Evaluation, name: str, function: Callable[..., Any], args: list[Any], node: ast.Call | None = None) -> Any:
    """A function of plain values: applied where they are known, kept as an expression where not."""
    if name == "int" and args and isinstance(args[0], (Symbol, bool)) and len(args) == 1 and not isinstance(args[0], bool):
        symbol = args[0]
        if symbol.kind in ("+", "-", "*", "//", "%") or symbol.low is not None:
            return symbol
    if any(isinstance(argument, Symbol) for argument in args):
        if any(argument is UNKNOWN or isinstance(argument, (Tensor, Instance)) for argument in args):
            return UNKNOWN
        reason = next(argument.reason for argument in args if isinstance(argument, Symbol))
        text = f"{name}({', '.join(describe(argument) for argument in args)})"
        return Symbol(text, reason, operation=function, operands=tuple(args), line=node.lineno if node else 0, kind="call")
    if any(argument is UNKNOWN or isinstance(argument, (Tensor, Outside, Instance, Function, Kernel, Class)) for argument in args):
        return UNKNOWN
    if name == "pow" and len(args) == 2:
        return binary("**", pow, args[0], args[1], run.path.limits)
    if any(isinstance(argument, str) and len(argument) > 4_000 for argument in args):
        raise TooMuch("a string too long")
    if any(isinstance(argument, int) and argument.bit_length() > run.path.limits.integer_bits for argument in args):
        raise TooMuch("an integer too large")
    try:
        made = function(*args)
        return assumed(made) if any(type(argument) is Assumed for argument in args) else made
    except (ArithmeticError, ValueError) as error:
        raise Raised("ZeroDivisionError" if isinstance(error, ZeroDivisionError) else "ValueError") from None
    except TypeError:
        if any(isinstance(argument, (DType, TunedConfig)) for argument in args) or has_unknown(args):
            return UNKNOWN
        raise Raised("TypeError") from None


def items(run: Evaluation, value: Any) -> list[Any] | None:
    """The items of a value as a list; None where they are not known; raises ``TooMuch`` for very long ones."""
    value = run.definite(value)
    if isinstance(value, (list, tuple, range, set, frozenset, dict, str)) and len_of(value) > run.path.limits.items:
        raise TooMuch("a list too long")
    walked = iterate(run, value)
    return None if walked is None else list(walked)


def len_of(value: Any) -> int:
    """``len``, for ranges longer than a machine word as well."""
    try:
        return len(value)
    except OverflowError:
        return 1 << 62


def _length(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    value = args[0]
    if isinstance(value, (list, tuple, str, dict, set, frozenset, range, bytes)):
        return len_of(value)
    if isinstance(value, Tensor) and value.shape:
        return value.shape[0]
    if isinstance(value, Class) and value.is_enum:
        return len(items(run, value) or [])
    if isinstance(value, (Symbol, Tensor)):
        name = describe(value)
        rank = run.path.notes.get(f"rank {name.removesuffix('.shape')}") if name.endswith(".shape") else None
        return (
            rank
            if rank is not None
            else run.path.settle(Symbol(f"len({name})", f"the length of {name}", line=node.lineno if node else 0, low=0))
        )
    return UNKNOWN


def _range(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    bounds = [run.path.concrete(argument) if isinstance(argument, Symbol) and argument.kind == "if" else argument for argument in args]
    if all(isinstance(bound, int) for bound in bounds) and bounds:
        try:
            return range(*bounds)
        except ValueError:
            raise Raised("ValueError") from None
    return Symbol(f"range({', '.join(describe(bound) for bound in bounds)})", "the bounds of a range are not known")


def _extreme(largest: bool) -> Callable[..., Any]:
    name = "max" if largest else "min"
    function: Callable[..., Any] = max if largest else min

    def evaluate(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
        values = args if len(args) != 1 else items(run, args[0])
        if values is None or not values:
            return kwargs.get("default", UNKNOWN)
        key = kwargs.get("key")
        if key is not None:
            keys = [run.call(key, (value,), {}, node, scope) for value in values]
            if has_unknown(keys):
                return UNKNOWN
            return values[keys.index(function(keys))]
        values = [run.definite(value) for value in values]
        if all(isinstance(value, (Symbol, int, float)) for value in values):
            known = [value for value in values if not isinstance(value, Symbol)]
            open_values = list({value.text: value for value in values if isinstance(value, Symbol)}.values())
            merged = [*open_values, function(known)] if known else list(open_values)
            if len(merged) == 1:
                return merged[0]
            result = pure(run, name, function, merged, node)
            if isinstance(result, Symbol):
                lows = [value.low if isinstance(value, Symbol) else value for value in merged]
                usable = [low for low in lows if isinstance(low, int)]
                result.low = (max(usable) if largest else min(usable)) if usable and (largest or len(usable) == len(lows)) else None
            return result
        return pure(run, name, lambda *parts: function(parts), values, node)

    return evaluate


def _sum(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    values = items(run, args[0])
    if values is None:
        return Symbol("sum(…)", "a sum over what is not known")
    total: Any = args[1] if len(args) > 1 else 0
    for value in values:
        total = binary("+", lambda a, b: a + b, total, value, run.path.limits)
    return total


def _any_all(wanted: bool) -> Callable[..., Any]:
    def evaluate(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
        from smem_lint.host.operators import conjunction, disjunction

        values = items(run, args[0])
        if values is None:
            return Symbol(f"{'any' if wanted else 'all'}({describe(args[0])})", "a test over what is not known")
        pending = []
        for value in values:
            known = truth_if_known(run, value)
            if known is wanted:
                return wanted
            if known is None:
                pending.append(value)
        if not pending:
            return not wanted
        if not all(isinstance(value, Symbol) for value in pending):
            return UNKNOWN
        return disjunction(pending) if wanted else conjunction(pending)

    return evaluate


def _map(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    columns = [items(run, argument) for argument in args[1:]]
    if any(column is None for column in columns):
        return Symbol(f"map({describe(args[0])}, …)", "what it runs over is not known")
    return [run.call(args[0], row, {}, node, scope) for row in zip(*(column or [] for column in columns), strict=False)]


def _filter(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    source = args[1]
    values = source.items if isinstance(source, Possible) else items(run, source)
    if values is None:
        return Symbol("filter(…)", "what it runs over is not known")
    kept: list[Any] = []
    unsure = source.reason if isinstance(source, Possible) else ""
    for value in values:
        try:
            if run.path.truth(value if args[0] is None else run.call(args[0], (value,), {}, node, scope)):
                kept.append(value)
        except Undecided as undecided:
            if not isinstance(run.path, Strict):
                raise
            unsure = unsure or undecided.reason
            kept.append(value)
    return Possible("filter(…)", unsure, kept, node.lineno if node else 0) if unsure else kept


_TYPES = {"int": int, "float": float, "str": str, "bool": bool, "list": list, "tuple": tuple, "dict": dict, "set": set}


def _isinstance(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    value, wanted = args[0], args[1] if len(args) > 1 else UNKNOWN
    if isinstance(wanted, (tuple, list)):
        answers = [_isinstance(run, [value, one], kwargs, node, scope) for one in wanted]
        if True in answers:
            return True
        return False if all(answer is False for answer in answers) else UNKNOWN
    if isinstance(value, Symbol):
        return Symbol(f"isinstance({value.text}, {describe(wanted)})", value.reason, line=node.lineno if node else 0)
    name = wanted.name if isinstance(wanted, (Builtin, Class)) else wanted.dotted.rpartition(".")[2] if isinstance(wanted, Outside) else ""
    if name in _TYPES and isinstance(wanted, Builtin):
        return isinstance(value, _TYPES[name])
    if name == "Tensor":
        return isinstance(value, Tensor)
    if name == "dtype":
        return isinstance(value, DType)
    if isinstance(value, Kernel) and name in ("Autotuner", "Heuristics", "JITFunction"):
        from smem_lint.host.autotune import outermost

        return outermost(run.program, value) == name
    if isinstance(value, Instance) and isinstance(wanted, Class):
        return _is_subclass(value.cls, wanted)
    if isinstance(value, Function):
        return name in ("Callable", "FunctionType", "LambdaType")
    if isinstance(value, (int, str, float, list, dict, tuple, type(None), Tensor, Kernel, DType)):
        return False
    return UNKNOWN


def _is_subclass(cls: Class, wanted: Class) -> bool:
    return cls.node is wanted.node or any(isinstance(base, Class) and _is_subclass(base, wanted) for base in cls.bases)


def _hasattr(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    value, name = args[0], args[1]
    if isinstance(value, Outside) and isinstance(name, str):
        from smem_lint.host.outside import exists

        return exists(value.dotted, name)
    if isinstance(value, Instance) and isinstance(name, str):
        if name in value.attributes or value.cls.find(name) is not UNKNOWN:
            return True
        return UNKNOWN if value.symbolic or value.cls.opaque or value.cls.find("__getattr__") is not UNKNOWN else False
    if isinstance(value, Properties) and isinstance(name, str):
        return name in PROPERTIES
    if isinstance(value, SourceModule) and isinstance(name, str):
        return True if name in value.bindings else UNKNOWN if value.bindings.keys() & {"*", "__getattr__"} else False
    if isinstance(value, (Tensor, TunedConfig)) and isinstance(name, str):
        return name in ("shape", "dtype", "stride", "kwargs", "num_warps", "num_stages", "data_ptr", "contiguous", "device") or UNKNOWN
    return Symbol(f"hasattr({describe(value)}, {describe(name)})", "an attribute that may be missing")


def _getattr(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    if len(args) < 2 or not isinstance(args[1], str):
        return UNKNOWN
    try:
        value = run.attribute(args[0], args[1], node.lineno if node else 0)
    except Raised:
        if len(args) > 2:
            return args[2]
        raise
    if value is UNKNOWN and len(args) > 2:
        if isinstance(args[0], Function) and not args[1].startswith("_"):
            return args[2]
        return Symbol(f"{describe(args[0])}.{args[1]}", "an attribute that may be missing")
    return value


def _setattr(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    if len(args) == 3 and isinstance(args[1], str):
        run.program.set_attribute(run, args[0], args[1], args[2])


def _type(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    value = args[0]
    if isinstance(value, Instance):
        return value.cls
    return Symbol(f"type({describe(value)})", "a type")


def _super(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    return Symbol("super()", "a base class")


def _next(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    values = items(run, args[0])
    if values is None:
        return Symbol(f"next({describe(args[0])})", "an item of what is not known", line=node.lineno if node else 0)
    if values:
        return values[0]
    if len(args) > 1:
        return args[1]
    raise Raised("StopIteration")


def _descriptor(name: str) -> Callable[..., Any]:
    return lambda run, args, kwargs, node, scope: Partial(name, tuple(args), {}) if args else UNKNOWN


def _collect(run: Evaluation, name: str, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    if name == "dict":
        table: dict[Any, Any] = {}
        if args:
            source = args[0]
            pairs = list(source.items()) if isinstance(source, dict) else items(run, source)
            if pairs is None:
                return Symbol(f"dict({describe(source)})", "a dict of what is not known")
            try:
                table.update(pairs)
            except (TypeError, ValueError):
                raise Raised("TypeError") from None
        if kwargs.pop("**", None) is UNKNOWN:
            return Symbol("dict(…)", "a dict of what is not known")
        table.update(kwargs)
        return table
    if name == "list" and len(args) == 1 and isinstance(args[0], Possible):
        return args[0]
    columns = [items(run, argument) for argument in args]
    if any(column is None for column in columns):
        unknown = next(describe(argument) for argument, column in zip(args, columns, strict=True) if column is None)
        return Symbol(f"{name}({unknown})", f"{unknown} is not known", line=node.lineno if node else 0)
    values: list[Any] = columns[0] if columns and columns[0] is not None else []
    try:
        if name == "zip":
            return list(zip(*(column or [] for column in columns), strict=False))
        if name == "enumerate":
            start = args[1] if len(args) > 1 and isinstance(args[1], int) else kwargs.get("start", 0)
            return [(start + place, value) for place, value in enumerate(values)]
        if name == "sorted":
            return sorted_values(run, values, kwargs, node, scope)
        if name == "reversed":
            return values[::-1]
        if name in ("set", "frozenset"):
            for value in values:
                check_key(value)
            return set(values) if name == "set" else frozenset(values)
    except TypeError:
        return UNKNOWN
    return tuple(values) if name == "tuple" else list(values)


def sorted_values(run: Evaluation, values: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    key = kwargs.get("key")
    keys = values if key is None else [run.call(key, (value,), {}, node, scope) for value in values]
    if has_unknown(keys):
        return Symbol("sorted(…)", "an order that is not known")
    try:
        order = sorted(range(len(values)), key=lambda place: keys[place], reverse=bool(kwargs.get("reverse")))
    except TypeError:
        return Symbol("sorted(…)", "an order of what has none")
    return [values[place] for place in order]


_SPECIAL: dict[str, Callable[..., Any]] = {
    "len": _length, "range": _range, "min": _extreme(False), "max": _extreme(True), "sum": _sum, "any": _any_all(True),
    "all": _any_all(False), "map": _map, "filter": _filter, "isinstance": _isinstance, "hasattr": _hasattr, "getattr": _getattr,
    "setattr": _setattr, "type": _type, "super": _super, "next": _next, "property": _descriptor("property"),
    "staticmethod": _descriptor("staticmethod"), "classmethod": _descriptor("classmethod"), "print": lambda *ignored: None,
    "callable": lambda run, args, kwargs, node, scope: isinstance(args[0], (Function, Class, Kernel, Partial, Bound, Builtin)) or UNKNOWN,
}  # fmt: skip
