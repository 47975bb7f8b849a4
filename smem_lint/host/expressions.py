"""Expressions of host code, evaluated abstractly."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from smem_lint.host.byte_guards import byte_tests, judge
from smem_lint.host.dynamic import ModuleNames
from smem_lint.host.limits import Raised, TooMuch, Undecided
from smem_lint.host.operators import BINARY, binary, check_key, compare, conjunction, disjunction, either, negate
from smem_lint.host.paths import Strict
from smem_lint.host.paths_on_disk import FilePath
from smem_lint.host.tables import is_open_key, listed_entry
from smem_lint.host.values import (
    UNKNOWN,
    Class,
    DType,
    EnumMember,
    Function,
    GridLaunch,
    Instance,
    Kernel,
    Outside,
    Possible,
    Rest,
    Scope,
    Spread,
    Symbol,
    Tensor,
    describe,
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
                return Symbol(f"[*{describe(spread)}]", _reason(spread), line=node.lineno)
        else:
            items.append(run.expr(element, scope))
    if isinstance(node, ast.Tuple):
        return tuple(items)
    if isinstance(node, ast.Set):
        return _hashed(items, node.lineno)
    return items


def _hashed(items: list[Any], line: int) -> Any:
    for item in items:
        check_key(item)
    try:
        return set(items)
    except TypeError:
        return Symbol("{…}", "a set of what cannot be hashed", line=line)


def _dict(run: Evaluation, node: ast.Dict, scope: Scope) -> Any:
    table: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            spread = run.definite(run.expr(value, scope))
            if not isinstance(spread, dict):
                return Symbol(f"{{**{describe(spread)}}}", _reason(spread), line=node.lineno)
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


def truth_if_known(run: Evaluation, value: Any) -> bool | None:
    """The truth of a value as far as the path has fixed it, deciding nothing."""
    if isinstance(value, Symbol):
        value = run.path.value(value)
        if isinstance(value, Symbol):
            known = run.path.memo.get(value.text)
            if known is None:
                known = run.path.known(value)
            return known
    if value is UNKNOWN:
        return None
    if isinstance(value, (Tensor, Kernel, Function, Class, Outside)):
        return True
    try:
        return bool(value)
    except TypeError:
        return None


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


def _subscript(run: Evaluation, node: ast.Subscript, scope: Scope) -> Any:
    value = run.definite(run.expr(node.value, scope))
    if isinstance(value, Kernel):
        return GridLaunch(value, node.slice)
    if isinstance(node.slice, ast.Slice):
        return _slice(run, value, node.slice, scope)
    index = run.definite(run.expr(node.slice, scope)) if not _has_slice(node.slice) else UNKNOWN
    return item(run, value, index, node.lineno)


def _has_slice(node: ast.expr) -> bool:
    return isinstance(node, ast.Slice) or (isinstance(node, ast.Tuple) and any(isinstance(part, ast.Slice) for part in node.elts))


def item(run: Evaluation, value: Any, index: Any, line: int) -> Any:
    """``value[index]``."""
    if isinstance(value, Tensor):
        return Tensor(f"{value.name}[…]", value.dtype, None, line=line)
    if isinstance(value, Symbol):
        if index is UNKNOWN:
            return Tensor(f"{value.text}[…]", Symbol(f"{value.text}.dtype", "the type of a tensor"), None, line=line)
        low = 1 if value.text.endswith((".shape", ".size()")) else 0 if value.text.endswith(".stride()") else None
        index = run.program.normal_index(run.path, value.text, index)
        return run.path.value(Symbol(f"{value.text}[{describe(index)}]", value.reason, line=line, low=low))
    if isinstance(value, Outside):
        return run.program.outside_item(value, index)
    if isinstance(value, (list, tuple, str, range)):
        if isinstance(index, Symbol):
            index = run.path.concrete(index)
        if isinstance(index, Symbol) or index is UNKNOWN:
            return Symbol(f"{describe(value)}[{describe(index)}]", _reason(index), line=line)
        try:
            return value[index]
        except IndexError:
            raise Raised("IndexError") from None
        except TypeError:
            raise Raised("TypeError") from None
    if isinstance(value, dict):
        return _lookup(run, value, index, line)
    if isinstance(value, ModuleNames) and isinstance(index, str):
        return run.program.global_value(run, value.module, index, line)
    if isinstance(value, Class) and value.is_enum and isinstance(index, str):
        member = value.find(index)
        if member is UNKNOWN:
            raise Raised("KeyError")
        return member
    fields = getattr(value, "fields", None)
    if isinstance(fields, dict) and isinstance(index, str):
        return fields.get(index, UNKNOWN)
    return UNKNOWN


def _lookup(run: Evaluation, table: dict[Any, Any], index: Any, line: int) -> Any:
    if isinstance(index, Symbol):
        index = run.path.concrete(index)
    if isinstance(index, Symbol) and 0 < len(table) <= 16 and all(isinstance(key, (str, int, DType, EnumMember, tuple)) for key in table):
        return select(run, index, list(table.items()))
    if isinstance(index, Symbol) or index is UNKNOWN:
        return Symbol(f"{describe(table)}[{describe(index)}]", _reason(index), line=line)
    if is_open_key(run, table, index):
        return listed_entry(run, table, index)
    check_key(index)
    try:
        if index in table:
            return table[index]
    except TypeError:
        raise Raised("TypeError") from None
    factory = getattr(table, "factory", None)
    if factory is not None:
        table[index] = run.call(factory, (), {}, None, Scope(run.program.no_module))
        return table[index]
    if isinstance(table, Rest) and isinstance(index, str):
        table[index] = Symbol(index, f"{index} is given by the caller", line=line)
        return table[index]
    raise Raised("KeyError")


def select(run: Evaluation, index: Symbol, options: list[tuple[Any, Any]]) -> Any:
    """One of several entries for a key that is not known: each is a path."""
    options = sorted(options, key=lambda option: not (isinstance(option[0], DType) and option[0].name == "bfloat16"))
    taken = run.path.choose(len(options))
    key, value = options[taken]
    run.path.fix(index, key)
    return value


def _slice(run: Evaluation, value: Any, node: ast.Slice, scope: Scope) -> Any:
    parts = [run.definite(run.expr(part, scope)) if part is not None else None for part in (node.lower, node.upper, node.step)]
    if isinstance(value, (Tensor, Symbol)):
        if isinstance(value, Symbol) and value.text.endswith((".shape", ".size()", ".stride()")):
            low, high, step = parts
            if step is None and isinstance(high, int) and high >= 0 and (low is None or (isinstance(low, int) and low >= 0)):
                return tuple(item(run, value, place, 0) for place in range(low or 0, high))
            return Symbol(f"{value.text}[{':'.join('' if part is None else describe(part) for part in parts[:2])}]", value.reason)
        return item(run, value, UNKNOWN, node.lower.lineno if node.lower else 0)
    if isinstance(value, (list, tuple, str, range)) and all(part is None or isinstance(part, int) for part in parts):
        try:
            return value[slice(*parts)]
        except (ValueError, TypeError):
            raise Raised("ValueError") from None
    return UNKNOWN


def _callee(run: Evaluation, node: ast.Call, scope: Scope) -> Any:
    """What is called; ``f[grid]`` of something unknown counts as a launch where the call looks like one."""
    if not isinstance(node.func, ast.Subscript):
        return run.expr(node.func, scope)
    base = run.definite(run.expr(node.func.value, scope))
    if isinstance(base, Kernel) or (isinstance(base, (Symbol, Function)) and _looks_like_launch(node)):
        return GridLaunch(base, node.func.slice)
    if isinstance(base, Instance) and isinstance(base.cls.find("__getitem__"), Function):
        return run.call_function(base.cls.find("__getitem__"), (base, UNKNOWN), {})
    return item(run, base, run.definite(run.expr(node.func.slice, scope)) if not _has_slice(node.func.slice) else UNKNOWN, node.lineno)


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


def _comprehension(run: Evaluation, node: ast.ListComp | ast.SetComp | ast.GeneratorExp, scope: Scope) -> Any:
    items: list[Any] = []
    inner = Scope(scope.module, scope)
    unsure: list[str] = []
    try:
        for _ in _generate(run, node.generators, inner, unsure=unsure if not isinstance(node, ast.SetComp) else None):
            items.append(run.expr(node.elt, inner))
            if len(items) > run.path.limits.items:
                raise TooMuch("a list too long")
    except _Uncountable as uncountable:
        return Symbol(f"[{ast.unparse(node.elt)[:40]} for …]", uncountable.reason, line=node.lineno)
    if unsure:
        return Possible(f"[{ast.unparse(node.elt)[:40]} for …]", unsure[0], items, node.lineno)
    return _hashed(items, node.lineno) if isinstance(node, ast.SetComp) else items


def _dict_comprehension(run: Evaluation, node: ast.DictComp, scope: Scope) -> Any:
    table: dict[Any, Any] = {}
    inner = Scope(scope.module, scope)
    try:
        for _ in _generate(run, node.generators, inner):
            key = run.definite(run.expr(node.key, inner))
            check_key(key)
            table[key] = run.expr(node.value, inner)
            if len(table) > run.path.limits.items:
                raise TooMuch("a dict too long")
    except _Uncountable as uncountable:
        return Symbol("{… for …}", uncountable.reason, line=node.lineno)
    except TypeError:
        raise Raised("TypeError") from None
    return table


class _Uncountable(Exception):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _generate(
    run: Evaluation, generators: list[ast.comprehension], scope: Scope, place: int = 0, unsure: list[str] | None = None
) -> Iterator[None]:
    """Bind the targets to one combination after the other. With ``unsure``, what a condition that is not known may drop is kept where
    nothing can be decided, and the reason goes there."""
    if place == len(generators):
        yield
        return
    generator = generators[place]
    source = run.definite(run.expr(generator.iter, scope))
    if isinstance(source, Possible) and unsure is not None:
        unsure.append(source.reason)
        source = source.items
    values = iterate(run, source)
    if values is None:
        raise _Uncountable(f"what it runs over is not known: {ast.unparse(generator.iter)[:60]}")
    for value in values:
        run.step()
        assign(run, generator.target, value, scope)
        kept = True
        for test in generator.ifs:
            try:
                condition = run.expr(test, scope)
                known = truth_if_known(run, condition)
                if not (run.path.truth(condition) if known is None else known):
                    kept = False
                    break
            except Undecided as undecided:
                if unsure is None or not isinstance(run.path, Strict):
                    raise
                unsure.append(undecided.reason)
        if kept:
            yield from _generate(run, generators, scope, place + 1, unsure)


def iterate(run: Evaluation, value: Any) -> Iterator[Any] | None:
    """The items of a value that can be walked; None where they are not known."""
    if isinstance(value, (list, tuple, str, range, set, frozenset, dict)):
        return (
            iter(sorted(value, key=repr))
            if isinstance(value, (set, frozenset))
            else iter(list(value) if isinstance(value, dict) else value)
        )
    if isinstance(value, Class) and value.is_enum:
        return iter([member for member in value.attributes.values() if type(member).__name__ == "EnumMember"])
    return None


def assign(run: Evaluation, target: ast.expr, value: Any, scope: Scope) -> None:
    """Bind a target: a name, a tuple of targets, an attribute, an item."""
    if isinstance(target, ast.Name):
        if run.given and run.depth == 1:
            value = _given(run, target.id, value)
        if scope.global_names and target.id in scope.global_names:
            run.program.bind_global(run.path, scope.module, target.id, value)
        else:
            run.program.bind(scope, target.id, value)
        if isinstance(value, Symbol):
            run.program.alias(run.path, value, target.id)
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(run, target, value, scope)
    elif isinstance(target, ast.Attribute):
        run.program.set_attribute(run, run.expr(target.value, scope), target.attr, value)
    elif isinstance(target, ast.Subscript):
        container = run.definite(run.expr(target.value, scope))
        if isinstance(container, (list, dict)):
            _set_item(run, container, target.slice, value, scope)
    elif isinstance(target, ast.Starred):
        assign(run, target.value, value, scope)


def _given(run: Evaluation, name: str, value: Any) -> Any:
    """What a local name is worth in a run that gives values: ``local name`` in any case, ``name`` where it would not be known."""
    if f"local {name}" in run.given:
        return run.given[f"local {name}"]
    if name not in run.given or not (isinstance(value, (Symbol, Tensor)) or value is UNKNOWN):
        return value
    found = run.given[name]
    return dict(found) if isinstance(found, dict) else found


def _set_item(run: Evaluation, container: Any, place: ast.expr, value: Any, scope: Scope) -> None:
    if isinstance(place, ast.Slice):
        raise Undecided("a slice that is assigned to", place.lineno if hasattr(place, "lineno") else 0)
    index = run.definite(run.expr(place, scope))
    if isinstance(index, Symbol):
        index = run.path.concrete(index)
    if isinstance(index, Symbol) or index is UNKNOWN:
        if isinstance(container, dict) and run.watch is not None:
            return
        raise Undecided(f"an item at an unknown place: {describe(index)}", place.lineno)
    check_key(index)
    try:
        if isinstance(container, dict) and len(container) >= run.path.limits.items:
            raise TooMuch("a dict too long")
        container[index] = value
    except IndexError:
        raise Raised("IndexError") from None
    except TypeError:
        raise Raised("TypeError") from None


def _unpack(run: Evaluation, target: ast.Tuple | ast.List, value: Any, scope: Scope) -> None:
    value = run.definite(value)
    count = len(target.elts)
    starred = next((place for place, element in enumerate(target.elts) if isinstance(element, ast.Starred)), None)
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=repr)
    if isinstance(value, dict):
        value = list(value)
    if isinstance(value, (list, tuple, range, str)):
        items = list(value)
        if starred is not None and len(items) >= count - 1:
            tail = count - starred - 1
            items = [*items[:starred], list(items[starred : len(items) - tail]), *items[len(items) - tail :]]
        if len(items) != count:
            raise Raised("ValueError")
    else:
        name = describe(value)
        if starred is None:
            run.path.learn_rank(name.removesuffix(".shape").removesuffix(".size()"), count)
        places: list[Any] = [place if starred is None or place < starred else place - count for place in range(count)]
        items = [item(run, value, place, target.lineno) if isinstance(value, (Symbol, Outside)) else UNKNOWN for place in places]
    for element, part in zip(target.elts, items, strict=True):
        assign(run, element, part, scope)


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


def _reason(value: Any) -> str:
    return value.reason or value.text if isinstance(value, Symbol) else "a value that is not known"


_HANDLERS: dict[type[ast.expr], Handler] = {
    ast.Constant: _constant, ast.Name: _name, ast.Attribute: _attribute, ast.List: _sequence, ast.Tuple: _sequence, ast.Set: _sequence,
    ast.Dict: _dict, ast.BinOp: _binary, ast.UnaryOp: _unary, ast.BoolOp: _boolean, ast.Compare: _compare, ast.IfExp: _conditional,
    ast.Subscript: _subscript, ast.Call: _call, ast.JoinedStr: _joined_string, ast.ListComp: _comprehension, ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension, ast.DictComp: _dict_comprehension, ast.Lambda: _lambda, ast.NamedExpr: _named, ast.Yield: _yield,
    ast.YieldFrom: _yield_from, ast.Await: _await,
}  # fmt: skip
