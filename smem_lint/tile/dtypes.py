"""The types that a kernel's author sees: numbers with a sign, pointers, tiles, descriptors; and the IR types behind them.

Names, widths, rules and attributes are those of ``triton/language/core.py`` (``dtype``, ``pointer_type``, ``block_type``), 3.8.0;
the notation of signatures (``*bf16``, ``i32``, ``tensordesc<bf16[64,32]>``) is that of ``str_to_ty`` in ``triton/language/__init__.py``.
A kernel may ask a type ``x.dtype.is_fp8()`` and the like: ``LANGUAGE_ATTRIBUTES`` and ``LANGUAGE_METHODS`` say what it may ask.
Every type exists once, so identity is equality.
"""

from __future__ import annotations

from typing import Any

from smem_lint.tile import types as ir
from smem_lint.tile.types import Interned

MAX_TENSOR_NUMEL = 1048576
"""Elements of the largest tile that Triton accepts (``TRITON_MAX_TENSOR_NUMEL``)."""

_SIGNED = ("int8", "int16", "int32", "int64")
_UNSIGNED = ("int1", "uint8", "uint16", "uint32", "uint64")
_STANDARD_FLOATS = ("fp16", "bf16", "fp32", "fp64")
_MANTISSA = {"fp8e4b15": 3, "fp8e4nv": 3, "fp8e4b8": 3, "fp8e5": 2, "fp8e5b16": 2, "fp16": 10, "bf16": 7, "fp32": 23, "fp64": 52}
_BIAS = {"fp8e4b15": 15, "fp8e4nv": 7, "fp8e4b8": 8, "fp8e5": 15, "fp8e5b16": 16, "fp16": 15, "bf16": 127, "fp32": 127, "fp64": 1023}
_BITS = {"int1": 1, "fp16": 16, "bf16": 16, "fp32": 32, "fp64": 64, "void": 0}
_IR_NAMES = {
    "fp8e4nv": "f8E4M3FN", "fp8e5": "f8E5M2", "fp8e4b8": "f8E4M3FNUZ", "fp8e5b16": "f8E5M2FNUZ", "fp8e4b15": "i8",
    "fp16": "f16", "bf16": "bf16", "fp32": "f32", "fp64": "f64",
}  # fmt: skip


class DType(Interned):
    """A scalar type, and the base of all types of the language."""

    __slots__ = (
        "name", "primitive_bitwidth", "itemsize", "ir", "signed", "integer", "floating", "standard_floating", "fp8", "scalar",
        "fp_mantissa_width", "exponent_bias", "int_bitwidth",
    )  # fmt: skip
    name: str
    primitive_bitwidth: int
    itemsize: int
    ir: Any
    signed: bool
    integer: bool
    floating: bool
    standard_floating: bool
    fp8: bool
    scalar: Any
    fp_mantissa_width: int
    exponent_bias: int
    int_bitwidth: int

    block = False
    pointer = False
    shape: tuple[int, ...] = ()

    def __new__(cls, name: str) -> DType:
        return cls._of(name)  # type: ignore[no-any-return]

    def _derive(self) -> None:
        name = self.name
        self.signed = name in _SIGNED
        self.integer = self.signed or name in _UNSIGNED
        self.floating = name in _MANTISSA
        self.standard_floating = name in _STANDARD_FLOATS
        self.fp8 = name.startswith("fp8")
        if not (self.integer or self.floating or name == "void"):
            raise ValueError(f"unknown type {name!r}")
        bits = 8 if self.fp8 else _BITS[name] if name in _BITS else int(name.lstrip("uint"))
        self.primitive_bitwidth = bits
        self.itemsize = bits // 8
        self.int_bitwidth = bits if self.integer else 0
        self.fp_mantissa_width = _MANTISSA.get(name, 0)
        self.exponent_bias = _BIAS.get(name, 0)
        self.scalar = self
        self.ir = None if name == "void" else ir.Scalar(_IR_NAMES.get(name) or f"i{bits}")

    def with_element(self, element: DType) -> DType:
        """This type's shape over another element type."""
        return element

    @property
    def min_value(self) -> int:
        return -(1 << (self.int_bitwidth - 1)) if self.signed else 0

    @property
    def max_value(self) -> int:
        return (1 << (self.int_bitwidth - 1)) - 1 if self.signed else (1 << self.int_bitwidth) - 1

    @property
    def kind(self) -> int:
        """Order of promotion between a Python number and a tile: truth value, integer, floating."""
        return 0 if self.name == "int1" else 1 if self.integer else 2

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"triton.language.{_LONG_NAMES.get(self.name, self.name)}"


