"""Tensors of torch as far as host code of kernels leans on them: how they are made, and what their methods give."""

from __future__ import annotations

import ast
import operator
from typing import TYPE_CHECKING, Any

from smem_lint.host.dtypes import bits
from smem_lint.host.operators import binary
from smem_lint.host.values import UNKNOWN, DType, Symbol, Tensor, describe, line_of, words

if TYPE_CHECKING:
    from smem_lint.host.evaluation import Evaluation

FACTORIES = words(
    "empty zeros ones full rand randn randint arange tensor empty_strided as_tensor scalar_tensor empty_like zeros_like "
    "ones_like full_like rand_like randn_like"
)  # fmt: skip
SAME_TYPE = words(
    "contiguous view reshape squeeze unsqueeze flatten t transpose permute expand expand_as repeat clone detach narrow select "
    "index_select unflatten view_as reshape_as cuda cpu requires_grad_ pin_memory movedim swapaxes roll flip zero_ fill_ "
    "copy_ as_strided masked_fill clamp relu abs neg mul add sub div pad broadcast_to new_empty new_zeros new_ones new_full "
    "new_empty_strided new_tensor gather take cat stack concat matmul mm bmm softmax silu sort chunk split unbind rsqrt exp "
    "sqrt cumsum where pad nan_to_num amax to_sparse"
)
_CASTS = {
    "float": "float32",
    "half": "float16",
    "bfloat16": "bfloat16",
    "double": "float64",
    "int": "int32",
    "long": "int64",
    "bool": "int1",
}
_SHAPED = frozenset({"view", "reshape", "new_empty", "new_zeros", "new_ones", "new_full", "expand", "repeat"})
_SAME_SHAPE = words("contiguous clone detach cuda cpu zero_ fill_ copy_ relu abs neg clamp exp sqrt rsqrt softmax silu pin_memory")
_SCALARS = {
    "stride": 0,
    "size": 1,
    "dim": 1,
    "numel": 1,
    "element_size": 1,
    "nelement": 1,
    "storage_offset": 0,
    "data_ptr": 0,
    "item": None,
}
_TESTS = {"is_contiguous": True, "is_cuda": True, "is_floating_point": None, "is_pinned": None}

METHOD_NAMES = SAME_TYPE | frozenset(_CASTS) | frozenset(_SCALARS) | frozenset(_TESTS) | {"to", "type", "is_complex", "untyped_storage"}


def dtype_of(run: Evaluation, value: Any) -> Any:
    """The type of a tensor, or a symbol for it."""
    value = run.definite(value)
    if isinstance(value, Tensor):
        return run.path.settle(value.dtype)
    if isinstance(value, Symbol):
        return run.path.settle(Symbol(f"{value.text}.dtype", f"the type of {value.text}"))
    return UNKNOWN


def tensor_method(run: Evaluation, receiver: Any, name: str, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None) -> Any:
    """A method of a tensor, or of something that is taken for one."""
    line = line_of(node)
    label = describe(receiver)
    if name in _SCALARS:
        return _scalar(run, receiver, name, args, kwargs, line)
    if name in _TESTS:
        answer = _TESTS[name]
        if name == "is_contiguous" and "any layout" in run.path.notes and not (isinstance(receiver, Tensor) and receiver.contiguous):
            answer = None
        return Symbol(f"{label}.{name}()", f"{name} of {label}", line=line) if answer is None else answer
    if isinstance(receiver, Symbol) and name not in METHOD_NAMES:
        shown = ", ".join(describe(argument)[:24] for argument in args[:4])
        return Symbol(f"{label}.{name}({shown})", receiver.reason or f"{label} is not known", line=line)
    shape = receiver.shape if isinstance(receiver, Tensor) else None
    dtype = dtype_of(run, receiver)
    if name in _CASTS:
        return Tensor(f"{label}.{name}()", DType(_CASTS[name]), shape, line=line, like=_model(receiver))
    wanted = kwargs.get("dtype", next((argument for argument in args if isinstance(argument, DType)), None))
    if wanted is None and name in ("to", "view", "type") and len(args) == 1 and isinstance(args[0], Symbol) and "dtype" in args[0].text:
        wanted = args[0]
    if name in ("chunk", "split", "unbind"):
        return Symbol(f"{label}.{name}(…)", f"the parts of {label}", line=line)
    if wanted is not None:
        sizes = [argument for argument in args if not isinstance(argument, DType)]
        new_shape = _shape(run, sizes, label) if name in _SHAPED and sizes else (shape if name == "to" else None)
        like = _model(receiver) if name == "to" else None
        return Tensor(f"{label}.{name}({describe(wanted)})", wanted, new_shape, line=line, like=like)
    if name in _SHAPED:
        return Tensor(f"{label}.{name}(…)", dtype, _shape(run, args, label), line=line)
    if name in ("t", "transpose", "swapaxes"):
        flipped = [shape[1], shape[0]] if name == "t" and shape is not None and len(shape) == 2 else None
        return Tensor(f"{label}.{name}()", dtype, flipped, contiguous=False, line=line)
    if name == "permute":
        return Tensor(f"{label}.{name}(…)", dtype, None, contiguous=False, line=line)
    if name in _SAME_SHAPE or name == "to":
        if isinstance(receiver, Symbol):
            return receiver
        like = _model(receiver) if name != "contiguous" else None
        return Tensor(receiver.name, dtype, shape, contiguous=receiver.contiguous or name == "contiguous", line=line, like=like)
    return Tensor(f"{label}.{name}(…)", dtype, None, line=line)


