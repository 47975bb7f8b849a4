"""A repository as a program: what its modules' names are worth on a target, worked out when they are asked for."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

from smem_lint.host import builtin, outside, platform, tensors
from smem_lint.host.callers import Callers
from smem_lint.host.evaluation import Evaluation, Launch
from smem_lint.host.limits import Abandoned, Limits, Raised, TooMuch, Undecided
from smem_lint.host.paths import Path, Strict
from smem_lint.host.values import (
    UNKNOWN,
    Builtin,
    Class,
    EnumMember,
    Function,
    GridLaunch,
    Instance,
    Kernel,
    Lazy,
    Outside,
    Partial,
    Scope,
    Symbol,
)
from smem_lint.source.bindings import statements
from smem_lint.source.modules import External, Repository, SourceModule, dotted_name, jit_kind

_MUTATORS = frozenset(["append", "extend", "update", "add", "insert", "sort", "pop", "remove", "setdefault", "clear", "discard", "reverse"])
_ENUMS = frozenset({"enum.Enum", "enum.IntEnum", "enum.StrEnum", "enum.Flag", "enum.IntFlag"})
_PLAIN_BASES = (Builtin("object"), *map(Outside, ("abc.ABC", "typing.Generic", "typing.Protocol", "object")))
_RECORDS = frozenset({"dataclasses.dataclass", "dataclass", "attrs.define", "attr.s", "pydantic.dataclasses.dataclass"})


class Program:
    """The modules of a repository, evaluated for a target. Values of module-level names are kept; nothing is executed."""

    METHOD_NAMES = tensors.METHOD_NAMES

    def __init__(self, repository: Repository, capability: int, limits: Limits | None = None) -> None:
        self.repository = repository
        self.target = platform.target(capability)
        self.limits = limits or Limits()
        self.no_module: Any = None
        self._scopes: dict[str, Scope] = {}
        self._states: dict[str, str] = {}
        self._mutated: dict[str, frozenset[str]] = {}
        self._generators: dict[int, tuple[ast.AST, bool]] = {}
        self._pending: set[tuple[str, str]] = set()
        self._classes: dict[tuple[str, int], Class] = {}
        self._answers: dict[tuple[str, str], Any] = {}
        self._globals: dict[str, Any] = {}
        self.callers = Callers(repository)
        self.autotunes: dict[tuple[Any, ...], Any] = {}

    def forget(self) -> None:
        """Let go of everything that was worked out: values and scopes refer to each other, and would wait for the collector."""
        for scope in self._scopes.values():
            scope.names.clear()
        tables: tuple[dict[Any, Any], ...] = (self._scopes, self._states, self._mutated, self._generators, self._classes, self._answers)
        for table in (*tables, self._globals, self.autotunes):
            table.clear()
        self.callers = Callers(self.repository)

    def strict(self) -> Evaluation:
        """A run in which nothing unknown is decided."""
        return Evaluation(self, Strict(self.limits))

    # names

    def lookup(self, run: Evaluation, scope: Scope, name: str, line: int) -> Any:
        """The value of a name in a scope: local, enclosing, module-level, built in; a symbol where it is not known."""
        inner: Scope | None = scope
        while inner is not None:
            if inner.parent is None and inner.module is not None:
                return self.global_value(run, inner.module, name, line)
            if name in inner.global_names:
                return self.global_value(run, inner.module, name, line)
            if name in inner.names:
                value = inner.names[name]
                return self.force(run, value) if isinstance(value, Lazy) else value
            inner = inner.parent
        return self._builtin(name, line)

    def _builtin(self, name: str, line: int) -> Any:
        return Builtin(name) if name in builtin.NAMES else Symbol(name, f"{name} is not known", line=line)

    def global_value(self, run: Evaluation, module: SourceModule, name: str, line: int = 0) -> Any:
        """A module-level name's value, as this run sees it."""
        key = f"global {module.file} {name}"
        if key in run.path.notes:
            return run.path.notes[key]
        value = self._globals[key] if key in self._globals else self.module_value(module, name)
        if value is UNKNOWN:
            return self._builtin(name, line)
        if not isinstance(run.path, Strict) and isinstance(value, (list, dict, set)):
            value = value.copy()
            run.path.notes[key] = value
        return value

    def module_value(self, module: SourceModule, name: str) -> Any:
        """A module-level name's value; ``UNKNOWN`` where the module does not bind it."""
        scope = self._scope(module)
        if name not in scope.names:
            bindings = module.bindings.get(name)
            if not bindings:
                return self._from_stars(module, name)
            if not self._is_plain(module, name):
                self._run_module(module, scope)
            if name not in scope.names and self._is_plain(module, name):
                self._bind_lazily(module, scope, name)
        if name not in scope.names:
            return Symbol(name, f"{name} could not be evaluated", line=module.bindings[name][0].node.lineno)
        value = scope.names[name]
        if isinstance(value, Lazy):
            value = self._force(value)
            scope.names[name] = value
        if isinstance(value, Symbol):
            known = platform.function(self.target, name.lower())
            if isinstance(known, bool):
                value = scope.names[name] = known
        return value

    def module_scope(self, module: SourceModule) -> Scope:
        """The scope of a module; its names are worked out when they are looked up."""
        return self._scope(module)

    def class_value(self, run: Evaluation, module: SourceModule, node: ast.ClassDef, scope: Scope) -> Class:
        """A class by its syntax tree, kept."""
        key = (module.file, node.lineno)
        if key not in self._classes:
            self._classes[key] = self.define_class(self.strict(), node, scope)
        return self._classes[key]

    def _scope(self, module: SourceModule) -> Scope:
        scope = self._scopes.get(module.file)
        if scope is None:
            scope = Scope(module)
            scope.names["__name__"] = module.dotted
            scope.names["__file__"] = module.file
            self._scopes[module.file] = scope
        return scope

    def _is_plain(self, module: SourceModule, name: str) -> bool:
        """Whether a name is bound once, at the top of its module, to something that depends on no order of statements."""
        bindings = module.bindings[name]
        if len(bindings) != 1 or bindings[0].guards or name in self._mutations(module):
            return False
        binding = bindings[0]
        if binding.kind != "assign":
            return True
        if binding.index or binding.value is None or not isinstance(binding.node, (ast.Assign, ast.AnnAssign)):
            return False
        for node in ast.walk(binding.value):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in module.bindings:
                others = module.bindings[node.id]
                if node.id in self._mutations(module) or (len(others) > 1 and any(other.kind == "assign" for other in others)):
                    return False
        return True

    def _mutations(self, module: SourceModule) -> frozenset[str]:
        found = self._mutated.get(module.file)
        if found is None:
            names: set[str] = set()
            for statement, _ in statements(module.tree.body):
                target: ast.expr | None = None
                if (
                    isinstance(statement, ast.Expr)
                    and isinstance(statement.value, ast.Call)
                    and isinstance(statement.value.func, ast.Attribute)
                ):
                    if statement.value.func.attr in _MUTATORS:
                        target = statement.value.func.value
                elif isinstance(statement, ast.Assign) and not isinstance(statement.targets[0], ast.Name):
                    target = statement.targets[0]
                elif isinstance(statement, ast.AugAssign):
                    target = statement.target
                while isinstance(target, (ast.Attribute, ast.Subscript)):
                    target = target.value
                if isinstance(target, ast.Name):
                    names.add(target.id)
            found = self._mutated[module.file] = frozenset(names)
        return found

    def _bind_lazily(self, module: SourceModule, scope: Scope, name: str) -> None:
        binding = module.bindings[name][0]
        if binding.kind == "import":
            assert isinstance(binding.node, (ast.Import, ast.ImportFrom))
            self.bind_import(binding.node, scope)
        elif binding.kind == "assign" and binding.value is not None:
            scope.names[name] = Lazy(module, name, binding.value, "value")
        else:
            scope.names[name] = Lazy(module, name, binding.node, binding.kind)

    def _from_stars(self, module: SourceModule, name: str) -> Any:
        for star in module.bindings.get("*", ()):
            assert isinstance(star.node, ast.ImportFrom)
            source = self.repository.module_for_import(module, star.node.module, star.node.level)
            key = (module.file, name)
            if source is not None and source is not module and key not in self._pending:
                self._pending.add(key)
                try:
                    value = self.module_value(source, name)
                finally:
                    self._pending.discard(key)
                if value is not UNKNOWN:
                    return value
        return UNKNOWN

    def _run_module(self, module: SourceModule, scope: Scope) -> None:
        """Run a module's statements in order, once; a statement that fails leaves its names unknown."""
        if module.file in self._states:
            return
        self._states[module.file] = "running"
        run = self.strict()
        for statement in module.tree.body:
            run.steps = 0
            try:
                run.block((statement,), scope)
                self._keep_globals(run)
            except (Undecided, TooMuch, Raised, Abandoned, RecursionError) as failure:
                self._keep_globals(run, failure)
                self._leave_unknown(module, scope, statement, failure)
        self._states[module.file] = "done"

    def _keep_globals(self, run: Evaluation, failure: Exception | None = None) -> None:
        """Keep what functions that ran as a module was loaded have bound ``global``; where that failed it is not known."""
        reason = (str(failure) or type(failure).__name__) if failure is not None else ""
        for key in [key for key in run.path.notes if key.startswith("global ")]:
            value = run.path.notes.pop(key)
            self._globals[key] = value if failure is None else Symbol(key.rpartition(" ")[2], reason)

    def _leave_unknown(self, module: SourceModule, scope: Scope, statement: ast.stmt, failure: Exception) -> None:
        reason = str(failure) or type(failure).__name__
        kept: set[str] = set()
        for inner, guards in statements((statement,)):
            if isinstance(inner, (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)):
                if not any(guard.kind == "except" or not guard.taken for guard in guards):
                    before = dict(scope.names)
                    self.strict().block((inner,), scope)
                    kept.update(name for name, value in scope.names.items() if before.get(name) is not value)
                continue
            fallback = any(guard.kind == "except" or not guard.taken for guard in guards)
            for node in ast.walk(inner) if not isinstance(inner, (ast.If, ast.Try, ast.With, ast.For, ast.While)) else ():
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    if fallback and node.id in kept:
                        continue
                    scope.names[node.id] = Symbol(node.id, reason, line=inner.lineno)
                elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MUTATORS:
                    owner = node.func.value
                    if isinstance(owner, ast.Name) and owner.id in scope.names:
                        scope.names[owner.id] = Symbol(owner.id, reason, line=inner.lineno)
        if isinstance(statement, ast.For):
            for node in ast.walk(statement.target):
                if isinstance(node, ast.Name):
                    scope.names[node.id] = Symbol(node.id, reason, line=statement.lineno)

    def force(self, run: Evaluation, value: Any) -> Any:
        """A lazy value, worked out."""
        return self._force(value) if isinstance(value, Lazy) else value

    def _force(self, lazy: Lazy) -> Any:
        key = (lazy.module.file, f"{lazy.name}@{lazy.node.lineno}")
        if key in self._pending:
            return Symbol(lazy.name, f"{lazy.name} depends on itself", line=lazy.node.lineno)
        self._pending.add(key)
        run = self.strict()
        scope = self._scope(lazy.module)
        try:
            if lazy.kind == "from":
                assert isinstance(lazy.node, ast.ImportFrom)
                return self._imported(lazy)
            if isinstance(lazy.node, ast.expr):
                value = run.expr(lazy.node, scope)
                self._keep_globals(run)
                return value
            if isinstance(lazy.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                return self.function_value(run, lazy.node, scope)
            if isinstance(lazy.node, ast.ClassDef):
                return self.define_class(run, lazy.node, scope)
        except (Undecided, TooMuch, Raised, Abandoned, RecursionError) as failure:
            self._keep_globals(run, failure)
            return Symbol(lazy.name, str(failure) or type(failure).__name__, line=lazy.node.lineno)
        finally:
            self._pending.discard(key)
        return UNKNOWN

    def _imported(self, lazy: Lazy) -> Any:
        node = lazy.node
        assert isinstance(node, ast.ImportFrom)
        original = lazy.kind and next(alias.name for alias in node.names if (alias.asname or alias.name) == lazy.name)
        source = self.repository.module_for_import(lazy.module, node.module, node.level)
        if source is None:
            dotted = External.of(f"{node.module}.{original}" if node.module else original).dotted
            return outside.constant(self.target, self.canonical(dotted))
        if source is lazy.module:
            folder = source.path.parent
            path = self.repository._locate(folder, original)
            return (self.repository.module_at(path) if path else None) or Symbol(original, f"{original} is not found")
        return self.module_attribute(self.strict(), source, original)

    def module_attribute(self, run: Evaluation, module: SourceModule, name: str) -> Any:
        """``module.name``: a binding, a submodule, or a symbol."""
        if name in module.bindings or "*" in module.bindings:
            value = self.global_value(run, module, name) if name in module.bindings else self._from_stars(module, name)
            if value is not UNKNOWN and not (isinstance(value, Symbol) and "__getattr__" in module.bindings):
                return value
        if "__getattr__" in module.bindings and not name.startswith("__"):
            value = self._by_getattr(module, name)
            if value is not UNKNOWN:
                return value
        found = self.repository._attribute(module, name, 0)
        if found and isinstance(found[0], SourceModule):
            return found[0]
        if name in ("__file__", "__name__"):
            return self._scope(module).names[name]
        if name == "__path__" and module.is_package:
            return [module.file if module.path.is_dir() else posixpath.dirname(module.file)]
        return Symbol(name, f"{name} is not bound in {module.file}")

    def _by_getattr(self, module: SourceModule, name: str) -> Any:
        """What a module's own ``__getattr__`` answers; failing that, the default that is declared for type checkers."""
        key = (module.file, f"__getattr__ {name}")
        if key in self._pending:
            return UNKNOWN
        if key not in self._answers:
            self._pending.add(key)
            function = self.module_value(module, "__getattr__")
            value: Any = UNKNOWN
            try:
                if isinstance(function, Function):
                    value = self.strict().call_function(function, (name,), {})
            except (Undecided, TooMuch, Raised, Abandoned, RecursionError):
                value = UNKNOWN
            finally:
                self._pending.discard(key)
            if isinstance(value, Symbol) or value is UNKNOWN:
                declared = [b.value for b in module.bindings.get(name, ()) if isinstance(b.node, ast.AnnAssign)]
                value = declared[0].value if declared and isinstance(declared[0], ast.Constant) else UNKNOWN
            self._answers[key] = value
        return self._answers[key]

    @staticmethod
    def canonical(dotted: str) -> str:
        """One spelling for what has several: ``os.environ``, ``triton.language``."""
        for alias, name in (("np.", "numpy."), ("tl.", "triton.language."), ("importlib_metadata.", "importlib.metadata.")):
            if dotted.startswith(alias):
                return name + dotted[len(alias) :]
        return dotted

    def outside_item(self, value: Outside, index: Any) -> Any:
        """``module.table[index]`` of something outside; an environment variable is not set."""
        if value.dotted == "os.environ":
            raise Raised("KeyError")
        return Symbol(f"{value.dotted}[{index!r}]"[:80], f"{value.dotted} is not known")

    # binding

    def bind(self, scope: Scope, name: str, value: Any) -> None:
        """Bind a local name."""
        scope.names[name] = value

    def bind_global(self, path: Path, module: SourceModule, name: str, value: Any) -> None:
        """Bind a name that a function declares ``global``, for the rest of this path."""
        if path.conditional:
            value = Symbol(name, f"{name} is assigned under a condition")
        path.notes[f"global {module.file} {name}"] = value

    def alias(self, path: Path, symbol: Symbol, name: str) -> None:
        """Remember under which local name a base symbol goes: a profile knows sizes by such names."""
        if symbol.is_base:
            path.notes.setdefault(f"names of {symbol.text}", []).append(name)

    def set_attribute(self, run: Evaluation, value: Any, name: str, new: Any) -> None:
        """``value.name = new`` for an instance; anything else is let be."""
        value = run.definite(value)
        if isinstance(value, Instance):
            value.attributes[name] = new
        elif isinstance(value, Class) and not isinstance(run.path, Strict):
            run.path.notes[f"class {value.name}.{name}"] = new
        elif type(value).__name__ == "TunedConfig" and name in ("num_warps", "num_stages", "num_ctas", "maxnreg", "kwargs", "pre_hook"):
            setattr(value, name, new)

    def normal_index(self, path: Path, label: str, index: Any) -> Any:
        """A negative index of something whose rank is known, counted from the front."""
        if isinstance(index, int) and index < 0:
            rank = self.rank(path, label)
            if rank is not None:
                return index + rank
        return index

    @staticmethod
    def rank(path: Path, label: str) -> int | None:
        """How many dimensions a tensor has, where the code has said so: by unpacking its shape, or testing ``ndim``."""
        owner = label.removesuffix(".shape").removesuffix(".size()").removesuffix(".stride()")
        rank = path.notes.get(f"rank {owner}", path.values.get(f"{owner}.ndim"))
        return rank if isinstance(rank, int) else None

    def bind_import(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        """Bind what an import names, without looking into it yet."""
        module = scope.module
        if isinstance(node, ast.Import):
            for alias in node.names:
                dotted = alias.name if alias.asname else alias.name.partition(".")[0]
                found = self.repository.module_for_import(module, dotted)
                scope.names[alias.asname or dotted] = found if found is not None else Outside(External.of(dotted).dotted)
            return
        for alias in node.names:
            if alias.name != "*":
                name = alias.asname or alias.name
                scope.names[name] = Lazy(module, name, node, "from")

    # definitions

    def define(self, run: Evaluation, node: ast.FunctionDef, scope: Scope) -> None:
        """``def``: bind a function, a kernel, or what its decorators make of it."""
        if any((dotted_name(d) or "").endswith("overload") for d in node.decorator_list):
            return
        if scope.parent is None:
            scope.names[node.name] = Lazy(scope.module, node.name, node, "function")
        else:
            scope.names[node.name] = self.function_value(run, node, scope)

    def function_value(self, run: Evaluation, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> Any:
        """The value that a ``def`` binds. Decorators that are not known are taken to change nothing."""
        module = scope.module
        if node.decorator_list and isinstance(node, ast.FunctionDef):
            kind = jit_kind(node, module, self.repository)
            if kind:
                return Kernel(module, node, kind, scope)
        function = Function(module, node, scope, self.defaults(run, node.args, scope))
        function.owner = scope.owner
        for decorator in reversed(node.decorator_list):
            last = (dotted_name(decorator) or "").rpartition(".")[2]
            if last in ("property", "staticmethod", "classmethod", "cached_property"):
                return Partial("property" if last == "cached_property" else last, (function,), {})
        return function

    def defaults(self, run: Evaluation, arguments: ast.arguments, scope: Scope) -> Mapping[str, Any]:
        """Default values by parameter; those of module-level functions are worked out when they are needed."""
        positional = [*arguments.posonlyargs, *arguments.args]
        pairs = list(zip(reversed(positional), reversed(arguments.defaults), strict=False))
        pairs += [
            (parameter, value) for parameter, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value is not None
        ]
        table: dict[str, Any] = {}
        for parameter, value in pairs:
            if isinstance(value, ast.Constant):
                table[parameter.arg] = value.value
            elif scope.parent is None:
                table[parameter.arg] = Lazy(scope.module, parameter.arg, value, "value")
            else:
                table[parameter.arg] = run.expr(value, scope)
        return table

    def define_class(self, run: Evaluation, node: ast.ClassDef, scope: Scope) -> Class:
        """``class``: its attributes, and whether it is an enum or a record."""
        bases: list[Any] = []
        for base in (one.value if isinstance(one, ast.Subscript) else one for one in node.bases):
            value = run.expr(base, scope) if isinstance(base, (ast.Name, ast.Attribute)) else UNKNOWN
            if not (isinstance(value, (Outside, Builtin)) and value in _PLAIN_BASES):
                bases.append(value)
        is_enum = any((isinstance(base, Outside) and base.dotted in _ENUMS) or (isinstance(base, Class) and base.is_enum) for base in bases)
        cls = Class(scope.module, node, {}, tuple(bases), is_enum)
        inner = Scope(scope.module, scope)
        inner.owner = cls
        inner.names = cls.attributes
        record = any(self._decorates(run, decorator, scope, _RECORDS) for decorator in node.decorator_list)
        record = record or any(isinstance(base, Outside) and base.dotted in ("typing.NamedTuple", "pydantic.BaseModel") for base in bases)
        names: list[str] = []
        for statement in node.body:
            try:
                run.block((statement,), inner)
            except (Undecided, Raised):
                continue
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                names.append(statement.target.id)
        for name in list(cls.attributes):
            value = cls.attributes[name]
            if is_enum and not name.startswith("_") and not isinstance(value, (Function, Partial, Kernel)):
                cls.attributes[name] = EnumMember(cls, name, value)
        cls.fields = tuple(names) if record else None
        return cls

    def _decorates(self, run: Evaluation, decorator: ast.expr, scope: Scope, wanted: frozenset[str]) -> bool:
        meaning = self.repository.resolve_expression(scope.module, decorator.func if isinstance(decorator, ast.Call) else decorator)
        return isinstance(meaning, External) and meaning.dotted in wanted

    def is_generator(self, node: ast.AST) -> bool:
        """Whether a function yields."""
        cached = self._generators.get(id(node))
        if cached is None or cached[0] is not node:
            cached = (node, _yields(node))
            self._generators[id(node)] = cached
        return cached[1]

    # launches

    def launch(
        self, run: Evaluation, launched: GridLaunch, node: ast.Call, args: Sequence[Any], kwargs: dict[str, Any], complete: bool,
        scope: Scope, method: str = "[]",
    ) -> Any:  # fmt: skip
        """A kernel launch: it is noted, and gives nothing back that host code could depend on."""
        kernel = launched.kernel
        if isinstance(kernel, Function):
            kernel = Symbol(kernel.name, f"{kernel.name} is not a kernel that is recognised")
        if kwargs.pop("**", None) is UNKNOWN:
            complete = False
        launch = Launch(kernel, scope.module, node, tuple(args), dict(kwargs), complete, run.guards > 0, (), method)
        run.launches.append(launch)
        if run.watch is not None:
            run.watch(launch)
        return Symbol(f"{getattr(kernel, 'name', kernel)}[…]", "a launched kernel", line=node.lineno)

    def configs_of(self, run: Evaluation, kernel: Kernel) -> Any:
        """``kernel.configs``: the list of its autotune decorator."""
        from smem_lint.host.autotune import autotune_of

        found = autotune_of(self, kernel)
        return (
            list(found.configs)
            if found is not None and found.configs is not None
            else Symbol(f"{kernel.name}.configs", "the list of configs")
        )


def _yields(node: ast.AST) -> bool:
    body = getattr(node, "body", [])
    stack: list[ast.AST] = list(body) if isinstance(body, list) else []
    while stack:
        item = stack.pop()
        if isinstance(item, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            stack.extend(ast.iter_child_nodes(item))
    return False
