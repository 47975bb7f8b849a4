"""Scratch sizes, lifetimes, interference graph, offsets."""

from smem_lint.allocation.allocate import Allocation, Buffer, FunctionAllocation, allocate

__all__ = ["Allocation", "Buffer", "FunctionAllocation", "allocate"]
