"""``for`` and ``while``.

A variable in sight whose value at the end of the body is another one than before the loop is carried, in the order in which
the variables came into sight (``_find_carries`` in ``triton/compiler/code_generator.py``, 3.8.0). Triton finds them by visiting
the body twice. Here the body is visited once, with a block argument in place of every variable that it assigns; the arguments
of those that turn out unchanged are then replaced by the value before the loop.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from smem_lint.tile.frontend.branches import adopt
from smem_lint.tile.frontend.visitor import Visitor, statement
from smem_lint.tile.ir import Block, Op, Value
from smem_lint.tile.semantic.casts import int_cast
from smem_lint.tile.semantic.context import to_tensor
from smem_lint.tile.semantic.promotion import promote_integers
from smem_lint.tile.values import Builtin, Composite, Handle, Named, flatten, rebuild, type_of

MAX_STATIC_ITERATIONS = 100_000


@dataclass(slots=True)
class _Range:
    """The header of a ``for``. ``attrs`` are the loop's own attributes, as Triton names them."""

    start: Any
    stop: Any
    step: Any
    attrs: dict[str, Any]


@dataclass(slots=True)
class _Candidate:
    """A variable that the body assigns, and the IR values it has before the loop."""

    name: str
    value: Any
    initial: list[Value]


@statement(ast.For)
def _for(v: Visitor, node: ast.For) -> None:
    if node.orelse:
        v.refuse("else after for is not supported", node)
    if not isinstance(node.iter, ast.Call) or not isinstance(node.target, ast.Name):
        v.refuse("only range, tl.range and tl.static_range can be iterated over", node)
    kind = v.evaluate(node.iter.func)
    args = [v.evaluate(arg) for arg in node.iter.args]
    kwargs = {str(keyword.arg): v.evaluate(keyword.value) for keyword in node.iter.keywords}
    name = kind.name if isinstance(kind, Builtin) else ""
    if name == "static_range":
        _static_for(v, node, args, kwargs)
    elif name == "range":
        _dynamic_for(v, node, _tl_range(v, node, args, kwargs))
    elif name == "python.range":
        _dynamic_for(v, node, _python_range(v, node, args))
    else:
        v.refuse("only range, tl.range and tl.static_range can be iterated over", node)


def _static_for(v: Visitor, node: ast.For, args: list[Any], kwargs: dict[str, Any]) -> None:
    start, stop, step = _bounds(v, node, args, kwargs)
    if not all(isinstance(bound, int) for bound in (start, stop, step)) or step == 0:
        v.refuse("the bounds of static_range must be known at compile time", node)
    values = range(start, stop, step)
    if len(values) > MAX_STATIC_ITERATIONS:
        v.unsupported(f"static_range over {len(values)} values", node)
    assert isinstance(node.target, ast.Name)
    for value in values:
        v.names[node.target.id] = value
        v.run(node.body)


def _bounds(v: Visitor, node: ast.For, args: list[Any], kwargs: dict[str, Any]) -> tuple[Any, Any, Any]:
    """``arg1, arg2=None, step=None`` as start, stop and step; takes them out of ``kwargs``."""
    bounds = list(args)
    for name in ("arg1", "arg2", "step")[len(bounds) :]:
        bounds.append(kwargs.pop(name, None))
    if len(bounds) > 3 or bounds[0] is None:
        v.refuse("a range has one to three bounds", node)
    first, second, step = bounds
    step = 1 if step is None else step
    return (0, first, step) if second is None else (first, second, step)


_RANGE_OPTIONS = ("num_stages", "loop_unroll_factor", "disallow_acc_multi_buffer", "flatten", "warp_specialize", "disable_licm")


def _tl_range(v: Visitor, node: ast.For, args: list[Any], kwargs: dict[str, Any]) -> _Range:
    options = dict(zip(_RANGE_OPTIONS, args[3:], strict=False))
    start, stop, step = _bounds(v, node, args[:3], kwargs)
    for name, value in kwargs.items():
        if name not in _RANGE_OPTIONS:
            v.refuse(f"tl.range has no parameter {name!r}", node)
        options[name] = value
    attrs: dict[str, Any] = {}
    for name in ("num_stages", "loop_unroll_factor"):
        if options.get(name) is not None:
            attrs[f"tt.{name}"] = int(options[name])
    for name in ("disallow_acc_multi_buffer", "flatten", "warp_specialize"):
        if options.get(name):
            attrs[f"tt.{name}"] = True
    if options.get("disable_licm"):
        attrs["llvm.loop_annotation"] = "disable_licm"
    return _Range(start, stop, step, attrs)


