"""What operations do to memory, and whether they may be removed, merged or moved.

Mirrors MLIR's side-effect queries (``mlir/Interfaces/SideEffectInterfaces.h``: ``isMemoryEffectFree``, ``getEffectsRecursively``,
``wouldOpBeTriviallyDead``, ``isSpeculatable``) with the traits of Triton 3.8.0's operations (``TritonOps.td``, ``TritonGPUOps.td``,
``TritonNvidiaGPUOps.td``). An operation that declares nothing has *unknown* effects, which every query takes for the worst.
"""

from __future__ import annotations

from smem_lint.tile.ir import Op, Value, constant_value
from smem_lint.tile.types import MemDesc

READ, WRITE, ALLOC, FREE = "read", "write", "alloc", "free"
Effects = frozenset[str]

_NONE: Effects = frozenset()
_READ: Effects = frozenset({READ})
_WRITE: Effects = frozenset({WRITE})
_READ_WRITE: Effects = frozenset({READ, WRITE})
_ALLOC: Effects = frozenset({ALLOC})
_ALLOC_WRITE: Effects = frozenset({ALLOC, WRITE})
_FREE: Effects = frozenset({FREE})

TERMINATORS = frozenset({
    "scf.yield", "scf.condition", "tt.return", "tt.reduce.return", "tt.scan.return", "tt.map_elementwise.return", "cf.br", "cf.cond_br",
    "ttg.warp_yield", "ttg.warp_return", "ttg.warp_specialize.partitions", "ttg.mask.return", "llvm.unreachable", "ub.unreachable",
})  # fmt: skip
CONSTANTS = frozenset({"arith.constant", "ub.poison"})
LOOPS = frozenset({"scf.for", "scf.while"})

_RECURSIVE = frozenset({
    "scf.for", "scf.if", "scf.while", "tt.map_elementwise", "ttg.warp_specialize", "ttg.warp_specialize.partitions", "builtin.module",
})  # fmt: skip
_RECURSIVELY_SPECULATABLE = frozenset({"scf.if", "ttg.warp_specialize", "ttg.warp_specialize.partitions"})
_PURE_DIALECTS = ("arith.", "math.")
_PURE = TERMINATORS | CONSTANTS | frozenset({
    "tt.int_to_ptr", "tt.ptr_to_int", "tt.bitcast", "tt.fp_to_fp", "tt.clampf", "tt.precise_sqrt", "tt.precise_divf", "tt.mulhiui",
    "tt.addptr", "tt.splat", "tt.unsplat", "tt.expand_dims", "tt.reshape", "tt.broadcast", "tt.cat", "tt.join", "tt.split", "tt.trans",
    "tt.get_program_id", "tt.get_num_programs", "tt.dot", "tt.dot_scaled", "tt.reduce", "tt.scan", "tt.make_range", "tt.histogram",
    "tt.gather", "tt.make_tensor_descriptor", "ttg.convert_layout", "ttg.memdesc_index", "ttg.memdesc_subslice", "ttg.memdesc_trans",
    "ttg.memdesc_reshape", "ttg.memdesc_reinterpret", "ttg.predicate_stage", "ttg.fp4_to_fp", "ttg.warp_id", "ttng.tmem_subslice",
    "ttng.reinterpret_tensor_descriptor",
})  # fmt: skip
_DIVISIONS = frozenset({"arith.divsi", "arith.ceildivsi", "arith.divui", "arith.ceildivui", "arith.remui", "arith.remsi"})
_NOT_SPECULATABLE = frozenset({"tt.cat"})
_DECLARED: dict[str, Effects] = {
    "tt.store": _WRITE, "tt.atomic_rmw": _READ_WRITE, "tt.atomic_cas": _READ_WRITE, "tt.print": _WRITE, "tt.assert": _WRITE,
    "tt.descriptor_load": _READ, "tt.descriptor_gather": _READ, "tt.descriptor_store": _READ_WRITE,
    "tt.descriptor_reduce": _READ_WRITE, "tt.descriptor_scatter": _READ_WRITE,
    "ttg.async_copy_global_to_local": _READ_WRITE, "ttg.local_dealloc": _FREE, "ttg.local_load": _READ, "ttg.local_store": _WRITE,
    "ttg.local_gather": _READ, "ttg.local_scatter": _WRITE, "ttg.global_scratch_alloc": _ALLOC, "ttg.clock64": _READ_WRITE,
    "ttng.init_barrier": _WRITE, "ttng.inval_barrier": _WRITE, "ttng.barrier_expect": _WRITE, "ttng.wait_barrier": _READ_WRITE,
    "ttng.arrive_barrier": _READ_WRITE, "ttng.async_copy_mbarrier_arrive": _WRITE, "ttng.async_tma_copy_global_to_local": _READ_WRITE,
    "ttng.async_tma_copy_local_to_global": _READ_WRITE, "ttng.async_tma_reduce": _READ_WRITE, "ttng.async_tma_gather": _READ_WRITE,
    "ttng.async_tma_scatter": _READ_WRITE, "ttng.tc_gen5_mma": _READ_WRITE, "ttng.tc_gen5_mma_scaled": _READ_WRITE,
    "ttng.tc_gen5_commit": _WRITE, "ttng.tmem_load": _READ, "ttng.tmem_store": _WRITE, "ttng.tmem_copy": _READ_WRITE,
    "ttng.tensormap_create": _READ_WRITE, "ttng.tensormap_fenceproxy_acquire": _WRITE,
    **dict.fromkeys(_PURE, _NONE),
}  # fmt: skip


