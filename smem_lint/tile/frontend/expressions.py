"""Expressions: names, operators, comparisons, subscripts, displays, format strings."""

from __future__ import annotations

import ast
from typing import Any

from smem_lint.tile import language
from smem_lint.tile.frontend import constants
from smem_lint.tile.frontend.attributes import get_attribute
from smem_lint.tile.frontend.visitor import Visitor, expression
from smem_lint.tile.values import Composite, Handle

BINARY_NAMES: dict[type, str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.Pow: "pow",
    ast.LShift: "lshift", ast.RShift: "rshift", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip
UNARY_NAMES: dict[type, str] = {ast.USub: "neg", ast.UAdd: "pos", ast.Not: "not", ast.Invert: "invert"}


def apply_binary(v: Visitor, op: str, left: Any, right: Any) -> Any:
    """``left op right``, at run time as soon as one side is a run-time value."""
    if left.__class__ is Handle or right.__class__ is Handle:
        return language.binary(v, op, left, right)
    return constants.binary(op, left, right)


@expression(ast.Constant)
def _constant(v: Visitor, node: ast.Constant) -> Any:
    return node.value


@expression(ast.Name)
def _name(v: Visitor, node: ast.Name) -> Any:
    return v.lookup(node.id)


@expression(ast.Attribute)
def _attribute(v: Visitor, node: ast.Attribute) -> Any:
    return get_attribute(v, v.evaluate(node.value), node.attr)


@expression(ast.BinOp)
def _binop(v: Visitor, node: ast.BinOp) -> Any:
    left, right = v.evaluate(node.left), v.evaluate(node.right)
    name = BINARY_NAMES.get(node.op.__class__)
    if name is None:
        v.refuse(f"operator {type(node.op).__name__} is not implemented", node)
    return apply_binary(v, name, left, right)


@expression(ast.UnaryOp)
def _unaryop(v: Visitor, node: ast.UnaryOp) -> Any:
    operand = v.evaluate(node.operand)
    name = UNARY_NAMES[node.op.__class__]
    if operand.__class__ is Handle:
        return language.unary(v, name, operand)
    return constants.unary(name, operand)


@expression(ast.BoolOp)
def _boolop(v: Visitor, node: ast.BoolOp) -> Any:
    """Compile-time operands decide or drop out; what remains is combined from the right."""
    conjunction = isinstance(node.op, ast.And)
    kept: list[Handle] = []
    value: Any = None
    for operand in node.values:
        value = v.evaluate(operand)
        if value.__class__ is Handle:
            kept.append(value)
        elif bool(value) is not conjunction:
            return value
    if not kept:
        return value
    result = kept.pop()
    while kept:
        result = language.binary(v, "logical_and" if conjunction else "logical_or", kept.pop(), result)
    return result


@expression(ast.Compare)
def _compare(v: Visitor, node: ast.Compare) -> Any:
    if len(node.ops) != 1:
        v.refuse("simultaneous multiple comparison is not supported", node)
    left, right = v.evaluate(node.left), v.evaluate(node.comparators[0])
    kind = node.ops[0].__class__
    if kind is ast.Is:
        return left is right
    if kind is ast.IsNot:
        return left is not right
    name = BINARY_NAMES.get(kind)
    if name is None:
        v.refuse(f"comparison {kind.__name__} is not implemented", node)
    return apply_binary(v, name, left, right)


@expression(ast.Tuple, ast.List)
def _display(v: Visitor, node: ast.Tuple | ast.List) -> Any:
    return tuple([v.evaluate(element) for element in node.elts])


@expression(ast.ListComp)
def _list_comprehension(v: Visitor, node: ast.ListComp) -> Any:
    if len(node.generators) != 1:
        v.refuse("nested comprehensions are not supported", node)
    generator = node.generators[0]
    items = v.evaluate(generator.iter)
    if not isinstance(items, tuple) or not isinstance(generator.target, ast.Name):
        v.refuse("only comprehensions over tuples are supported", node)
    results = []
    for item in items:
        v.define(generator.target.id, item)
        results.append(v.evaluate(node.elt))
    return tuple(results)


@expression(ast.Slice)
def _slice(v: Visitor, node: ast.Slice) -> Any:
    return slice(*(None if part is None else v.evaluate(part) for part in (node.lower, node.upper, node.step)))


@expression(ast.Subscript)
def _subscript(v: Visitor, node: ast.Subscript) -> Any:
    value, index = v.evaluate(node.value), v.evaluate(node.slice)
    if isinstance(value, Handle | Composite):
        return language.subscript(v, value, index)
    if isinstance(value, tuple | str) and isinstance(index, int | slice):
        try:
            picked = value[index]
        except (IndexError, TypeError, ValueError) as error:
            v.refuse(str(error), node)
        return picked
    v.refuse(f"{type(value).__name__} cannot be indexed by {type(index).__name__}", node)


@expression(ast.JoinedStr)
def _format_string(v: Visitor, node: ast.JoinedStr) -> str:
    parts = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value))
            continue
        assert isinstance(part, ast.FormattedValue)
        value = v.evaluate(part.value)
        if isinstance(value, Handle | Composite):
            v.refuse("a format string holds a run-time value", node)
        parts.append(repr(value) if part.conversion == ord("r") else str(value))
    return "".join(parts)


@expression(ast.NamedExpr)
def _named_expression(v: Visitor, node: ast.NamedExpr) -> Any:
    from smem_lint.tile.frontend.statements import assign

    assign(v, node.target, node.value)
    return v.lookup(node.target.id)
