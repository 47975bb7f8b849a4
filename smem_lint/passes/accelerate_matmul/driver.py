"""Runs the rewrites: the last dot of the program first, since the others follow its warps."""

from __future__ import annotations

from smem_lint.layout.encodings import Mma
from smem_lint.passes.accelerate_matmul.choice import mma_version
from smem_lint.passes.accelerate_matmul.dots import rewrite_dot
from smem_lint.passes.accelerate_matmul.promotion import promote_operands
from smem_lint.passes.accelerate_matmul.scaled import decompose, is_native, rewrite_native, transpose_scaled_dots
from smem_lint.tile.cleanup.rewriter import Rewriter, rewrite
from smem_lint.tile.ir import Module, Op
from smem_lint.tile.unsupported import Unsupported
from smem_lint.tile.versions import decisions


def run(module: Module) -> None:
    """Move every dot of ``module`` that can to tensor cores."""
    uniform = not transpose_scaled_dots(module)

    def pattern(op: Op, rewriter: Rewriter) -> bool:
        return not isinstance(op.results[0].type.encoding, Mma) and _rewrite(op, module, uniform)

    for function in module.functions:
        rewrite(function, {"tt.dot": (pattern,), "tt.dot_scaled": (pattern,)})
    promote_operands(module)


def _rewrite(dot: Op, module: Module, uniform: bool) -> bool:
    num_warps, capability, triton = module.num_warps, module.capability, decisions(module.version)
    scaled = dot.name == "tt.dot_scaled"
    if scaled:
        if is_native(dot, capability) and (capability == 120 or not triton.one_consumer_chip):
            rewrite_native(dot, num_warps, capability)
            return True
        if 100 <= capability < 120:
            raise Unsupported("dot_scaled on tensor memory", dot.line)
        dot = decompose(dot, num_warps)
    version = mma_version(dot, capability, num_warps)
    if version == 5:
        raise Unsupported("dot on tensor memory", dot.line)
    if version:
        rewrite_dot(dot, version, num_warps, capability, uniform, triton.any_join_widens)
    return scaled or version != 0
