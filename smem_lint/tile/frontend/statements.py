"""Assignments, ``return`` and the other simple statements."""

from __future__ import annotations

import ast
from typing import Any

from smem_lint.tile import dtypes
from smem_lint.tile.frontend.expressions import BINARY_NAMES, apply_binary
from smem_lint.tile.frontend.visitor import Visitor, statement
from smem_lint.tile.semantic.context import to_tensor
from smem_lint.tile.values import Builtin, Composite, Handle, Named


def is_constexpr(annotation: Any) -> bool:
    return isinstance(annotation, Builtin) and annotation.name == "constexpr"


def sanitize(v: Visitor, value: Any) -> Any:
    """What a plain assignment makes of a value: a number becomes a run-time scalar, types and None stay what they are."""
    if value is None or value.__class__ is Handle or isinstance(value, Composite | dtypes.DType):
        return value
    if isinstance(value, Named):
        return Named(tuple(sanitize(v, item) for item in value), value.fields)
    if isinstance(value, tuple):
        return tuple([sanitize(v, item) for item in value])
    return to_tensor(v, value)


def _sanitize_for(v: Visitor, target: ast.expr, value: Any) -> Any:
    if isinstance(target, ast.Tuple) and isinstance(value, tuple):
        return tuple([_sanitize_for(v, inner, item) for inner, item in zip(target.elts, value, strict=False)])
    if isinstance(target, ast.Name) and is_constexpr(v.pending.pop(target.id, None)):
        return value
    return sanitize(v, value)


def _store(v: Visitor, target: ast.expr, value: Any) -> None:
    if isinstance(target, ast.Name):
        v.define(target.id, value)
    elif isinstance(target, ast.Tuple):
        if not isinstance(value, tuple) or len(value) < len(target.elts):
            v.refuse("not enough values to unpack", target)
        for inner, item in zip(target.elts, value, strict=False):
            _store(v, inner, item)
    else:
        v.refuse(f"assignment to {type(target).__name__} is not supported", target)


def assign(v: Visitor, target: ast.expr, value: ast.expr) -> None:
    """``target = value``."""
    _store(v, target, _sanitize_for(v, target, v.evaluate(value)))


@statement(ast.Assign)
def _assign(v: Visitor, node: ast.Assign) -> None:
    if len(node.targets) != 1:
        v.refuse("an assignment to several targets is not supported", node)
    assign(v, node.targets[0], node.value)


@statement(ast.AugAssign)
def _augmented(v: Visitor, node: ast.AugAssign) -> None:
    target = node.target
    if not isinstance(target, ast.Name):
        v.refuse(f"assignment to {type(target).__name__} is not supported", node)
    left, right = v.lookup(target.id), v.evaluate(node.value)
    name = BINARY_NAMES.get(node.op.__class__)
    if name is None:
        v.refuse(f"operator {type(node.op).__name__} is not implemented", node)
    _store(v, target, _sanitize_for(v, target, apply_binary(v, name, left, right)))


@statement(ast.AnnAssign)
def _annotated(v: Visitor, node: ast.AnnAssign) -> None:
    annotation = v.evaluate(node.annotation)
    if not isinstance(node.target, ast.Name):
        v.refuse("only names can be annotated", node)
    name = node.target.id
    if node.value is None:
        v.pending[name] = annotation
        return
    value = v.evaluate(node.value)
    if is_constexpr(annotation):
        if name in v.names:
            v.refuse(f"{name} is already defined, constexpr cannot be reassigned", node)
        v.names[name] = value
        return
    assign(v, node.target, node.value)  # Triton evaluates such a value twice


@statement(ast.Return)
def _return(v: Visitor, node: ast.Return) -> None:
    if v.scf_depth:
        v.refuse("return inside a loop is not supported", node)
    value = None if node.value is None else v.evaluate(node.value)
    block = v.builder.block
    assert block is not None
    v.returns.append((value, block))
    v.builder.at_end(v.dead_block())


@statement(ast.Expr)
def _expression(v: Visitor, node: ast.Expr) -> None:
    v.evaluate(node.value)


@statement(ast.Pass)
def _pass(v: Visitor, node: ast.Pass) -> None:
    pass


@statement(ast.Assert)
def _assert(v: Visitor, node: ast.Assert) -> None:
    """``device_assert``, which is only compiled in debug mode; its operands are evaluated all the same."""
    v.evaluate(node.test)
    if node.msg is not None:
        v.evaluate(node.msg)


@statement(ast.With)
def _with(v: Visitor, node: ast.With) -> None:
    v.unsupported("a with statement", node)
