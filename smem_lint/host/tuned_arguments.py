"""What the name of a tuned file and one of its entries say about the arguments of the function that launches."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from smem_lint.host.launches import Site
from smem_lint.host.quantised import LEFT, OPERANDS, RIGHT
from smem_lint.host.tuned_launches import NAMES, locals_of, parameters_of, takes_config
from smem_lint.host.values import DType, Symbol, Tensor

_LEFT_SCALES = frozenset({"a_scale", "as", "x_scale", "input_scale"})
_RIGHT_SCALES = frozenset({"b_scale", "bs", "w_scale", "weight_scale"})
_ALIASES = {"fp8": "fp8_w8a8", "float8": "fp8_w8a8", "float8_e4m3fn": "fp8_w8a8", "int8": "int8_w8a8"}
_UNQUANTISED = ("bfloat16", "bfloat16")
_CHANNEL = re.compile(r"_?(channelwise|per_channel)")
_HIDDEN = 4096
"""A hidden size, where the file names none: what matters is that it is a multiple of 16."""


def element_type(facts: Mapping[str, Any]) -> str:
    """The quantisation that a file is named for, such as ``fp8_w8a8``; empty for one of 16-bit weights."""
    text = _CHANNEL.sub("", str(facts.get("dtype", ""))).removesuffix("_down")
    text = _ALIASES.get(text, text)
    return text if text in OPERANDS else ""


def given(site: Site, entry: Mapping[str, Any], facts: Mapping[str, Any], plain: bool = False) -> dict[str, Any]:
    """Values for the parameters of the site's function, and for local names that hold the entry.

    ``plain``: the function is handed activations of 16 bits, and quantises them itself.
    """
    assert site.function is not None
    by_name = _locals(site, entry, facts)
    if by_name:
        return by_name
    dtype, block = element_type(facts), facts.get("block_shape")
    by_channel = dtype == "int8_w8a8" and not block
    per_channel = by_channel or facts.get("per_channel_quant") == "True" or _CHANNEL.search(str(facts.get("dtype", ""))) is not None
    left, right = OPERANDS.get(dtype, _UNQUANTISED)
    shapes = _shapes(facts, list(block) if block else None, per_channel, packed=dtype == "int4_w4a16")
    values: dict[str, Any] = {**_defaults(site), **{name: dict(entry) for name in NAMES}}
    for name in parameters_of(site.function):
        if name.startswith("use_"):
            values[name] = name == f"use_{dtype}"
        elif name == "per_channel_quant":
            values[name] = per_channel
        elif name == "has_zp":
            values[name] = False
        elif name in ("block_shape", "block_size"):
            values[name] = list(block) if block else [0, 128] if dtype == "int4_w4a16" else None
        elif name in LEFT and plain:
            values[name] = Tensor(name, DType(_UNQUANTISED[0]), shapes["left"])
            values[f"local {name}"] = Tensor(name, DType(left), shapes["left"])
        elif name in LEFT:
            values[name] = Tensor(name, DType(left), shapes["left"])
        elif name in RIGHT:
            values[name] = Tensor(name, DType(right), shapes["right"])
        elif name.lower() in _LEFT_SCALES:
            values[name] = Tensor(name, DType("float32"), shapes["left scale"]) if dtype.endswith("a8") else None
        elif name.lower() in _RIGHT_SCALES:
            values[name] = Tensor(name, DType("float32"), shapes["right scale"]) if dtype else None
        elif name == "sorted_token_ids":
            values[name] = Tensor(name, DType("int32"))
        elif name in ("B_bias", "bias", "b_bias", "B_zp"):
            values[name] = None
        elif name.endswith("dtype") or name == "compute_type":
            values[name] = DType("bfloat16")
    return values


def _locals(site: Site, entry: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Local names that are spelled as the entry's own, sizes and a cache's type that the file's name gives; empty for other functions."""
    assert site.function is not None
    held = locals_of(site.function)
    if takes_config(site.function) or not set(entry) - {"num_warps", "num_stages"} <= held:
        return {}
    sizes = {name: value for name, value in facts.items() if isinstance(value, int)}
    values: dict[str, Any] = {f"local {name}": value for name, value in {**sizes, **entry}.items() if name in held}
    if "cache_dtype" in facts and "state" in parameters_of(site.function):
        values["state"] = Tensor("state", DType(str(facts["cache_dtype"])))
    return values


def _defaults(site: Site) -> dict[str, Any]:
    """Parameters with the constants that they have by default: a tuned config is for the plain call."""
    assert site.function is not None
    arguments = site.function.node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [
        *zip(reversed(positional), reversed(arguments.defaults), strict=False),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    return {parameter.arg: value.value for parameter, value in pairs if isinstance(value, ast.Constant)}


def _shapes(facts: Mapping[str, Any], block: list[int] | None, per_channel: bool, packed: bool) -> dict[str, list[Any]]:
    """Shapes of the operands and of their scales: of experts (``E``, with both halves of a gated projection), or of one matrix."""
    rows = Symbol("the number of tokens", "the number of tokens", low=1)
    columns, inner = _number(facts.get("N")), _number(facts.get("K")) or _HIDDEN
    experts = [_number(facts["E"])] if "E" in facts else []
    columns = columns * 2 if experts and columns else columns or _HIDDEN
    if block and len(block) == 2 and all(block):
        left_scale: list[Any] = [rows, -(-inner // block[1])]
        right_scale = [*experts, -(-columns // block[0]), -(-inner // block[1])]
    elif packed:
        left_scale, right_scale = [1], [*experts, columns, inner // 128]
    elif per_channel:
        left_scale, right_scale = [rows, 1], [*experts, columns, 1]
    else:
        left_scale, right_scale = [1], experts or [1]
    return {"left": [rows, inner], "right": [*experts, columns, inner // 2 if packed else inner],
            "left scale": left_scale, "right scale": right_scale}  # fmt: skip


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0
