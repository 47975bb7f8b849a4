"""Allocations as people read them: what each buffer of a program holds, and which source line it comes from."""

from __future__ import annotations

from smem_lint.allocation.allocate import Allocation
from smem_lint.allocation.allocate import Buffer as Allocated
from smem_lint.engines import Buffer
from smem_lint.tile.ir import Op, Value
from smem_lint.tile.types import MemDesc, Scalar, Tensor

_TYPE_NAMES = {"f8E4M3FN": "fp8e4nv", "f8E5M2": "fp8e5", "f16": "fp16", "f32": "fp32", "f64": "fp64"}
_SCRATCH = {
    "ttg.convert_layout": "layout conversion", "tt.reduce": "reduction", "tt.scan": "scan", "tt.histogram": "histogram",
    "tt.gather": "gather", "tt.atomic_rmw": "result of an atomic", "tt.atomic_cas": "result of an atomic", "tt.call": "call",
    "ttng.tensormap_create": "tensor map",
}  # fmt: skip

_COPIES = ("ttg.async_copy_global_to_local", "ttng.async_tma_copy_global_to_local", "ttg.local_store")
_DOTS = ("tt.dot", "tt.dot_scaled", "ttng.warp_group_dot", "ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled")
_RECAST = (
    "ttg.convert_layout", "tt.trans", "tt.reshape", "tt.bitcast", "tt.fp_to_fp", "arith.truncf", "arith.extf", "arith.sitofp",
    "arith.uitofp",
)  # fmt: skip
"""A tile is worked out by what stands before these: they cast it, or lay it out otherwise."""

_TRACED = 200


def reported(allocation: Allocation) -> tuple[Buffer, ...]:
    """The buffers of the function that needs most, largest first."""
    buffers = [_reported(one) for one in allocation.buffers]
    return tuple(sorted(buffers, key=lambda one: (-one.size, one.offset)))


def _reported(one: Allocated) -> Buffer:
    op = one.op
    kind, what = _kind(one)
    origin = _origin(op)
    if kind == "operand" and origin is not op and _element(origin.results[0].type) != _element(op.result.type):
        what += f" (from {_element(origin.results[0].type)})"
    return Buffer(one.offset, one.size, kind, op.name, what, _name(origin), origin.line or op.line, one.start, one.end, _read(op))


def _origin(op: Op) -> Op:
    """The operation that a reader would name: the load behind a staged ring or an operand, else what works the operand out."""
    if op.name != "ttg.local_alloc":
        return op
    if op.operands:
        return _load_behind(op.operands[0]) or op.operands[0].made_through(_RECAST) or op
    copies = (user for result in op.results for view in result.users for inner in view.results for user in inner.users)
    return next((user for user in copies if user.name in _COPIES), op)


def _read(op: Op) -> int | None:
    """The line of the first dot that reads a buffer, through views, loads from it and casts."""
    if op.name != "ttg.local_alloc":
        return None
    pending, seen = [op], {op}
    while pending and len(seen) < _TRACED:
        for user in (user for result in pending.pop(0).results for user in result.users):
            if user.name in _DOTS:
                return user.line
            if user not in seen and not user.regions and not user.successors:
                seen.add(user)
                pending.append(user)
    return None


def _load_behind(value: Value) -> Op | None:
    """The only load that a tile is computed from, through casts, scales and layout changes; None for the result of other work."""
    found, pending, seen = None, [value], 0
    while pending and seen < _TRACED:
        op = pending.pop().op
        seen += 1
        if op is None or not isinstance(op.results[0].type, Tensor):
            continue
        if op.name in ("tt.load", "ttg.local_load", "tt.descriptor_load"):
            if found is not None and found is not op:
                return None
            found = op
        elif op.name in (*_DOTS, "tt.reduce", "tt.scan") or op.regions:
            return None
        elif op.name not in ("tt.splat", "arith.constant"):
            pending += op.operands
    return found


def _kind(one: Allocated) -> tuple[str, str]:
    op = one.op
    if op.name != "ttg.local_alloc":
        kind = "call" if one.kind == "call" else "scratch"
        tile = f" of {_tile(op.operands[0])}" if op.operands and isinstance(op.operands[0].type, Tensor) else ""
        return kind, _SCRATCH.get(op.name, op.name) + tile
    type_: MemDesc = op.result.type
    shape = "x".join(map(str, type_.shape))
    if type_.element is Scalar("i64") and type_.shape[-1] == 1 and not op.operands:
        return "barrier", f"{shape} mbarrier"
    if op.operands:
        return "operand", f"{shape} {_element(type_)}"
    if not any(user.name in ("ttg.memdesc_index", "ttg.memdesc_subslice") for user in op.result.users):
        return "staged", f"{shape} {_element(type_)}"
    return "staged", f"{type_.shape[0]} x {'x'.join(map(str, type_.shape[1:]))} {_element(type_)}"


def _tile(value: Value) -> str:
    return f"{'x'.join(map(str, value.type.shape))} {_element(value.type)}"


def _element(type_: Tensor | MemDesc) -> str:
    return _TYPE_NAMES.get(str(type_.element), str(type_.element))


def _name(op: Op) -> str:
    return op.results[0].name if op.results else ""
