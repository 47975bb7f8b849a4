"""What a name means that a function does not define itself: module constants, other functions, ``tl``, Python's builtins.

Triton lets a kernel read globals that are modules, jit functions, types, builtins or ``tl.constexpr`` objects only
(``_define_name_lookup`` in ``triton/compiler/code_generator.py``, 3.8.0).
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from smem_lint.host import values as host
from smem_lint.source.modules import External, SourceModule, dotted_name, external_jit_kind, jit_kind
from smem_lint.tile import dtypes, language
from smem_lint.tile.frontend.python_names import PYTHON_NAMES
from smem_lint.tile.unsupported import KernelError, Unsupported
from smem_lint.tile.values import FunctionRef, Namespace

if TYPE_CHECKING:
    from smem_lint.tile.frontend.session import Session

_MISSING = object()
_TRITON_MODULES = frozenset({
    "triton.language", "triton.runtime", "triton.testing", "triton.tools", "triton.language.core", "triton.language.extra",
    "triton.language.extra.cuda", "triton.language.extra.cuda.libdevice", "triton.language.extra.libdevice", "triton.language.math",
    "triton.language.random", "triton.language.semantic", "triton.language.standard", "triton.language.target_info",
})  # fmt: skip
"""Modules of Triton through which a kernel reaches something."""


class Scope:
    """The names that are in sight of ``function`` (None: of the module's own statements) beside its variables."""

    __slots__ = ("_found", "_owners", "function", "module", "session")

    def __init__(self, session: Session, module: SourceModule, function: ast.FunctionDef | None) -> None:
        self.session, self.module, self.function = session, module, function
        self._found: dict[tuple[str, bool], Any] = {}
        self._owners: tuple[ast.stmt, ...] = ()
        if function is not None:
            for entry in module.function_entries(function.name):
                if entry.node is function:
                    self._owners = entry.owners

    def lookup(self, name: str, any_global: bool = False) -> Any:
        """The value of ``name``; raises KernelError where there is none, Unsupported where it is not known.

        ``any_global``: default values of parameters and compile-time functions may read globals that a kernel may not.
        """
        value = self._found.get((name, any_global), _MISSING)
        if value is _MISSING:
            value = self._found[name, any_global] = self._find(name, any_global)
        if isinstance(value, Exception):
            raise type(value)(*value.args)
        return value

    def _find(self, name: str, any_global: bool) -> Any:
        try:
            enclosing = self._enclosing(name)
            if enclosing is not _MISSING:
                return enclosing
            return self.resolve(name, any_global)
        except (KernelError, Unsupported) as error:
            return error

    def _enclosing(self, name: str) -> Any:
        """What another function around this one defines or imports: functions, modules, names of modules."""
        for owner in reversed(self._owners):
            if not isinstance(owner, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            for node in ast.walk(owner):
                if isinstance(node, ast.FunctionDef) and node.name == name and node is not owner:
                    return self._function(node, self.module)
                if isinstance(node, ast.Import | ast.ImportFrom):
                    for alias in node.names:
                        if name == (alias.asname or alias.name.partition(".")[0]):
                            return self._imported(node, alias)
        return _MISSING

    def _imported(self, node: ast.Import | ast.ImportFrom, alias: ast.alias) -> Any:
        """What an import statement of an enclosing function binds."""
        repository = self.session.repository
        if isinstance(node, ast.Import):
            dotted = alias.name if alias.asname else alias.name.partition(".")[0]
            module = repository.module_for_import(self.module, dotted)
            return external(dotted) if module is None else Namespace(dotted, module)
        module = repository.module_for_import(self.module, node.module, node.level)
        if module is not None:
            return self.session.scope(module).lookup(alias.name)
        return external(f"{node.module}.{alias.name}")

    def resolve(self, name: str, any_global: bool) -> Any:
        """The value of a module-level name; unless ``any_global``, plain numbers are refused."""
        meanings = self.session.repository.resolve_all(self.module, name)
        if not meanings:
            found = PYTHON_NAMES.get(name, _MISSING)
            if found is _MISSING:
                raise KernelError(f"name {name!r} is not defined")
            return found
        meaning = meanings[0]
        if len(meanings) == 1:
            if isinstance(meaning, External):
                return external(meaning.dotted)
            if isinstance(meaning, SourceModule):
                return Namespace(meaning.dotted, meaning)
            if isinstance(meaning.node, ast.FunctionDef):
                return self._function(meaning.node, meaning.module, any_global)
            if not any_global and _is_plain_number(meaning.binding.value):
                raise KernelError(f"the global {name} is not a tl.constexpr")
        return self._value(self.session.program.module_value(self.module, name), name)

    def _value(self, value: Any, name: str) -> Any:
        """What ``host`` found, as the front end holds it."""
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, host.Kernel):
            return self._function(value.node, value.module)
        if isinstance(value, host.DType):
            return dtypes.named(value.name)
        if isinstance(value, host.Outside):
            return external(value.dotted)
        if isinstance(value, SourceModule):
            return Namespace(value.dotted, value)
        if isinstance(value, tuple | list):
            return tuple(self._value(item, name) for item in value)
        if isinstance(value, host.Class) and value.fields is not None:
            return FunctionRef(value.name, value.module, value.node, "namedtuple")
        if isinstance(value, host.Symbol):
            raise Unsupported(f"the global {name}: {value.reason}" if value.reason else f"the value of the global {name}")
        if value is host.UNKNOWN:
            raise Unsupported(f"the value of the global {name}")
        raise Unsupported(f"the global {name}, a {type(value).__name__}")

    def _function(self, node: ast.FunctionDef, module: SourceModule, ordinary: bool = False) -> Any:
        """A jit function, a compile-time function, or (``ordinary``) one of Python's that compile-time functions call."""
        known = self.session.references
        key = (module, node)
        if key not in known:
            kind = jit_kind(node, module, self.session.repository) or self._local_kind(node)
            if kind is None and ordinary:
                return FunctionRef(node.name, module, node, "constexpr")
            if kind is None or kind == "gluon":
                raise Unsupported(f"a call to {node.name}, which is not a jit function")
            known[key] = FunctionRef(node.name, module, node, "jit" if kind == "jit" else "constexpr", _is_noinline(node))
        return known[key]


    def _local_kind(self, node: ast.FunctionDef) -> str | None:
        """The kind by decorators whose module an enclosing function imports."""
        for decorator in node.decorator_list:
            dotted = dotted_name(decorator.func if isinstance(decorator, ast.Call) else decorator)
            head, _, rest = (dotted or "").partition(".")
            found = self._enclosing(head) if rest else None
            if isinstance(found, Namespace) and (kind := external_jit_kind(f"{found.path}.{rest}")):
                return kind
        return None


def _is_plain_number(node: ast.expr | None) -> bool:
    """Whether a global's value is a number or text by its looks, which Triton does not let a kernel read."""
    if isinstance(node, ast.Constant):
        return node.value is not None
    if isinstance(node, ast.UnaryOp):
        return _is_plain_number(node.operand)
    return isinstance(node, ast.BinOp) and _is_plain_number(node.left) and _is_plain_number(node.right)


def external(dotted: str) -> Any:
    """What a name outside the repository stands for: Triton's own, or a module of which something may be taken."""
    found = language.lookup(dotted)
    return Namespace(dotted) if found is None else found


def member(session: Session, namespace: Namespace, name: str) -> Any:
    """``namespace.name``; raises KernelError or Unsupported."""
    if namespace.module is not None:
        return session.scope(namespace.module).lookup(name)
    dotted = f"{namespace.path}.{name}"
    found = language.lookup(dotted)
    if found is None:
        if dotted in _TRITON_MODULES or not dotted.startswith("triton."):
            return Namespace(dotted)
        if namespace.path.startswith("triton.language"):
            raise KernelError(f"module {namespace.path!r} has no attribute {name!r}")
        raise Unsupported(dotted)
    return found


def _is_noinline(node: ast.FunctionDef) -> bool:
    return any(
        keyword.arg == "noinline" and isinstance(keyword.value, ast.Constant) and bool(keyword.value.value)
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call)
        for keyword in decorator.keywords
    )
