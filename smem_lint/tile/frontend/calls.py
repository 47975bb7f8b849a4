"""Calls: of the language's own functions, of jit functions (inlined, or kept as ``tt.call``), of compile-time functions.

Triton makes a function of each callee and lets MLIR's inliner put its body in the place of the call. The body is visited
straight at that place here, except where that cannot be done: ``noinline`` functions, and functions with an early return
under a run-time condition, whose several blocks cannot stand inside a loop.
"""

from __future__ import annotations

import ast
from typing import Any

from smem_lint.tile.frontend import blocks, evaluation
from smem_lint.tile.frontend.arguments import bind
from smem_lint.tile.frontend.mangling import mangled
from smem_lint.tile.frontend.returns import cast_to, return_type
from smem_lint.tile.frontend.visitor import NeedsRegion, Visitor, expression
from smem_lint.tile.ir import Op
from smem_lint.tile.unsupported import KernelError, Unsupported
from smem_lint.tile.values import BoundMethod, Builtin, Composite, FunctionRef, Handle, flatten, rebuild, type_of

MAX_DEPTH = 60


@expression(ast.Call)
def _call(v: Visitor, node: ast.Call) -> Any:
    function = v.evaluate(node.func)
    if isinstance(function, Builtin):
        if function.name == "static_assert":
            return _static_assert(v, node)
        if function.name == "static_print":
            return None
    kwargs: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            v.refuse("** in a call is not supported", node)
        kwargs[keyword.arg] = v.evaluate(keyword.value)
    args: list[Any] = []
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            items = v.evaluate(argument.value)
            if not isinstance(items, tuple):
                v.refuse("only a tuple can follow * in a call", node)
            args.extend(items)
        else:
            args.append(v.evaluate(argument))
    return call(v, function, args, kwargs, node)


def call(v: Visitor, function: Any, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None) -> Any:
    """The result of calling any value that can be called; raises KernelError where it cannot."""
    if isinstance(function, BoundMethod):
        args, function = [function.receiver, *args], function.function
    if isinstance(function, Builtin):
        if node is not None and v.call_line is None:
            v.builder.line = node.lineno
        result = function.call(v, args, kwargs)
        return tuple(result) if isinstance(result, list) else result
    if isinstance(function, FunctionRef):
        if function.kind == "jit":
            return call_jit(v, function, args, kwargs)
        if function.kind == "constexpr":
            return evaluation.call_constexpr(v, function, args, kwargs)
        return evaluation.make_named(function, args, kwargs)
    if callable(function) and not isinstance(function, Handle | Composite):
        return _call_python(v, function, args, kwargs, node)
    v.refuse(f"{function!r} cannot be called", node)


def _call_python(v: Visitor, function: Any, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None) -> Any:
    """A method of a string or a number, from the list in ``constants.attribute``."""
    if not isinstance(getattr(function, "__self__", None), str | int | float):
        v.refuse(f"{function!r} cannot be called", node)
    try:
        result = function(*args, **kwargs)
    except (TypeError, ValueError) as error:
        v.refuse(str(error), node)
    return tuple(result) if isinstance(result, list) else result


def _static_assert(v: Visitor, node: ast.Call) -> None:
    if not 0 < len(node.args) <= 2 or node.keywords:
        v.refuse("static_assert takes one or two positional arguments", node)
    passed = v.evaluate(node.args[0])
    if not isinstance(passed, bool):
        v.refuse("the condition of static_assert is not known at compile time", node)
    if not passed:
        message = ""
        if len(node.args) == 2:
            try:
                message = f": {v.evaluate(node.args[1])}"
            except (KernelError, Unsupported):
                message = ""
        v.refuse(f"static_assert failed{message}", node)


