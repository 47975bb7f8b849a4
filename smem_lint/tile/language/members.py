"""Methods of tensors and descriptors (class ``tensor`` and ``tensor_descriptor_base`` in ``core.py``, 3.8.0)."""

from __future__ import annotations

from typing import Any

from smem_lint.tile.language.registry import builtin
from smem_lint.tile.semantic import descriptor
from smem_lint.tile.semantic.context import Context
from smem_lint.tile.values import Builtin, Handle

TENSOR_METHODS: dict[str, str] = {
    "to": "cast", "logical_and": "tensor.logical_and", "logical_or": "tensor.logical_or",
    **{
        name: name
        for name in (
            "cast", "broadcast_to", "trans", "permute", "split", "view", "item", "reshape", "expand_dims", "store", "advance",
            "atomic_cas", "atomic_xchg", "atomic_add", "atomic_max", "atomic_min", "atomic_and", "atomic_or", "atomic_xor",
            "exp", "exp2", "log", "log2", "cos", "sin", "sqrt", "sqrt_rn", "rsqrt", "abs", "erf", "floor", "ceil",
            "reduce", "associative_scan", "gather", "histogram", "cdiv", "sigmoid", "softmax", "ravel",
            "max", "argmax", "min", "argmin", "sum", "xor_sum", "reduce_or", "cumsum", "cumprod", "flip",
        )
    },
}  # fmt: skip
"""Methods of a tensor, and the function of the language that each is."""


def _load(ctx: Context, desc: Any, offsets: Any) -> Handle:
    return descriptor.load(ctx, desc, offsets)


def _store(ctx: Context, desc: Any, offsets: Any, value: Handle) -> None:
    descriptor.store(ctx, desc, value, offsets)


def _gather(ctx: Context, desc: Any, x: Handle, y: Any) -> Handle:
    return descriptor.gather(ctx, desc, x, y)


def _scatter(ctx: Context, desc: Any, value: Handle, x: Handle, y: Any) -> None:
    descriptor.scatter(ctx, desc, value, x, y)


def _reduce(kind: str) -> Any:
    def call(ctx: Context, desc: Any, offsets: Any, value: Handle) -> None:
        descriptor.reduce(ctx, kind, desc, value, offsets)

    return call


DESCRIPTOR_METHODS: dict[str, Builtin] = {
    "load": builtin("tensor_descriptor.load", _load),
    "store": builtin("tensor_descriptor.store", _store),
    "gather": builtin("tensor_descriptor.gather", _gather),
    "scatter": builtin("tensor_descriptor.scatter", _scatter),
    **{f"atomic_{kind}": builtin(f"tensor_descriptor.atomic_{kind}", _reduce(kind)) for kind in ("add", "min", "max", "and", "or", "xor")},
}
"""Methods of a tensor descriptor; each takes the descriptor first."""
