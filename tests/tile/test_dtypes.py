"""Types against Triton 3.8.0: ``str_to_ty``, ``dtype`` and ``pointer_type`` of ``triton.language``; constants as MLIR prints them."""

from __future__ import annotations

import math
import pickle

import pytest

from smem_lint.tile import dtypes
from smem_lint.tile import types as ir
from smem_lint.tile.semantic.context import literal


@pytest.mark.parametrize(
    ("text", "shown", "ir_type"),
    [
        ("*bf16", "pointer<bf16>", "!tt.ptr<bf16>"),
        ("*ki32", "const_pointer<int32>", "!tt.ptr<i32>"),
        ("*fp8e4nv", "pointer<fp8e4nv>", "!tt.ptr<f8E4M3FN>"),
        ("u1", "int1", "i1"),
        ("u64", "uint64", "i64"),
        ("fp32", "fp32", "f32"),
        ("tensordesc<fp16[64,32]>", "tensor_descriptor<<(64, 32), fp16>>", "!tt.tensordesc<64x32xf16>"),
    ],
)
def test_signature_types(text: str, shown: str, ir_type: str) -> None:
    type_ = dtypes.parse_signature(text)
    assert (str(type_), str(type_.ir)) == (shown, ir_type)


@pytest.mark.parametrize("text", ["constexpr", "*", "bf17", "tensordesc_im2col<bf16[64,64]>"])
def test_not_a_type(text: str) -> None:
    with pytest.raises(ValueError):
        dtypes.parse_signature(text)


def test_every_type_exists_once() -> None:
    pointer = dtypes.PointerType(dtypes.BF16)
    tile = dtypes.BlockType(pointer, (4, 8))
    assert pickle.loads(pickle.dumps(tile)) is dtypes.BlockType(dtypes.parse_signature("*bf16"), (4, 8))
    assert tile.with_element(dtypes.INT8).ir is ir.Tensor((4, 8), ir.I8)
    assert dtypes.PointerType(dtypes.BF16, const=True) is not pointer


def test_shapes_are_powers_of_two_below_the_limit() -> None:
    assert dtypes.check_shape((1024, 1024)) == dtypes.MAX_TENSOR_NUMEL
    for shape in ((3,), (0,), (2048, 1024), ()):
        with pytest.raises(ValueError):
            dtypes.BlockType(dtypes.FP32, shape)


@pytest.mark.parametrize(
    ("value", "element", "held"),
    [
        (0xD2511F53, ir.I32, -766435501),
        (255, ir.I8, -1),
        (-1, ir.I1, True),
        (0.1, ir.F32, 0.10000000149011612),
        (0.1, ir.F16, 0.0999755859375),
        (0.1, ir.BF16, 0.10009765625),
        (1e-8, ir.BF16, 0.0),
        (1e39, ir.F32, math.inf),
        (1e-7, ir.F64, 1e-7),
    ],
)
def test_constants_as_the_ir_holds_them(value: float, element: ir.Scalar, held: float) -> None:
    assert literal(value, element) == held
