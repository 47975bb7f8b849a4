"""Statements of host code. What leaves a block early is a signal: ``RETURN`` with its value, ``BREAK`` or ``CONTINUE``."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from smem_lint.host.assignments import assign
from smem_lint.host.byte_guards import byte_tests, judge
from smem_lint.host.comprehensions import iterate
from smem_lint.host.limits import Abandoned, Raised
from smem_lint.host.machine import PACKAGES_OF_OTHERS
from smem_lint.host.operators import BINARY, binary, either
from smem_lint.host.truth import truth_if_known
from smem_lint.host.values import UNKNOWN, Scope, Symbol, describe

if TYPE_CHECKING:
    from smem_lint.host.evaluation import Evaluation

Signal = tuple[str, Any]
BREAK: Signal = ("break", None)
CONTINUE: Signal = ("continue", None)
Handler = Callable[["Evaluation", Any, Scope], Signal | None]

_TALK = frozenset({"logger", "logging", "warnings", "print", "log", "LOG", "_logger"})
_CATCHES_LAUNCH = ("OutOfResources", "Exception", "BaseException", "RuntimeError", "OutOfMemoryError", "CompilationError", "TritonError")


def block(run: Evaluation, body: Sequence[ast.stmt], scope: Scope) -> Signal | None:
    """Run statements in order, to the end or to the first signal."""
    for statement in body:
        run.step()
        handler = _HANDLERS.get(type(statement))
        if handler is not None:
            signal = handler(run, statement, scope)
            if signal is not None:
                return signal
    return None


def _expression(run: Evaluation, node: ast.Expr, scope: Scope) -> None:
    if not isinstance(node.value, ast.Constant):
        run.expr(node.value, scope)


def _assign(run: Evaluation, node: ast.Assign, scope: Scope) -> None:
    value = run.expr(node.value, scope)
    for target in node.targets:
        assign(run, target, value, scope)


def _annotated(run: Evaluation, node: ast.AnnAssign, scope: Scope) -> None:
    if node.value is not None:
        assign(run, node.target, run.expr(node.value, scope), scope)


def _augmented(run: Evaluation, node: ast.AugAssign, scope: Scope) -> None:
    current = run.expr(_as_load(node.target), scope)
    value = run.expr(node.value, scope)
    symbol, function = BINARY[type(node.op)]
    current = run.definite(current)
    if isinstance(current, list) and symbol == "+" and isinstance(value, (list, tuple, range)):
        binary("+", lambda a, b: None, current, list(value) if isinstance(value, tuple) else value, run.path.limits)
        current.extend(value)
        return
    assign(run, node.target, binary(symbol, function, current, value, run.path.limits, node.lineno), scope)


def _as_load(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    if isinstance(target, ast.Attribute):
        return ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)
    if isinstance(target, ast.Subscript):
        return ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
    return target


def _return(run: Evaluation, node: ast.Return, scope: Scope) -> Signal:
    return "return", run.expr(node.value, scope) if node.value is not None else None


def _if(run: Evaluation, node: ast.If, scope: Scope) -> Signal | None:
    condition = run.expr(node.test, scope)
    known = truth_if_known(run, condition)
    if run.watch is not None and (test := byte_tests(scope.module).get(node)) is not None:
        known = judge(run, test, condition, known, scope)
    if known is None:
        if always_raises(node.body):
            run.path.assume(condition, False)
            known = False
        elif node.orelse and always_raises(node.orelse):
            run.path.assume(condition, True)
            known = True
        elif not run.inner and _only_leaves(node.body) and not node.orelse:
            run.path.assume(condition, False)
            known = False
        elif isinstance(condition, Symbol) and not scope.global_names and is_simple(node.body) and is_simple(node.orelse):
            return _merge(run, condition, node, scope)
        else:
            known = run.path.truth(condition)
    return run.block(node.body if known else node.orelse, scope)


def _merge(run: Evaluation, condition: Symbol, node: ast.If, scope: Scope) -> Signal | None:
    """Run both branches and keep, for each name, a value that depends on the condition: nothing is decided yet.

    Where a branch tells how many dimensions a tensor has, that holds in this branch alone: the condition is decided.
    """
    before = dict(scope.names)
    launched, told = len(run.launches), len(run.path.told)
    outcomes: list[dict[str, Any] | None] = []
    for body in (node.body, node.orelse):
        scope.names = dict(before)
        launches = len(run.launches)
        run.path.conditional += 1
        try:
            run.block(body, scope)
            outcomes.append(scope.names)
        except Raised:
            outcomes.append(None)
        finally:
            run.path.conditional -= 1
        for launch in run.launches[launches:]:
            launch.when = (*launch.when, condition.text if body is node.body else f"not ({condition.text})")
        if len(run.path.told) > told and not (run.path.conditional or run.path.frozen):
            del run.launches[launched:]
            run.path.forget_ranks()
            scope.names = before
            return run.block(node.body if run.path.truth(condition) else node.orelse, scope)
    scope.names = dict(before)
    first, second = outcomes
    if first is None and second is None:
        raise Raised("Exception")
    if first is None or second is None:
        run.path.assume(condition, first is not None)
        scope.names = first if first is not None else (second or {})
        return None
    names = scope.names
    for name, value in first.items():
        if name in second and (other := second[name]) is not value:
            merged = either(condition, value, other, node.lineno)
            names[name] = merged if merged is not UNKNOWN else Symbol(name, f"depends on {condition.text}", line=node.lineno)
        else:
            names[name] = value
    for name, value in second.items():
        if name not in first:
            names[name] = value
    return None


def is_simple(body: Sequence[ast.stmt]) -> bool:
    """Whether statements only bind plain names, so that both ways can be kept side by side."""
    for statement in body:
        if isinstance(statement, ast.Assign):
            if not all(_plain_target(target) for target in statement.targets):
                return False
        elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
            if not isinstance(statement.target, ast.Name):
                return False
        elif isinstance(statement, ast.If):
            if not (is_simple(statement.body) and is_simple(statement.orelse)):
                return False
        elif isinstance(statement, ast.Expr):
            if not isinstance(statement.value, ast.Constant) and not _is_talk(statement.value):
                return False
        elif not isinstance(statement, (ast.Pass, ast.Assert, ast.Global)):
            return False
    return True


def _plain_target(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) or (isinstance(target, ast.Tuple) and all(isinstance(part, ast.Name) for part in target.elts))


def _is_talk(node: ast.expr) -> bool:
    while isinstance(node, (ast.Call, ast.Attribute)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return isinstance(node, ast.Name) and node.id in _TALK


def always_raises(body: Sequence[ast.stmt]) -> bool:
    """Whether a block does nothing but fail: a validation that valid calls pass."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.Assert) and isinstance(last.test, ast.Constant) and not last.test.value:
        return True
    if isinstance(last, ast.If):
        return bool(last.orelse) and always_raises(last.body) and always_raises(last.orelse)
    return isinstance(last, ast.Raise)


