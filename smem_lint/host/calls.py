"""Calls: functions and classes of the repository are entered; what lies outside is asked of ``outside`` and ``builtin``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from smem_lint.host import builtin, builtin_methods, dtypes, outside, platform, tensors
from smem_lint.host.attributes import attribute, tensor_like
from smem_lint.host.limits import Raised, TooMuch, Undecided
from smem_lint.host.operators import either
from smem_lint.host.subscripts import item
from smem_lint.host.values import (
    UNKNOWN,
    Bound,
    Builtin,
    Class,
    DType,
    EnumMember,
    Function,
    GridLaunch,
    Instance,
    Kernel,
    Native,
    Outside,
    Partial,
    Rest,
    Scope,
    Symbol,
    Tensor,
    describe,
)

if TYPE_CHECKING:
    from smem_lint.host.evaluation import Evaluation


def call(run: Evaluation, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    """The value of ``function(*args, **kwargs)``."""
    run.step()
    function = run.definite(function)
    if isinstance(function, Function):
        return call_function(run, function, args, kwargs)
    if isinstance(function, Bound):
        return _call_bound(run, function, args, kwargs, node, scope)
    if isinstance(function, Builtin):
        return builtin.call(run, function.name, list(args), dict(kwargs), node, scope)
    if isinstance(function, Outside):
        return outside.call(run, function.dotted, list(args), dict(kwargs), node, scope)
    if isinstance(function, Partial):
        return call(run, function.function, (*function.args, *args), {**function.kwargs, **kwargs}, node, scope)
    if isinstance(function, Native):
        return function.call(run, args, kwargs)
    if isinstance(function, Class):
        return instantiate(run, function, args, kwargs)
    if isinstance(function, GridLaunch) and node is not None:
        return run.program.launch(run, function, node, list(args), dict(kwargs), True, scope)
    if isinstance(function, Instance):
        method = function.cls.find("__call__")
        return call_function(run, method, (function, *args), kwargs) if isinstance(method, Function) else UNKNOWN
    if isinstance(function, Symbol):
        receiver, _, name = function.text.rpartition(".")
        known = platform.method(run.program.target, receiver, name, args)
        return known if known is not UNKNOWN else unknown_call(function.text, args, kwargs, node)
    return UNKNOWN


def unknown_call(name: str, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.Call | None) -> Symbol:
    """What a call of something unknown gives: a symbol that reads like the call."""
    shown = [describe(argument)[:24] for argument in args[:4]] + [
        f"{key}={describe(value)[:16]}" for key, value in list(kwargs.items())[:2]
    ]
    text = f"{name}({', '.join(shown)})"
    return Symbol(text, f"the result of {name}() is not known", line=node.lineno if node is not None else 0)


def _call_bound(run: Evaluation, bound: Bound, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    if isinstance(bound.method, (Function, Builtin)):
        if isinstance(bound.method, Builtin):
            return UNKNOWN
        return call_function(run, bound.method, (bound.receiver, *args), kwargs)
    name = str(bound.method)
    receiver = run.path.settle(bound.receiver)
    if isinstance(receiver, Symbol) and receiver.kind == "if":
        if tensor_like(receiver):
            condition, first, second = receiver.operands
            one, other = (_call_bound(run, Bound(part, name), args, kwargs, node, scope) for part in (first, second))
            merged = either(condition, one, other, node.lineno if node is not None else 0)
            if merged is not UNKNOWN:
                return merged
        receiver = run.path.concrete(receiver)
    if isinstance(receiver, Kernel):
        if name in ("run", "warmup") and node is not None:
            return run.program.launch(run, GridLaunch(receiver, None), node, list(args), dict(kwargs), True, scope, method=name)
        return unknown_call(f"{receiver.name}.{name}", args, kwargs, node)
    if isinstance(receiver, Symbol) and name == "bit_length":
        return builtin.pure(run, "bit_length", int.bit_length, [receiver], node)
    if isinstance(receiver, (Tensor, Symbol)):
        known = platform.method(run.program.target, describe(receiver), name, args)
        if known is not UNKNOWN:
            return known
        return tensors.tensor_method(run, receiver, name, list(args), dict(kwargs), node)
    if isinstance(receiver, DType):
        return dtypes.dtype_method(receiver, name)
    if isinstance(receiver, Instance) and name == "save_for_backward":
        receiver.attributes["saved_tensors"] = tuple(args)
        return None
    if isinstance(receiver, (Instance, EnumMember, Class)):
        known = platform.method(run.program.target, describe(receiver), name, args)
        return known if known is not UNKNOWN else unknown_call(f"{describe(receiver)}.{name}", args, kwargs, node)
    return builtin_methods.method(run, receiver, name, list(args), dict(kwargs), node, scope)


def call_function(run: Evaluation, function: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Enter a function of the repository; its result, or an unknown value where it cannot be followed."""
    name = function.name
    known = platform.function(run.program.target, name)
    if run.depth >= run.path.limits.depth or run.active.count(function.node) >= 8:
        return known if known is not UNKNOWN else unknown_call(name, args, kwargs, None)
    if (
        run.watch is not None
        and run.depth
        and not run.path.frozen
        and function.node not in run.chain
        and not isinstance(function.node, ast.Lambda)
    ):
        return _without_deciding(run, function, args, kwargs)
    return _enter(run, function, args, kwargs, known)


