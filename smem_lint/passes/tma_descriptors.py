"""Build a tensor descriptor in memory, where bulk copies (TMA) read it.

Facts: ``createTMADesc`` in lib/Dialect/TritonNvidiaGPU/Transforms/TMAUtilities.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from typing import Any

from smem_lint.layout.encodings import NvmmaShared, SwizzledShared
from smem_lint.layout.shared import tma_box
from smem_lint.tile.ir import Builder, Op, Value
from smem_lint.tile.types import I32, I64, TensorDesc
from smem_lint.tile.unsupported import Unsupported

DESCRIPTOR_BYTES = 128
DESCRIPTOR_ALIGNMENT = 128
_LARGEST_BOX = 256
_ELEMENT_TYPES = {"bf16": 10, "f16": 6, "f32": 7, "f64": 9}
_INTEGER_TYPES = {8: 0, 16: 1, 32: 2, 64: 4}
_SWIZZLE_MODES = {0: 0, 32: 1, 64: 2, 128: 3}


def create_descriptor(builder: Builder, pointer: Value, make: Op) -> None:
    """Write what ``make`` (``tt.make_tensor_descriptor``) describes to ``pointer``.

    Raises Unsupported for an encoding that bulk copies do not know.
    """
    type_ = make.results[0].type
    assert isinstance(type_, TensorDesc)
    encoding = type_.encoding
    box = _box(type_, make)
    _, rank, strided = make.attrs["segments"]
    base, shape, strides = make.operands[0], make.operands[1 : 1 + rank], make.operands[1 + rank : 1 + rank + strided]
    boxes = [builder.constant(I32, box[dim]) for dim in reversed(range(len(box)))]
    element_bytes = builder.constant(I64, base.type.pointee.bits // 8)
    sizes = shape[::-1]
    padded = isinstance(encoding, NvmmaShared) and encoding.fp4_padded
    if padded:
        sizes[0] = builder.value("arith.muli", (sizes[0], builder.constant(I32, 2)), I32)
    one = builder.constant(I32, 1)
    steps = [builder.value("arith.muli", (stride, element_bytes), I64) for stride in strides[-2::-1]]
    attrs: dict[str, Any] = {
        "elem_type": 14 if padded else _element_type(type_),
        "interleave_layout": 0,
        "swizzle_mode": _SWIZZLE_MODES[encoding.swizzling_byte_width if isinstance(encoding, NvmmaShared) else 0],
        "fill_mode": int(make.attrs.get("padding") in (2, "pad_nan")),
    }
    builder.op("ttng.tensormap_create", (pointer, base, *boxes, *sizes, *steps, *[one] * len(sizes)), (), attrs)


def _box(type_: TensorDesc, make: Op) -> tuple[int, ...]:
    encoding = type_.encoding
    if isinstance(encoding, NvmmaShared):
        return tma_box(type_.shape, encoding)
    if isinstance(encoding, SwizzledShared) and (encoding.vec, encoding.per_phase, encoding.max_phase) == (1, 1, 1):
        return tuple(min(size, _LARGEST_BOX) for size in type_.shape)
    raise Unsupported(f"a descriptor of encoding {encoding}", make.line)


def _element_type(type_: TensorDesc) -> int:
    element = type_.element
    return _ELEMENT_TYPES.get(element.name) or _INTEGER_TYPES[element.bits]