def _only_leaves(body: Sequence[ast.stmt]) -> bool:
    """``return`` of nothing that could launch: an early way out for empty input."""

    def plain(statement: ast.Return) -> bool:
        return statement.value is None or not any(isinstance(node, ast.Call) for node in ast.walk(statement.value))

    return all(
        (isinstance(statement, ast.Return) and plain(statement))
        or isinstance(statement, ast.Pass)
        or (isinstance(statement, ast.Expr) and (isinstance(statement.value, ast.Constant) or _is_talk(statement.value)))
        for statement in body
    ) and any(isinstance(statement, ast.Return) for statement in body)  # fmt: skip


def _while(run: Evaluation, node: ast.While, scope: Scope) -> Signal | None:
    rounds = 0
    while True:
        run.step()
        condition = run.expr(node.test, scope)
        known = truth_if_known(run, condition)
        if run.watch is not None and (test := byte_tests(scope.module).get(node)) is not None:
            known = judge(run, test, condition, known, scope)
        if known is None:
            if rounds:
                _forget(run, node.body, scope, node.lineno)
                return None
            known = run.path.truth(condition)
            rounds += 1
        if not known:
            return run.block(node.orelse, scope)
        signal = run.block(node.body, scope)
        if signal is BREAK:
            return None
        if signal is not None and signal is not CONTINUE:
            return signal


def _for(run: Evaluation, node: ast.For, scope: Scope) -> Signal | None:
    subject = run.definite(run.expr(node.iter, scope))
    values = iterate(run, subject)
    if values is None:
        _forget(run, node.body, scope, node.lineno)
        assign(run, node.target, Symbol(f"an item of {describe(subject)}", "what it runs over is not known", line=node.lineno), scope)
        signal = run.block(node.body, scope)
        _forget(run, node.body, scope, node.lineno)
        return signal if signal is not None and signal not in (BREAK, CONTINUE) else None
    for value in values:
        run.step()
        assign(run, node.target, value, scope)
        signal = run.block(node.body, scope)
        if signal is BREAK:
            return None
        if signal is not None and signal is not CONTINUE:
            return signal
    return run.block(node.orelse, scope)