def _without_deciding(run: Evaluation, function: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Call a function that does not lead to the launch: where it would have to decide something, that is put off."""
    path = run.path
    path.frozen += 1
    try:
        return _enter(run, function, args, kwargs, platform.function(run.program.target, function.name))
    except Undecided as undecided:
        reason = undecided.reason
    finally:
        path.frozen -= 1
    number = path.notes["calls put off"] = path.notes.get("calls put off", 0) + 1
    text = f"{function.name}(…)#{number}"
    if _gives_tensor(function.node):
        path.put_off[text] = _PutOff(run, text, lambda: _enter(run, function, args, kwargs, UNKNOWN)).aspect
        return Symbol(text, f"the tensor that {function.name}() gives")
    known = platform.function(run.program.target, function.name)
    return Symbol(text, reason, operation=lambda: _enter(run, function, args, kwargs, known), kind="later")


@dataclass(slots=True)
class _PutOff:
    """A tensor that a call gives, which is made only when a size, stride or type of it is needed."""

    run: Evaluation
    text: str
    make: Callable[[], Any]
    made: Any = None
    state: str = ""

    def aspect(self, name: str, index: int | None) -> Any:
        """``tensor.name``, ``tensor.name[index]`` or ``tensor.name(index)``; ``UNKNOWN`` where that cannot be told."""
        if self.state == "making":
            return UNKNOWN
        if not self.state:
            self.state = "making"
            try:
                self.made = self.make()
            except Raised:
                self.made = UNKNOWN
            self.state = "made"
        if not isinstance(self.made, (Tensor, Symbol)) or (isinstance(self.made, Symbol) and self.made.text == self.text):
            return UNKNOWN
        if index is None:
            return attribute(self.run, self.made, name, 0)
        if name == "shape":
            shape = attribute(self.run, self.made, name, 0)
            try:
                return item(self.run, shape, index, 0)
            except Raised:
                return UNKNOWN
        return tensors.tensor_method(self.run, self.made, name, [index], {}, None)


def _gives_tensor(node: ast.AST) -> bool:
    returns = getattr(node, "returns", None)
    return returns is not None and ast.unparse(returns) in ("torch.Tensor", "Tensor", "torch.LongTensor", "torch.IntTensor", "LongTensor")


def _enter(run: Evaluation, function: Function, args: Sequence[Any], kwargs: Mapping[str, Any], known: Any) -> Any:
    name = function.name
    if run.depth >= run.path.limits.depth or run.active.count(function.node) >= 8:
        return known if known is not UNKNOWN else unknown_call(name, args, kwargs, None)
    scope = Scope(function.module, function.scope)
    scope.owner = function.owner
    bind_arguments(run, function, args, kwargs, scope)
    node = function.node
    if isinstance(node, ast.Lambda):
        expression = node.body
        return _nested(run, function, lambda: run.expr(expression, scope))
    body = node.body
    generator = run.program.is_generator(node)
    if generator:
        run.yields.append([])
    launches = len(run.launches)
    try:
        signal = _nested(run, function, lambda: run.block(body, scope))
    except Raised:
        if known is not UNKNOWN and len(run.launches) == launches:
            return known
        raise
    finally:
        produced = run.yields.pop() if generator else None
    if generator:
        return produced
    result = signal[1] if signal is not None and signal[0] == "return" else None
    if known is not UNKNOWN and (isinstance(result, Symbol) or result is UNKNOWN):
        return known
    return result


def _nested(run: Evaluation, function: Function, body: Any) -> Any:
    run.depth += 1
    run.active.append(function.node)
    try:
        return body()
    finally:
        run.depth -= 1
        run.active.pop()


def bind_arguments(run: Evaluation, function: Function, args: Sequence[Any], kwargs: Mapping[str, Any], scope: Scope) -> None:
    """Bind parameters as a call does; raises ``Raised`` where Python would raise TypeError."""
    parameters = function.node.args
    names = [parameter.arg for parameter in (*parameters.posonlyargs, *parameters.args)]
    given = dict(kwargs)
    rest_given = given.pop("**", None)
    unknown_rest = rest_given is UNKNOWN
    bound: dict[str, Any] = {}
    for name, value in zip(names, args, strict=False):
        bound[name] = value
    rest = list(args[len(names) :])
    open_rest = given.pop("*", None)
    if rest and parameters.vararg is None:
        raise Raised("TypeError")
    if parameters.vararg is not None:
        bound[parameters.vararg.arg] = tuple(rest) if rest or open_rest is None else open_rest
    extra: dict[str, Any] = rest_given if isinstance(rest_given, Rest) else {}
    accepted = {*names, *(parameter.arg for parameter in parameters.kwonlyargs)}
    for name, value in given.items():
        if name in accepted:
            bound[name] = value
        elif parameters.kwarg is not None:
            extra[name] = value
        else:
            raise Raised("TypeError")
    if parameters.kwarg is not None:
        bound[parameters.kwarg.arg] = (
            extra if not unknown_rest else Symbol(f"**{parameters.kwarg.arg}", "keyword arguments that are not known")
        )
    for name in accepted:
        if name not in bound:
            default = function.defaults.get(name, UNKNOWN)
            if unknown_rest or default is UNKNOWN:
                bound[name] = Symbol(name, f"the argument {name} is not known")
            else:
                bound[name] = run.program.force(run, default)
    scope.names.update(bound)


def instantiate(run: Evaluation, cls: Class, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """An instance of a class of the repository, its ``__init__`` or dataclass fields evaluated."""
    if cls.is_enum:
        return next((m for m in cls.attributes.values() if isinstance(m, EnumMember) and args and m.value == args[0]), UNKNOWN)
    instance = Instance(cls, {})
    if len(run.active) > run.path.limits.depth:
        raise TooMuch("too deep")
    init = cls.find("__init__")
    if isinstance(init, Function):
        call_function(run, init, (instance, *args), kwargs)
        return instance
    fields = _fields(cls)
    if fields is None:
        return instance
    for name, value in zip(fields, args, strict=False):
        instance.attributes[name] = value
    instance.attributes.update({name: value for name, value in kwargs.items() if name in fields})
    for name in fields:
        if name not in instance.attributes:
            default = cls.find(name)
            default = run.program.force(run, default)
            if isinstance(default, Partial) and default.function == "field":
                factory = default.kwargs.get("default_factory")
                default = (
                    call(run, factory, (), {}, None, Scope(cls.module)) if factory is not None else default.kwargs.get("default", UNKNOWN)
                )
            instance.attributes[name] = default if default is not UNKNOWN else Symbol(f"{cls.name}.{name}", "a field that was not given")
    after = cls.find("__post_init__")
    if isinstance(after, Function):
        call_function(run, after, (instance,), {})
    return instance


def _fields(cls: Class) -> tuple[str, ...] | None:
    inherited: list[str] = []
    for base in cls.bases:
        if isinstance(base, Class):
            inherited.extend(_fields(base) or ())
    if cls.fields is None:
        return tuple(inherited) if inherited else None
    return tuple(dict.fromkeys([*inherited, *cls.fields]))
