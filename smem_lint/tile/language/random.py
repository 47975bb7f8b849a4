"""Random numbers by Philox (``triton/language/random.py``, 3.8.0)."""

from __future__ import annotations

from typing import Any

from smem_lint.tile import dtypes
from smem_lint.tile.language.standard import maximum
from smem_lint.tile.semantic import arithmetic, elementwise, shapes
from smem_lint.tile.semantic.casts import bitcast, cast
from smem_lint.tile.semantic.context import Context, fail, to_tensor
from smem_lint.tile.semantic.operators import binary
from smem_lint.tile.values import Handle

ROUNDS = 10
_KEYS = {32: (0x9E3779B9, 0xBB67AE85), 64: (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)}
_FACTORS = {32: (0xD2511F53, 0xCD9E8D57), 64: (0xD2E7470EE14C6C93, 0xCA5A826395121157)}


def philox_impl(ctx: Context, c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any, n_rounds: int = ROUNDS) -> Any:
    """``n_rounds`` rounds of Philox for the counter ``c0`` … ``c3`` and the key ``k0``, ``k1``."""
    if c0.dtype not in (dtypes.UINT32, dtypes.UINT64):
        raise fail(ctx, "dtype not supported in philox_impl")
    (key_a, key_b), (factor_a, factor_b) = _KEYS[c0.dtype.int_bitwidth], _FACTORS[c0.dtype.int_bitwidth]
    for _ in range(n_rounds):
        a, b = to_tensor(ctx, factor_a), to_tensor(ctx, factor_b)
        old0, old2 = c0, c2
        c0 = binary(ctx, "xor", binary(ctx, "xor", elementwise.umulhi(ctx, b, old2), c1), k0)
        c2 = binary(ctx, "xor", binary(ctx, "xor", elementwise.umulhi(ctx, a, old0), c3), k1)
        c1 = arithmetic.mul(ctx, b, old2, False)
        c3 = arithmetic.mul(ctx, a, old0, False)
        k0 = arithmetic.add(ctx, k0, key_a, False)
        k1 = arithmetic.add(ctx, k1, key_b, False)
    return c0, c1, c2, c3


def philox(ctx: Context, seed: Any, c0: Any, c1: Any, c2: Any, c3: Any, n_rounds: int = ROUNDS) -> Any:
    seed = to_tensor(ctx, seed)
    if not seed.dtype.integer:
        raise fail(ctx, "the seed of philox must be an integer")
    seed = cast(ctx, seed, dtypes.UINT64)
    counters = [to_tensor(ctx, each) for each in (c0, c1, c2, c3)]
    bits = counters[0].dtype.primitive_bitwidth
    if bits == 32:
        type_ = dtypes.UINT32
        shifted = binary(ctx, "and", binary(ctx, "rshift", seed, 32), 0xFFFFFFFF)
        high = cast(ctx, shifted, type_)
        low = cast(ctx, binary(ctx, "and", seed, 0xFFFFFFFF), type_)
    elif bits == 64:
        type_ = dtypes.UINT64
        high, low = shapes.full(ctx, (1,), 0, type_), seed
    else:
        raise fail(ctx, "bitwidth not supported in philox")
    first, second, third, fourth = (bitcast(ctx, each, type_) for each in counters)
    return philox_impl(ctx, first, second, third, fourth, low, high, n_rounds)


def randint4x(ctx: Context, seed: Any, offset: Handle, n_rounds: int = ROUNDS) -> Any:
    low = cast(ctx, offset, dtypes.UINT32)
    zero = arithmetic.mul(ctx, low, 0)
    high = zero
    if offset.dtype.primitive_bitwidth > 32:
        high = cast(ctx, binary(ctx, "rshift", offset, 32), dtypes.UINT32)
    return philox(ctx, seed, low, high, zero, zero, n_rounds)


def randint(ctx: Context, seed: Any, offset: Handle, n_rounds: int = ROUNDS) -> Any:
    return randint4x(ctx, seed, offset, n_rounds)[0]


def uint_to_uniform_float(ctx: Context, x: Handle) -> Handle:
    """A random integer as fp32 in [0, 1)."""
    if not x.dtype.integer or x.dtype.int_bitwidth not in (32, 64):
        raise fail(ctx, f"no uniform float of {x.dtype}")
    narrow = x.dtype.int_bitwidth == 32
    x = bitcast(ctx, x, dtypes.INT32 if narrow else dtypes.INT64)
    scale = to_tensor(ctx, 4.6566127342e-10 if narrow else 1.0842020432385337e-19)
    positive = arithmetic.where(ctx, binary(ctx, "lt", x, 0), arithmetic.invert(ctx, x), x)
    return arithmetic.mul(ctx, positive, scale)


def rand(ctx: Context, seed: Any, offset: Handle, n_rounds: int = ROUNDS) -> Handle:
    return uint_to_uniform_float(ctx, randint(ctx, seed, offset, n_rounds))


def rand4x(ctx: Context, seed: Any, offsets: Handle, n_rounds: int = ROUNDS) -> Any:
    return tuple(uint_to_uniform_float(ctx, each) for each in randint4x(ctx, seed, offsets, n_rounds))


def pair_uniform_to_normal(ctx: Context, u1: Handle, u2: Handle) -> tuple[Handle, Handle]:
    """Two normal numbers of two uniform ones (Box-Muller)."""
    u1 = maximum(ctx, 1.0e-7, u1)
    angle = arithmetic.mul(ctx, 6.283185307179586, u2)
    radius = elementwise.unary(ctx, "sqrt", arithmetic.mul(ctx, -2.0, elementwise.unary(ctx, "log", u1)))
    first = arithmetic.mul(ctx, radius, elementwise.unary(ctx, "cos", angle))
    return first, arithmetic.mul(ctx, radius, elementwise.unary(ctx, "sin", angle))


def randn(ctx: Context, seed: Any, offset: Handle, n_rounds: int = ROUNDS) -> Handle:
    first, second, _, _ = randint4x(ctx, seed, offset, n_rounds)
    u1, u2 = uint_to_uniform_float(ctx, first), uint_to_uniform_float(ctx, second)
    return pair_uniform_to_normal(ctx, u1, u2)[0]


def randn4x(ctx: Context, seed: Any, offset: Handle, n_rounds: int = ROUNDS) -> Any:
    u1, u2, u3, u4 = rand4x(ctx, seed, offset, n_rounds)
    return (*pair_uniform_to_normal(ctx, u1, u2), *pair_uniform_to_normal(ctx, u3, u4))