class PointerType(DType):
    """A pointer to elements in global memory."""

    __slots__ = ("element_ty", "address_space", "const")
    element_ty: DType
    address_space: int
    const: bool

    pointer = True

    def __new__(cls, element_ty: DType, address_space: int = 1, const: bool = False) -> PointerType:
        key = (cls, element_ty, address_space, const)
        found = Interned._table.get(key)
        if found is None:
            found = object.__new__(cls)
            found.element_ty, found.address_space, found.const = element_ty, address_space, const
            found._derive()
            Interned._table[key] = found
        return found

    def _derive(self) -> None:
        self.name = f"{'const_' if self.const else ''}pointer<{self.element_ty}>"
        self.primitive_bitwidth, self.itemsize, self.int_bitwidth = 64, 8, 0
        self.signed = self.integer = self.floating = self.standard_floating = self.fp8 = False
        self.fp_mantissa_width = self.exponent_bias = 0
        self.scalar = self
        self.ir = ir.Pointer(self.element_ty.ir, self.address_space)

    def __reduce__(self) -> Any:
        return (PointerType, (self.element_ty, self.address_space, self.const))

    def __repr__(self) -> str:
        return self.name


class BlockType(DType):
    """A tile: ``shape`` in elements, each a power of two. Raises ValueError where Triton refuses the shape."""

    __slots__ = ("element_ty", "shape", "numel")
    element_ty: DType
    shape: tuple[int, ...]
    numel: int

    block = True

    def __new__(cls, element_ty: DType, shape: tuple[int, ...]) -> BlockType:
        key = (cls, element_ty, tuple(shape))
        found = Interned._table.get(key)
        if found is None:
            found = object.__new__(cls)
            found.element_ty, found.shape = element_ty, tuple(shape)
            found._derive()
            Interned._table[key] = found
        return found

    def _derive(self) -> None:
        self.numel = check_shape(self.shape)
        if not self.shape:
            raise ValueError("a tile has at least one dimension")
        self.name = f"<{self.shape}, {self.element_ty}>"
        self.primitive_bitwidth, self.itemsize, self.int_bitwidth = self.element_ty.primitive_bitwidth, 0, 0
        self.signed = self.integer = self.floating = self.standard_floating = self.fp8 = False
        self.fp_mantissa_width = self.exponent_bias = 0
        self.scalar = self.element_ty
        self.ir = ir.Tensor(self.shape, self.element_ty.ir)

    def with_element(self, element: DType) -> BlockType:
        return BlockType(element, self.shape)

    def __reduce__(self) -> Any:
        return (BlockType, (self.element_ty, self.shape))

    def __repr__(self) -> str:
        return self.name


class DescriptorType(Interned):
    """``tensordesc<dtype[block]>``: a kernel's argument that describes a tensor in global memory, its shape and strides behind it."""

    __slots__ = ("block_type", "rank", "ir")
    block_type: BlockType
    rank: int
    ir: Any

    def __new__(cls, block_type: BlockType) -> DescriptorType:
        return cls._of(block_type)  # type: ignore[no-any-return]

    def _derive(self) -> None:
        self.rank = len(self.block_type.shape)
        self.ir = ir.TensorDesc(self.block_type.shape, self.block_type.element_ty.ir)

    def __str__(self) -> str:
        return f"tensor_descriptor<{self.block_type}>"


def check_shape(shape: tuple[int, ...]) -> int:
    """Number of elements; raises ValueError or TypeError where Triton's ``validate_block_shape`` does."""
    numel = 1
    for index, size in enumerate(shape):
        if not isinstance(size, int):
            raise TypeError(f"shape element {index} is not an integer: {size!r}")
        if size <= 0 or size & (size - 1):
            raise ValueError(f"shape element {index} must be a power of 2, got {size}")
        numel *= size
    if numel > MAX_TENSOR_NUMEL:
        raise ValueError(f"{numel} elements exceed the largest tile of {MAX_TENSOR_NUMEL}")
    return numel


INT1 = DType("int1")
INT8, INT16, INT32, INT64 = DType("int8"), DType("int16"), DType("int32"), DType("int64")
UINT8, UINT16, UINT32, UINT64 = DType("uint8"), DType("uint16"), DType("uint32"), DType("uint64")
FP8E4NV, FP8E5, FP8E4B15 = DType("fp8e4nv"), DType("fp8e5"), DType("fp8e4b15")
FP8E4B8, FP8E5B16 = DType("fp8e4b8"), DType("fp8e5b16")
FP16, BF16, FP32, FP64 = DType("fp16"), DType("bf16"), DType("fp32"), DType("fp64")
VOID = DType("void")

_LONG_NAMES = {
    "fp8e4nv": "float8e4nv", "fp8e5": "float8e5", "fp8e4b15": "float8e4b15", "fp8e4b8": "float8e4b8", "fp8e5b16": "float8e5b16",
    "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64",
}  # fmt: skip

