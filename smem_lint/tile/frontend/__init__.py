"""Python source and a specialization to a tile program: what Triton's front end makes, with all calls inlined.

``build`` is the entry. The files: ``kernel`` (arguments of the kernel), ``visitor`` (state), ``statements``, ``expressions``,
``branches``, ``loops``, ``calls`` (the syntax tree), ``names`` and ``attributes`` (what names stand for), ``constants`` and
``evaluation`` (what is computed at compile time), ``blocks`` (tidying).
"""

from smem_lint.tile.frontend.kernel import build

__all__ = ["build"]
