"""Element types of torch and Triton: their names outside, their bits, and what host code asks of them."""

from __future__ import annotations

from typing import Any

from smem_lint.host.values import UNKNOWN, Bound, DType, words

TORCH_TYPES = {
    "float16": "float16", "half": "float16", "bfloat16": "bfloat16", "float32": "float32", "float": "float32", "float64": "float64",
    "double": "float64", "int8": "int8", "int16": "int16", "short": "int16", "int32": "int32", "int": "int32", "int64": "int64",
    "long": "int64", "uint8": "uint8", "uint16": "uint16", "uint32": "uint32", "uint64": "uint64", "bool": "int1",
    "float8_e4m3fn": "float8e4nv", "float8_e5m2": "float8e5", "float8_e4m3fnuz": "float8e4b8", "float8_e5m2fnuz": "float8e5b16",
    "float8_e8m0fnu": "uint8", "float4_e2m1fn_x2": "uint8",
}  # fmt: skip
TL_TYPES = words(
    "int1 int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 float8e5 float8e5b16 float8e4nv "
    "float8e4b8 float8e4b15"
)
_BITS = {"int1": 8, "bfloat16": 16}


def bits(dtype: DType) -> int:
    """Bits of one element in memory (a bool takes 8)."""
    if dtype.name in _BITS:
        return _BITS[dtype.name]
    if dtype.name.startswith("float8"):
        return 8
    return int("".join(c for c in dtype.name if c.isdigit()))


def dtype_method(receiver: DType, name: str) -> Any:
    """Methods of a type: ``is_fp8``, ``is_floating`` …"""
    answers = {"is_fp8": receiver.name.startswith("float8"), "is_floating": "float" in receiver.name,
               "is_bf16": receiver.name == "bfloat16",
               "is_fp16": receiver.name == "float16", "is_fp32": receiver.name == "float32", "is_int": "int" in receiver.name}  # fmt: skip
    return answers.get(name, UNKNOWN)


def dtype_attribute(receiver: DType, name: str) -> Any:
    """Attributes of a type: ``itemsize``, ``is_floating_point`` …"""
    answers = {"itemsize": bits(receiver) // 8, "is_floating_point": "float" in receiver.name, "primitive_bitwidth": bits(receiver),
               "name": receiver.name, "is_signed": not receiver.name.startswith("uint"), "is_complex": False}  # fmt: skip
    return answers.get(name, Bound(receiver, name))