def _forget(run: Evaluation, body: Sequence[ast.stmt], scope: Scope, line: int) -> None:
    """Names that a loop of unknown length counts up are not known around it."""
    for statement in body:
        for inner in ast.walk(statement):
            if isinstance(inner, ast.AugAssign) and isinstance(inner.target, ast.Name):
                scope.names[inner.target.id] = Symbol(inner.target.id, "changed in a loop of unknown length", line=line)


def _try(run: Evaluation, node: ast.Try, scope: Scope) -> Signal | None:
    catches_launch = any(_catches_launch(handler) for handler in node.handlers)
    before = dict(scope.names)
    launches = len(run.launches)
    run.guards += catches_launch
    raised: Raised | None = None
    signal: Signal | None = None
    try:
        if _needs_another_maker(node):
            raise Raised("ModuleNotFoundError")
        signal = run.block(node.body, scope)
        if signal is None:
            signal = run.block(node.orelse, scope)
    except Raised as exception:
        raised = exception
    finally:
        run.guards -= catches_launch
    if raised is not None:
        handler = next((h for h in node.handlers if _matches(h, raised.name)), None)
        if handler is None:
            run.block(node.finalbody, scope)
            raise raised
        if handler.name:
            scope.names[handler.name] = Symbol(handler.name, "an exception", line=handler.lineno)
        signal = run.block(handler.body, scope)
    elif signal is None and (missing := _may_be_missing(run, node, scope)) and not any(always_raises(h.body) for h in node.handlers):
        _either_installed(run, node, missing, before, scope)
    elif catches_launch and len(run.launches) > launches and run.path.choose(2) == 1:
        handler = next(h for h in node.handlers if _catches_launch(h))
        run.path.when.append(f"the launch at line {run.launches[launches].node.lineno} failed")
        scope.names = before
        if handler.name:
            scope.names[handler.name] = Symbol(handler.name, "an exception", line=handler.lineno)
        signal = run.block(handler.body, scope)
    last = run.block(node.finalbody, scope)
    return last if last is not None else signal


def _needs_another_maker(node: ast.Try) -> bool:
    """Whether a guarded import comes first that only devices of another maker are served by."""
    return any(package in PACKAGES_OF_OTHERS for package in _imported_packages(node.body[0]))


def _imported_packages(statement: ast.stmt) -> list[str]:
    """The packages that a statement imports from, but for its own."""
    names = [alias.name for alias in statement.names] if isinstance(statement, ast.Import) else []
    if isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
        names = [statement.module]
    return [name.partition(".")[0] for name in names]


def _may_be_missing(run: Evaluation, node: ast.Try, scope: Scope) -> str:
    """The package that a guarded import needs and that may not be installed; empty where there is none."""
    if not any(_matches(handler, "ImportError") for handler in node.handlers):
        return ""
    for statement in node.body:
        for package in _imported_packages(statement):
            if package in _PRESENT or package in sys.stdlib_module_names:
                continue
            if run.program.repository.module_for_import(scope.module, package) is None:
                return package
    return ""


def _either_installed(run: Evaluation, node: ast.Try, package: str, before: dict[str, Any], scope: Scope) -> None:
    """What names are worth with a package and without it: a flag is open, anything else is as with it."""
    condition = Symbol(f"{package} is installed", f"whether {package} is installed", line=node.lineno)
    handler = next(handler for handler in node.handlers if _matches(handler, "ImportError"))
    present = dict(scope.names)
    scope.names.clear()
    scope.names.update(before)
    try:
        run.block(handler.body, scope)
        absent = dict(scope.names)
    except Raised:
        absent = {}
    scope.names.clear()
    scope.names.update(present)
    for name, value in absent.items():
        current = present.get(name)
        if isinstance(value, (bool, int, str)) and isinstance(current, (bool, int, str)) and value != current:
            scope.names[name] = either(condition, current, value, node.lineno)
        elif name not in present:
            scope.names[name] = value


_PRESENT = frozenset({"torch", "triton", "numpy", "packaging", "typing_extensions"})


