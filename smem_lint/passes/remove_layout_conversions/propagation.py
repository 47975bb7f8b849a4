"""Forward propagation: the layouts of loads, dots and the like spread to all that is computed from them.

A value reached from several anchors collects several layouts, in the order in which they arrive. One is kept: the first, but
for a load, store or atomic the first blocked one, and for all else the first of a tensor-core dot.

Facts: ``LayoutPropagation`` in lib/Dialect/TritonGPU/Transforms/RemoveLayoutConversions.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from typing import Any

from smem_lint.layout.encodings import Blocked, Mma
from smem_lint.layout.inference import infer_result
from smem_lint.passes.region_flow import BRANCHES
from smem_lint.passes.remat_rules import is_anchor, passes_layout_on
from smem_lint.tile.ir import Op, Use, Value
from smem_lint.tile.types import Tensor

Layouts = dict[Value, Any]
_Candidates = dict[Value, dict[Any, None]]
_ACCESSES = frozenset({"tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas"})


def propagate_layouts(function: Op, num_warps: int, through_reordering: bool = True) -> Layouts:
    """The layout of every value that an anchor's layout reaches; ``through_reordering``: also through views that may reorder."""
    candidates = _anchors(function, num_warps)
    stack = list(candidates)
    while stack:
        value = stack.pop()
        encodings = tuple(candidates[value])
        for use in reversed(tuple(value.uses)):
            if not through_reordering and use.owner.attrs.get("allow_reorder"):
                continue
            receivers, keep = _receivers(use)
            for receiver in receivers:
                if isinstance(receiver.type, Tensor) and _add(candidates, receiver, encodings, use.owner, keep):
                    stack.append(receiver)
    return {value: _choose(value, tuple(encodings)) for value, encodings in candidates.items()}


def _anchors(function: Op, num_warps: int) -> _Candidates:
    found: _Candidates = {}
    for arg in function.body.args:
        if isinstance(arg.type, Tensor):
            found[arg] = {arg.type.encoding: None}
    for op in function.walk_post():
        if is_anchor(op, num_warps):
            for result in op.results:
                if isinstance(result.type, Tensor):
                    found[result] = {result.type.encoding: None}
    return found


def _receivers(use: Use) -> tuple[list[Value], bool]:
    """The values whose layout follows from that of ``use``, and whether they simply have the same."""
    op, index = use.owner, use.index
    name = op.name
    if name == "scf.for":
        return [op.body.args[index - 2], op.results[index - 3]], True
    if name == "scf.while":
        return [op.regions[0].blocks[0].args[index]], True
    if name == "scf.yield":
        return _yield_receivers(op, index), True
    if name == "scf.condition":
        parent = op.parent
        assert parent is not None
        return [parent.regions[1].blocks[0].args[index - 1], parent.results[index - 1]], True
    if name == "ttng.warp_group_dot_wait":
        return [op.results[index]], True
    if name == "tt.gather":
        return (op.results, True) if index == 1 and not op.attrs.get("efficient_layout") else ([], True)
    if passes_layout_on(name):
        return op.results, name == "ttg.convert_layout"
    return [], True


def _yield_receivers(op: Op, index: int) -> list[Value]:
    """What a ``scf.yield`` feeds. That of a ``scf.while`` also counts for the result of the same index, whatever goes there."""
    parent = op.parent
    if parent is None or parent.name not in BRANCHES:
        return []
    found = parent.results[index : index + 1]
    if parent.name == "scf.for":
        found.append(parent.body.args[index + 1])
    elif parent.name == "scf.while":
        found.append(parent.regions[0].blocks[0].args[index])
    return found


def _add(candidates: _Candidates, value: Value, encodings: tuple[Any, ...], op: Op, keep: bool) -> bool:
    changed = False
    for encoding in encodings:
        inferred = encoding if keep else infer_result(op, encoding)
        if inferred is None:
            continue
        known = candidates.get(value)
        if known is None:
            candidates[value] = {inferred: None}
            changed = True
        elif inferred not in known:
            known[inferred] = None
            changed = True
    return changed


def _choose(value: Value, encodings: tuple[Any, ...]) -> Any:
    if len(encodings) > 1:
        preferred = Blocked if value.op is not None and value.op.name in _ACCESSES else Mma
        for encoding in encodings:
            if isinstance(encoding, preferred):
                return encoding
    return encodings[0]
