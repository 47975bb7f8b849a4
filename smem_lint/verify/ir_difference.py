"""Where two tile programs part: operations in order, operand wiring, types with encodings, and the attributes that matter.

Constants are compared where they are used, by type and value, since their place among the operations decides nothing.
"""

from __future__ import annotations

import math
from typing import Any

from smem_lint.tile.ir import Block, Module, Op, Value

_ATTRIBUTES = (
    "axis", "order", "predicate", "start", "end", "inputPrecision", "num", "segments", "callee", "symbol", "rmw_op", "allow_reorder",
    "efficient_layout", "tt.num_stages", "tt.latency", "loop.stage", "loop.cluster", "tt.loop_unroll_factor", "tt.flatten",
    "tt.warp_specialize", "tt.divisibility", "tt.contiguity", "tt.constancy", "propagateNan", "maxNumImpreciseAcc", "contiguity",
    "tt.scheduled_max_stage", "tt.self_latency", "unsigned", "noinline", "visibility", "allocation.offset", "reverse", "packed_element",
    "offsets",
)  # fmt: skip
_DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(("allow_reorder", "efficient_layout", "unsigned", "reverse"), False), "maxNumImpreciseAcc": 0, "contiguity": 1,
}  # fmt: skip


class _Comparison:
    def __init__(self) -> None:
        self.twin: dict[Value, Value] = {}
        self.blocks: dict[Block, Block] = {}

    def functions(self, ours: Module, theirs: Module) -> str | None:
        mine = {f.attrs["name"]: f for f in ours.functions}
        other = {f.attrs["name"]: f for f in theirs.functions}
        if len(mine) == 1 and len(other) == 1:
            return self.operation(ours.functions[0], theirs.functions[0])
        if set(mine) != set(other):
            return f"functions: {sorted(mine)} against {sorted(other)}"
        return next((found for name in mine if (found := self.operation(mine[name], other[name]))), None)

    def operation(self, a: Op, b: Op) -> str | None:
        if a.name != b.name:
            return f"{_show(a)} against {_show(b)}"
        if len(a.operands) != len(b.operands):
            return f"{_show(a)}: {len(a.operands)} operands against {len(b.operands)} of {_show(b)}"
        for index, (x, y) in enumerate(zip(a.operands, b.operands, strict=True)):
            if not self.same_value(x, y):
                return f"{_show(a)}: operand {index} is {_value(x)} against {_value(y)}"
        for name in _ATTRIBUTES:
            here, there = a.attrs.get(name, _DEFAULTS.get(name)), b.attrs.get(name, _DEFAULTS.get(name))
            if here != there:
                return f"{_show(a)}: {name} is {here} against {there}"
        if [r.type for r in a.results] != [r.type for r in b.results]:
            return f"{_show(a)}: results {[r.type for r in a.results]} against {[r.type for r in b.results]}"
        self.twin.update(zip(a.results, b.results, strict=True))
        if [len(r.blocks) for r in a.regions] != [len(r.blocks) for r in b.regions]:
            return f"{_show(a)}: blocks {[len(r.blocks) for r in a.regions]} against {[len(r.blocks) for r in b.regions]}"
        pairs = [pair for x, y in zip(a.regions, b.regions, strict=True) for pair in zip(x.blocks, y.blocks, strict=True)]
        self.blocks.update(pairs)
        if tuple(self.blocks.get(s, s) for s in a.successors) != b.successors:
            return f"{_show(a)}: other successors"
        return next((found for x, y in pairs if (found := self.block(x, y))), None)

    def block(self, a: Block, b: Block) -> str | None:
        if [arg.type for arg in a.args] != [arg.type for arg in b.args]:
            return f"block of {a.parent_op}: arguments {[x.type for x in a.args]} against {[x.type for x in b.args]}"
        self.twin.update(zip(a.args, b.args, strict=True))
        ours = [op for op in a if op.name not in ("arith.constant", "ub.poison")]
        theirs = [op for op in b if op.name not in ("arith.constant", "ub.poison")]
        for x, y in zip(ours, theirs, strict=False):
            found = self.operation(x, y)
            if found:
                return found
        if len(ours) != len(theirs):
            extra = (ours if len(ours) > len(theirs) else theirs)[min(len(ours), len(theirs))]
            return f"{'ours' if len(ours) > len(theirs) else 'theirs'} goes on with {_show(extra)}"
        return None

    def same_value(self, x: Value, y: Value) -> bool:
        if x in self.twin:
            return self.twin[x] is y
        if x.op is None or y.op is None or x.op.name != y.op.name:
            return False
        if x.type is not y.type or x.op.name not in ("arith.constant", "ub.poison"):
            return False
        return _same_number(x.op.attrs.get("value"), y.op.attrs.get("value"))


def _same_number(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-2)
    return bool(a == b)


def _value(value: Value) -> str:
    if value.op is None:
        return f"argument {value.index} of {value.block.parent_op.name if value.block and value.block.parent_op else '?'}: {value.type}"
    return f"{_show(value.op)} {value.op.attrs.get('value', '')}: {value.type}"


def _show(op: Op) -> str:
    types = ", ".join(str(result.type) for result in op.results)
    return f"{op.name}{f' (line {op.line})' if op.line else ''} -> ({types})"


def first_difference(ours: Module, theirs: Module) -> str | None:
    """The first place, in program order, at which the two programs part, in words; None when they are the same."""
    return _Comparison().functions(ours, theirs)
