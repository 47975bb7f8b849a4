"""Conditions on bytes on the way to a launch: ``if need > limit: num_stages = 1``, ``if need > 101376: raise``, ``while need > limit``.

Where both sides come out as numbers, the path remembers what the condition decided. Where it found too many bytes, the path is
followed a second time as if it had not: what would have been launched then is a config that the guard turns away.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from smem_lint.host.config import Config, Guard
from smem_lint.host.guards import constant, limits, names_bytes, tests_bytes
from smem_lint.host.values import Scope, Symbol
from smem_lint.source.modules import SourceModule

if TYPE_CHECKING:
    from smem_lint.host.evaluation import Evaluation, Launch

_LIMIT = re.compile(r"max|limit|optin|opt_in|avail|capacity|budget|cap\b|per_block|per_multiprocessor", re.IGNORECASE)
_NOTE = "byte guards"
_FLIPS = 4


@dataclass(frozen=True, slots=True)
class ByteTest:
    """A condition on bytes in a function of the host; ``names`` are what its formula is made of, through assignments."""

    compare: ast.Compare
    limit_on_left: bool
    guard: Guard
    names: frozenset[str]
    simple: bool


@dataclass(frozen=True, slots=True)
class Decided:
    """What a condition on bytes decided on a path: ``fits``, ``too large``, or ``overruled`` where the path goes on in spite of it."""

    test: ByteTest
    verdict: str


def byte_tests(module: SourceModule) -> dict[ast.AST, ByteTest]:
    """The conditions of a module that compare bytes with a limit, by their statement; kept with the module's tree."""
    held: dict[ast.AST, ByteTest] | None = module.repository.derived.get(("byte tests", module.file))
    if held is None:
        held = {}
        if names_bytes(module.text):
            for entry in module.functions:
                for node in ast.walk(entry.node):
                    if isinstance(node, (ast.If, ast.While, ast.IfExp)) and node not in held:
                        found = _byte_test(module, entry.node, node.test)
                        if found is not None:
                            held[node] = found
        module.repository.derived["byte tests", module.file] = held
    return held


def _byte_test(module: SourceModule, function: ast.FunctionDef | ast.AsyncFunctionDef, test: ast.expr) -> ByteTest | None:
    compares = [node for node in ast.walk(test) if isinstance(node, ast.Compare)]
    compare = next((node for node in compares if tests_bytes(node, function)), None)
    if compare is None:
        return None
    left, right = compare.left, compare.comparators[0]
    on_left = _is_limit(left, function)
    if on_left == _is_limit(right, function):
        return None
    bare = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test
    guard = Guard(module.file, compare.lineno, compare.col_offset + 1, function.name, ast.unparse(compare), alone=bare is compare)
    return ByteTest(compare, on_left, guard, _made_of(right if on_left else left, function), bare is compare)


def _is_limit(side: ast.expr, function: ast.AST) -> bool:
    """Whether a side is what there is, not what is needed: a known number of bytes, or what is named or asked for as a limit."""
    if constant(side) in limits():
        return True
    if isinstance(side, ast.BinOp):
        return constant(side) is None and any(_is_limit(part, function) for part in (side.left, side.right))
    if _LIMIT.search(ast.unparse(side)):
        return True
    if not isinstance(side, ast.Name):
        return False
    values = [item.value for item in ast.walk(function) if isinstance(item, ast.Assign) and _assigns(item, side.id)]
    return any(constant(value) in limits() or (not isinstance(value, ast.BinOp) and _LIMIT.search(ast.unparse(value))) for value in values)


def _assigns(item: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in item.targets)


def _made_of(side: ast.expr, function: ast.AST) -> frozenset[str]:
    names = _names(side)
    for _ in range(2):
        for item in ast.walk(function):
            if isinstance(item, ast.Assign) and any(_assigns(item, name) for name in names):
                names |= _names(item.value)
    return frozenset(names)


def _names(node: ast.AST) -> set[str]:
    return {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}


def judge(run: Evaluation, test: ByteTest, condition: Any, known: bool | None, scope: Scope) -> bool | None:
    """Which way a condition on bytes goes on this path; None where it is as open as it was."""
    path = run.path
    if run.watch is None or path.frozen or path.conditional:
        return known
    if known is None:
        settled = path.concrete(condition) if isinstance(condition, Symbol) else condition
        if not isinstance(settled, bool):
            return None
        known = settled
    need, limit = (path.concrete(run.expr(side, scope)) for side in _sides(test))
    if not all(isinstance(one, (int, float)) for one in (need, limit)):
        return known
    if need <= limit:
        _note(run, Decided(test, "fits"))
        return known
    flips = sum(one.verdict == "overruled" for one in path.notes.get(_NOTE, ()))
    if test.simple and test.names and flips < _FLIPS and path.choose(2) == 1:
        _note(run, Decided(test, "overruled"))
        return not known
    _note(run, Decided(test, "too large"))
    return known


def _sides(test: ByteTest) -> tuple[ast.expr, ast.expr]:
    left, right = test.compare.left, test.compare.comparators[0]
    return (right, left) if test.limit_on_left else (left, right)


def _note(run: Evaluation, decided: Decided) -> None:
    run.path.notes[_NOTE] = (*run.path.notes.get(_NOTE, ()), decided)


def marked(run: Evaluation, launch: Launch, configs: list[Config]) -> list[Config]:
    """The configs of a launch with what the conditions on the way to it decided.

    Those that only a condition overruled leads to are ``pruned``; with its guard where the launch uses what the condition is about.
    """
    decided: tuple[Decided, ...] = run.path.notes.get(_NOTE, ())
    if not decided:
        return configs
    used = {name.lower() for name in (*_names(launch.node), *(keyword.arg or "" for keyword in launch.node.keywords))}
    about = [one for one in decided if used & {name.lower() for name in one.test.names}]
    overruled = [one for one in decided if one.verdict == "overruled"]
    if overruled:
        guard = overruled[-1].test.guard if overruled == [one for one in about if one.verdict == "overruled"] else None
        return [replace(config, pruned=True, guard=guard) for config in configs if config.origin == "launch"]
    if about and about[-1].verdict == "fits":
        return [config if config.guard is not None else replace(config, guard=about[-1].test.guard) for config in configs]
    return configs
