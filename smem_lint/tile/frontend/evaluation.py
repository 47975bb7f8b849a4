"""Functions that run when the kernel is compiled: ``@triton.constexpr_function``, and classes of named tuples.

Nothing of the linted code is executed: the function's statements are interpreted on plain values, under limits.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable
from typing import Any

from smem_lint.tile.frontend import constants
from smem_lint.tile.frontend.arguments import bind
from smem_lint.tile.frontend.expressions import BINARY_NAMES
from smem_lint.tile.frontend.visitor import EXPRESSIONS, Visitor
from smem_lint.tile.unsupported import KernelError, Unsupported
from smem_lint.tile.values import Builtin, FunctionRef, Named

MAX_STEPS = 50_000

_PLAIN_CALLS = ("abs", "all", "any", "bool", "divmod", "enumerate", "max", "min", "pow", "range", "reversed", "round", "set", "sorted",
                "str", "sum", "tuple", "list", "zip")  # fmt: skip


def _plain_call(name: str) -> Builtin:
    function = getattr(builtins, name)

    def call(ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if kwargs:
            raise Unsupported(f"{name}() with keyword arguments")
        if name in ("range", "pow"):
            _bound_arguments(name, args)
        try:
            result = function(*args)
        except (TypeError, ValueError, ArithmeticError) as error:
            raise KernelError(str(error)) from None
        return result if isinstance(result, bool | int | float | str) else tuple(result)

    return Builtin(f"python.{name}", call)


def _bound_arguments(name: str, args: list[Any]) -> None:
    if not all(isinstance(arg, int) for arg in args):
        raise KernelError(f"{name}() takes integers")
    if (name == "range" and len(range(*args)) > MAX_STEPS) or (name == "pow" and any(abs(arg) > constants.MAX_BITS for arg in args)):
        raise Unsupported(f"{name}() beyond all bounds")


_PLAIN_NAMES = {name: _plain_call(name) for name in _PLAIN_CALLS}


class _Returned(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


class _LoopControl(Exception):
    def __init__(self, goes_on: bool) -> None:
        self.goes_on = goes_on


class _Evaluator(Visitor):
    """A visitor for ordinary Python: assignments keep plain values, and nothing is emitted."""

    __slots__ = ("steps",)
    steps: int

    def lookup(self, name: str) -> Any:
        if name in self.names:
            return self.names[name]
        if name in _PLAIN_NAMES and name not in self.module.bindings:
            return _PLAIN_NAMES[name]
        return self.session.scope(self.module, self.function).lookup(name, True)

    def evaluate(self, node: ast.expr) -> Any:
        self._count(node)
        special = _EXPRESSIONS.get(node.__class__)
        if special is not None:
            return special(self, node)
        visit = EXPRESSIONS.get(node.__class__)
        if visit is None:
            self.unsupported(f"{type(node).__name__} in a compile-time function", node)
        return visit(self, node)

    def run(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self._count(statement)
            visit = _STATEMENTS.get(statement.__class__)
            if visit is None:
                self.unsupported(f"{type(statement).__name__} in a compile-time function", statement)
            visit(self, statement)

    def _count(self, node: ast.AST) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS:
            self.unsupported("a compile-time function that runs too long", node)


def _truth(value: Any) -> bool:
    try:
        return bool(value)
    except TypeError as error:
        raise KernelError(str(error)) from None


def _compare(v: _Evaluator, node: ast.Compare) -> Any:
    left = v.evaluate(node.left)
    result: Any = True
    for op, comparator in zip(node.ops, node.comparators, strict=True):
        right = v.evaluate(comparator)
        if isinstance(op, ast.Is | ast.IsNot):
            result = (left is right) is isinstance(op, ast.Is)
        elif isinstance(op, ast.In | ast.NotIn):
            if not isinstance(right, tuple | str | dict):
                v.unsupported("in what is no tuple, string or dictionary", node)
            result = (left in right) is isinstance(op, ast.In)
        else:
            result = constants.binary(BINARY_NAMES[op.__class__], left, right)
        if not _truth(result):
            return result
        left = right
    return result


def _dict(v: _Evaluator, node: ast.Dict) -> Any:
    if any(key is None for key in node.keys):
        v.unsupported("** in a dictionary", node)
    return {v.evaluate(key): v.evaluate(value) for key, value in zip(node.keys, node.values, strict=True) if key is not None}


def _subscript(v: _Evaluator, node: ast.Subscript) -> Any:
    value, index = v.evaluate(node.value), v.evaluate(node.slice)
    if not isinstance(value, tuple | str | dict) or isinstance(index, dict):
        v.unsupported(f"indexing a {type(value).__name__}", node)
    try:
        return value[index]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        v.refuse(f"{type(error).__name__}: {error}", node)


def _conditional(v: _Evaluator, node: ast.IfExp) -> Any:
    return v.evaluate(node.body if _truth(v.evaluate(node.test)) else node.orelse)


_EXPRESSIONS: dict[type, Any] = {ast.Compare: _compare, ast.Dict: _dict, ast.Subscript: _subscript, ast.IfExp: _conditional}


def _store(v: _Evaluator, target: ast.expr, value: Any) -> None:
    if isinstance(target, ast.Name):
        v.names[target.id] = value
    elif isinstance(target, ast.Tuple | ast.List) and isinstance(value, tuple) and len(value) == len(target.elts):
        for inner, item in zip(target.elts, value, strict=True):
            _store(v, inner, item)
    else:
        v.unsupported("this assignment in a compile-time function", target)


def _assign(v: _Evaluator, node: ast.Assign) -> None:
    value = v.evaluate(node.value)
    for target in node.targets:
        _store(v, target, value)


def _annotated(v: _Evaluator, node: ast.AnnAssign) -> None:
    if node.value is not None:
        _store(v, node.target, v.evaluate(node.value))


def _augmented(v: _Evaluator, node: ast.AugAssign) -> None:
    left = v.evaluate(ast.Name(node.target.id, ast.Load())) if isinstance(node.target, ast.Name) else None
    _store(v, node.target, constants.binary(BINARY_NAMES[node.op.__class__], left, v.evaluate(node.value)))


def _if(v: _Evaluator, node: ast.If) -> None:
    v.run(node.body if _truth(v.evaluate(node.test)) else node.orelse)


def _loop_body(v: _Evaluator, body: list[ast.stmt]) -> bool:
    """Whether the loop goes on."""
    try:
        v.run(body)
    except _LoopControl as control:
        return control.goes_on
    return True


def _for(v: _Evaluator, node: ast.For) -> None:
    items = v.evaluate(node.iter)
    if not isinstance(items, tuple | str | dict):
        v.unsupported("iterating over this", node)
    for item in items:
        _store(v, node.target, item)
        if not _loop_body(v, node.body):
            return
    v.run(node.orelse)


def _while(v: _Evaluator, node: ast.While) -> None:
    while _truth(v.evaluate(node.test)):
        if not _loop_body(v, node.body):
            return
    v.run(node.orelse)


def _return(v: _Evaluator, node: ast.Return) -> None:
    raise _Returned(None if node.value is None else v.evaluate(node.value))


def _raise(v: _Evaluator, node: ast.Raise) -> None:
    v.refuse("a compile-time function raises an exception", node)


def _assert(v: _Evaluator, node: ast.Assert) -> None:
    if not _truth(v.evaluate(node.test)):
        v.refuse("an assertion of a compile-time function fails", node)


def _control(v: _Evaluator, node: ast.stmt) -> None:
    raise _LoopControl(isinstance(node, ast.Continue))


def _ignore(v: _Evaluator, node: ast.stmt) -> None:
    pass


def _expression(v: _Evaluator, node: ast.Expr) -> None:
    v.evaluate(node.value)


_STATEMENTS: dict[type, Any] = {
    ast.Assign: _assign, ast.AnnAssign: _annotated, ast.AugAssign: _augmented, ast.If: _if, ast.For: _for, ast.While: _while,
    ast.Return: _return, ast.Raise: _raise, ast.Assert: _assert, ast.Break: _control, ast.Continue: _control, ast.Pass: _ignore,
    ast.Expr: _expression,
}  # fmt: skip


def call_constexpr(caller: Visitor, function: FunctionRef, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The result of a compile-time function on compile-time arguments; raises KernelError where it raises."""
    if caller.depth > 30:
        caller.refuse(f"calls of {function.name} are nested too deeply")
    evaluator = _Evaluator(caller.session, function.module, function.node, caller.depth + 1, caller.line)
    evaluator.steps = caller.steps if isinstance(caller, _Evaluator) else 0
    evaluator.names = bind(function.node, args, kwargs, evaluator.evaluate)
    try:
        evaluator.run(function.node.body)
    except _Returned as returned:
        return returned.value
    finally:
        if isinstance(caller, _Evaluator):
            caller.steps = evaluator.steps
    return None


def make_named(function: FunctionRef, args: list[Any], kwargs: dict[str, Any]) -> Named:
    """``Class(a, b, c=…)`` of a ``NamedTuple`` class."""
    fields = [item.target.id for item in function.node.body if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)]
    values = dict(zip(fields, args, strict=False)) | kwargs
    if set(values) != set(fields) or len(args) > len(fields):
        raise KernelError(f"{function.name}() takes the arguments {', '.join(fields)}")
    return Named(tuple(values[field] for field in fields), tuple(fields))
