"""Where kernels are launched, and every path that leads there."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from smem_lint.host.autotune import Autotune, autotune_of
from smem_lint.host.binding import configs_of_launch
from smem_lint.host.byte_guards import marked
from smem_lint.host.config import Config, Missing
from smem_lint.host.evaluation import Evaluation, Launch
from smem_lint.host.exploration import explore
from smem_lint.host.limits import Abandoned, Limits, Raised, TooMuch, Undecided
from smem_lint.host.paths import Path
from smem_lint.host.profile import Profile
from smem_lint.host.program import Program
from smem_lint.host.values import UNKNOWN, Class, Function, Instance, Kernel, Lazy, Partial, Rest, Scope, Symbol
from smem_lint.source.bindings import FunctionEntry
from smem_lint.source.modules import Definition, SourceModule, dotted_name, jit_kind

_PATIENCE = 8
"""Paths after which a function is given up that leaves what matters to its callers."""


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """A call that launches, in a function of the host (None: at module level)."""

    module: SourceModule
    node: ast.Call
    function: FunctionEntry | None

    @property
    def name(self) -> str:
        return f"{self.module.file}:{self.node.lineno}"


@dataclass(slots=True)
class Found:
    """What the paths to one site gave. ``cut`` says why not all of them were followed; empty where they were."""

    configs: list[Config] = field(default_factory=list)
    kernels: set[str] = field(default_factory=set)
    unknown_kernel: str = ""
    cut: str = ""
    paths: int = 0
    steps: int = 0
    raised: str = ""
    refused: str = ""
    given_up: bool = False


class _Reached(Exception):
    """The launch that was looked for has been reached: the rest of the path does not matter."""


def launch_sites(module: SourceModule) -> list[Site]:
    """Every call in a module that looks like a launch: ``f[grid](…)``, ``kernel.run(…)``, ``kernel.warmup(…)``."""
    found: list[Site] = []
    for entry in module.functions:
        if entry.node.decorator_list and jit_kind(entry.node, module, module.repository):
            continue
        if any(
            isinstance(owner, (ast.FunctionDef, ast.AsyncFunctionDef)) and jit_kind(owner, module, module.repository)
            for owner in entry.owners
        ):
            continue
        for node in _own_calls(entry.node):
            if _is_launch(node):
                found.append(Site(module, node, entry))
    return sorted(found, key=lambda site: (site.node.lineno, site.node.col_offset))


def _own_calls(function: ast.AST) -> Iterator[ast.Call]:
    stack: list[ast.AST] = list(getattr(function, "body", []))
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if isinstance(node, ast.Call):
            yield node
        stack.extend(ast.iter_child_nodes(node))


def _is_launch(node: ast.Call) -> bool:
    if isinstance(node.func, ast.Subscript):
        base = dotted_name(node.func.value)
        return base is None or not base.startswith(("typing.", "torch.ops"))
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("run", "warmup"):
        return any(keyword.arg == "grid" for keyword in node.keywords)
    return False


def follow(program: Program, site: Site, profile: Profile, entry: FunctionEntry | None = None, module: SourceModule | None = None,
           through: Sequence[ast.AST] = (), given: Mapping[str, Any] | None = None, limits: Limits | None = None,
           domains: Mapping[str, tuple[int, ...]] | None = None, decorator: ast.AST | None = None,
           any_layout: bool = False, give_up: Callable[[Config], bool] | None = None) -> Found:  # fmt: skip
    """Every path from the start of a function (the site's own, or a caller) to the site, as configs.

    ``through`` are functions between the start and the site; ``given`` fixes arguments, and local names that would be unknown;
    ``domains`` are the values that sizes may have, by the texts of their symbols; ``decorator`` is the function of a decorator that
    the start is to be entered through. Tensors are contiguous, unless they may have ``any_layout``. Where the first paths led only to
    configs for which ``give_up`` holds, or to a kernel that is not known, no more are followed, and ``given_up`` is set.
    """
    limits = limits or program.limits
    found = Found()
    start = entry if entry is not None else site.function
    where = module if module is not None else site.module
    if start is None:
        return found
    repeats = _in_loop(start, site)
    chain = frozenset({start.node, *([site.function.node] if site.function is not None else []), *through})

    def run(path: Path) -> list[Config]:
        if found.steps > limits.site_steps:
            raise TooMuch(f"more than {limits.site_steps:,} steps on all paths")
        evaluation = Evaluation(program, path)
        path.domains.update(domains or {})
        if any_layout:
            path.notes["any layout"] = True
        configs: list[Config] = []
        program_launch = _Watch(evaluation, site, profile, configs, found, repeats)
        evaluation.watch = program_launch
        evaluation.chain = chain
        evaluation.given = given or {}
        try:
            function, receiver = _start_value(program, evaluation, where, start)
            if function is None:
                return configs
            arguments = list(_arguments(evaluation, function, receiver))
            context = _autograd_context(program, evaluation, where, start)
            if context is not None and arguments:
                arguments[0] = context
            if decorator is not None:
                made = _decorated(evaluation, function, decorator)
                evaluation.call(made, arguments, _named(evaluation, function, required=True), None, function.scope)
            else:
                evaluation.call_function(function, arguments, _named(evaluation, function))
        except _Reached:
            pass
        except Raised as raised:
            found.raised = found.raised or raised.name
        finally:
            found.steps += evaluation.steps
        return configs

    results: dict[Any, Config] = {}
    for path, result in _from_both_ends(limits, run, profile, found):
        found.paths += 1
        if isinstance(result, TooMuch):
            found.cut = found.cut or str(result)
            if found.steps > limits.site_steps:
                break
        elif isinstance(result, RecursionError):
            found.cut = found.cut or "nested too deeply"
        elif isinstance(result, list):
            before = len(results)
            for config in result:
                key = key_of(config)
                held = results.get(key)
                results[key] = config if held is None else _weaker(held, config)
            path.fruitless = len(results) == before
        if give_up is not None and found.paths == _PATIENCE and (results or found.unknown_kernel) and all(map(give_up, results.values())):
            found.given_up = True
            break
    found.configs = [replace(config, cut=found.cut) for config in results.values()] if found.cut else list(results.values())
    return found


def _from_both_ends(limits: Limits, run: Callable[[Path], list[Config]], profile: Profile, found: Found) -> Iterator[tuple[Path, Any]]:
    """Paths outward from the one where every optional argument is None and, if that did not see all, half as many from the other end,
    where all are given."""
    cut = False
    for path, result in explore(limits, run, profile, nothing_given=True):
        cut = cut or isinstance(result, TooMuch)
        yield path, result
    if cut and found.steps <= limits.site_steps:
        first, found.cut = found.cut, ""
        yield from explore(replace(limits, paths=limits.paths // 2), run, profile)
        found.cut = found.cut and first


class _Watch:
    """Takes each launch as it happens; ends the path at the site that is looked for."""

    def __init__(self, run: Evaluation, site: Site, profile: Profile, configs: list[Config], found: Found, repeats: bool) -> None:
        self.run, self.site, self.profile, self.configs, self.found, self.repeats = run, site, profile, configs, found, repeats

    def __call__(self, launch: Launch) -> None:
        if launch.node is not self.site.node:
            return
        kernel = launch.kernel
        if not isinstance(kernel, Kernel):
            self.found.unknown_kernel = kernel.text
        else:
            self.found.kernels.add(kernel.name)
            if kernel.kind == "jit":
                try:
                    made = configs_of_launch(self.run, launch, self.profile, autotune_for(self.run.program, kernel))
                except Abandoned as abandoned:
                    self.found.refused = str(abandoned)
                    raise
                self.configs.extend(marked(self.run, launch, made))
        if not launch.guarded and not self.repeats:
            raise _Reached
        if len(self.configs) > 512:
            raise _Reached


def autotune_for(program: Program, kernel: Kernel) -> Autotune | None:
    """The kernel's autotune list, worked out once."""
    key = (kernel.module.file, kernel.node.lineno, kernel.peeled, *((call.lineno, call.col_offset) for call, _ in kernel.applied))
    if key not in program.autotunes:
        program.autotunes[key] = autotune_of(program, kernel)
    found: Autotune | None = program.autotunes[key]
    return found


def _in_loop(entry: FunctionEntry, site: Site) -> bool:
    for node in ast.walk(entry.node):
        if isinstance(node, (ast.For, ast.While)) and any(inner is site.node for inner in ast.walk(node)):
            return True
    return False


def key_of(config: Config) -> Any:
    return (config.kernel_file, config.kernel, config.index, repr(sorted(config.constexprs.items())), repr(sorted(config.options.items())),
            repr(sorted(config.types.items())), repr(sorted(config.attrs.items())), config.unresolved, config.pruned,
            config.guard)  # fmt: skip


def _weaker(first: Config, second: Config) -> Config:
    """Two ways to one config: it is reached under what they have in common."""
    common = tuple(condition for condition in first.when if condition in second.when)
    return first if common == first.when else replace(first, when=common)


def _start_value(program: Program, run: Evaluation, module: SourceModule, entry: FunctionEntry) -> tuple[Function | None, Any]:
    """The function to start in, and the object it is a method of."""
    scope = program.module_scope(module)
    receiver: Any = None
    for owner in entry.owners:
        if isinstance(owner, ast.ClassDef):
            cls = program.class_value(run, module, owner, scope)
            receiver = Instance(cls, {}, symbolic=True)
            inner = Scope(module, scope)
            inner.owner = cls
            scope = inner
        else:
            scope = Scope(module, scope)
    value = program.function_value(run, entry.node, scope)
    if isinstance(value, Partial):
        if value.function == "staticmethod":
            receiver = None
        elif value.function == "classmethod" and receiver is not None:
            receiver = receiver.cls
        value = value.args[0]
    return (value if isinstance(value, Function) else None), receiver


def _decorated(run: Evaluation, function: Function, decorator: ast.AST) -> Any:
    """What a decorator makes of a function, by the decorator's own function; the function itself where none does."""
    for expression in reversed(function.node.decorator_list if not isinstance(function.node, ast.Lambda) else ()):
        made = run.expr(expression.func if isinstance(expression, ast.Call) else expression, function.scope)
        if isinstance(made, Function) and made.node is decorator:
            return run.call(run.expr(expression, function.scope), (function,), {}, None, function.scope)
    return function


def _arguments(run: Evaluation, function: Function, receiver: Any) -> Sequence[Any]:
    """Arguments for a function that is entered from nowhere: symbols of its parameters' names."""
    parameters = function.node.args
    positional = [*parameters.posonlyargs, *parameters.args]
    values: list[Any] = []
    for place, parameter in enumerate(positional):
        if place == 0 and receiver is not None:
            values.append(receiver)
            continue
        values.append(_argument(run, function, parameter.arg))
        _note_default(run, function, parameter.arg)
        if parameter.arg not in function.defaults and not _may_be_none(parameter.annotation):
            run.path.notes[f"required {parameter.arg}"] = True
    for parameter in (*positional, *parameters.kwonlyargs):
        if parameter.annotation is not None and ast.unparse(parameter.annotation) == "bool":
            run.path.notes[f"flag {parameter.arg}"] = True
    for parameter in parameters.kwonlyargs:
        _note_default(run, function, parameter.arg)
    if parameters.kwonlyargs:
        function.defaults = {name: value for name, value in function.defaults.items() if name not in {p.arg for p in parameters.kwonlyargs}}
    return values


def _may_be_none(annotation: ast.expr | None) -> bool:
    return annotation is not None and any(word in ast.unparse(annotation) for word in ("None", "Optional"))


def _autograd_context(program: Program, run: Evaluation, module: SourceModule, entry: FunctionEntry) -> Instance | None:
    """What ``forward`` of the same ``autograd.Function`` leaves in ``ctx`` for this ``backward``; None for any other function."""
    owner = entry.owners[-1] if entry.owners else None
    if entry.node.name != "backward" or not isinstance(owner, ast.ClassDef):
        return None
    forward = next((item for item in module.functions if item.node.name == "forward" and item.owners and item.owners[-1] is owner), None)
    if forward is None or not forward.node.args.args or forward.node.args.args[0].arg == "self":
        return None
    name = ast.copy_location(ast.ClassDef("ctx", [], [], [], []), owner)
    context = Instance(Class(module, name, {}), {}, symbolic=True)
    function, _ = _start_value(program, run, module, forward)
    if function is None:
        return None
    try:
        run.call_function(function, [context, *_arguments(run, function, None)[1:]], _named(run, function))
    except Raised:
        return context
    return context


def _argument(run: Evaluation, function: Function, name: str) -> Any:
    if name in run.given:
        value = run.given[name]
        return dict(value) if isinstance(value, dict) else value
    return Symbol(name, f"{name} is given by the caller", line=function.node.lineno)


def _named(run: Evaluation, function: Function, *, required: bool = False) -> dict[str, Any]:
    """Keyword-only arguments that are given (all of them where they are ``required``), and the rest, of which nothing is known."""
    named = {one.arg: _argument(run, function, one.arg) for one in function.node.args.kwonlyargs if required or one.arg in run.given}
    rest = function.node.args.vararg
    if rest is not None:
        named["*"] = Symbol(rest.arg, f"{rest.arg} is given by the caller", line=function.node.lineno)
    return named | ({"**": Rest()} if function.node.args.kwarg is not None else {})


def _note_default(run: Evaluation, function: Function, name: str) -> None:
    default = function.defaults.get(name, UNKNOWN)
    default = run.program.force(run, default) if isinstance(default, Lazy) else default
    if default is not UNKNOWN and not isinstance(default, Symbol):
        run.path.notes[f"default {name}"] = default


def kernel_of(program: Program, site: Site) -> Kernel | None:
    """The kernel that a launch names outright."""
    target = site.node.func.value if isinstance(site.node.func, (ast.Subscript, ast.Attribute)) else None
    dotted = dotted_name(target)
    meaning = program.repository.resolve(site.module, dotted) if dotted else None
    if isinstance(meaning, Definition) and isinstance(meaning.node, ast.FunctionDef):
        kind = jit_kind(meaning.node, meaning.module, program.repository)
        return Kernel(meaning.module, meaning.node, kind, Scope(meaning.module)) if kind else None
    if isinstance(meaning, Definition) and isinstance(meaning.binding.value, ast.Call) and dotted is not None:
        value = program.module_value(meaning.module, meaning.binding.name)
        return value if isinstance(value, Kernel) else None
    return None


def unreached(program: Program, site: Site, found: Found) -> Config:
    """The config of a site that no path led to, or whose kernel is not known: it says what is missing."""
    kernel = ast.unparse(site.node.func.value) if isinstance(site.node.func, (ast.Subscript, ast.Attribute)) else "?"
    reason = found.cut or (
        f"which kernel {found.unknown_kernel} is"
        if found.unknown_kernel
        else found.refused
        if found.refused
        else f"every path ends in {found.raised}"
        if found.raised
        else "no path to this launch was found"
    )
    named = kernel_of(program, site)
    missing = Missing(found.unknown_kernel or "launch", reason, site.node.lineno)
    return Config(
        site.module.file,
        site.node.lineno,
        site.node.col_offset + 1,
        named.name if named is not None else kernel[:80],
        named.module.file if named is not None else "",
        named.node.lineno if named is not None else 0,
        "launch",
        unresolved=(missing,),
        launch=site.name,
    )


__all__ = ["Abandoned", "Class", "Found", "Site", "Undecided", "follow", "launch_sites", "unreached"]
