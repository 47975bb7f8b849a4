"""What lies outside the repository: torch, Triton and the standard library, as far as host code of kernels leans on them."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from smem_lint.host import data_files, dynamic, machine, platform, regular_expressions, standard_library, triton_calls, versions
from smem_lint.host.builtin import pure
from smem_lint.host.dtypes import TL_TYPES, TORCH_TYPES
from smem_lint.host.limits import Raised
from smem_lint.host.operators import binary
from smem_lint.host.tensors import FACTORIES, SAME_TYPE, factory, tensor_method
from smem_lint.host.type_info import type_info
from smem_lint.host.values import UNKNOWN, DType, Outside, Scope, Symbol, Tensor, describe, line_of, words
from smem_lint.host.versions import TORCH_VERSION, TRITON_VERSION

if TYPE_CHECKING:
    from smem_lint.host.evaluation import Evaluation

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
    if head == "torch" and last in TORCH_TYPES:
        return DType(TORCH_TYPES[last])
    if head.startswith("triton.language") and last in TL_TYPES:
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
    if head in ("torch", "torch.Tensor") and last in FACTORIES:
        return factory(run, last, args, kwargs, node)
    known = platform.method(run.program.target, head, last, args)
    if known is not UNKNOWN:
        return known
    if head == "torch" and args and isinstance(args[0], (Tensor, Symbol)) and last in SAME_TYPE:
        return tensor_method(run, args[0], last, args[1:], kwargs, node)
    if head == "math" and last in _MATH and not kwargs:
        return pure(run, last, getattr(math, last), [run.definite(argument) for argument in args], node)
    if head == "operator" and last in _OPERATORS and len(args) == 2:
        return binary(last, getattr(operator, last), run.definite(args[0]), run.definite(args[1]), run.path.limits, line_of(node))
    shown = ", ".join(describe(argument)[:24] for argument in args[:4])
    return Symbol(f"{dotted}({shown})", f"the result of {dotted}() is not known", line=node.lineno if node else 0)


_MATH = words("ceil floor sqrt log2 log log10 exp isqrt trunc gcd lcm fabs isclose isinf isnan prod copysign fmod")
_OPERATORS = frozenset(["add", "sub", "floordiv", "truediv", "mod", "lt", "le", "eq", "ne", "ge", "gt", "and_", "or_", "xor"])


def _returns(value: Any) -> Callable[..., Any]:
    return lambda run, args, kwargs, node, scope: value


def _info(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    dtype = run.path.concrete(args[0]) if args else UNKNOWN
    return (type_info(dtype) or UNKNOWN) if isinstance(dtype, DType) else UNKNOWN


def _capability(run: Evaluation, args: list[Any], kwargs: dict[str, Any], node: ast.Call | None, scope: Scope) -> Any:
    return run.program.target.version


_CALLS: dict[str, Callable[..., Any]] = {
    "torch.finfo": _info, "torch.iinfo": _info, "torch.cuda.get_device_capability": _capability,
    "torch.cuda.is_available": _returns(True), "torch.cuda.device_count": _returns(1), "torch.cuda.current_device": _returns(0),
    "torch.xpu.is_available": _returns(False), "torch.npu.is_available": _returns(False), "torch.is_grad_enabled": _returns(True),
    "torch.compiler.is_compiling": _returns(False), "torch._dynamo.is_compiling": _returns(False),
    "torch.jit.is_scripting": _returns(False), "torch.jit.is_tracing": _returns(False), "torch.backends.mps.is_available": _returns(False),
    "torch.is_tensor": lambda run, args, kwargs, node, scope: isinstance(args[0], Tensor) or UNKNOWN,
    **triton_calls.CALLS, **standard_library.CALLS, **versions.CALLS, **data_files.CALLS, **dynamic.CALLS, **machine.CALLS,
    **regular_expressions.CALLS,
}  # fmt: skip
