"""``if`` and the conditional expression.

A condition known at compile time leaves one branch. Otherwise the statement becomes ``scf.if``, always with an ``else``, whose
results are first the variables in sight that either branch changed, in the order in which they came into sight, then those that both
branches define, by name. A branch that holds a ``return`` becomes blocks with branches between them instead (``visit_If`` in
``triton/compiler/code_generator.py``, 3.8.0).
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from smem_lint.tile import dtypes
from smem_lint.tile.frontend.visitor import Visitor, expression, statement
from smem_lint.tile.ir import Block, Op
from smem_lint.tile.semantic.casts import cast
from smem_lint.tile.semantic.context import to_tensor
from smem_lint.tile.semantic.shapes import unsplat
from smem_lint.tile.values import Composite, Handle, flatten, rebuild, type_of


@dataclass(slots=True)
class _Branch:
    """A visited branch: its last block, what it defined and all names in sight at its end."""

    block: Block
    defined: dict[str, Any]
    names: dict[str, Any]


def _truth(v: Visitor, condition: Handle, node: ast.expr) -> Handle:
    if condition.type.block:
        if condition.type.numel != 1:
            v.refuse("the truth value of a tile with more than one element is ambiguous", node)
        condition = unsplat(v, condition)
    return cast(v, condition, dtypes.INT1)


def _decided(v: Visitor, condition: Any, node: ast.expr) -> bool:
    if condition is None or condition.__class__ is bool or condition.__class__ is int:
        return bool(condition)
    v.refuse(f"a condition must be a bool, an int or None, not {type(condition).__name__}", node)


@statement(ast.If)
def _if(v: Visitor, node: ast.If) -> None:
    condition = v.evaluate(node.test)
    if not isinstance(condition, Handle):
        v.run(node.body if _decided(v, condition, node.test) else node.orelse)
        return
    condition = _truth(v, condition, node.test)
    if contains_return(node):
        if v.scf_depth:
            v.refuse("return inside a loop is not supported", node)
        _if_blocks(v, condition, node)
    else:
        _if_op(v, condition, node)


def contains_return(node: ast.AST) -> bool:
    """Whether a statement can return early: statements are searched, assignments and called functions are not."""
    if isinstance(node, ast.Return):
        return True
    if isinstance(node, ast.Assign | ast.AugAssign | ast.expr):
        return False
    return any(contains_return(child) for child in ast.iter_child_nodes(node))


def _visit_branches(v: Visitor, node: ast.If, then: Block, otherwise: Block) -> tuple[_Branch, _Branch, list[str]]:
    """Visit both branches from the same starting point; also the names that the statement changes."""
    live_in, builder = dict(v.names), v.builder
    pending = dict(v.pending)
    outer_defined = v.defined
    branches = []
    for block, body in ((then, node.body), (otherwise, node.orelse)):
        v.names, v.defined, v.pending = dict(live_in), {}, dict(pending)
        builder.at_end(block)
        v.run(body)
        assert builder.block is not None
        branches.append(_Branch(builder.block, v.defined, v.names))
    v.names, v.defined, v.pending = live_in, outer_defined, pending
    return branches[0], branches[1], _changed(v, live_in, branches[0], branches[1])


def _changed(v: Visitor, live_in: dict[str, Any], then: _Branch, otherwise: _Branch) -> list[str]:
    names = []
    for name, value in live_in.items():
        mine, other = then.names[name], otherwise.names[name]
        if value is None or (mine is value and other is value) or flatten(mine) == flatten(other):
            continue
        for branch in (then, otherwise):
            branch.defined[name] = branch.names[name]
            if not _same_type(branch.names[name], value):
                v.refuse(f"{name} is a {_describe(value)} before the branch and a {_describe(branch.names[name])} after it")
        names.append(name)
    for name in sorted(then.defined.keys() & otherwise.defined.keys()):
        if name in names:
            continue
        if not _same_type(then.defined[name], otherwise.defined[name]):
            mine, other = _describe(then.defined[name]), _describe(otherwise.defined[name])
            v.refuse(f"{name} is a {mine} in one branch and a {other} in the other")
        names.append(name)
    return names


def _same_type(a: Any, b: Any) -> bool:
    return bool(type_of(a) == type_of(b))


def _describe(value: Any) -> str:
    return str(value.type) if isinstance(value, Handle) else type(value).__name__


def _results(v: Visitor, names: list[str], branch: _Branch, values: list[Any]) -> None:
    source = iter(values)
    for name in names:
        v.define(name, rebuild(branch.defined[name], source))


def _handles(names: list[str], branch: _Branch) -> list[Any]:
    out: list[Any] = []
    for name in names:
        flatten(branch.defined[name], out)
    return out


def _if_op(v: Visitor, condition: Handle, node: ast.If) -> None:
    builder, place, line = v.builder, v.builder.block, v.builder.line
    assert place is not None
    then, otherwise, names = _visit_branches(v, node, Block(), Block())
    yielded = _handles(names, then)
    for branch in (then, otherwise):
        builder.at_end(branch.block).op("scf.yield", _handles(names, branch))
    builder.at_end(place)
    builder.line = line
    if_op = builder.op("scf.if", [condition.value], [value.type for value in yielded], None, 2)
    for region, branch in zip(if_op.regions, (then, otherwise), strict=True):
        adopt(if_op, region, branch.block)
    _results(v, names, then, if_op.results)


def adopt(op: Op, region: Any, block: Block) -> None:
    """Make a finished block a region's own."""
    block.region = region
    region.blocks.append(block)


def _if_blocks(v: Visitor, condition: Handle, node: ast.If) -> None:
    builder, place = v.builder, v.builder.block
    assert place is not None
    first_then, first_else = v.new_block(), v.new_block()
    branch = builder.op("cf.cond_br", [condition.value], (), {"segments": (1, 0, 0)})
    branch.successors = (first_then, first_else)
    then, otherwise, names = _visit_branches(v, node, first_then, first_else)
    after = v.new_block()
    for end in (then, otherwise):
        values = _handles(names, end)
        builder.at_end(end.block).op("cf.br", values, (), {"segments": (len(values),)}).successors = (after,)
    builder.at_end(after)
    _results(v, names, then, [after.add_arg(value.type) for value in _handles(names, then)])


@expression(ast.IfExp)
def _conditional(v: Visitor, node: ast.IfExp) -> Any:
    condition = v.evaluate(node.test)
    if not isinstance(condition, Handle):
        return v.evaluate(node.body if _decided(v, condition, node.test) else node.orelse)
    condition = cast(v, condition, dtypes.INT1)
    builder, place = v.builder, v.builder.block
    assert place is not None
    names, defined = v.names, v.defined
    v.names, v.defined = dict(names), {}
    blocks, values = [], []
    for branch in (node.body, node.orelse):
        builder.at_end(Block())
        value = v.evaluate(branch)
        if isinstance(value, tuple | Composite):
            v.refuse("a conditional expression of tuples is not supported", node)
        values.append(to_tensor(v, value))
        blocks.append(builder.block)
        builder.op("scf.yield", [values[-1].value])
    v.names, v.defined = names, defined
    builder.at_end(place)
    if values[0].type != values[1].type:
        v.refuse(f"a conditional expression of {values[0].type} and {values[1].type}", node)
    if_op = builder.op("scf.if", [condition.value], [values[0].value.type], None, 2)
    for region, block in zip(if_op.regions, blocks, strict=True):
        assert block is not None
        adopt(if_op, region, block)
    return Handle(if_op.results[0], values[0].type)
