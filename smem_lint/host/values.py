"""Values of the abstract interpreter: plain Python values where they are known, and these where they are not."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from zlib import crc32

from smem_lint.source.bindings import FunctionNode
from smem_lint.source.modules import SourceModule

_MAX_TEXT = 240
_MAX_NODES = 400


class _Unknown:
    """A value that could not be determined."""

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __bool__(self) -> bool:
        raise TypeError("an unknown value is neither true nor false")


UNKNOWN: Final = _Unknown()


class Assumed(int):
    """A size that host code leaves open, by the value it was given (by a profile, or to try it), and what is worked out from it."""

    __slots__ = ()


def assumed(value: Any) -> Any:
    """A size marked as assumed; what is no number of its own kind as it is."""
    return Assumed(value) if type(value) is int else value


@dataclass(frozen=True, slots=True)
class DType:
    """A scalar type by Triton's name (``float16``, ``int32``, ``float8e4nv`` …); ``torch.dtype`` and ``tl.dtype`` alike."""

    name: str


class Symbol:
    """A value that is not known, by name or as an expression over other values.

    ``text`` reads like the source and identifies the symbol within one path; ``operation`` with ``operands`` lets it be
    evaluated once its parts are known (a base symbol has neither). ``reason`` says what is missing, ``line`` where.
    ``low`` is the least value that a size, stride or count can have. ``kind`` is the operator, ``and``, ``or``, ``not``,
    or ``if`` for a value that depends on a condition: operands condition, value, other value.
    """

    __slots__ = ("kind", "line", "low", "nodes", "operands", "operation", "reason", "text")
    nodes: int

    def __init__(
        self,
        text: str,
        reason: str = "",
        *,
        operation: Callable[..., Any] | None = None,
        operands: tuple[Any, ...] = (),
        line: int = 0,
        low: int | None = None,
        kind: str = "",
    ) -> None:
        nodes = 1
        for operand in operands:
            if isinstance(operand, Symbol):
                nodes += operand.nodes
        if nodes > _MAX_NODES or len(text) > _MAX_TEXT:
            text = text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 24]}…#{crc32(text.encode('utf8', 'replace')):08x}"
            if nodes > _MAX_NODES:
                operation, operands, nodes = None, (), 1
        self.text, self.reason, self.line, self.low = text, reason, line, low
        self.operation, self.operands, self.nodes = operation, operands, nodes
        self.kind = kind if operation is not None else ""

    def __repr__(self) -> str:
        return f"<{self.text}>"

    @property
    def is_base(self) -> bool:
        return self.operation is None

    def bases(self) -> list[Symbol]:
        """The base symbols of this expression, each once, in order."""
        found: dict[str, Symbol] = {}
        stack: list[Any] = [self]
        while stack:
            item = stack.pop()
            if isinstance(item, Symbol):
                if item.is_base:
                    found.setdefault(item.text, item)
                else:
                    stack.extend(reversed(item.operands))
        return list(found.values())


class Possible(Symbol):
    """A list of which it is known what may be in it, in order, but not what is: some of it was kept on a condition that is not known.

    To all that does not ask for ``items`` it is a value that is not known.
    """

    __slots__ = ("items",)

    def __init__(self, text: str, reason: str, items: list[Any], line: int = 0) -> None:
        super().__init__(text, reason, line=line)
        self.items = items


@dataclass(eq=False, slots=True)
class Tensor:
    """A tensor: ``dtype`` is a ``DType`` or a symbol, ``shape`` a list of sizes or None where the rank is unknown.

    ``like`` is the symbol of a tensor that it has the shape and the strides of.
    """

    name: str
    dtype: Any
    shape: list[Any] | None = None
    contiguous: bool = True
    line: int = 0
    like: Symbol | None = None


@dataclass(eq=False, slots=True)
class Function:
    """A function or lambda of the repository with the scope it closes over."""

    module: SourceModule
    node: FunctionNode | ast.Lambda
    scope: Scope
    defaults: Mapping[str, Any] = field(default_factory=dict)
    owner: Class | None = None

    @property
    def name(self) -> str:
        return self.node.name if not isinstance(self.node, ast.Lambda) else "<lambda>"


@dataclass(eq=False, slots=True)
class Kernel:
    """A jit function with what its decorators make of it; ``peeled`` of them have been taken off, the outermost first (``kernel.fn``).

    ``applied`` are calls of decorators that were made on it by hand, the outermost first, each with the scope that it stands in.
    """

    module: SourceModule
    node: ast.FunctionDef
    kind: str
    scope: Scope
    peeled: int = 0
    applied: tuple[tuple[ast.Call, Scope], ...] = ()

    @property
    def name(self) -> str:
        return self.node.name


@dataclass(eq=False, slots=True)
class Class:
    module: SourceModule
    node: ast.ClassDef
    attributes: dict[str, Any]
    bases: tuple[Any, ...] = ()
    is_enum: bool = False
    fields: tuple[str, ...] | None = None
    """Names in order for a dataclass or NamedTuple; None for other classes."""

    @property
    def name(self) -> str:
        return self.node.name

    def find(self, name: str) -> Any:
        """An attribute of the class or of its bases; ``UNKNOWN`` where there is none."""
        if name in self.attributes:
            return self.attributes[name]
        for base in self.bases:
            if isinstance(base, Class):
                found = base.find(name)
                if found is not UNKNOWN:
                    return found
        return UNKNOWN

    @property
    def opaque(self) -> bool:
        """Whether a base lies outside the repository, so that attributes may exist which are not seen."""
        return any(not isinstance(base, Class) or base.opaque for base in self.bases)


