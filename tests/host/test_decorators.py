"""Launches by an object that a decorator of the repository makes of a function: the function says what is launched."""

from __future__ import annotations

from pathlib import Path

from smem_lint.host import Config, resolve
from smem_lint.source.modules import Repository

LAUNCHER = """
import inspect
from typing import Any, Generic, TypeVar
import torch, triton

T = TypeVar("T")

def is_autotuned(kernel):
    while kernel is not None:
        if isinstance(kernel, triton.runtime.autotuner.Autotuner):
            return True
        kernel = getattr(kernel, "fn", None)
    return False

class Base(Generic[T]):
    kernel: Any

    def launch(self, spec, inputs):
        grid, kwargs = spec
        kwargs = {**inputs, **kwargs}
        kernel = kwargs.pop("kernel", None) or self.kernel
        return kernel[grid](**kwargs)

class Launcher(Base[int]):
    def __init__(self, kernel, dispatch):
        self.kernel = kernel
        self.dispatch = dispatch
        self.tuned = is_autotuned(kernel)
        self.names = tuple(name for name, one in inspect.signature(dispatch).parameters.items() if one.default is inspect.Parameter.empty)
        super().__init__()

    def __call__(self, *args):
        spec = self.dispatch(*args)
        return self.launch(spec, dict(zip(self.names, args)))

def launcher(*, kernel):
    def decorate(dispatch):
        return Launcher(kernel, dispatch)
    return decorate

def launched(call):
    signature = inspect.signature(call)
    def wrapper(self, *args, **kwargs):
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        return self.launch(call(self, *args, **kwargs), {name: value for name, value in bound.arguments.items() if name != "self"})
    return wrapper
"""

KERNELS = """
import torch, triton
import triton.language as tl
from launcher import Base, launcher, launched

@triton.jit
def first(x, n, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), n)

@triton.autotune([triton.Config({"BLOCK": 64}, num_warps=2)], key=[])
@triton.jit
def second(x, n, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), n)

@launcher(kernel=first)
def go_first(x: torch.Tensor, n: int):
    return (1,), dict(BLOCK=256 if n > 64 else 128, num_warps=8)

@launcher(kernel=second)
def go_second(x: torch.Tensor, n: int):
    return (n,), {}

class Third(Base[int]):
    @staticmethod
    @triton.jit
    def kernel(x, n, BLOCK: tl.constexpr, TWICE: tl.constexpr):
        tl.store(x + tl.arange(0, BLOCK), n)

    @launched
    def __call__(self, x: torch.Tensor, n: int, TWICE: bool = True):
        return (n,), dict(BLOCK=32)
"""


def test_a_decorator_that_makes_a_launcher(tmp_path: Path) -> None:
    (tmp_path / "launcher.py").write_text(LAUNCHER)
    (tmp_path / "kernels.py").write_text(KERNELS)
    found = [one for one in resolve(Repository([tmp_path]), ["launcher.py"]) if isinstance(one, Config)]
    assert all(one.launch.startswith("launcher.py:") and not one.unresolved for one in found)
    kernels = [(one.kernel, one.constexprs["BLOCK"], one.options.get("num_warps")) for one in found]
    assert sorted(kernels[:3]) == [("first", 128, 8), ("first", 256, 8), ("second", 64, 2)]
    assert {(one.constexprs["BLOCK"], one.constexprs["TWICE"]) for one in found[3:]} == {(32, True), (32, False)}
    assert {one.kernel for one in found[3:]} == {"kernel"}
