"""What a name of a kernel can stand for while the front end visits it.

A value that exists at run time is a ``Handle`` (a scalar, a pointer or a tile), or is made of handles (a tuple, a block pointer,
a tensor descriptor). Everything else is known when the kernel is compiled, Triton's ``constexpr``, and is a plain Python value:
``int``, ``float``, ``bool``, ``None``, ``str``, a ``dtypes`` type, a ``slice``, a ``FunctionRef``, a ``Builtin`` …

Types compare with ``==``. Runtime values made of several IR values implement ``parts``; ``flatten`` and ``rebuild`` take any
value apart into IR values and put it together again from others, in the order in which Triton's front end flattens it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from smem_lint.tile.ir import Value


class Handle:
    """A run-time scalar, pointer or tile: an IR value and its front-end type (signedness included, see ``tile.dtypes``)."""

    __slots__ = ("value", "type")

    def __init__(self, value: Value, type_: Any) -> None:
        self.value, self.type = value, type_

    @property
    def dtype(self) -> Any:
        """The element type: the type itself for a scalar or pointer."""
        return self.type.scalar

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of a tile; empty for a scalar."""
        return self.type.shape  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"Handle({self.type})"

    def __bool__(self) -> bool:
        raise TypeError("a run-time value has no truth value at compile time")


class Composite:
    """A run-time value made of several others; subclasses list them in ``parts`` and rebuild themselves with ``with_parts``."""

    __slots__ = ()

    @property
    def parts(self) -> tuple[Any, ...]:
        """The values it is made of, in the order in which Triton flattens them."""
        raise NotImplementedError

    def with_parts(self, parts: tuple[Any, ...]) -> Any:
        raise NotImplementedError

    @property
    def type(self) -> Any:
        """What must stay the same for a variable that a loop carries: the class and the types of the parts."""
        return (type(self), tuple(type_of(part) for part in self.parts))


class Named(tuple[Any, ...]):
    """A named tuple: a tuple whose items also go by ``fields``."""

    fields: tuple[str, ...]

    def __new__(cls, values: tuple[Any, ...], fields: tuple[str, ...]) -> Named:
        made = super().__new__(cls, values)
        made.fields = fields
        return made


@dataclass(frozen=True, slots=True, eq=False)
class FunctionRef:
    """A ``@triton.jit`` or ``@constexpr_function`` function of the linted code, or a class that makes named tuples.

    ``module`` is what ``source`` knows of the file that holds it and ``node`` its syntax tree. ``kind`` is ``jit``,
    ``constexpr`` (evaluated on constexpr arguments) or ``namedtuple``.
    """

    name: str
    module: Any
    node: Any
    kind: str = "jit"
    noinline: bool = False
    cache: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"JITFunction({self.name})"


@dataclass(frozen=True, slots=True, eq=False)
class Builtin:
    """A function of ``triton.language`` (or of Python) that the front end carries out itself.

    ``call(ctx, args, kwargs)`` gives the result; ``ctx`` is the visitor (see ``Context``). ``name`` is the dotted path after
    ``triton.language``.
    """

    name: str
    call: Callable[[Any, list[Any], dict[str, Any]], Any]

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Namespace:
    """A module of Triton or of the linted code, before one of its names is taken: ``path`` is dotted."""

    path: str
    module: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class BoundMethod:
    """A function with its first argument, such as ``x.sum``."""

    receiver: Any
    function: Any


def is_runtime(value: Any) -> bool:
    """Whether ``value`` holds IR values itself (a tuple counts when one of its items does)."""
    if isinstance(value, Handle | Composite):
        return True
    return isinstance(value, tuple) and any(is_runtime(item) for item in value)


def flatten(value: Any, out: list[Value] | None = None) -> list[Value]:
    """The IR values that ``value`` is made of, none for a compile-time value."""
    out = [] if out is None else out
    if isinstance(value, Handle):
        out.append(value.value)
    elif isinstance(value, tuple):
        for item in value:
            flatten(item, out)
    elif isinstance(value, Composite):
        for item in value.parts:
            flatten(item, out)
    return out


def rebuild(like: Any, values: Iterator[Value]) -> Any:
    """A value of the kind of ``like`` over the next IR values of ``values``; compile-time parts stay as they are."""
    if isinstance(like, Handle):
        return Handle(next(values), like.type)
    if isinstance(like, Named):
        return Named(tuple(rebuild(item, values) for item in like), like.fields)
    if isinstance(like, tuple):
        return tuple(rebuild(item, values) for item in like)
    if isinstance(like, Composite):
        return like.with_parts(tuple(rebuild(item, values) for item in like.parts))
    return like


def type_of(value: Any) -> Any:
    """The front-end type of any value, comparable with ``==``; a compile-time value is its own type."""
    if isinstance(value, Handle | Composite):
        return value.type
    if isinstance(value, tuple):
        return tuple(type_of(item) for item in value)
    return ("constexpr", type(value), value)
