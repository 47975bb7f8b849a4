"""Which dots run on tensor cores, with which instruction and which warps: ``accelerate_matmul``.

``choice`` says which instruction a dot can use, ``warps`` how the warps share it, ``operand_width`` how many elements of an
operand a lane reads at once; ``dots`` rewrites dots, ``scaled`` those with block scales, ``promotion`` what no instruction takes.

Facts: lib/Dialect/TritonGPU/Transforms/AccelerateMatmul.cpp, Triton 3.8.0.
"""

from smem_lint.passes.accelerate_matmul.driver import run

__all__ = ["run"]
