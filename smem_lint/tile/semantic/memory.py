"""Loads, stores and atomics through pointers (``semantic.py``, 3.8.0)."""

from __future__ import annotations

from typing import Any

from smem_lint.tile import dtypes
from smem_lint.tile import types as ir
from smem_lint.tile.dtypes import PointerType
from smem_lint.tile.ir import Value
from smem_lint.tile.semantic import arithmetic
from smem_lint.tile.semantic.casts import bitcast, cast
from smem_lint.tile.semantic.context import Context, emit, fail, splat, to_tensor
from smem_lint.tile.semantic.promotion import broadcast_all, broadcast_pair
from smem_lint.tile.values import Handle

_LOAD_CACHE = {"": None, ".ca": "ca", ".cg": "cg", ".cs": "cs", ".cv": "cv"}
_STORE_CACHE = {"": None, ".wb": "wb", ".cg": "cg", ".cs": "cs", ".wt": "wt"}
_EVICTION = {"": None, "evict_last": "evict_last", "evict_first": "evict_first"}
_SEMANTICS = {"acquire": "acquire", "release": "release", "acq_rel": "acq_rel", "relaxed": "relaxed"}
_SCOPES = {"gpu": "gpu", "cta": "cta", "sys": "sys"}


def _choice(ctx: Context, table: dict[str, Any], value: Any, what: str) -> Any:
    try:
        return table[value or ""]
    except (KeyError, TypeError):
        raise fail(ctx, f"{what} {value!r} not supported") from None


def access_attributes(ctx: Context, cache: Any, eviction: Any, volatile: bool = False, store: bool = False) -> dict[str, Any]:
    """The attributes of a load or store that differ from the defaults."""
    attrs: dict[str, Any] = {}
    modifier = _choice(ctx, _STORE_CACHE if store else _LOAD_CACHE, cache, "cache modifier")
    policy = _choice(ctx, _EVICTION, eviction, "eviction policy")
    if modifier:
        attrs["cacheModifier"] = modifier
    if policy:
        attrs["evictionPolicy"] = policy
    if volatile:
        attrs["isVolatile"] = True
    return attrs


def _as_bytes(ctx: Context, ptr: Handle) -> Handle:
    """Pointers to int1 are read and written as pointers to int8."""
    pointer = ptr.type.scalar
    if pointer.element_ty is not dtypes.INT1:
        return ptr
    return cast(ctx, ptr, PointerType(dtypes.INT8, pointer.address_space))


def load(ctx: Context, ptr: Handle, mask: Handle | None, other: Handle | None, cache: Any, eviction: Any, volatile: Any) -> Handle:
    """``tl.load`` of a pointer or a tile of pointers."""
    attrs = access_attributes(ctx, cache, eviction, bool(volatile))
    if not isinstance(ptr, Handle) or not ptr.type.scalar.pointer:
        raise fail(ctx, f"unsupported pointer {ptr!r} in tl.load")
    if mask is None and other is not None:
        raise fail(ctx, "`other` cannot be provided without `mask`")
    if not ptr.type.block and ((mask is not None and mask.type.block) or (other is not None and other.type.block)):
        raise fail(ctx, "mask and other cannot be tiles if the pointer is not")
    if ptr.type.block:
        if mask is not None:
            ptr, mask = broadcast_pair(ctx, ptr, mask)
        if other is not None:
            ptr, other = broadcast_pair(ctx, ptr, other)
    if mask is not None and mask.dtype is not dtypes.INT1:
        raise fail(ctx, f"mask must have boolean scalar type, not {mask.dtype}")
    truth = ptr.type.scalar.element_ty is dtypes.INT1
    ptr = _as_bytes(ctx, ptr)
    element = ptr.type.scalar.element_ty
    if other is not None:
        other = cast(ctx, other, element)
    operands = [ptr.value, *(each.value for each in (mask, other) if each is not None)]
    attrs["segments"] = (1, int(mask is not None), int(other is not None))
    result = emit(ctx, "tt.load", operands, ptr.type.with_element(element), attrs)
    return cast(ctx, result, dtypes.INT1) if truth else result


def _meet(ctx: Context, ptr: Handle, value: Handle, mask: Handle | None) -> tuple[Handle, Handle, Handle | None]:
    """Pointer, value and mask at the pointer's shape (``_broadcast_ptr_val_mask``)."""
    shape = ptr.shape
    if mask is None:
        ptr, value = broadcast_all(ctx, [ptr, value])
    else:
        ptr, value, mask = broadcast_all(ctx, [ptr, value, to_tensor(ctx, mask)])
    if ptr.shape != shape:
        raise fail(ctx, f"expected pointer argument to have shape {list(ptr.shape)} but got {list(shape)}")
    return ptr, value, mask


