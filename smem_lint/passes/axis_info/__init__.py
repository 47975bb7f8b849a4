"""What is known of each value's elements along each dimension: contiguous runs, common divisors, repetitions.

``lattice`` holds the facts and how they join, ``transfer`` what each operation does to them, ``solver`` the fixed point over a
function, ``module`` the analysis of a program and the questions that passes ask of it.
"""

from smem_lint.passes.axis_info.lattice import MAX_DIVISOR, AxisInfo
from smem_lint.passes.axis_info.module import ModuleAxisInfo

__all__ = ["MAX_DIVISOR", "AxisInfo", "ModuleAxisInfo"]
