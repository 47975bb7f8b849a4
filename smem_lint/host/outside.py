"""What lies outside the repository: torch, Triton and the standard library, as far as host code of kernels leans on them."""

from __future__ import annotations

import ast
import itertools
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from smem_lint.host import data_files, dynamic, machine, platform, regular_expressions
from smem_lint.host.builtin import items, pure
from smem_lint.host.limits import Raised, TooMuch
from smem_lint.host.operators import binary
from smem_lint.host.signatures import signature
from smem_lint.host.type_info import type_info
from smem_lint.host.values import (
    UNKNOWN,
    Bound,
    DType,
    Function,
    Kernel,
    Native,
    Outside,
    Partial,
    Record,
    Scope,
    Symbol,
    Tensor,
    TunedConfig,
    describe,
    words,
)

if TYPE_CHECKING:
    from smem_lint.host.evaluation import Evaluation

TRITON_VERSION = "3.8.0"
TORCH_VERSION = "2.13.0"

_TORCH_TYPES = {
    "float16": "float16", "half": "float16", "bfloat16": "bfloat16", "float32": "float32", "float": "float32", "float64": "float64",
    "double": "float64", "int8": "int8", "int16": "int16", "short": "int16", "int32": "int32", "int": "int32", "int64": "int64",
    "long": "int64", "uint8": "uint8", "uint16": "uint16", "uint32": "uint32", "uint64": "uint64", "bool": "int1",
    "float8_e4m3fn": "float8e4nv", "float8_e5m2": "float8e5", "float8_e4m3fnuz": "float8e4b8", "float8_e5m2fnuz": "float8e5b16",
    "float8_e8m0fnu": "uint8", "float4_e2m1fn_x2": "uint8",
}  # fmt: skip
_TL_TYPES = words(
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


@dataclass(frozen=True, order=True, slots=True)
class Version:
    """A version number, compared part by part."""

    parts: tuple[int, ...]

    @staticmethod
    def parse(text: str) -> Version:
        numbers = []
        for part in text.partition("+")[0].split("."):
            digits = "".join(itertools.takewhile(str.isdigit, part))
            if not digits:
                break
            numbers.append(int(digits))
        while numbers and numbers[-1] == 0:
            numbers.pop()
        return Version(tuple(numbers))

    @property
    def fields(self) -> dict[str, Any]:
        padded = (*self.parts, 0, 0, 0)
        return {
            "major": padded[0],
            "minor": padded[1],
            "micro": padded[2],
            "release": padded[:3],
            "base_version": ".".join(map(str, padded[:3])),
        }


_VALUES: dict[str, Any] = {
    "triton.__version__": TRITON_VERSION, "torch.__version__": TORCH_VERSION, "torch.version.__version__": TORCH_VERSION,
    "torch.version.hip": None, "torch.version.cuda": "13.0", "torch.version.xpu": None, "torch.version.musa": None,
    "math.inf": math.inf, "math.pi": math.pi, "math.e": math.e, "math.nan": math.nan, "sys.platform": "linux", "os.name": "posix",
    "sys.version_info": (3, 11, 7, "final", 0), "numpy.inf": math.inf, "numpy.pi": math.pi, "typing.TYPE_CHECKING": False,
    "torch.inf": math.inf, "os.sep": "/", "sys.maxsize": (1 << 63) - 1, "torch.pi": math.pi,
}  # fmt: skip
_MISSING = frozenset(("torch", name) for name in words("npu musa hpu mlu maca gcu neuron privateuseone sdaa vastai corex ptpu txda"))


def constant(where: platform.Target, dotted: str) -> Any:
    """The value of a dotted name outside, or the name itself."""
    if dotted in _VALUES:
        return _VALUES[dotted]
    head, _, last = dotted.rpartition(".")
    if head == "torch" and last in _TORCH_TYPES:
        return DType(_TORCH_TYPES[last])
    if head.startswith("triton.language") and last in _TL_TYPES:
        return DType(last)
    if head.endswith("libdevice") or last in ("libdevice",):
        return Outside(dotted)
    if head.startswith(("triton.runtime.driver.active", "triton.runtime.driver", "torch.cuda")) and last in (
        "backend",
        "arch",
        "warp_size",
    ):
        return {"backend": "cuda", "arch": where.capability, "warp_size": 32}[last]
    return Outside(dotted)


def attribute(run: Evaluation, dotted: str, name: str) -> Any:
    """``module.name`` of something outside."""
    if (dotted, name) in _MISSING:
        raise Raised("AttributeError")
    if dotted == "os" and name == "environ":
        return Outside("os.environ")
    if dotted.endswith(("current_platform", "platforms")):
        known = platform.attribute(run.program.target, name)
        if known is not UNKNOWN:
            return known
    return constant(run.program.target, run.program.canonical(f"{dotted}.{name}"))


def exists(dotted: str, name: str) -> Any:
    """``hasattr(module, name)``: of Triton and torch only what is asked for in practice is known."""
    if (dotted, name) in _MISSING:
        return False
    if dotted.startswith("triton.language"):
        return _TRITON_HAS.get(name, UNKNOWN)
    if dotted == "torch" and name in ("cuda", "compile", "float8_e4m3fn", "float8_e5m2", "accelerator", "uint16", "xpu", "library"):
        return True
    if dotted == "triton" and name in ("set_allocator", "Config", "autotune", "jit"):
        return True
    if dotted == "torch.version" and name in ("cuda", "hip", "git_version", "debug"):
        return True
    if dotted == "torch.cuda" and name in ("get_device_capability", "is_available", "Stream"):
        return True
    return UNKNOWN


_TRITON_HAS = {
    "gather": True, "make_tensor_descriptor": True, "_experimental_make_tensor_descriptor": False, "dot_scaled": True,
    "constexpr_function": False, "make_block_ptr": True, "range": True, "static_range": True, "tensor_descriptor": True, "float8e4nv": True,
    "inline_asm_elementwise": True,
}  # fmt: skip


def call(run: Evaluation, dotted: str, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    """A call of something outside."""
    handler = _CALLS.get(dotted)
    if handler is not None:
        return handler(run, args, kwargs, node, scope)
    head, _, last = dotted.rpartition(".")
    if dotted.startswith("triton.") and last in (
        "cdiv",
        "next_power_of_2",
        "Config",
        "jit",
        "constexpr",
        "get_current_target",
        "heuristics",
        "autotune",
    ):
        return _CALLS[f"triton.{last}"](run, args, kwargs, node, scope)
    if last == "get_device_properties":
        return platform.Properties(run.program.target)
    if head in ("torch", "torch.Tensor") and last in _FACTORIES:
        return _factory(run, last, args, kwargs, node)
    known = platform.method(run.program.target, head, last, args)
    if known is not UNKNOWN:
        return known
    if head == "torch" and args and isinstance(args[0], (Tensor, Symbol)) and last in _SAME_TYPE:
        return tensor_method(run, args[0], last, args[1:], kwargs, node)
    if head == "math" and last in _MATH and not kwargs:
        return pure(run, last, getattr(math, last), [run.definite(argument) for argument in args], node)
    if head == "operator" and last in _OPERATORS and len(args) == 2:
        return binary(last, getattr(operator, last), run.definite(args[0]), run.definite(args[1]), run.path.limits, _line(node))
    shown = ", ".join(describe(argument)[:24] for argument in args[:4])
    return Symbol(f"{dotted}({shown})", f"the result of {dotted}() is not known", line=node.lineno if node else 0)


_MATH = words("ceil floor sqrt log2 log log10 exp isqrt trunc gcd lcm fabs isclose isinf isnan prod copysign fmod")
_OPERATORS = frozenset(["add", "sub", "floordiv", "truediv", "mod", "lt", "le", "eq", "ne", "ge", "gt", "and_", "or_", "xor"])


def _line(node: ast.Call | None) -> int:
    return node.lineno if node is not None else 0


# tensors

_FACTORIES = words(
    "empty zeros ones full rand randn randint arange tensor empty_strided as_tensor scalar_tensor empty_like zeros_like "
    "ones_like full_like rand_like randn_like"
)  # fmt: skip
_SAME_TYPE = words(
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

METHOD_NAMES = _SAME_TYPE | frozenset(_CASTS) | frozenset(_SCALARS) | frozenset(_TESTS) | {"to", "type", "is_complex", "untyped_storage"}


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
    line = _line(node)
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


def _factory(run: Evaluation, name: str, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None) -> Any:
    line = _line(node)
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


# Triton


def _cdiv(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    values = [run.definite(value) for value in (*args, *kwargs.values())]
    result = pure(run, "cdiv", lambda x, y: (x + y - 1) // y, values, node)
    if isinstance(result, Symbol):
        result.low = 1 if isinstance(values[0], Symbol) and (values[0].low or 0) >= 1 else 0
    return result


def _next_power_of_2(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    result = pure(
        run,
        "next_power_of_2",
        lambda n: 1 << (n - 1).bit_length() if n > 0 else 0,
        [run.definite(v) for v in (*args, *kwargs.values())],
        node,
    )
    if isinstance(result, Symbol):
        result.low = 1
    return result


def _config(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    names = ("kwargs", "num_warps", "num_stages", "num_ctas", "maxnreg", "pre_hook")
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    table = run.definite(given.get("kwargs", {}))
    if not isinstance(table, dict) or "**" in given:
        return Symbol("triton.Config(…)", "the arguments of a Config are not known", line=_line(node))
    options = {
        name: run.path.concrete(given[name]) if isinstance(given[name], Symbol) else given[name] for name in names[1:] if name in given
    }
    return TunedConfig(dict(table), **options, line=_line(node))


def _jit(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    if args and isinstance(args[0], Function) and isinstance(args[0].node, ast.FunctionDef):
        return Kernel(args[0].module, args[0].node, "jit", args[0].scope)
    return Partial(Outside("triton.jit"), (), {}) if not args else args[0]


def _decorator_factory(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    return Outside("smem_lint.identity")


def _kernel_decorator(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    """``triton.autotune(…)`` or ``triton.heuristics(…)`` that is called on a kernel instead of standing above it."""

    def decorate(run: Evaluation, given: list[Any], ignored: dict[str, Any]) -> Any:
        kernel = run.definite(given[0]) if given else UNKNOWN
        return replace(kernel, applied=((node, scope), *kernel.applied)) if isinstance(kernel, Kernel) and node is not None else kernel

    return Native(decorate)


def _identity(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    return args[0] if args else UNKNOWN


# the standard library


def _getenv(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    return args[1] if len(args) > 1 else kwargs.get("default")


def _partial(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    return Partial(args[0], tuple(args[1:]), kwargs) if args else UNKNOWN


def _cache(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    return args[0] if args and not isinstance(args[0], (int, type(None))) else Outside("smem_lint.identity")


def _product(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    columns = [items(run, argument) for argument in args]
    if any(column is None for column in columns):
        return Symbol("itertools.product(…)", "what it runs over is not known", line=_line(node))
    known = [column for column in columns if column is not None]
    repeat = kwargs.get("repeat", 1)
    if not isinstance(repeat, int) or repeat > 16 or math.prod(len(column) for column in known) ** max(repeat, 1) > run.path.limits.items:
        raise TooMuch("a product of lists too long")
    return list(itertools.product(*known, repeat=repeat))


def _iterator(name: str) -> Callable[..., Any]:
    def evaluate(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
        columns: list[Any] = [items(run, argument) if not isinstance(argument, (int, Function)) else argument for argument in args]
        if any(column is None for column in columns):
            return Symbol(f"itertools.{name}(…)", "what it runs over is not known", line=_line(node))
        if name in ("combinations", "permutations") and (len(columns[0]) > 12 or not isinstance(args[-1], int)):
            raise TooMuch("a list too long")
        made = getattr(itertools, name)(*columns, **kwargs) if name != "chain.from_iterable" else itertools.chain.from_iterable(columns[0])
        return list(itertools.islice(made, run.path.limits.items))

    return evaluate


def _prod(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    values = items(run, args[0]) if args else None
    if values is None:
        return Symbol("prod(…)", "a product of what is not known", line=_line(node))
    total: Any = kwargs.get("start", 1)
    for value in values:
        total = binary("*", operator.mul, total, value, run.path.limits, _line(node))
    return total


def _reduce(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    values = items(run, args[1])
    if values is None:
        return UNKNOWN
    rest = values if len(args) > 2 else values[1:]
    total = args[2] if len(args) > 2 else values[0]
    for value in rest:
        total = run.call(args[0], (total, value), {}, node, scope)
    return total


def _parse_version(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    text = run.definite(args[0]) if args else UNKNOWN
    if isinstance(text, Version):
        return text
    return (
        Version.parse(text)
        if isinstance(text, str)
        else Symbol(f"version({describe(text)})", "a version that is not known", line=_line(node))
    )


def _installed_version(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    known = {"triton": TRITON_VERSION, "torch": TORCH_VERSION}
    name = args[0] if args else ""
    return (
        known.get(name)
        if name in known
        else Symbol(f"version of {describe(name)}", f"whether {describe(name)} is installed", line=_line(node))
    )


def _find_spec(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    name = args[0] if args else ""
    if name in ("triton", "torch", "numpy"):
        return Outside(f"spec of {name}")
    return Symbol(f"find_spec({describe(name)})", f"whether {describe(name)} is installed", line=_line(node))


def _field(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    return Partial("field", (), kwargs)


class _DefaultDict(dict[Any, Any]):
    factory: Any = None


def _defaultdict(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    table = _DefaultDict()
    table.factory = args[0] if args else None
    return table


def _current_target(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    return Record({"backend": "cuda", "arch": run.program.target.capability, "warp_size": 32})


def _returns(value: Any) -> Callable[..., Any]:
    return lambda run, args, kwargs, node, scope: value


def _deepcopy(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    return _copied(run, run.definite(args[0]), True) if args else UNKNOWN


def _shallow_copy(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    return _copied(run, run.definite(args[0]), False) if args else UNKNOWN


def _copied(run: Evaluation, value: Any, deep: bool) -> Any:
    run.step()
    if isinstance(value, dict):
        copy = value.copy()
        if deep:
            copy.update({key: _copied(run, one, True) for key, one in value.items()})
        return copy
    if isinstance(value, list):
        return [_copied(run, one, True) for one in value] if deep else list(value)
    if isinstance(value, TunedConfig):
        return TunedConfig(dict(value.kwargs), value.num_warps, value.num_stages, value.num_ctas, value.maxnreg, value.pre_hook, value.line)
    return value


def _info(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    dtype = run.path.concrete(args[0]) if args else UNKNOWN
    return (type_info(dtype) or UNKNOWN) if isinstance(dtype, DType) else UNKNOWN


def _signature(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    return signature(run, run.definite(args[0])) if args else UNKNOWN


def _capability(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    return run.program.target.version


_CALLS: dict[str, Callable[..., Any]] = {
    "triton.cdiv": _cdiv, "triton.next_power_of_2": _next_power_of_2, "triton.Config": _config, "triton.jit": _jit,
    "triton.constexpr": _identity, "torch.finfo": _info, "torch.iinfo": _info,
    "triton.autotune": _kernel_decorator, "triton.heuristics": _kernel_decorator, "triton.get_current_target": _current_target,
    "torch.library.wrap_triton": _identity, "torch._library.wrap_triton": _identity, "torch._library.triton.wrap_triton": _identity,
    "torch._library.capture_triton": _identity, "triton.set_allocator": _returns(None), "smem_lint.identity": _identity,
    "os.getenv": _getenv, "os.environ.get": _getenv, "os.environ.copy": lambda *ignored: {}, "os.environ.setdefault": _getenv,
    "functools.partial": _partial, "functools.cache": _cache, "functools.lru_cache": _cache, "functools.reduce": _reduce,
    "math.prod": _prod,
    "functools.wraps": _decorator_factory, "itertools.product": _product, "itertools.chain": _iterator("chain"),
    "itertools.chain.from_iterable": _iterator("chain.from_iterable"), "itertools.combinations": _iterator("combinations"),
    "itertools.permutations": _iterator("permutations"), "itertools.accumulate": _iterator("accumulate"),
    "packaging.version.parse": _parse_version, "packaging.version.Version": _parse_version, "pkg_resources.parse_version": _parse_version,
    "importlib.metadata.version": _installed_version, "importlib.util.find_spec": _find_spec,
    "dataclasses.field": _field, "collections.defaultdict": _defaultdict, "collections.OrderedDict": lambda *ignored: {},
    "typing.cast": lambda run, args, kwargs, node, scope: args[1] if len(args) > 1 else UNKNOWN,
    "copy.deepcopy": _deepcopy, "copy.copy": _shallow_copy, "platform.machine": _returns("x86_64"), "platform.system": _returns("Linux"),
    "torch.cuda.is_available": _returns(True), "torch.cuda.device_count": _returns(1), "torch.cuda.current_device": _returns(0),
    "torch.cuda.get_device_capability": _capability, "torch.xpu.is_available": _returns(False), "torch.npu.is_available": _returns(False),
    "torch.is_grad_enabled": _returns(True), "torch.compiler.is_compiling": _returns(False), "torch._dynamo.is_compiling": _returns(False),
    "torch.jit.is_scripting": _returns(False), "torch.jit.is_tracing": _returns(False),
    "triton.runtime.driver.active.get_device_interface": _returns(Outside("torch.cuda")),
    "torch.backends.mps.is_available": _returns(False),
    "inspect.signature": _signature, "functools.update_wrapper": _identity,
    "torch.is_tensor": lambda run, args, kwargs, node, scope: isinstance(args[0], Tensor) or UNKNOWN,
    **data_files.CALLS, **dynamic.CALLS, **machine.CALLS, **regular_expressions.CALLS,
}  # fmt: skip
