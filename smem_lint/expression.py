"""The small language of a rule's ``when``: names, numbers, text, comparisons, arithmetic, ``and``/``or``/``not``, ``in``.

Parsed by ``ast`` and interpreted here: nothing is evaluated by Python itself, no call and no attribute is known.
"""

from __future__ import annotations

import ast
import operator
import re
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b, ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}  # fmt: skip

_FORMAT = re.compile(r"[<>^]?\d{0,2}[,_]?(\.\d)?[dfsx%]?")


class ExpressionError(ValueError):
    """The expression is not of this language, or names a fact that there is not."""


class Expression:
    """A parsed ``when``; calling it with facts gives its truth. A comparison with a fact that is None is false."""

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self.tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ExpressionError(f"cannot read {text!r}: {error}") from error
        self.names = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)}
        for node in ast.walk(self.tree):
            if not isinstance(node, _KNOWN):
                raise ExpressionError(f"{type(node).__name__} has no place in {text!r}")

    def __call__(self, facts: Mapping[str, Any]) -> bool:
        return bool(self._value(self.tree, facts))

    def _value(self, node: ast.expr, facts: Mapping[str, Any]) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            if node.id not in facts:
                raise ExpressionError(f"no fact is called {node.id!r} in {self.text!r}")
            return facts[node.id]
        if isinstance(node, ast.BoolOp):
            return self._logic(node, facts)
        if isinstance(node, ast.UnaryOp):
            value = self._value(node.operand, facts)
            if isinstance(node.op, ast.Not):
                return not value
            return None if value is None else self._arithmetic(ast.Sub(), 0, value)
        if isinstance(node, ast.BinOp):
            left, right = self._value(node.left, facts), self._value(node.right, facts)
            return None if left is None or right is None else self._arithmetic(node.op, left, right)
        if isinstance(node, ast.Compare):
            return self._comparison(node, facts)
        assert isinstance(node, (ast.Tuple, ast.List))
        return tuple(self._value(item, facts) for item in node.elts)

    def _logic(self, node: ast.BoolOp, facts: Mapping[str, Any]) -> Any:
        value: Any = None
        for part in node.values:
            value = self._value(part, facts)
            if bool(value) != isinstance(node.op, ast.And):
                return value
        return value

    def _arithmetic(self, op: ast.operator, left: Any, right: Any) -> Any:
        if not isinstance(left, (int, float)) or not isinstance(right, (int, float)):
            raise ExpressionError(f"{self.text!r} calculates with what is no number")
        try:
            return _BINARY[type(op)](left, right)
        except ZeroDivisionError:
            return None

    def _comparison(self, node: ast.Compare, facts: Mapping[str, Any]) -> bool:
        left = self._value(node.left, facts)
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self._value(comparator, facts)
            identity = isinstance(op, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq))
            if not identity and (left is None or right is None):
                return False
            try:
                if not _COMPARE[type(op)](left, right):
                    return False
            except TypeError as error:
                raise ExpressionError(f"{self.text!r}: {error}") from error
            left = right
        return True


_KNOWN = (
    ast.Constant, ast.Name, ast.Load, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.BinOp, ast.Compare, ast.Tuple,
    ast.List, *_COMPARE, *_BINARY,
)  # fmt: skip


class Message(string.Formatter):
    """A message template: ``{bytes:,}`` and the like. Only plain names of facts are known, no attributes and no items."""

    def __init__(self, template: str) -> None:
        self.template = template
        try:
            parts = list(self.parse(template))
        except ValueError as error:
            raise ExpressionError(f"cannot read {template!r}: {error}") from error
        for _, name, spec, conversion in parts:
            if conversion not in (None, "s", "r", "a"):
                raise ExpressionError(f"{conversion!r} is no conversion in {template!r}")
            if name is not None and (not name.isidentifier() or "{" in (spec or "")):
                raise ExpressionError(f"{name!r} is no fact in {template!r}")
            if spec and not _FORMAT.fullmatch(spec):
                raise ExpressionError(f"{spec!r} is no way to write a fact in {template!r}: {{bytes:,}} and {{bytes:>12}} are")

    def fill(self, facts: Mapping[str, Any]) -> str:
        return self.vformat(self.template, (), facts)

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if field_name not in kwargs:
            raise ExpressionError(f"no fact is called {field_name!r} in {self.template!r}")
        return kwargs[field_name], field_name

    def format_field(self, value: Any, format_spec: str) -> Any:
        if value is None:
            return "unknown"
        if isinstance(value, (list, tuple)):
            return ", ".join(map(str, value))
        try:
            return super().format_field(value, format_spec)
        except ValueError as error:
            raise ExpressionError(f"{value!r} cannot be written as {format_spec!r} in {self.template!r}") from error