def exception_names(handler: ast.ExceptHandler) -> list[str]:
    """The last words of the classes that a handler catches; ``BaseException`` for a bare one."""
    if handler.type is None:
        return ["BaseException"]
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return [item.attr if isinstance(item, ast.Attribute) else item.id if isinstance(item, ast.Name) else "" for item in types]


def _catches_launch(handler: ast.ExceptHandler) -> bool:
    return any(name in _CATCHES_LAUNCH for name in exception_names(handler))


_BASES = {
    "KeyError": "LookupError",
    "IndexError": "LookupError",
    "ModuleNotFoundError": "ImportError",
    "ZeroDivisionError": "ArithmeticError",
    "OverflowError": "ArithmeticError",
    "NotImplementedError": "RuntimeError",
}


def _matches(handler: ast.ExceptHandler, name: str) -> bool:
    names = exception_names(handler)
    return name in names or "Exception" in names or "BaseException" in names or _BASES.get(name) in names


def _raise(run: Evaluation, node: ast.Raise, scope: Scope) -> None:
    subject = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    name = subject.attr if isinstance(subject, ast.Attribute) else subject.id if isinstance(subject, ast.Name) else "Exception"
    raise Raised(name)


def _assert(run: Evaluation, node: ast.Assert, scope: Scope) -> None:
    try:
        condition = run.expr(node.test, scope)
    except Raised:
        return
    known = truth_if_known(run, condition)
    if known is False:
        raise Raised("AssertionError")
    if known is None:
        run.path.assume(condition, True)


def _with(run: Evaluation, node: ast.With | ast.AsyncWith, scope: Scope) -> Signal | None:
    for item in node.items:
        value = run.expr(item.context_expr, scope)
        if item.optional_vars is not None:
            assign(run, item.optional_vars, value, scope)
    return run.block(node.body, scope)


def _function(run: Evaluation, node: ast.FunctionDef, scope: Scope) -> None:
    run.program.define(run, node, scope)


def _class(run: Evaluation, node: ast.ClassDef, scope: Scope) -> None:
    scope.names[node.name] = run.program.define_class(run, node, scope)


def _import(run: Evaluation, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
    run.program.bind_import(node, scope)


def _global(run: Evaluation, node: ast.Global, scope: Scope) -> None:
    scope.global_names.update(node.names)


def _delete(run: Evaluation, node: ast.Delete, scope: Scope) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            scope.names.pop(target.id, None)
        elif isinstance(target, ast.Subscript):
            container, index = run.definite(run.expr(target.value, scope)), run.definite(run.expr(target.slice, scope))
            if isinstance(container, dict) and not isinstance(index, (Symbol, dict, list)):
                container.pop(index, None)


def _match(run: Evaluation, node: ast.Match, scope: Scope) -> Signal | None:
    subject = run.expr(node.subject, scope)
    for case in node.cases:
        pattern = case.pattern
        if isinstance(pattern, ast.MatchAs) and pattern.pattern is None and case.guard is None:
            if pattern.name:
                scope.names[pattern.name] = subject
            return run.block(case.body, scope)
        options = pattern.patterns if isinstance(pattern, ast.MatchOr) else [pattern]
        if case.guard is not None or not all(isinstance(option, ast.MatchValue) for option in options):
            raise Abandoned("a match statement that is not evaluated")
        tests = [ast.copy_location(ast.Compare(node.subject, [ast.Eq()], [option.value]), node) for option in options
                 if isinstance(option, ast.MatchValue)]  # fmt: skip
        condition = run.expr(ast.copy_location(ast.BoolOp(ast.Or(), list(tests)), node) if len(tests) > 1 else tests[0], scope)
        if run.path.truth(condition):
            return run.block(case.body, scope)
    return None


_HANDLERS: dict[type[ast.stmt], Handler] = {
    ast.Expr: _expression, ast.Assign: _assign, ast.AnnAssign: _annotated, ast.AugAssign: _augmented, ast.Return: _return, ast.If: _if,
    ast.While: _while, ast.For: _for, ast.AsyncFor: _for, ast.Try: _try, ast.Raise: _raise, ast.Assert: _assert, ast.With: _with,
    ast.AsyncWith: _with, ast.FunctionDef: _function, ast.AsyncFunctionDef: _function, ast.ClassDef: _class, ast.Import: _import,
    ast.ImportFrom: _import, ast.Global: _global, ast.Delete: _delete, ast.Match: _match,
    ast.Break: lambda run, node, scope: BREAK, ast.Continue: lambda run, node, scope: CONTINUE,
}  # fmt: skip
