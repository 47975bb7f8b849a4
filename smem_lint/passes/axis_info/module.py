"""The analysis of a whole program, callers before callees, and what passes ask of it.

Facts: ``ModuleAxisInfoAnalysis`` in lib/Analysis/AxisInfo.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from math import gcd

from smem_lint.layout.distributed import order_of, unique_contig_per_thread
from smem_lint.passes.axis_info.lattice import MAX_DIVISOR, AxisInfo, unknown
from smem_lint.passes.axis_info.solver import Solver, rank_of
from smem_lint.tile.ir import Module, Op, Value
from smem_lint.tile.types import Pointer, Tensor
from smem_lint.tile.versions import decisions


class ModuleAxisInfo:
    """Facts about every value of ``module`` as it stands now; values made later are not known."""

    def __init__(self, module: Module) -> None:
        self.facts: dict[Value, AxisInfo] = {}
        functions = {function.attrs["name"]: function for function in module.functions}
        for function in _callers_first(functions) if len(functions) > 1 else module.functions:
            solver = Solver(function, decisions(module.version))
            solver.run()
            self.facts.update(solver.facts)
            if len(functions) > 1:
                for op in function.walk():
                    if op.name == "tt.call":
                        self._tell_callee(op, functions[op.attrs["callee"]])

    def _tell_callee(self, call: Op, callee: Op) -> None:
        """Leave what a call knows of its scalar arguments on the callee, where it stays for later passes."""
        attributes = [dict(attrs) for attrs in callee.attrs["arg_attrs"]]
        for operand, attrs in zip(call.operands, attributes, strict=True):
            info = self.info(operand)
            if len(info.contiguity) == 1:
                for name, facts in zip(("tt.contiguity", "tt.divisibility", "tt.constancy"), info[:3], strict=True):
                    attrs[name] = gcd(facts[0], attrs.get(name, MAX_DIVISOR))
        callee.attrs["arg_attrs"] = tuple(attributes)

    def info(self, value: Value) -> AxisInfo:
        """What is known of ``value``, or that nothing is."""
        found = self.facts.get(value)
        return unknown(rank_of(value)) if found is None else found

    def ptr_alignment(self, value: Value) -> int:
        """How many neighbouring elements, along the fastest dimension of its layout, one aligned access may take."""
        type_ = value.type
        if not isinstance(type_, Tensor):
            return 1
        info = self.facts.get(value)
        if info is None:
            return 1
        fastest = order_of(type_.encoding, type_.shape)[0]
        divisor, element = info.divisibility[fastest], type_.element
        if isinstance(element, Pointer):
            divisor = max(divisor // max(element.pointee.bits // 8, 1), 1)  # type: ignore[attr-defined]
        return min(divisor, info.contiguity[fastest])

    def ptr_contiguity(self, value: Value) -> int:
        """The same, and no more than one thread holds of them (elements); 1 for a scalar."""
        type_ = value.type
        if not isinstance(type_, Tensor):
            return 1
        fastest = order_of(type_.encoding, type_.shape)[0]
        return min(self.ptr_alignment(value), unique_contig_per_thread(type_.encoding, type_.shape)[fastest])

    def mask_alignment(self, mask: Value) -> int:
        """How many neighbouring elements of a mask are equal, along the fastest dimension of its layout."""
        type_ = mask.type
        info = self.facts.get(mask)
        if not isinstance(type_, Tensor) or info is None:
            return 1
        return max(info.constancy[order_of(type_.encoding, type_.shape)[0]], 1)


def _callers_first(functions: dict[str, Op]) -> list[Op]:
    order: dict[str, None] = {}

    def visit(name: str) -> None:
        if name not in order:
            for op in functions[name].walk():
                if op.name == "tt.call":
                    visit(op.attrs["callee"])
            order[name] = None

    for name in functions:
        visit(name)
    return [functions[name] for name in reversed(order)]
