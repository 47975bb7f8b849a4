"""Which tensor-core instruction a dot can use on a target.

Facts: ``getMMAVersionSafe`` in lib/Dialect/TritonGPU/Transforms/AccelerateMatmul.cpp, ``supportMMA`` in lib/Analysis/Utility.cpp and
``mmaVersionToInstrShape`` in lib/Dialect/TritonGPU/Transforms/Utility.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from smem_lint.tile.ir import Op
from smem_lint.tile.types import Scalar

Dims = tuple[int, ...]

_FP8 = frozenset({"f8E4M3FN", "f8E5M2"})
_FP8_PROMOTED = _FP8 | {"f8E5M2FNUZ", "f8E4M3FNUZ"}
_V2 = _FP8_PROMOTED | {"f16", "bf16", "f32", "f64", "i8"}
_V3 = _FP8 | {"f16", "bf16", "f32", "i8"}
_INT8_TCGEN05 = (100, 110)  # targets whose tensor memory instruction multiplies int8


def operand_elements(dot: Op) -> tuple[Scalar, Scalar, Scalar]:
    """The element types of A, B and the result."""
    return dot.operands[0].type.element, dot.operands[1].type.element, dot.results[0].type.element


def mma_version(dot: Op, capability: int, num_warps: int) -> int:
    """2 (mma.sync), 3 (wgmma), 5 (tcgen05), or 0: the dot runs without tensor cores."""
    elements = operand_elements(dot)
    fast_f64 = capability in (80, 90) or 100 <= capability < 120
    if any(element.name == "f64" for element in elements) and not fast_f64:
        return 0
    return next((version for version in _versions(dot, capability) if _supports(dot, version, num_warps)), 0)


def _versions(dot: Op, capability: int) -> tuple[int, ...]:
    if capability < 80:
        return ()
    if capability < 90:
        return (2,)
    if capability < 100:
        return (3, 2)
    if capability < 120:
        a, b, _ = operand_elements(dot)
        int8 = a.name == b.name == "i8"
        return (2,) if int8 and capability not in _INT8_TCGEN05 else (5, 2)
    return (2,)


def _supports(dot: Op, version: int, num_warps: int) -> bool:
    a, b, _ = operand_elements(dot)
    if a.name == b.name == "f32" and dot.attrs.get("inputPrecision") != "tf32":
        return False
    if version == 2:
        return a.name in _V2 and b.name in _V2
    shape, depth = dot.results[0].type.shape, dot.operands[0].type.shape[-1]
    if len(shape) != 2 or depth < 256 // a.bits or shape[-2] % 64 or shape[-1] % 8:
        return False
    return _supports_v3(dot, num_warps) if version == 3 else _supports_v5(dot, num_warps)


def _supports_v3(dot: Op, num_warps: int) -> bool:
    a, b, result = operand_elements(dot)
    if num_warps % 4 or a.name not in _V3 or b.name not in _V2:
        return False
    exact = dot.attrs.get("maxNumImpreciseAcc", 0) < 32
    return not (exact and a.name in _FP8 and result.name == "f32")


def _supports_v5(dot: Op, num_warps: int) -> bool:
    elements = operand_elements(dot)
    if any(not element.is_float for element in elements) and [element.name for element in elements] != ["i8", "i8", "i32"]:
        return False
    return num_warps in (4, 8) and all(element.name != "f64" for element in elements)


def instruction_shape(version: int, shape: Dims, element: Scalar, num_warps: int) -> Dims:
    """The tile of one instruction for a result of ``shape`` and operands of ``element``."""
    if version == 2:
        return (*(1,) * (len(shape) - 2), 8 if element.name == "f64" else 16, 8)
    depth = 256 // element.bits
    warps_along_n = max(num_warps // max(shape[0] // 16, 1), 1)
    widest = max(shape[1] // warps_along_n, 8)
    widths = range(224, 7, -16) if element.name == "i8" else range(256, 7, -8)
    columns = next((width for width in (*widths, 24, 8) if width <= widest and shape[1] % width == 0), 8)
    return (16, columns, depth)
