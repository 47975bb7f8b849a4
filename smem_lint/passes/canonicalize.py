"""The canonicalizer on programs with or without layouts: that of ``tile.cleanup``, and the folding of layout conversions.

Facts: ``mlir/lib/Transforms/Canonicalizer.cpp`` as linked into Triton 3.8.0, ``lib/Dialect/TritonGPU/IR/Ops.cpp``.
"""

from __future__ import annotations

from typing import Any

from smem_lint.layout.encodings import Encoding
from smem_lint.layout.inference import expand_dims_result
from smem_lint.passes import convert_canonicalization
from smem_lint.tile.cleanup import canonicalize as without_layouts
from smem_lint.tile.cleanup.rewriter import merged
from smem_lint.tile.ir import Module


class Layouts:
    """What patterns of ``tile.cleanup`` ask about encodings."""

    @staticmethod
    def expand_dims(encoding: Encoding, axis: int) -> Any:
        return expand_dims_result(encoding, axis)


LAYOUTS = Layouts()
PATTERNS = merged(without_layouts.PATTERNS, convert_canonicalization.PATTERNS)


def run(module: Module) -> None:
    for function in module.functions:
        without_layouts.canonicalize(function, PATTERNS, LAYOUTS)