def call_jit(v: Visitor, function: FunctionRef, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call a jit function of the linted code at the builder's place."""
    if v.depth >= MAX_DEPTH:
        v.refuse(f"calls of {function.name} are nested too deeply")
    bound = bind(function.node, args, kwargs, lambda node: default_value(v, function, node))
    for parameter in function.node.args.kwonlyargs:
        del bound[parameter.arg]  # Triton does not bind these: the name is unknown in the body
    if not function.noinline and "blocks" not in function.cache:
        try:
            result = _inline(v, function, bound)
        except NeedsRegion:
            function.cache["blocks"] = True
            result = _outline(v, function, bound)
    else:
        result = _outline(v, function, bound)
    v.foreign.update(flatten(result))
    return result


def default_value(v: Visitor, function: FunctionRef, node: ast.expr) -> Any:
    """The value of a parameter's default, in the scope of the function's file."""
    if isinstance(node, ast.Constant):
        return node.value
    visitor = Visitor(v.session, function.module, function.node, v.depth + 1, v.line)
    visitor.default_values = True
    return visitor.evaluate(node)


def _callee(v: Visitor, function: FunctionRef) -> Visitor:
    session = v.session
    own_file = function.module is session.kernel_module
    line = None if own_file else v.call_line if v.call_line is not None else v.builder.line
    return Visitor(session, function.module, function.node, v.depth + 1, line)


def _inline(v: Visitor, function: FunctionRef, bound: dict[str, Any]) -> Any:
    builder = v.builder
    block, line = builder.block, builder.line
    assert block is not None and builder.before is None
    last = block.last
    callee = _callee(v, function)
    callee.names, callee.defined = dict(bound), dict(bound)
    callee.foreign.update(flatten(tuple(bound.values())))
    try:
        callee.run(function.node.body)
    except NeedsRegion:
        _undo(block, last, callee)
        builder.at_end(block)
        builder.line = line
        raise
    result = None
    if callee.returns:
        builder.at_end(block)
        result = cast_to(callee, callee.returns[0][0], return_type(callee))
    blocks.discard(callee.dead)
    builder.at_end(block)
    builder.line = line
    return result


def _undo(block: Any, last: Op | None, callee: Visitor) -> None:
    blocks.discard(callee.dead)
    while block.last is not last:
        block.last.drop()


def _outline(v: Visitor, function: FunctionRef, bound: dict[str, Any]) -> Any:
    for name, value in bound.items():
        if function.noinline and isinstance(value, Handle) and value.type.block and value.type.numel != 1:
            v.refuse(f"function {function.name} is marked noinline, but gets the tile {name}")
    key = (function, tuple((name, type_of(value)) for name, value in bound.items()))
    if key not in v.session.functions:
        v.session.functions[key] = _make_function(v, function, bound)
    name, like = v.session.functions[key]
    op = v.builder.op("tt.call", flatten(tuple(bound.values())), [value.type for value in flatten(like)], {"callee": name})
    return rebuild(like, iter(op.results))


def _make_function(v: Visitor, function: FunctionRef, bound: dict[str, Any]) -> tuple[str, Any]:
    """A private ``tt.func`` for these types of arguments; its name, and a value of the kind that it returns."""
    builder = v.builder
    place, line = builder.block, builder.line
    name = mangled(f"{function.module.dotted}.{function.name}", list(bound.values()))
    callee = _callee(v, function)
    arguments = [value.type for value in flatten(tuple(bound.values()))]
    like = open_function(callee, name, "private", function.noinline, arguments)
    source = iter(like.body.args)
    callee.names = {parameter: rebuild(value, source) for parameter, value in bound.items()}
    callee.defined = dict(callee.names)
    callee.foreign.update(like.body.args)
    callee.run(function.node.body)
    result = close_function(callee)
    assert place is not None
    builder.at_end(place)
    builder.line = line
    return name, result


def open_function(v: Visitor, name: str, visibility: str, noinline: bool, arguments: list[Any]) -> Op:
    """Start a function in the module and put the builder into its first block."""
    attrs = {"name": name, "visibility": visibility, "noinline": noinline, "arg_attrs": tuple({} for _ in arguments)}
    op = Op("tt.func", (), (), attrs, 1, v.builder.line)
    v.session.module.functions.append(op)
    v.region = op.regions[0]
    v.builder.at_end(v.region.add_block(arguments))
    return op


def close_function(v: Visitor) -> Any:
    """End every block that returns, and the last one; the returned value, made of values of the first return."""
    builder, open_end = v.builder, v.builder.block
    assert open_end is not None and v.region is not None
    type_ = return_type(v)
    result: Any = None
    for index, (value, block) in enumerate(v.returns):
        builder.at_end(block)
        value = cast_to(v, value, type_)
        builder.op("tt.return", flatten(value))
        if index == 0:
            result = value
    builder.at_end(open_end)
    builder.op("tt.return", [builder.op("ub.poison", (), [value.type]).results[0] for value in flatten(result)])
    blocks.tidy(v.region)
    return result
