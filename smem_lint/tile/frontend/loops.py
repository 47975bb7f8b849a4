"""``for`` and ``while``.

A variable in sight whose value at the end of the body is another one than before the loop is carried, in the order in which
the variables came into sight (``_find_carries`` in ``triton/compiler/code_generator.py``, 3.8.0). Triton finds them by visiting
the body twice. Here the body is visited once, with a block argument in place of every variable that it assigns; the arguments
of those that turn out unchanged are then replaced by the value before the loop.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

from smem_lint.tile.frontend.calls import call
from smem_lint.tile.frontend.visitor import Visitor, statement
from smem_lint.tile.ir import Op, Value
from smem_lint.tile.loops import Condition, Range
from smem_lint.tile.semantic.casts import int_cast
from smem_lint.tile.semantic.context import to_tensor
from smem_lint.tile.semantic.hints import set_hint
from smem_lint.tile.semantic.promotion import promote_integers
from smem_lint.tile.values import Builtin, Composite, Handle, Named, flatten, rebuild, type_of

MAX_STATIC_ITERATIONS = 100_000


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
    if None in args[:3] or any(kwargs.get(name, 0) is None for name in ("arg1", "arg2", "step")):
        v.refuse("a bound of a range is None", node)
    if isinstance(kind, Builtin) and kind.name == "python.range":
        header: Any = _python_range(v, node, args)
    else:
        header = call(v, kind, args, kwargs, None) if isinstance(kind, Builtin) else None
    if not isinstance(header, Range):
        v.refuse("only range, tl.range and tl.static_range can be iterated over", node)
    (_static_for if header.static else _dynamic_for)(v, node, header)


def _python_range(v: Visitor, node: ast.For, args: list[Any]) -> Range:
    assert isinstance(node.iter, ast.Call)
    if len(args) == 1:
        stop = node.iter.args[0]
        # Triton evaluates a lone bound twice and takes the second value.
        return Range(0, args[0] if isinstance(stop, ast.Name | ast.Constant) else v.evaluate(stop), 1)
    if len(args) not in (2, 3):
        v.refuse("a range has one to three bounds", node)
    return Range(args[0], args[1], args[2] if len(args) > 2 else 1)


def _static_for(v: Visitor, node: ast.For, header: Range) -> None:
    start, stop, step = header.start, header.end, header.step
    if not all(isinstance(bound, int) for bound in (start, stop, step)) or step == 0:
        v.refuse("the bounds of static_range must be known at compile time", node)
    values = range(start, stop, step)
    if len(values) > MAX_STATIC_ITERATIONS:
        v.unsupported(f"static_range over {len(values)} values", node)
    assert isinstance(node.target, ast.Name)
    for value in values:
        v.names[node.target.id] = value
        v.run(node.body)


def _attributes(header: Range) -> dict[str, Any]:
    """Attributes of the loop, as Triton names them."""
    attrs: dict[str, Any] = {}
    for name in ("num_stages", "loop_unroll_factor"):
        if getattr(header, name) is not None:
            attrs[f"tt.{name}"] = int(getattr(header, name))
    for name in ("disallow_acc_multi_buffer", "flatten", "warp_specialize"):
        if getattr(header, name):
            attrs[f"tt.{name}"] = True
    if header.disable_licm:
        attrs["llvm.loop_annotation"] = "disable_licm"
    return attrs


def _dynamic_for(v: Visitor, node: ast.For, header: Range) -> None:
    builder = v.builder
    negative = isinstance(header.step, int) and header.step < 0
    start, stop, step = header.start, header.end, header.step
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
    candidates = _candidates(v, node, target)
    op = Op("scf.for", (), (), _attributes(header), 1, line)
    body = op.regions[0].add_block([counter.ir, *(value.type for candidate in candidates for value in candidate.initial)])
    builder.at_end(body)
    induction = body.args[0]
    if negative:
        induction = builder.value("arith.subi", [high, induction], counter.ir)
        induction = builder.value("arith.addi", [induction, low], counter.ir)
    v.foreign.add(induction)  # a hint on it lands on a placeholder that Triton replaces after the body
    v.define(target, Handle(induction, counter))
    _bind(v, candidates, body.args[1:])
    carried = _visit_body(v, op, node.body, candidates, [body.args[1:]])
    builder.op("scf.yield", [value for _, final in carried for value in final])
    builder.at_end(place)
    builder.line = line
    _finish(v, op, [low, high, stride], outer, carried)


@statement(ast.While)
def _while(v: Visitor, node: ast.While) -> None:
    if node.orelse:
        v.refuse("else after while is not supported", node)
    builder, place, line = v.builder, v.builder.block, v.builder.line
    assert place is not None
    outer = _enter(v)
    candidates = _candidates(v, node, None)
    types = [value.type for candidate in candidates for value in candidate.initial]
    op = Op("scf.while", (), (), {}, 2, line)
    before, after = (region.add_block(types) for region in op.regions)
    builder.at_end(before)
    _bind(v, candidates, before.args)
    condition = v.evaluate(node.test)
    if isinstance(condition, Condition):
        if condition.disable_licm:
            op.attrs["llvm.loop_annotation"] = "disable_licm"
        condition = condition.condition
    if not isinstance(condition, Handle):
        v.refuse("the condition of while must be a run-time value", node)
    builder.op("scf.condition", [condition.value])
    builder.at_end(after)
    _bind(v, candidates, after.args)
    carried = _visit_body(v, op, node.body, candidates, [after.args, before.args])
    assert before.last is not None
    before.last.set_operands([before.last.operands[0], *before.args])
    builder.op("scf.yield", [value for _, final in carried for value in final])
    builder.at_end(place)
    builder.line = line
    _finish(v, op, [], outer, carried)


def _enter(v: Visitor) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    outer = (v.names, v.defined, dict(v.pending))
    v.names, v.defined = dict(v.names), {}
    return outer


def _finish(v: Visitor, op: Op, bounds: list[Value], outer: tuple[dict[str, Any], ...], carried: list[_Carried]) -> None:
    """Put the visited loop in its place; the names of what it carries stand for its results from here on."""
    initial = [value for candidate, _ in carried for value in candidate.initial]
    op.set_operands([*bounds, *initial])
    op.results = [Value(value.type, op, None, index) for index, value in enumerate(initial)]
    v.builder.insert(op)
    v.names, v.defined, v.pending = outer
    results = iter(op.results)
    for candidate, _ in carried:
        v.define(candidate.name, rebuild(candidate.value, results))


def _assigned_names(loop: ast.For | ast.While) -> frozenset[str]:
    """Names that the body of a loop may give another value, at any depth; noted on the node, since loops are visited often."""
    found: frozenset[str] | None = getattr(loop, "assigned_names", None)
    if found is None:
        nodes = (node for statement in loop.body for node in ast.walk(statement))
        found = frozenset(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
        loop.assigned_names = found  # type: ignore[union-attr]
    return found


def _candidates(v: Visitor, loop: ast.For | ast.While, induction: str | None) -> list[_Candidate]:
    assigned = _assigned_names(loop)
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


_Carried = tuple[_Candidate, list[Value]]
"""A variable that the loop carries, and the values it has at the end of the body."""


def _visit_body(
    v: Visitor, op: Op, body: list[ast.stmt], candidates: list[_Candidate], argument_lists: list[list[Value]]
) -> list[_Carried]:
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
    carried: list[_Carried] = []
    kept: list[int] = []
    at = 0
    for candidate, final in zip(candidates, finals, strict=True):
        size = len(candidate.initial)
        if [before.get(value, value) for value in final] != candidate.initial:
            carried.append((candidate, final))
            kept.extend(range(at, at + size))
        at += size
    values = list(before.values())
    _move_hints(v, op, args[0].index if args else 0, kept, values)
    _drop_arguments(argument_lists, set(kept), values)
    dropped = {arg: value for index, (arg, value) in enumerate(before.items()) if index not in set(kept)}
    return [(candidate, [dropped.get(value, value) for value in final]) for candidate, final in carried]


_HINT = re.compile(r"(tt\.\w+)_arg(\d+)$")


def _move_hints(v: Visitor, op: Op, first: int, kept: list[int], initial: list[Value]) -> None:
    """Renumber the hints on arguments; what is hinted in the body is also hinted for the value before the loop.

    The second is what Triton's first visit of the body does, in which the variables still hold that value.
    """
    for attr in [name for name in op.attrs if _HINT.match(name)]:
        held = op.attrs.pop(attr)
        match = _HINT.match(attr)
        assert match is not None
        at = int(match.group(2)) - first
        set_hint(v, match.group(1), initial[at], held)
        if at in kept:
            op.attrs[f"{match.group(1)}_arg{kept.index(at) + first}"] = held


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