BY_LANGUAGE_NAME: dict[str, DType] = {
    _LONG_NAMES.get(type_.name, type_.name): type_
    for type_ in (
        INT1, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64,
        FP8E4NV, FP8E5, FP8E4B15, FP8E4B8, FP8E5B16, FP16, BF16, FP32, FP64, VOID,
    )
}  # fmt: skip
"""``float32`` … as they stand in ``triton.language``."""

_BY_SIGNATURE: dict[str, DType] = {
    "i1": INT1, "u1": INT1, "B": INT1, "i8": INT8, "i16": INT16, "i32": INT32, "i64": INT64,
    "u8": UINT8, "u16": UINT16, "u32": UINT32, "u64": UINT64, "fp16": FP16, "bf16": BF16, "fp32": FP32, "f32": FP32, "fp64": FP64,
    "f64": FP64, "f16": FP16, "fp8e4nv": FP8E4NV, "fp8e5": FP8E5, "fp8e4b15": FP8E4B15, "fp8e4b8": FP8E4B8, "fp8e5b16": FP8E5B16,
}  # fmt: skip

_CANONICAL: dict[str, DType] = {
    **_BY_SIGNATURE, **BY_LANGUAGE_NAME, "bool": INT1, "uint1": INT1, "half": FP16, "float": FP32, "double": FP64, "int": INT32,
    "float8_e4m3fn": FP8E4NV, "float8_e5m2": FP8E5, "float8_e4m3fnuz": FP8E4B8, "float8_e5m2fnuz": FP8E5B16,
}  # fmt: skip


def parse_signature(text: str) -> DType | DescriptorType:
    """The type that a signature's text names; raises ValueError. ``constexpr`` is not a type and raises too."""
    if text.startswith("*"):
        const = text[1:2] == "k"
        element = parse_signature(text[2 if const else 1 :])
        if not isinstance(element, DType):
            raise ValueError(f"a pointer to {text[1:]!r}")
        return PointerType(element, 1, const)
    if text.startswith("tensordesc"):
        return _parse_descriptor(text)
    try:
        return _BY_SIGNATURE[text]
    except KeyError:
        raise ValueError(f"unknown type {text!r} in a signature") from None


def _parse_descriptor(text: str) -> DescriptorType:
    head, _, rest = text.partition("<")
    inner, _, after = rest.rstrip(">").partition("]")
    if head != "tensordesc" or after.strip(", "):
        raise ValueError(f"descriptor type not understood: {text!r}")
    element, _, dims = inner.partition("[")
    element_type = parse_signature(element.strip())
    if not isinstance(element_type, DType):
        raise ValueError(f"descriptor type not understood: {text!r}")
    return DescriptorType(BlockType(element_type, tuple(int(size) for size in dims.split(","))))


def named(text: str) -> DType:
    """A type by any name that Triton or PyTorch gives it (``bf16``, ``bfloat16``, ``torch.bfloat16``); raises ValueError."""
    try:
        return _CANONICAL[text.rpartition(".")[2]]
    except KeyError:
        raise ValueError(f"unknown type {text!r}") from None


def int_type(bits: int, signed: bool) -> DType:
    """The integer type of that width; raises ValueError where there is none."""
    name = "int1" if bits == 1 else f"{'' if signed else 'u'}int{bits}"
    if name not in _SIGNED and name not in _UNSIGNED:
        raise ValueError(f"no integer type of {bits} bits")
    return DType(name)


LANGUAGE_ATTRIBUTES = frozenset({
    "name", "primitive_bitwidth", "itemsize", "scalar", "element_ty", "address_space", "const", "shape", "numel",
    "int_bitwidth", "fp_mantissa_width", "exponent_bias",
})  # fmt: skip
"""Attributes of a type that kernel code may read; each is a slot of the classes above."""

LANGUAGE_METHODS: dict[str, Any] = {
    "is_fp8": lambda t: t.fp8,
    "is_floating": lambda t: t.floating,
    "is_standard_floating": lambda t: t.standard_floating,
    "is_int": lambda t: t.integer,
    "is_int_signed": lambda t: t.signed,
    "is_int_unsigned": lambda t: t.integer and not t.signed,
    "is_bool": lambda t: t is INT1,
    "is_ptr": lambda t: t.pointer,
    "is_block": lambda t: t.block,
    "is_const": lambda t: getattr(t, "const", False),
    "get_block_shapes": lambda t: t.shape,
    "get_int_max_value": lambda t: t.max_value,
    "get_int_min_value": lambda t: t.min_value,
    "with_element_ty": lambda t, element: t.with_element(element),
    "codegen_name": lambda t: _LONG_NAMES.get(t.name, t.name),
    **{f"is_{t.name}": (lambda t, it=t: t is it) for t in BY_LANGUAGE_NAME.values()},
}
"""Methods of a type that kernel code may call, as functions of the type."""