def _shape(run: Evaluation, args: list[Any], label: str = "") -> list[Any] | None:
    if len(args) == 1:
        single = run.definite(args[0])
        if isinstance(single, (list, tuple)):
            args = list(single)
        elif isinstance(single, Symbol) and single.text.endswith((".shape", ".size()")):
            return None
    if any(not isinstance(argument, (int, Symbol)) for argument in args):
        return None
    return [Symbol(f"the open size of {label[:80]}", "-1 in a shape", low=1) if argument == -1 else argument for argument in args]


def _scalar(run: Evaluation, receiver: Any, name: str, args: list[Any], kwargs: dict[str, Any], line: int) -> Any:
    if isinstance(receiver, Tensor) and receiver.like is not None and name != "element_size":
        receiver = receiver.like
    label = describe(receiver)
    low = _SCALARS[name]
    index = run.definite(args[0]) if args else run.definite(kwargs["dim"]) if "dim" in kwargs else None
    if name in ("size", "stride") and index is not None:
        index = run.program.normal_index(run.path, label, index)
    if isinstance(receiver, Tensor) and receiver.shape is not None:
        shape = receiver.shape
        if name == "dim":
            return len(shape)
        if name == "size":
            if index is None:
                return tuple(shape)
            if isinstance(index, int) and -len(shape) <= index < len(shape):
                return shape[index]
        if name == "numel":
            total: Any = 1
            for size in shape:
                total = binary("*", operator.mul, total, size, run.path.limits, line)
            return total
        if name == "stride" and receiver.contiguous:
            strides = _strides(run, shape, line)
            if index is None:
                return tuple(strides)
            if isinstance(index, int) and -len(shape) <= index < len(shape):
                return strides[index]
    if name == "element_size":
        dtype = dtype_of(run, receiver)
        if isinstance(dtype, DType):
            return bits(dtype) // 8
        return Symbol(
            f"{label}.element_size()",
            "the type of a tensor",
            operation=lambda known: bits(known) // 8,
            operands=(dtype,),
            low=1,
            kind="call",
        )
    if name == "size" and index is not None:
        return run.path.settle(Symbol(f"{label}.shape[{describe(index)}]", f"a size of {label}", line=line, low=1))
    if name == "size":
        rank = run.program.rank(run.path, label)
        if rank is not None:
            return tuple(_scalar(run, receiver, name, [place], {}, line) for place in range(rank))
        return Symbol(f"{label}.shape", f"the shape of {label}", line=line)
    if name == "dim":
        rank = run.program.rank(run.path, label)
        return rank if rank is not None else run.path.settle(Symbol(f"{label}.ndim", f"the rank of {label}", line=line, low=0))
    rank = run.program.rank(run.path, label) if name == "stride" and index is None else None
    if rank is not None:
        return tuple(_scalar(run, receiver, name, [place], {}, line) for place in range(rank))
    text = f"{label}.{name}({describe(index) if index is not None else ''})"
    return run.path.settle(Symbol(text, f"{name} of {label}", line=line, low=low))


def _strides(run: Evaluation, shape: list[Any], line: int) -> list[Any]:
    strides: list[Any] = [1]
    for size in reversed(shape[1:]):
        strides.append(binary("*", operator.mul, strides[-1], size, run.path.limits, line))
    return strides[::-1]


def factory(run: Evaluation, name: str, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None) -> Any:
    line = line_of(node)
    dtype = kwargs.get("dtype")
    if name.endswith("_like") or name == "as_tensor":
        source = run.definite(args[0]) if args else UNKNOWN
        dtype = dtype if dtype is not None else dtype_of(run, source)
        shape = list(source.shape) if isinstance(source, Tensor) and source.shape is not None else None
        label = f"torch.{name}({describe(source)[:40]})"
        dtype = dtype if dtype is not UNKNOWN else Symbol(f"{label}.dtype", "the type of a tensor")
        return Tensor(label, dtype, shape, line=line, like=_model(source))
    if dtype is None:
        dtype = DType("int64") if name in ("arange", "randint") else DType("float32")
        if name in ("tensor", "full") and args:
            value = args[-1]
            dtype = DType("int1") if isinstance(value, bool) else DType("int64") if isinstance(value, int) else DType("float32")
            if isinstance(value, (list, tuple)):
                dtype = DType("int64") if all(isinstance(one, int) for one in value) else DType("float32")
    sizes = kwargs.get("size")
    if sizes is not None:
        given = [sizes]
    elif name in ("full", "empty_strided"):
        given = args[:1]
    else:
        given = [argument for argument in args if not isinstance(argument, DType)]
    shape = None if name in ("arange", "tensor", "randint", "scalar_tensor") else _shape(run, given)
    return Tensor(f"torch.{name}@{line}", dtype, shape, line=line)


def _model(source: Any) -> Symbol | None:
    """The symbol of the tensor that has the shape of ``source``, where its sizes are not known by themselves."""
    if isinstance(source, Tensor):
        return source.like if source.shape is None else None
    return source if isinstance(source, Symbol) and source.is_base else None