@dataclass(eq=False, slots=True)
class Instance:
    """An object of a class of the repository; ``symbolic`` where it was made up, and attributes may exist that are not seen."""

    cls: Class
    attributes: dict[str, Any]
    symbolic: bool = False


@dataclass(frozen=True, slots=True)
class EnumMember:
    cls: Class
    name: str
    value: Any


@dataclass(eq=False, slots=True)
class Bound:
    """A method of ``receiver``: a function of the repository, or the name of a method of a built-in value."""

    receiver: Any
    method: Any


@dataclass(eq=False, slots=True)
class Partial:
    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@dataclass(eq=False, slots=True)
class Native:
    """A function of the interpreter's own, called with the run, the arguments and the keyword arguments."""

    call: Callable[..., Any]


@dataclass(eq=False, slots=True)
class Record:
    """An object outside the repository of which these attributes are known."""

    fields: dict[str, Any]


@dataclass(eq=False, slots=True)
class GridLaunch:
    """``kernel[grid]``: what is called to launch."""

    kernel: Any
    grid: Any


@dataclass(frozen=True, slots=True)
class Spread:
    """``*value`` among the arguments of a call, where it is not known how many there are."""

    value: Any


class Rest(dict[Any, Any]):
    """``**kwargs`` of a function that is entered from nowhere: what is asked of it is the caller's to give; else it is empty."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Outside:
    """Something that an import takes out of the repository, by dotted path."""

    dotted: str


@dataclass(eq=False, slots=True)
class Lazy:
    """A name of a module whose value is worked out when it is first asked for."""

    module: SourceModule
    name: str
    node: ast.stmt | ast.expr
    kind: str


@dataclass(frozen=True, slots=True)
class Builtin:
    name: str


CONFIG_DEFAULTS: Final = {"num_warps": 4, "num_stages": 3, "num_ctas": 1, "maxnreg": None, "pre_hook": None}
"""The options of a ``triton.Config``, with what they are when they are not given (``triton/runtime/autotuner.py``, 3.8.0)."""


@dataclass(eq=False, slots=True)
class TunedConfig:
    """A ``triton.Config``. Options that are None were not given, and take Triton's defaults.

    Two are equal whose arguments are, in order (``triton/runtime/autotuner.py``, 3.8.0).
    """

    kwargs: dict[str, Any]
    num_warps: Any = None
    num_stages: Any = None
    num_ctas: Any = None
    maxnreg: Any = None
    pre_hook: Any = None
    line: int = 0

    def _parts(self) -> tuple[Any, ...]:
        return (*self.kwargs.items(), *map(self.option, CONFIG_DEFAULTS))

    def option(self, name: str) -> Any:
        """An option as it was given, or Triton's default."""
        given = getattr(self, name)
        return CONFIG_DEFAULTS[name] if given is None else given

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, TunedConfig) and self._parts() == other._parts())

    def __hash__(self) -> int:
        return hash((*self.kwargs, self.option("num_warps"), self.option("num_stages")))


class Scope:
    """Names of one function call, or of a module; ``parent`` is the scope that it closes over."""

    __slots__ = ("global_names", "module", "names", "owner", "parent")

    def __init__(self, module: SourceModule, parent: Scope | None = None, names: dict[str, Any] | None = None) -> None:
        self.module = module
        self.parent = parent
        self.names: dict[str, Any] = {} if names is None else names
        self.global_names: set[str] = set()
        self.owner: Class | None = None


def words(text: str) -> frozenset[str]:
    """A set of names, written as text."""
    return frozenset(text.split())


def reason_of(value: Any) -> str:
    """Why a value is not known."""
    return value.reason or value.text if isinstance(value, Symbol) else "a value that is not known"


def line_of(node: ast.AST | None) -> int:
    """The line of a piece of source, 0 where there is none."""
    return getattr(node, "lineno", 0)


def describe(value: Any, depth: int = 0) -> str:
    """A value as a condition or a reason shows it."""
    if isinstance(value, Symbol):
        return value.text
    if isinstance(value, DType):
        return value.name
    if isinstance(value, (Tensor, Kernel, Function, Class)):
        return value.name
    if isinstance(value, Outside):
        return value.dotted
    if isinstance(value, EnumMember):
        return f"{value.cls.name}.{value.name}"
    if isinstance(value, (tuple, list)):
        shown = ", ".join(describe(item, depth + 1) for item in value[:8]) if depth < 2 else "…"
        return f"({shown})" if isinstance(value, tuple) else f"[{shown}]"
    if isinstance(value, (int, float, str, bool, type(None))):
        try:
            text = repr(value)
        except ValueError:
            return "<a huge integer>"
        return text if len(text) <= 80 else text[:77] + "..."
    return f"<{type(value).__name__}>"