def store(ctx: Context, ptr: Handle, value: Handle, mask: Handle | None, cache: Any, eviction: Any) -> None:
    """``tl.store`` to a pointer or a tile of pointers."""
    attrs = access_attributes(ctx, cache, eviction, store=True)
    if not isinstance(ptr, Handle) or not ptr.type.scalar.pointer:
        raise fail(ctx, f"unsupported pointer {ptr!r} in tl.store")
    if ptr.type.scalar.const:
        raise fail(ctx, "cannot store to a constant pointer")
    if ptr.type.block:
        ptr, value, mask = _meet(ctx, ptr, value, mask)
    elif value.type.block or (mask is not None and mask.type.block):
        raise fail(ctx, "value and mask cannot be tiles if the pointer is not")
    ptr = _as_bytes(ctx, ptr)
    value = cast(ctx, value, ptr.type.scalar.element_ty)
    operands = [ptr.value, value.value]
    if mask is not None:
        if mask.type.scalar is not dtypes.INT1:
            raise fail(ctx, "mask must have boolean scalar type")
        operands.append(mask.value)
    ctx.builder.op("tt.store", operands, (), attrs)


def atomic_cas(ctx: Context, ptr: Handle, cmp: Handle, value: Handle, sem: Any, scope: Any) -> Handle:
    attrs = _order(ctx, sem, scope)
    element = ptr.type.scalar.element_ty
    if element.primitive_bitwidth not in (16, 32, 64):
        raise fail(ctx, "atomic_cas only supports elements with width {16, 32, 64}")
    return emit(ctx, "tt.atomic_cas", [ptr.value, cmp.value, value.value], value.type, attrs)


def _order(ctx: Context, sem: Any, scope: Any) -> dict[str, Any]:
    return {
        "sem": _choice(ctx, {**_SEMANTICS, "": "acq_rel"}, sem, "memory semantic"),
        "scope": _choice(ctx, {**_SCOPES, "": "gpu"}, scope, "scope"),
    }


def _check_atomic(ctx: Context, ptr: Handle, value: Handle, mask: Any, name: str) -> tuple[Handle, Handle, Handle]:
    if not isinstance(ptr, Handle) or not ptr.type.scalar.pointer:
        raise fail(ctx, f"pointer argument of atomic_{name} is {ptr!r}")
    if ptr.type.scalar.const:
        raise fail(ctx, "cannot store to a constant pointer")
    element = ptr.type.scalar.element_ty
    narrow = element in (dtypes.INT16, dtypes.UINT16) or element.primitive_bitwidth < 16
    if narrow or (element in (dtypes.FP16, dtypes.BF16) and name != "add"):
        raise fail(ctx, f"atomic_{name} does not support {element}")
    if ptr.type.block:
        ptr, value, mask = _meet(ctx, ptr, value, mask)
    value = cast(ctx, value, element)
    if mask is None:
        always = Handle(ctx.builder.constant(ir.I1, True), dtypes.INT1)
        mask = splat(ctx, always, ptr.shape)
    elif mask.type.scalar is not dtypes.INT1:
        raise fail(ctx, "mask must have boolean scalar type")
    return ptr, value, mask


def _rmw(ctx: Context, kind: str, ptr: Handle, value: Handle, mask: Value, attrs: dict[str, Any]) -> Handle:
    return emit(ctx, "tt.atomic_rmw", [ptr.value, value.value, mask], value.type, {"rmw_op": kind, **attrs})


def atomic(ctx: Context, name: str, ptr: Handle, value: Handle, mask: Any, sem: Any, scope: Any) -> Handle:
    """``atomic_add``, ``and``, ``or``, ``xor``, ``xchg``, ``max``, ``min`` by ``name``."""
    ptr, value, mask = _check_atomic(ctx, ptr, value, mask, name)
    attrs = _order(ctx, sem, scope)
    element = value.type.scalar
    if name == "add":
        return _rmw(ctx, "fadd" if element.floating else "add", ptr, value, mask.value, attrs)
    if name == "xchg":
        return _rmw(ctx, "exch", ptr, value, mask.value, attrs)
    if name not in ("max", "min"):
        return _rmw(ctx, name, ptr, value, mask.value, attrs)
    if element.integer:
        return _rmw(ctx, name if element.signed else f"u{name}", ptr, value, mask.value, attrs)
    return _float_extremum(ctx, name, ptr, value, mask, attrs)


def _float_extremum(ctx: Context, name: str, ptr: Handle, value: Handle, mask: Handle, attrs: dict[str, Any]) -> Handle:
    """As integers: the signed operation where the value is not negative, the opposite unsigned one where it is."""
    element = value.type.scalar
    if element not in (dtypes.FP32, dtypes.FP64):
        raise fail(ctx, f"atomic_{name} not supported for dtype {element}")
    bits = element.primitive_bitwidth
    signed, unsigned = dtypes.int_type(bits, True), dtypes.int_type(bits, False)
    i_value, i_ptr = bitcast(ctx, value, signed), bitcast(ctx, ptr, PointerType(signed))
    u_value, u_ptr = bitcast(ctx, value, unsigned), bitcast(ctx, ptr, PointerType(unsigned))
    negative = cast(ctx, arithmetic.lshr(ctx, bitcast(ctx, value, unsigned), bits - 1), dtypes.INT1)
    positive = arithmetic.not_(ctx, negative)
    other = "umin" if name == "max" else "umax"
    low = _rmw(ctx, name, i_ptr, i_value, arithmetic.and_(ctx, mask, positive).value, attrs)
    high = _rmw(ctx, other, u_ptr, u_value, arithmetic.and_(ctx, mask, negative).value, attrs)
    return bitcast(ctx, arithmetic.where(ctx, positive, low, high), element)
