"""The types of a tile program's values. Each type exists once, so identity is equality.

Element types carry MLIR's names (``i1``, ``bf16``, ``f8E4M3FN`` …). An encoding is opaque here: ``layout/`` gives it meaning.
"""

from __future__ import annotations

from typing import Any, ClassVar

_FLOAT_BITS = {
    "f16": 16, "bf16": 16, "f32": 32, "f64": 64,
    "f8E4M3FN": 8, "f8E5M2": 8, "f8E4M3FNUZ": 8, "f8E5M2FNUZ": 8, "f8E4M3B11FNUZ": 8,
}  # fmt: skip


class Interned:
    """Base of values that exist once for each tuple of their fields: identity is equality, and hashing is free."""

    __slots__: tuple[str, ...] = ()
    _table: ClassVar[dict[Any, Any]] = {}

    @classmethod
    def _of(cls, *fields: Any) -> Any:
        key = (cls, *fields)
        found = Interned._table.get(key)
        if found is None:
            found = object.__new__(cls)
            for name, value in zip(cls.__slots__, fields, strict=False):
                object.__setattr__(found, name, value)
            found._derive()
            Interned._table[key] = found
        return found

    def _derive(self) -> None:
        """Fill slots that follow from the fields."""

    def __reduce__(self) -> Any:
        fields = self.__class__.__new__.__code__.co_argcount - 1
        return (self.__class__, tuple(getattr(self, name) for name in self.__slots__[:fields]))

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __repr__(self) -> str:
        return str(self)


class Type(Interned):
    __slots__ = ()

    @property
    def is_tensor(self) -> bool:
        return False


class Scalar(Type):
    """A number: ``bits`` wide, ``is_float`` or an integer (signless; ``i1`` is a truth value), or ``index``."""

    __slots__ = ("name", "bits", "is_float")
    name: str
    bits: int
    is_float: bool

    def __new__(cls, name: str) -> Scalar:
        return cls._of(name)  # type: ignore[no-any-return]

    def _derive(self) -> None:
        self.is_float = self.name in _FLOAT_BITS
        if self.is_float:
            self.bits = _FLOAT_BITS[self.name]
        elif self.name == "index":
            self.bits = 64
        elif self.name[0] == "i" and self.name[1:].isdigit():
            self.bits = int(self.name[1:])
        else:
            raise ValueError(f"unknown element type {self.name!r}")

    def __str__(self) -> str:
        return self.name


class Pointer(Type):
    """``!tt.ptr<pointee>``; the pointee is a scalar, or a tensor for a block pointer."""

    __slots__ = ("pointee", "address_space")
    pointee: Type
    address_space: int

    def __new__(cls, pointee: Type, address_space: int = 1) -> Pointer:
        return cls._of(pointee, address_space)  # type: ignore[no-any-return]

    @property
    def bits(self) -> int:
        return 64

    @property
    def is_float(self) -> bool:
        return False

    def __str__(self) -> str:
        return f"!tt.ptr<{self.pointee}>"


class Tensor(Type):
    """A tile of ``shape`` (elements) whose ``encoding`` is None until layouts are chosen."""

    __slots__ = ("shape", "element", "encoding", "numel")
    shape: tuple[int, ...]
    element: Any  # Scalar or Pointer
    encoding: Any
    numel: int

    def __new__(cls, shape: tuple[int, ...], element: Type, encoding: Any = None) -> Tensor:
        return cls._of(tuple(shape), element, encoding)  # type: ignore[no-any-return]

    def _derive(self) -> None:
        numel = 1
        for size in self.shape:
            numel *= size
        self.numel = numel

    @property
    def is_tensor(self) -> bool:
        return True

    @property
    def rank(self) -> int:
        return len(self.shape)

    def with_encoding(self, encoding: Any) -> Tensor:
        return Tensor(self.shape, self.element, encoding)

    def with_element(self, element: Type) -> Tensor:
        return Tensor(self.shape, element, self.encoding)

    def __str__(self) -> str:
        dims = "".join(f"{size}x" for size in self.shape)
        return f"tensor<{dims}{self.element}{', ' + str(self.encoding) if self.encoding is not None else ''}>"


class MemDesc(Type):
    """``!ttg.memdesc``: a view of shared or tensor memory. ``alloc_shape`` is the shape of what it is a view of."""

    __slots__ = ("shape", "element", "encoding", "space", "mutable", "alloc_shape")
    shape: tuple[int, ...]
    element: Any
    encoding: Any
    space: str  # "smem" or "tmem"
    mutable: bool
    alloc_shape: tuple[int, ...]

    def __new__(
        cls, shape: tuple[int, ...], element: Type, encoding: Any, space: str = "smem", mutable: bool = False,
        alloc_shape: tuple[int, ...] | None = None,
    ) -> MemDesc:  # fmt: skip
        return cls._of(tuple(shape), element, encoding, space, mutable, tuple(alloc_shape or shape))  # type: ignore[no-any-return]

    def __str__(self) -> str:
        dims = "".join(f"{size}x" for size in self.shape)
        tail = ", mutable" if self.mutable else ""
        if self.alloc_shape != self.shape:
            tail += ", " + "x".join(map(str, self.alloc_shape))
        return f"!ttg.memdesc<{dims}{self.element}, {self.encoding}, #{self.space}{tail}>"


class TensorDesc(Type):
    """``!tt.tensordesc<shape x element, encoding>``: a descriptor of a tensor in global memory, and its block's shape."""

    __slots__ = ("shape", "element", "encoding")
    shape: tuple[int, ...]
    element: Any
    encoding: Any

    def __new__(cls, shape: tuple[int, ...], element: Type, encoding: Any = None) -> TensorDesc:
        return cls._of(tuple(shape), element, encoding)  # type: ignore[no-any-return]

    def __str__(self) -> str:
        dims = "".join(f"{size}x" for size in self.shape)
        return f"!tt.tensordesc<{dims}{self.element}{', ' + str(self.encoding) if self.encoding is not None else ''}>"


class Opaque(Type):
    """A type that holds no data that matters here: tokens (``!ttg.async.token``), ``none`` …, by its MLIR spelling."""

    __slots__ = ("name",)
    name: str

    def __new__(cls, name: str) -> Opaque:
        return cls._of(name)  # type: ignore[no-any-return]

    def __str__(self) -> str:
        return self.name


I1, I8, I16, I32, I64 = Scalar("i1"), Scalar("i8"), Scalar("i16"), Scalar("i32"), Scalar("i64")
F16, BF16, F32, F64 = Scalar("f16"), Scalar("bf16"), Scalar("f32"), Scalar("f64")
ASYNC_TOKEN = Opaque("!ttg.async.token")


def element_of(type_: Type) -> Any:
    """The element type of a tensor, memdesc or descriptor, and the type itself otherwise."""
    return type_.element if isinstance(type_, (Tensor, MemDesc, TensorDesc)) else type_


def bits_of(element: Type) -> int:
    """Width in bits of one element in shared memory (``i1`` takes a byte there, a pointer 64 bits)."""
    return max(8, element.bits)  # type: ignore[attr-defined, no-any-return]
