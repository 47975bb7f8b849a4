"""Expressions of host code, evaluated abstractly."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from smem_lint.host.assignments import assign
from smem_lint.host.byte_guards import byte_tests, judge
from smem_lint.host.comprehensions import comprehension, dict_comprehension, hashed, iterate
from smem_lint.host.limits import Raised, TooMuch, Undecided
from smem_lint.host.operators import BINARY, binary, check_key, compare, conjunction, disjunction, either, negate
from smem_lint.host.paths_on_disk import FilePath
from smem_lint.host.subscripts import has_slice, item, subscript
from smem_lint.host.truth import truth_if_known
from smem_lint.host.values import (
    UNKNOWN,
    Function,
    GridLaunch,
    Instance,
    Kernel,
    Outside,
    Scope,
    Spread,
    Symbol,
    Tensor,
    describe,
    reason_of,
)

if TYPE_CHECKING:
    from smem_lint.host.evaluation import Evaluation

Handler = Callable[["Evaluation", Any, Scope], Any]


def evaluate(run: Evaluation, node: ast.expr, scope: Scope) -> Any:
    """The value of an expression in a scope; never executes anything of the linted code."""
    run.step()
    handler = _HANDLERS.get(type(node))
    if handler is None:
        return Symbol(ast.unparse(node)[:80], "an expression that is not evaluated", line=node.lineno)
    return handler(run, node, scope)


def _constant(run: Evaluation, node: ast.Constant, scope: Scope) -> Any:
    return node.value


def _name(run: Evaluation, node: ast.Name, scope: Scope) -> Any:
    value = run.program.lookup(run, scope, node.id, node.lineno)
    return run.path.value(value) if isinstance(value, Symbol) else value


def _attribute(run: Evaluation, node: ast.Attribute, scope: Scope) -> Any:
    value = run.attribute(run.expr(node.value, scope), node.attr, node.lineno)
    return run.path.value(value) if isinstance(value, Symbol) else value


def _sequence(run: Evaluation, node: ast.List | ast.Tuple | ast.Set, scope: Scope) -> Any:
    items: list[Any] = []
    for element in node.elts:
        if isinstance(element, ast.Starred):
            spread = run.definite(run.expr(element.value, scope))
            if isinstance(spread, (list, tuple, set, frozenset, range, dict)):
                if len(items) + len(spread) > run.path.limits.items:
                    raise TooMuch("a list too long")
                items.extend(spread)
            else:
                return Symbol(f"[*{describe(spread)}]", reason_of(spread), line=node.lineno)
        else:
            items.append(run.expr(element, scope))
    if isinstance(node, ast.Tuple):
        return tuple(items)
    if isinstance(node, ast.Set):
        return hashed(items, node.lineno)
    return items


def _dict(run: Evaluation, node: ast.Dict, scope: Scope) -> Any:
    table: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            spread = run.definite(run.expr(value, scope))
            if not isinstance(spread, dict):
                return Symbol(f"{{**{describe(spread)}}}", reason_of(spread), line=node.lineno)
            table.update(spread)
            continue
        name = run.definite(run.expr(key, scope))
        check_key(name)
        try:
            table[name] = run.expr(value, scope)
        except TypeError:
            raise Raised("TypeError") from None
    return table


def _binary(run: Evaluation, node: ast.BinOp, scope: Scope) -> Any:
    symbol, function = BINARY[type(node.op)]
    left, right = run.expr(node.left, scope), run.expr(node.right, scope)
    if isinstance(left, Symbol) and left.kind == "if" and isinstance(right, (list, dict, tuple)):
        left = run.definite(left)
    return binary(symbol, function, left, right, run.path.limits, node.lineno)


def _unary(run: Evaluation, node: ast.UnaryOp, scope: Scope) -> Any:
    value = run.expr(node.operand, scope)
    if isinstance(node.op, ast.Not):
        return _invert(run, value, node.lineno)
    if value is UNKNOWN or isinstance(value, (Tensor, Outside)):
        return value
    functions: dict[type[ast.unaryop], Callable[[Any], Any]] = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert}
    function = functions[type(node.op)]
    if isinstance(value, Symbol):
        sign = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}[type(node.op)]
        return Symbol(f"{sign}({value.text})", value.reason, operation=function, operands=(value,), line=node.lineno, kind="unary")
    try:
        return function(value)
    except TypeError:
        raise Raised("TypeError") from None


def _invert(run: Evaluation, value: Any, line: int) -> Any:
    truth = truth_if_known(run, value)
    return negate(value, line) if truth is None else not truth


def _boolean(run: Evaluation, node: ast.BoolOp, scope: Scope) -> Any:
    ends_at = isinstance(node.op, ast.Or)
    pending: list[Any] = []
    value: Any = None
    for place, part in enumerate(node.values):
        run.path.conditional += bool(pending)
        try:
            value = run.expr(part, scope)
        except Raised:
            if not pending:
                raise
            value = UNKNOWN
        finally:
            run.path.conditional -= bool(pending)
        known = truth_if_known(run, value)
        last = place == len(node.values) - 1
        if known is ends_at:
            if not pending:
                return value
            if isinstance(value, bool) or ends_at is False:
                pending.append(value if isinstance(value, bool) else ends_at)
                break
            pending.append(value)
            break
        if known is None:
            pending.append(value)
        elif last and not pending:
            return value
        elif last:
            pending.append(value)
    if any(item is UNKNOWN for item in pending):
        return UNKNOWN
    if len(pending) == 1:
        return pending[0]
    return _joined(run, pending, ends_at, node.lineno)


def _joined(run: Evaluation, pending: list[Any], ends_at: bool, line: int) -> Any:
    if all((isinstance(item, (Symbol, bool)) and getattr(item, "kind", "") not in ("",)) or isinstance(item, bool) for item in pending):
        return disjunction(pending, line) if ends_at else conjunction(pending, line)
    if len(pending) == 2 and isinstance(pending[0], Symbol):
        first, second = pending
        if not isinstance(second, (bool, Symbol)):
            return either(first, first, second, line) if ends_at else either(first, second, first, line)
    if not all(isinstance(item, (Symbol, bool)) for item in pending):
        return UNKNOWN
    return disjunction(pending, line) if ends_at else conjunction(pending, line)


def _compare(run: Evaluation, node: ast.Compare, scope: Scope) -> Any:
    left = run.expr(node.left, scope)
    pending: list[Any] = []
    for kind, right_node in zip(node.ops, node.comparators, strict=True):
        right = run.expr(right_node, scope)
        result = compare(type(kind), left, right, node.lineno)
        if isinstance(result, Symbol):
            known = truth_if_known(run, result)
            result = result if known is None else known
        if result is False:
            return False
        if result is not True:
            pending.append(result)
        left = right
    if not pending:
        return True
    return UNKNOWN if any(item is UNKNOWN for item in pending) else conjunction(pending, node.lineno)


def _conditional(run: Evaluation, node: ast.IfExp, scope: Scope) -> Any:
    condition = run.expr(node.test, scope)
    known = truth_if_known(run, condition)
    if run.watch is not None and (test := byte_tests(scope.module).get(node)) is not None:
        known = judge(run, test, condition, known, scope)
    if known is None and isinstance(condition, Symbol):
        before = len(run.launches)
        try:
            run.path.conditional += 1
            try:
                value, other = run.expr(node.body, scope), run.expr(node.orelse, scope)
            finally:
                run.path.conditional -= 1
            if len(run.launches) == before:
                merged = either(condition, value, other, node.lineno)
                if merged is not UNKNOWN:
                    return merged
        except Raised:
            pass
        del run.launches[before:]
    if known is None:
        known = run.path.truth(condition)
    return run.expr(node.body if known else node.orelse, scope)


def _callee(run: Evaluation, node: ast.Call, scope: Scope) -> Any:
    """What is called; ``f[grid]`` of something unknown counts as a launch where the call looks like one."""
    if not isinstance(node.func, ast.Subscript):
        return run.expr(node.func, scope)
    base = run.definite(run.expr(node.func.value, scope))
    if isinstance(base, Kernel) or (isinstance(base, (Symbol, Function)) and _looks_like_launch(node)):
        return GridLaunch(base, node.func.slice)
    if isinstance(base, Instance) and isinstance(base.cls.find("__getitem__"), Function):
        return run.call_function(base.cls.find("__getitem__"), (base, UNKNOWN), {})
    return item(run, base, run.definite(run.expr(node.func.slice, scope)) if not has_slice(node.func.slice) else UNKNOWN, node.lineno)


def _looks_like_launch(node: ast.Call) -> bool:
    names = {keyword.arg for keyword in node.keywords}
    return (
        bool(names & {"num_warps", "num_stages"}) or None in names or any(name and name.isupper() for name in names) or len(node.args) > 4
    )


def _call(run: Evaluation, node: ast.Call, scope: Scope) -> Any:
    function = _callee(run, node, scope)
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    complete, spread_open = True, False
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            spread = run.definite(run.expr(argument.value, scope))
            rank = run.program.rank(run.path, spread.text) if isinstance(spread, Symbol) and spread.text.endswith(".shape") else None
            if isinstance(spread, (list, tuple, range, set)):
                args.extend(spread)
            elif rank is not None:
                args.extend(item(run, spread, place, node.lineno) for place in range(rank))
            else:
                spread_open = True
                args.append(Spread(spread))
        else:
            args.append(run.expr(argument, scope))
    for keyword in node.keywords:
        if keyword.arg is not None:
            kwargs[keyword.arg] = run.expr(keyword.value, scope)
            continue
        spread = run.definite(run.expr(keyword.value, scope))
        if isinstance(spread, dict) and all(isinstance(key, str) for key in spread):
            kwargs.update(spread)
        else:
            complete = False
    if isinstance(function, GridLaunch):
        return run.program.launch(run, function, node, args, kwargs, complete, scope)
    if spread_open:
        args = args[: next(place for place, value in enumerate(args) if isinstance(value, Spread))]
    if not complete or spread_open:
        kwargs.setdefault("**", UNKNOWN)
    return run.call(function, args, kwargs, node, scope)


def _joined_string(run: Evaluation, node: ast.JoinedStr, scope: Scope) -> Any:
    pieces: list[str] = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            pieces.append(str(part.value))
            continue
        assert isinstance(part, ast.FormattedValue)
        value = run.definite(run.expr(part.value, scope))
        value = value.text if isinstance(value, FilePath) else value
        specification = run.expr(part.format_spec, scope) if part.format_spec is not None else ""
        if not isinstance(value, (str, int, float, bool, type(None))) or not isinstance(specification, str) or len(specification) > 16:
            return Symbol("f'…'", "text that is put together from unknown parts", line=node.lineno)
        if isinstance(value, int) and value.bit_length() > 256:
            raise TooMuch("an integer too large")
        digits = "".join(c if c.isdigit() else " " for c in specification).split()
        if any(int(number) > 1_000 for number in digits):
            raise TooMuch("a string too long")
        try:
            pieces.append(format(repr(value) if part.conversion == 114 else value, specification))
        except (ValueError, TypeError):
            raise Raised("ValueError") from None
    text = "".join(pieces)
    if len(text) > run.path.limits.characters:
        raise TooMuch("a string too long")
    return text


def _lambda(run: Evaluation, node: ast.Lambda, scope: Scope) -> Any:
    return Function(scope.module, node, scope, run.program.defaults(run, node.args, scope))


def _named(run: Evaluation, node: ast.NamedExpr, scope: Scope) -> Any:
    value = run.expr(node.value, scope)
    assign(run, node.target, value, scope)
    return value


def _yield(run: Evaluation, node: ast.Yield, scope: Scope) -> Any:
    value = run.expr(node.value, scope) if node.value is not None else None
    if run.yields:
        run.yields[-1].append(value)
    return None


def _yield_from(run: Evaluation, node: ast.YieldFrom, scope: Scope) -> Any:
    values = iterate(run, run.definite(run.expr(node.value, scope)))
    if values is None:
        raise Undecided("what is yielded is not known", node.lineno)
    if run.yields:
        run.yields[-1].extend(values)
    return None


def _await(run: Evaluation, node: ast.Await, scope: Scope) -> Any:
    return run.expr(node.value, scope)


_HANDLERS: dict[type[ast.expr], Handler] = {
    ast.Constant: _constant, ast.Name: _name, ast.Attribute: _attribute, ast.List: _sequence, ast.Tuple: _sequence, ast.Set: _sequence,
    ast.Dict: _dict, ast.BinOp: _binary, ast.UnaryOp: _unary, ast.BoolOp: _boolean, ast.Compare: _compare, ast.IfExp: _conditional,
    ast.Subscript: subscript, ast.Call: _call, ast.JoinedStr: _joined_string, ast.ListComp: comprehension, ast.SetComp: comprehension,
    ast.GeneratorExp: comprehension, ast.DictComp: dict_comprehension, ast.Lambda: _lambda, ast.NamedExpr: _named, ast.Yield: _yield,
    ast.YieldFrom: _yield_from, ast.Await: _await,
}  # fmt: skip
