"""What kernels written by TorchInductor import from ``torch._inductor.runtime.triton_helpers`` (torch 2.13).

The helpers are jit functions. ``inductor_dialect`` says in Triton's dialect what each computes, operation for operation; the
front end inlines it as it would the linted project's own functions. Nothing of it is executed, and torch need not be installed.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path
from typing import Any

from smem_lint.source.modules import Repository, SourceModule
from smem_lint.tile.language.inductor_dialect import DIALECT
from smem_lint.tile.language.registry import builtin
from smem_lint.tile.semantic.context import Context, fail
from smem_lint.tile.values import Builtin, FunctionRef, Handle, Namespace

MODULE = "torch._inductor.runtime.triton_helpers"
_COMPAT = "torch._inductor.runtime.triton_compat"


@lru_cache(maxsize=1)
def _module() -> SourceModule:
    path = Path("triton_helpers.py")
    source = DIALECT.encode()
    return SourceModule(Repository([]), path.name, path, path.parent, MODULE, source, ast.parse(source))


@lru_cache(maxsize=256)
def _function(name: str) -> FunctionRef | None:
    node = _module().find_function(name)
    return None if node is None else FunctionRef(name, _module(), node)


def _next_power_of_2(ctx: Context, n: Any) -> int:
    if not isinstance(n, int):
        raise fail(ctx, "constexpr_next_power_of_2 of a run-time value")
    return 1 << (n - 1).bit_length() if n > 0 else 0


def _if_mask(ctx: Context, mask: Any, val: Any) -> Any:
    return None if mask is None and not isinstance(mask, Handle) else val


_BUILTINS: dict[str, Builtin] = {
    "constexpr_next_power_of_2": builtin("constexpr_next_power_of_2", _next_power_of_2),
    "if_mask": builtin("if_mask", _if_mask),
}
_MODULES = {"libdevice": "triton.language.extra.libdevice", "math": "triton.language.math", "tl": "triton.language", "triton": "triton"}


def lookup(dotted: str) -> Any:
    """What a name of Inductor's helpers stands for, or None."""
    module, _, name = dotted.rpartition(".")
    if dotted == MODULE or (module in (MODULE, _COMPAT) and name in _MODULES):
        return Namespace(_MODULES.get(name, dotted))
    if module != MODULE:
        return None
    return _BUILTINS.get(name) or _function(name)
