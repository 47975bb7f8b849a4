"""Removal of functions that nothing calls.

Facts: ``mlir/lib/Transforms/SymbolDCE.cpp`` as linked into Triton 3.8.0: public functions stay, and what live ones call.
"""

from __future__ import annotations

from smem_lint.tile.ir import Module


def run(module: Module) -> None:
    by_name = {function.attrs["name"]: function for function in module.functions}
    stack = [function for function in module.functions if function.attrs.get("visibility", "public") != "private"]
    alive = set(stack)
    while stack:
        for op in stack.pop().walk():
            callee = by_name.get(op.attrs["callee"]) if op.name == "tt.call" else None
            if callee is not None and callee not in alive:
                alive.add(callee)
                stack.append(callee)
    module.functions = [function for function in module.functions if function in alive]