def _python_range(v: Visitor, node: ast.For, args: list[Any]) -> _Range:
    assert isinstance(node.iter, ast.Call)
    if len(args) == 1:
        stop = node.iter.args[0]
        # Triton evaluates a lone bound twice and takes the second value.
        return _Range(0, args[0] if isinstance(stop, ast.Name | ast.Constant) else v.evaluate(stop), 1, {})
    if len(args) not in (2, 3):
        v.refuse("a range has one to three bounds", node)
    return _Range(args[0], args[1], args[2] if len(args) > 2 else 1, {})


def _dynamic_for(v: Visitor, node: ast.For, bounds: _Range) -> None:
    builder = v.builder
    negative = isinstance(bounds.step, int) and bounds.step < 0
    start, stop, step = bounds.start, bounds.stop, bounds.step
    if negative:
        start, stop, step = stop, start, -step
    limits = [to_tensor(v, limit) for limit in (start, stop, step)]
    for limit in limits:
        if limit.type.block or not limit.type.integer:
            v.refuse(f"the bounds of a loop must be integers, not {limit.type}", node)
    counter = promote_integers(promote_integers(limits[0].type, limits[1].type), limits[2].type)
    low, high, stride = (int_cast(v, limit, counter, counter.signed).value for limit in limits)
    assert isinstance(node.target, ast.Name)
    target = node.target.id
    # After the loop the name holds a value that Triton leaves undefined.
    v.define(target, Handle(builder.op("ub.poison", (), [counter.ir]).results[0], counter))
    place, line = builder.block, builder.line
    assert place is not None

    outer = _enter(v)
    candidates = _candidates(v, node.body, target)
    body = Block([counter.ir, *(value.type for candidate in candidates for value in candidate.initial)])
    builder.at_end(body)
    induction = body.args[0]
    if negative:
        induction = builder.value("arith.subi", [high, induction], counter.ir)
        induction = builder.value("arith.addi", [induction, low], counter.ir)
    v.define(target, Handle(induction, counter))
    _bind(v, candidates, body.args[1:])
    carried = _visit_body(v, node.body, candidates, [body.args[1:]])
    builder.op("scf.yield", [value for _, final in carried for value in final])

    builder.at_end(place)
    builder.line = line
    initial = [value for candidate, _ in carried for value in candidate.initial]
    op = builder.op("scf.for", [low, high, stride, *initial], [value.type for value in initial], bounds.attrs, 1)
    adopt(op, op.regions[0], body)
    _leave(v, outer, carried, op)


@statement(ast.While)
def _while(v: Visitor, node: ast.While) -> None:
    if node.orelse:
        v.refuse("else after while is not supported", node)
    builder, place, line = v.builder, v.builder.block, v.builder.line
    assert place is not None
    outer = _enter(v)
    candidates = _candidates(v, node.body, None)
    types = [value.type for candidate in candidates for value in candidate.initial]
    before, after = Block(types), Block(types)
    builder.at_end(before)
    _bind(v, candidates, before.args)
    condition = v.evaluate(node.test)
    attrs: dict[str, Any] = {}
    if isinstance(condition, Composite) and type(condition).__name__ == "Condition":
        attrs, condition = _loop_annotation(condition)
    if not isinstance(condition, Handle):
        v.refuse("the condition of while must be a run-time value", node)
    builder.op("scf.condition", [condition.value, *before.args])
    builder.at_end(after)
    _bind(v, candidates, after.args)
    carried = _visit_body(v, node.body, candidates, [after.args, before.args])
    end = builder.block
    assert end is not None and before.last is not None
    before.last.set_operands([before.last.operands[0], *before.args])
    builder.op("scf.yield", [value for _, final in carried for value in final])
    builder.at_end(place)
    builder.line = line
    initial = [value for candidate, _ in carried for value in candidate.initial]
    op = builder.op("scf.while", initial, [value.type for value in initial], attrs, 2)
    adopt(op, op.regions[0], before)
    adopt(op, op.regions[1], after)
    _leave(v, outer, carried, op)


