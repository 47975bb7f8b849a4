"""Operators of Python on values that may be unknown, with limits on what they build."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from smem_lint.host.limits import Limits, Raised, TooMuch
from smem_lint.host.values import (
    UNKNOWN,
    Assumed,
    DType,
    EnumMember,
    Function,
    Instance,
    Kernel,
    Outside,
    Rest,
    Symbol,
    Tensor,
    assumed,
    describe,
)

Operation = Callable[[Any, Any], Any]

BINARY: dict[type[ast.operator], tuple[str, Operation]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.Pow: ("**", operator.pow),
    ast.LShift: ("<<", operator.lshift),
    ast.RShift: (">>", operator.rshift),
    ast.BitOr: ("|", operator.or_),
    ast.BitAnd: ("&", operator.and_),
    ast.BitXor: ("^", operator.xor),
    ast.MatMult: ("@", operator.matmul),
}

COMPARE: dict[type[ast.cmpop], tuple[str, Operation]] = {
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
    ast.Is: ("is", lambda left, right: left is right),
    ast.IsNot: ("is not", lambda left, right: left is not right),
    ast.In: ("in", lambda left, right: left in right),
    ast.NotIn: ("not in", lambda left, right: left not in right),
}

NOT_NONE = (Tensor, DType, Function, Kernel, Instance, Outside, EnumMember)


def has_unknown(value: Any, items: int = 4_000) -> bool:
    """Whether a value, or an item of a container, is unknown; what holds more than ``items`` values counts as unknown."""
    stack = [value]
    for _ in range(items):
        if not stack:
            return False
        item = stack.pop()
        if isinstance(item, (Symbol, Tensor)) or item is UNKNOWN:
            return True
        if isinstance(item, (tuple, list, set, frozenset, dict)):
            if len(item) > items:
                return True
            stack.extend(item.values() if isinstance(item, dict) else item)
    return bool(stack)


def check_key(key: Any) -> None:
    """Refuse to hash a tuple so large, or nested so deeply, that hashing it would take long."""
    if isinstance(key, (tuple, frozenset)):
        stack: list[Any] = [key]
        for _ in range(1_000):
            if not stack:
                return
            item = stack.pop()
            if isinstance(item, (tuple, frozenset)):
                if len(item) > 1_000:
                    break
                stack.extend(item)
        raise TooMuch("a key too large")


def binary(symbol: str, function: Operation, left: Any, right: Any, limits: Limits, line: int = 0) -> Any:
    """``left symbol right``; raises ``TooMuch`` where the result would be too large, ``Raised`` where Python would raise."""
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        return _tensor_arithmetic(left, right, line)
    if isinstance(left, Symbol) or isinstance(right, Symbol):
        return _symbolic(symbol, lambda a, b: binary(symbol, function, a, b, limits, line), left, right, line)
    if symbol == "%" and isinstance(left, str):
        return UNKNOWN
    _check_size(symbol, left, right, limits)
    try:
        made = function(left, right)
        return assumed(made) if type(left) is Assumed or type(right) is Assumed else made
    except ZeroDivisionError:
        raise Raised("ZeroDivisionError") from None
    except OverflowError:
        raise Raised("OverflowError") from None
    except (TypeError, ValueError):
        if isinstance(left, (Outside, Instance)) or isinstance(right, (Outside, Instance)):
            return UNKNOWN
        raise Raised("TypeError") from None


def compare(kind: type[ast.cmpop], left: Any, right: Any, line: int = 0) -> Any:
    """One comparison: a bool, a symbol, or ``UNKNOWN``."""
    symbol, function = COMPARE[kind]
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    if symbol in ("is", "is not"):
        return _identity(symbol, left, right, line)
    if symbol in ("in", "not in"):
        return _membership(symbol, left, right, line)
    if isinstance(left, Symbol) and isinstance(right, Symbol) and left.text == right.text:
        return symbol in ("==", "<=", ">=")
    if isinstance(left, Symbol) or isinstance(right, Symbol):
        if symbol in ("==", "!=") and (isinstance(left, (Tensor, dict)) or isinstance(right, (Tensor, dict))):
            return UNKNOWN
        return _symbolic(symbol, lambda a, b: compare(kind, a, b, line), left, right, line)
    if isinstance(left, (Tensor, Instance)) or isinstance(right, (Tensor, Instance)):
        return UNKNOWN
    if isinstance(left, (tuple, list)) and isinstance(right, (tuple, list)) and (has_unknown(left) or has_unknown(right)):
        return _compare_sequences(kind, symbol, left, right, line)
    if isinstance(left, Outside) or isinstance(right, Outside):
        return (left == right) if symbol == "==" and type(left) is type(right) else UNKNOWN
    try:
        return function(left, right)
    except TypeError:
        raise Raised("TypeError") from None


def negate(value: Any, line: int = 0) -> Any:
    """``not value`` where the truth of the value is not known."""
    if value is UNKNOWN:
        return UNKNOWN
    if value.kind == "not":
        return value.operands[0]
    return Symbol(f"not {_wrapped(value)}", value.reason, operation=operator.not_, operands=(value,), line=line, kind="not")


def _tensor_arithmetic(left: Any, right: Any, line: int) -> Any:
    tensor = left if isinstance(left, Tensor) else right
    other = right if tensor is left else left
    same = tensor.shape if not isinstance(other, Tensor) else None
    return Tensor(f"{tensor.name}'", tensor.dtype, list(same) if same is not None else None, line=line)


def _symbolic(symbol: str, function: Operation, left: Any, right: Any, line: int) -> Any:
    for side in (left, right):
        if not isinstance(side, (Symbol, int, float, str, DType, tuple, list, bool, type(None), EnumMember)):
            return UNKNOWN
    if symbol in ("+", "-") and right == 0 and not isinstance(right, Symbol):
        return left
    if symbol in ("*", "//") and right == 1 and not isinstance(right, (Symbol, bool)):
        return left
    reason = next(side.reason for side in (left, right) if isinstance(side, Symbol))
    low = None
    if symbol in ("+", "*") and all(_low(side) is not None for side in (left, right)):
        first, second = _low(left) or 0, _low(right) or 0
        low = first + second if symbol == "+" else first * second if min(first, second) >= 0 else None
    return Symbol(
        f"{_wrapped(left)} {symbol} {_wrapped(right)}", reason, operation=function, operands=(left, right), line=line, low=low, kind=symbol
    )


def _low(value: Any) -> int | None:
    if isinstance(value, Symbol):
        return value.low
    return value if isinstance(value, int) else None


def _wrapped(value: Any) -> str:
    text = describe(value)
    return f"({text})" if isinstance(value, Symbol) and value.operation is not None and " " in text else text


def _identity(symbol: str, left: Any, right: Any, line: int) -> Any:
    positive = symbol == "is"
    if isinstance(left, Symbol) or isinstance(right, Symbol):
        if isinstance(left, Symbol) and isinstance(right, Symbol):
            return UNKNOWN if left.text != right.text else positive
        known = right if isinstance(left, Symbol) else left
        if known is None and (unknown := left if isinstance(left, Symbol) else right).kind == "if":
            absent = _is_none(unknown, line)
            return absent if positive else negate(absent, line) if isinstance(absent, Symbol) else not absent
        if known is not None and not isinstance(known, (bool, DType, EnumMember)):
            return UNKNOWN
        kind = ast.Is if positive else ast.IsNot
        return _symbolic(symbol, lambda a, b: compare(kind, a, b, line), left, right, line)
    if left is None or right is None:
        return (left is right) is positive
    if isinstance(left, (DType, bool, EnumMember, Outside)) and type(left) is type(right):
        return (left == right) is positive
    return (left is right) is positive


def _is_none(value: Any, line: int) -> Any:
    """Whether a value is None: a bool or a condition; of one that depends on a condition what its two sides say of it."""
    if not isinstance(value, Symbol):
        return value is None
    if value.kind == "if" and isinstance(value.operands[0], Symbol):
        condition = value.operands[0]
        first, second = (_is_none(side, line) for side in value.operands[1:])
        if isinstance(first, bool) and first is second:
            return first
        if isinstance(first, bool) and isinstance(second, bool):
            return condition if first else negate(condition, line)
        if isinstance(first, bool):
            return disjunction([second, condition], line) if first else conjunction([second, negate(condition, line)], line)
        if isinstance(second, bool):
            return disjunction([first, negate(condition, line)], line) if second else conjunction([first, condition], line)
    return _symbolic("is", lambda a, b: compare(ast.Is, a, b, line), value, None, line)


def _membership(symbol: str, left: Any, right: Any, line: int) -> Any:
    positive = symbol == "in"
    if isinstance(right, (Outside, Instance, Tensor)) or (isinstance(right, str) and not isinstance(left, (str, Symbol))):
        return UNKNOWN
    if isinstance(right, Rest) and isinstance(left, str) and left not in right:
        missing = Symbol(f"{left} is None", f"whether {left} is given by the caller", line=line)
        return negate(missing, line) if positive else missing
    if isinstance(left, Symbol) or isinstance(right, Symbol):
        if isinstance(right, (dict, set, frozenset)):
            right = tuple(right)
        if isinstance(right, (range, list)):
            right = tuple(right) if len(right) <= 64 else right
        if not isinstance(right, (tuple, str, Symbol)):
            return UNKNOWN
        kind = ast.In if positive else ast.NotIn
        return _symbolic(symbol, lambda a, b: compare(kind, a, b, line), left, right, line)
    if isinstance(right, (tuple, list)):
        unsure = False
        for item in right:
            same = compare(ast.Eq, left, item, line)
            if same is True:
                return positive
            unsure = unsure or same is not False
        return UNKNOWN if unsure else not positive
    try:
        return (left in right) is positive
    except TypeError:
        raise Raised("TypeError") from None


def _compare_sequences(kind: type[ast.cmpop], symbol: str, left: Any, right: Any, line: int) -> Any:
    if symbol not in ("==", "!=") or any(isinstance(item, (list, tuple, dict)) for item in (*left[:64], *right[:64])) or len(left) > 64:
        return UNKNOWN
    if len(left) != len(right):
        return symbol == "!="
    pending: list[Any] = []
    for first, second in zip(left, right, strict=True):
        same = compare(ast.Eq, first, second, line)
        if same is False:
            return symbol == "!="
        if same is not True:
            pending.append(same)
    if any(item is UNKNOWN for item in pending):
        return UNKNOWN
    if not pending:
        return symbol == "=="
    both = conjunction(pending, line)
    return both if symbol == "==" else negate(both, line)


def conjunction(parts: list[Any], line: int = 0) -> Any:
    """``a and b and …`` over symbols."""
    if len(parts) == 1:
        return parts[0]
    text = " and ".join(_wrapped(part) for part in parts)
    return Symbol(text, parts[0].reason, operation=lambda *values: all(values), operands=tuple(parts), line=line, kind="and")


def disjunction(parts: list[Any], line: int = 0) -> Any:
    """``a or b or …`` over symbols."""
    if len(parts) == 1:
        return parts[0]
    text = " or ".join(_wrapped(part) for part in parts)
    return Symbol(text, parts[0].reason, operation=lambda *values: any(values), operands=tuple(parts), line=line, kind="or")


def either(condition: Symbol, value: Any, other: Any, line: int = 0) -> Any:
    """The value that is ``value`` where the condition holds and ``other`` where not; decided only when it is needed."""
    if value is other or (type(value) is type(other) and isinstance(value, (int, str, float, DType, type(None))) and value == other):
        return value
    if value is UNKNOWN or other is UNKNOWN:
        return UNKNOWN
    text = f"({describe(value)} if {condition.text} else {describe(other)})"
    return Symbol(
        text,
        condition.reason,
        operation=lambda holds, first, second: first if holds else second,
        operands=(condition, value, other),
        line=line,
        kind="if",
    )


def _check_size(symbol: str, left: Any, right: Any, limits: Limits) -> None:
    if symbol == "*":
        for sequence, count in ((left, right), (right, left)):
            if isinstance(sequence, (str, bytes)) and isinstance(count, int) and len(sequence) * count > limits.characters:
                raise TooMuch("a string too long")
            if isinstance(sequence, (list, tuple)) and isinstance(count, int) and len(sequence) * count > limits.items:
                raise TooMuch("a list too long")
        if isinstance(left, int) and isinstance(right, int) and left.bit_length() + right.bit_length() > limits.integer_bits:
            raise TooMuch("an integer too large")
    elif symbol == "+":
        if isinstance(left, (str, list, tuple)) and isinstance(right, (str, list, tuple)):
            bound = limits.characters if isinstance(left, str) else limits.items
            if len(left) + len(right) > bound:
                raise TooMuch("a string or a list too long")
    elif symbol == "<<" and isinstance(left, int) and isinstance(right, int):
        if left.bit_length() + max(right, 0) > limits.integer_bits:
            raise TooMuch("an integer too large")
    elif symbol == "**" and isinstance(left, int) and isinstance(right, int) and left.bit_length() * max(right, 0) > limits.integer_bits:
        raise TooMuch("an integer too large")