def own_effects(op: Op) -> Effects | None:
    """The effects that ``op`` itself declares, without its regions'; None when it declares nothing (unknown)."""
    name = op.name
    declared = _DECLARED.get(name)
    if declared is not None:
        return declared
    if name.startswith(_PURE_DIALECTS):
        _DECLARED[name] = _NONE
        return _NONE
    if name == "tt.load":
        return _READ_WRITE if op.attrs.get("isVolatile") else _READ
    if name in ("ttg.local_alloc", "ttng.tmem_alloc"):
        return _allocation_effects(op)
    if name in ("tt.elementwise_inline_asm", "tt.extern_elementwise"):
        return _NONE if op.attrs.get("pure") else _READ_WRITE
    if name == "ttng.warp_group_dot":
        return _READ if any(isinstance(value.type, MemDesc) for value in op.operands[:2]) else _NONE
    return None


def _allocation_effects(op: Op) -> Effects:
    """An allocation that nobody may write again counts as a pure value until it has been given its place."""
    if not op.results[0].type.mutable and "allocation.offset" not in op.attrs:
        return _NONE
    initialised = any(isinstance(value.type, MemDesc) or value.type.is_tensor for value in op.operands)
    return _ALLOC_WRITE if initialised else _ALLOC


def is_recursive(op: Op) -> bool:
    """Whether the effects of ``op`` are those of the operations in its regions."""
    return op.name in _RECURSIVE


def recursive_effects(op: Op) -> Effects | None:
    """All effects of ``op`` with its regions'; None when some are unknown."""
    if op.name not in _RECURSIVE:
        return own_effects(op)
    found: set[str] = set()
    for region in op.regions:
        for block in region.blocks:
            for inner in block:
                effects = recursive_effects(inner)
                if effects is None:
                    return None
                found |= effects
    return frozenset(found)


def is_memory_effect_free(op: Op) -> bool:
    """MLIR's ``isMemoryEffectFree``: declares that it touches no memory, and so do the operations within, where those count."""
    declared = _DECLARED.get(op.name)
    if declared is not None:
        return not declared
    if op.name not in _RECURSIVE:
        effects = own_effects(op)
        return effects is not None and not effects
    return all(is_memory_effect_free(inner) for region in op.regions for block in region.blocks for inner in block)


def has_effect(op: Op, effect: str) -> bool:
    """Whether ``op`` itself declares ``effect`` (unknown effects do not count, as with MLIR's ``hasEffect``)."""
    effects = own_effects(op)
    return effects is not None and effect in effects


def only_reads(op: Op) -> bool:
    """Whether ``op`` itself declares reads and nothing else."""
    return own_effects(op) == _READ


def would_be_trivially_dead(op: Op) -> bool:
    """MLIR's ``wouldOpBeTriviallyDead``: nothing would be missed if ``op`` went, once its results are unused."""
    name = op.name
    if name in TERMINATORS or name == "tt.func":
        return False
    if name in _RECURSIVE:
        return all(_removable(inner) for region in op.regions for block in region.blocks for inner in block)
    return _harmless(op)


def _removable(op: Op) -> bool:
    if op.name in _RECURSIVE:
        return all(_removable(inner) for region in op.regions for block in region.blocks for inner in block)
    effects = own_effects(op)
    return effects is not None and effects <= _READ


def _harmless(op: Op) -> bool:
    """Reads, and what an operation does to memory that it allocates itself, leave no trace."""
    effects = own_effects(op)
    if effects is None:
        return False
    return effects <= _READ or (ALLOC in effects and effects <= _ALLOC_WRITE)


def is_trivially_dead(op: Op) -> bool:
    """MLIR's ``isOpTriviallyDead``."""
    for result in op.results:
        if result.uses:
            return False
    return would_be_trivially_dead(op)


def is_speculatable(op: Op) -> bool:
    """MLIR's ``isSpeculatable``: may run where the program would not have run it."""
    name = op.name
    if name in _DIVISIONS:
        return _division_is_defined(op)
    if name in _NOT_SPECULATABLE:
        return False
    if name in _PURE or name.startswith(_PURE_DIALECTS):
        return True
    if name in ("tt.elementwise_inline_asm", "tt.extern_elementwise"):
        return bool(op.attrs.get("pure"))
    if name in _RECURSIVELY_SPECULATABLE or (name == "scf.for" and constant_value(op.operands[2]) == 1):
        return all(is_speculatable(inner) for region in op.regions for block in region.blocks for inner in block)
    return False


def _division_is_defined(op: Op) -> bool:
    divisor = op.operands[1]
    if op.name in ("arith.divsi", "arith.ceildivsi"):
        return _excludes(divisor, 0) and _excludes(divisor, -1)
    return _excludes(divisor, 0)


def _excludes(value: Value, number: int) -> bool:
    """Whether an integer value is a constant other than ``number``; MLIR looks no further than one operation, which tells nothing more."""
    known = constant_value(value)
    if known is not None:
        parts = known if isinstance(known, tuple) else (known,)
        return all((-1 if part is True else part) != number for part in parts)
    return False