def _loop_annotation(condition: Any) -> tuple[dict[str, Any], Any]:
    attrs = {"llvm.loop_annotation": "disable_licm"} if condition.disable_licm else {}
    return attrs, condition.condition


def _enter(v: Visitor) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    outer = (v.names, v.defined, dict(v.pending))
    v.names, v.defined = dict(v.names), {}
    return outer


def _leave(
    v: Visitor, outer: tuple[dict[str, Any], dict[str, Any], dict[str, Any]], carried: list[tuple[_Candidate, list[Value]]], op: Op
) -> None:
    v.names, v.defined, v.pending = outer
    results = iter(op.results)
    for candidate, _ in carried:
        v.define(candidate.name, rebuild(candidate.value, results))


def _candidates(v: Visitor, body: list[ast.stmt], induction: str | None) -> list[_Candidate]:
    assigned = v.session.assigned_names(body)
    found = []
    for name, value in v.names.items():
        if name in assigned and name != induction:
            initial = flatten(value)
            if initial:
                found.append(_Candidate(name, value, initial))
    return found


def _bind(v: Visitor, candidates: list[_Candidate], args: list[Value]) -> None:
    source = iter(args)
    for candidate in candidates:
        v.define(candidate.name, rebuild(candidate.value, source))


def _visit_body(
    v: Visitor, body: list[ast.stmt], candidates: list[_Candidate], argument_lists: list[list[Value]]
) -> list[tuple[_Candidate, list[Value]]]:
    """Visit the body and drop the arguments (of every list alike, the first being the body's) of what is not carried.

    Returns the carried variables with the values that they have at the end of the body.
    """
    live_in = v.names
    plain = {name: value for name, value in live_in.items() if not isinstance(value, Handle)}
    v.scf_depth += 1
    v.run(body)
    v.scf_depth -= 1
    _check_types(v, candidates, plain)
    args = argument_lists[0]
    before: dict[Value, Value] = {}
    source = iter(args)
    for candidate in candidates:
        for initial in candidate.initial:
            before[next(source)] = initial
    finals = [flatten(v.names[candidate.name]) for candidate in candidates]
    carried, kept, at = [], [], 0
    for candidate, final in zip(candidates, finals, strict=True):
        size = len(candidate.initial)
        if [before.get(value, value) for value in final] != candidate.initial:
            carried.append((candidate, final))
            kept.extend(range(at, at + size))
        at += size
    _drop_arguments(argument_lists, set(kept), [value for candidate in candidates for value in candidate.initial])
    dropped = {arg: before[arg] for index, arg in enumerate(before) if index not in set(kept)}
    return [(candidate, [dropped.get(value, value) for value in final]) for candidate, final in carried]


def _drop_arguments(argument_lists: list[list[Value]], kept: set[int], initial: list[Value]) -> None:
    for args in argument_lists:
        for index in range(len(args) - 1, -1, -1):
            if index not in kept:
                args[index].replace_all_uses(initial[index])
                block = args[index].block
                assert block is not None
                block.erase_arg(args[index].index)


def _check_types(v: Visitor, candidates: list[_Candidate], plain: dict[str, Any]) -> None:
    for candidate in candidates:
        after = v.names[candidate.name]
        if isinstance(after, Named) and type_of(after) == type_of(candidate.value):
            continue
        if type_of(after) != type_of(candidate.value):
            shown = after.type if isinstance(after, Handle) else type(after).__name__
            v.refuse(f"{candidate.name} has type {type_of(candidate.value)} before the loop and {shown} in it")
    for name, value in plain.items():
        if name in v.defined and isinstance(v.names[name], Handle | Composite) and not isinstance(value, Handle | Composite | tuple):
            v.refuse(f"{name} is a compile-time value before the loop and a run-time value in it")
