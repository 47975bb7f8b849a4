"""The helpers of TorchInductor's runtime (``torch._inductor.runtime.triton_helpers``, torch 2.13) in Triton's dialect."""

DIALECT = '''
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def promote_to_tensor(value):
    return value + tl.zeros((1,), tl.int1)


@triton.jit
def is_floating(value):
    return promote_to_tensor(value).dtype.is_floating()


@triton.jit
def fp8e4m3fn_to_float32(x):
    bits = x.to(tl.uint32)
    sign = (bits & 0x80) << 24
    exponent = (bits >> 3) & 0xF
    fraction = bits & 0x7
    regular = (sign | ((exponent + 120) << 23) | (fraction << 20)).to(tl.float32, bitcast=True)
    tiny = fraction.to(tl.float32) * 0.001953125
    tiny = (tiny.to(tl.uint32, bitcast=True) | sign).to(tl.float32, bitcast=True)
    not_a_number = (sign | 0x7FF00000).to(tl.float32, bitcast=True)
    finite = tl.where(exponent == 0, tiny, regular)
    return tl.where((exponent == 0xF) & (fraction == 0x7), not_a_number, finite)


@triton.jit
def div_floor_integer(a, b):
    quotient = a // b
    rest = a % b
    lower = tl.where(rest != 0, quotient - 1, quotient)
    return tl.where((a < 0) != (b < 0), lower, quotient)


@triton.jit
def remainder_integer(a, b):
    rest = a % b
    return tl.where((rest != 0) & ((a < 0) != (b < 0)), rest + b, rest)


@triton.jit
def pow_integer(base, exponent):
    UNSIGNED: tl.constexpr = tl.core.get_int_dtype(exponent.dtype.primitive_bitwidth, signed=False)
    left = exponent.to(UNSIGNED)
    power = tl.full(base.shape, 1, base.dtype)
    for _ in tl.static_range(UNSIGNED.primitive_bitwidth):
        power = tl.where((left & 1) != 0, power * base, power)
        left = left >> 1
        base = base * base
    return power


@triton.jit
def _prod_accumulate(a, b):
    return a * b


@triton.jit
def prod(input, axis):
    return tl.reduce(input, axis, _prod_accumulate)


@triton.jit
def minimum(a, b):
    first = a < b
    if is_floating(a):
        first |= a != a
    return tl.where(first, a, b)


@triton.jit
def maximum(a, b):
    first = a > b
    if is_floating(a):
        first |= a != a
    return tl.where(first, a, b)


@triton.jit
def min2(a, dim):
    return tl.reduce(a, dim, minimum)


@triton.jit
def max2(a, dim):
    return tl.reduce(a, dim, maximum)


@triton.jit
def minimum_with_index(a_value, a_index, b_value, b_index):
    first = a_value < b_value
    same = a_value == b_value
    if is_floating(a_value):
        a_nan = a_value != a_value
        b_nan = b_value != b_value
        first |= a_nan & (not b_nan)
        same |= a_nan & b_nan
    first |= same & (a_index < b_index)
    return tl.where(first, a_value, b_value), tl.where(first, a_index, b_index)


@triton.jit
def maximum_with_index(a_value, a_index, b_value, b_index):
    first = a_value > b_value
    same = a_value == b_value
    if is_floating(a_value):
        a_nan = a_value != a_value
        b_nan = b_value != b_value
        first |= a_nan & (not b_nan)
        same |= a_nan & b_nan
    first |= same & (a_index < b_index)
    return tl.where(first, a_value, b_value), tl.where(first, a_index, b_index)


@triton.jit
def min_with_index(value, index, dim):
    return tl.reduce((value, index), dim, minimum_with_index)


@triton.jit
def max_with_index(value, index, dim):
    return tl.reduce((value, index), dim, maximum_with_index)


@triton.jit
def exp(x, use_fast_math: tl.constexpr):
    if use_fast_math:
        return tl.math.exp(x)
    else:
        return libdevice.exp(x)


@triton.jit
def online_softmax_reduce(lhs_max, lhs_sum, dim, use_fast_math: tl.constexpr):
    highest = max2(lhs_max, dim)
    kept = tl.expand_dims(highest, dim)
    below = tl.where(kept == float("-inf"), 0, lhs_max - kept)
    return highest, tl.sum(lhs_sum * exp(below, use_fast_math), dim)


@triton.jit
def online_softmax_combine(lhs_max, lhs_sum, rhs_max, use_fast_math: tl.constexpr):
    highest = maximum(lhs_max, rhs_max)
    left = tl.where(highest == float("-inf"), 1.0, exp(lhs_max - highest, use_fast_math))
    right = tl.where(highest == float("-inf"), 1.0, exp(rhs_max - highest, use_fast_math))
    total = lhs_sum * left + right
    return highest, total


@triton.jit
def online_softmax_combine_with_sum(lhs_max, lhs_sum, rhs_max, rhs_sum, use_fast_math: tl.constexpr):
    highest = maximum(lhs_max, rhs_max)
    left = tl.where(highest == float("-inf"), 1.0, exp(lhs_max - highest, use_fast_math))
    right = tl.where(highest == float("-inf"), 1.0, exp(rhs_max - highest, use_fast_math))
    total = lhs_sum * left + rhs_sum * right
    return highest, total


@triton.jit
def welford_reduce(value, mean, m2, weight, first_iteration):
    if first_iteration:
        new_weight = tl.full(weight.shape, 1, weight.dtype)
        new_mean = value
        new_m2 = tl.zeros_like(m2)
    else:
        apart = value - mean
        new_weight = weight + 1
        new_mean = mean + apart / new_weight
        new_m2 = m2 + apart * (value - new_mean)
    return new_mean, new_m2, new_weight


@triton.jit
def welford_combine(mean_1, m2_1, weight_1, mean_2, m2_2, weight_2):
    apart = tl.where(mean_1 == mean_2, 0.0, mean_2 - mean_1)
    weight = weight_1 + weight_2
    share = tl.where(weight == 0.0, 0.0, weight_2 / weight)
    return mean_1 + apart * share, m2_1 + m2_2 + apart * apart * weight_1 * share, weight


@triton.jit
def welford(mean, m2, weight, dim):
    return tl.reduce((mean, m2, weight), dim, welford_combine)


@triton.jit
def device_assert_then(cond, msg, r):
    tl.device_assert(cond, msg)
    return r


@triton.jit
def rand_eager_kernel(seed, offset_blocks, tid, VEC: tl.constexpr):
    step = 1.0 / 4294967296.0
    half = step * 0.5
    wide = tid.to(tl.uint64)
    sequence = wide // VEC
    quarter = (wide % VEC) // 4
    lane = wide % 4
    block = offset_blocks.to(tl.uint64) + quarter
    a, b, c, d = tl.philox(
        seed,
        (block & 0xFFFFFFFF).to(tl.uint32),
        ((block >> 32) & 0xFFFFFFFF).to(tl.uint32),
        (sequence & 0xFFFFFFFF).to(tl.uint32),
        ((sequence >> 32) & 0xFFFFFFFF).to(tl.uint32),
    )
    low = tl.where(lane == 0, a, b)
    high = tl.where(lane == 2, c, d)
    drawn = tl.where((lane == 0) | (lane == 1), low, high)
    return 1.0 - (drawn.to(tl.float32) * step + half)


@triton.jit
def _random_4x_to_block(a, b, c, d):
    COUNT: tl.constexpr = a.numel
    return tl.reshape(tl.join(tl.join(a, c), tl.join(b, d)), [COUNT * 4])


@triton.jit
def rand4x(seed, offsets, BLOCK: tl.constexpr):
    offsets = offsets.to(tl.uint32)
    seed = tl.min(seed + offsets * 0, axis=0)
    if BLOCK >= 4 and BLOCK % 4 == 0:
        start = tl.min(offsets, axis=0)
        at = start // 4 + tl.arange(0, BLOCK // 4)
        a, b, c, d = tl.rand4x(seed, at)
        return _random_4x_to_block(a, b, c, d)
    return tl.rand(seed, offsets)


@triton.jit
def randn4x(seed, offsets, BLOCK: tl.constexpr):
    offsets = offsets.to(tl.uint32)
    seed = tl.min(seed + offsets * 0, axis=0)
    if BLOCK >= 4 and BLOCK % 4 == 0:
        start = tl.min(offsets, axis=0)
        at = start // 4 + tl.arange(0, BLOCK // 4)
        a, b, c, d = tl.randn4x(seed, at)
        return _random_4x_to_block(a, b, c, d)
    return tl.randn(seed, offsets)


@triton.jit
def randint64(seed, offset, low, high):
    a, b, _c, _d = tl.randint4x(seed, offset)
    a = a.to(tl.uint64)
    b = b.to(tl.uint64)
    drawn = a | (b << 32)
    count = high - low
    drawn = drawn % count.to(tl.uint64)
    drawn = drawn.to(tl.int64) + low
    return drawn


@triton.jit
def _any_combine(a, b):
    return a | b


@triton.jit
def any(a, dim):
    return tl.reduce(a, dim, _any_combine)


@triton.jit
def bucketize_binary_search(
    values, boundaries_ptr, BOUNDARIES_SIZE, BOUNDARIES_UNDERLYING_NUMEL, BOUNDARIES_STRIDE, boundary_indices, indexing_dtype, right,
    sorter_ptr, SORTER_STRIDE, sorter_indices,
):
    low = tl.zeros(values.shape, dtype=indexing_dtype)
    high = tl.full(values.shape, BOUNDARIES_SIZE, dtype=indexing_dtype)
    span = BOUNDARIES_SIZE + 1
    while span > 1:
        mid = (high + low) // 2
        mask = ((mid * BOUNDARIES_STRIDE + boundary_indices) < BOUNDARIES_UNDERLYING_NUMEL).logical_and(mid < BOUNDARIES_SIZE)
        at = (
            mid
            if sorter_ptr is None or SORTER_STRIDE is None
            else tl.load(sorter_ptr + sorter_indices + SORTER_STRIDE * mid, mask=mask, other=0)
        )
        bound = tl.load(boundaries_ptr + boundary_indices + BOUNDARIES_STRIDE * at, mask=mask, other=0)
        if right:
            above = values >= bound
        else:
            above = values > bound
        if is_floating(values):
            above = above | (values != values)
        low = tl.where(above & mask, mid + 1, low)
        high = tl.where(above, high, mid)
        span = (span + 1) // 2
    return low


@triton.jit
def pack_value_flag(value, flag, DTYPE_VALUE_AS_UINT: tl.constexpr, DTYPE_PACK: tl.constexpr):
    width = DTYPE_VALUE_AS_UINT.primitive_bitwidth
    bits = value.to(DTYPE_VALUE_AS_UINT, bitcast=True).to(DTYPE_PACK)
    return flag.to(DTYPE_PACK) | (bits << width)


@triton.jit
def unpack_value(pack, DTYPE_VALUE, DTYPE_VALUE_AS_UINT):
    width = DTYPE_VALUE_AS_UINT.primitive_bitwidth
    bits = (pack >> width).to(DTYPE_VALUE_AS_UINT)
    return bits.to(DTYPE_VALUE, bitcast=True)


@triton.jit
def unpack_flag(pack, DTYPE_FLAG):
    return pack.to(DTYPE_FLAG)


@triton.jit
def exclusive_scan_decoupled_lookback(
    scratch_base, block_value, index, combine_fn, DTYPE_VALUE_AS_UINT: tl.constexpr, DTYPE_PACK: tl.constexpr
):
    DTYPE_VALUE = block_value.dtype
    pack = pack_value_flag(block_value, tl.full(block_value.shape, 1, DTYPE_VALUE_AS_UINT), DTYPE_VALUE_AS_UINT, DTYPE_PACK)
    if index > 0:
        tl.atomic_xchg(scratch_base + index, pack, sem="relaxed")
    before = tl.zeros([], DTYPE_VALUE)
    started = False
    target = index - 1
    while target >= 0:
        flag = tl.full([], 0, DTYPE_VALUE_AS_UINT)
        while flag == 0:
            pack = tl.atomic_add(scratch_base + target, 0, sem="relaxed")
            flag = unpack_flag(pack, DTYPE_VALUE_AS_UINT)
        value = unpack_value(pack, DTYPE_VALUE, DTYPE_VALUE_AS_UINT)
        if started:
            before = combine_fn(value, before)
        else:
            before = value
            started = True
        if flag == 2:
            target = -1
        else:
            target = target - 1
    if started:
        through = combine_fn(before, block_value)
    else:
        through = block_value
    pack = pack_value_flag(through, tl.full([], 2, DTYPE_VALUE_AS_UINT), DTYPE_VALUE_AS_UINT, DTYPE_PACK)
    tl.atomic_xchg(scratch_base + index, pack, sem="relaxed")
    return before


@triton.jit
def exclusive_scan_decoupled_lookback_64(scratch_base, block_value, index, combine_fn):
    if index > 0:
        bits = block_value.to(tl.uint64, bitcast=True)
        tl.store(scratch_base + 3 * index + 1, bits)
        tl.debug_barrier()
        one = tl.full([], 1, tl.uint64)
        tl.atomic_xchg(scratch_base + 3 * index + 0, one, sem="release")
    before = tl.zeros([], block_value.dtype)
    started = False
    target = index - 1
    while target >= 0:
        flag = tl.full([], 0, tl.uint64)
        while flag == 0:
            flag = tl.atomic_add(scratch_base + 3 * target + 0, 0, sem="acquire")
        found = tl.load(scratch_base + 3 * target + flag.to(tl.int32))
        value = found.to(block_value.dtype, bitcast=True)
        if started:
            before = combine_fn(value, before)
        else:
            before = value
            started = True
        if flag == 2:
            target = tl.full([], -1, index.dtype)
        else:
            target = target - 1
    if started:
        through = combine_fn(before, block_value)
    else:
        through = block_value
    through_bits = through.to(tl.uint64, bitcast=True)
    tl.store(scratch_base + 3 * index + 2, through_bits)
    tl.debug_barrier()
    two = tl.full([], 2, tl.uint64)
    tl.atomic_xchg(scratch_base + 3 * index + 0, two, sem="release")
    return before


@triton.jit
def frexp(x):
    zero = x == 0
    endless = libdevice.isinf(x).to(tl.int1) | libdevice.isnan(x).to(tl.int1)
    special = zero | endless
    safe = tl.where(special, 1.0, x)
    power = libdevice.ilogb(safe) + 1
    exponent = tl.where(special, 0, power)
    mantissa = tl.where(zero, 0, tl.where(endless, x, libdevice.ldexp(safe, -power)))
    return mantissa, exponent


@triton.jit
def _compare_and_swap_with_index(
    x, idxs, rnumel, flip, i: tl.constexpr, n_dims: tl.constexpr, stable: tl.constexpr, descending: tl.constexpr
):
    OUTER: tl.constexpr = x.numel >> n_dims
    SHAPE: tl.constexpr = [OUTER * 2**i, 2, 2 ** (n_dims - i - 1)]
    INTEGER: tl.constexpr = tl.core.get_int_dtype(bitwidth=x.dtype.primitive_bitwidth, signed=True)
    pairs = tl.reshape(x, SHAPE).to(INTEGER, bitcast=True)
    of_right = tl.arange(0, 2)[None, :, None].to(INTEGER)
    of_left = (1 - of_right).to(INTEGER)
    left_bits = tl.broadcast_to(tl.sum(pairs * of_left, 1).to(INTEGER)[:, None, :], SHAPE)
    right_bits = tl.broadcast_to(tl.sum(pairs * of_right, 1).to(INTEGER)[:, None, :], SHAPE)
    left_bits = tl.reshape(left_bits, x.shape)
    right_bits = tl.reshape(right_bits, x.shape)
    left = left_bits.to(x.dtype, bitcast=True)
    right = right_bits.to(x.dtype, bitcast=True)
    places = tl.reshape(idxs, SHAPE)
    left_place = tl.broadcast_to(tl.sum(places * of_left.to(places.dtype), 1)[:, None, :], SHAPE)
    right_place = tl.broadcast_to(tl.sum(places * of_right.to(places.dtype), 1)[:, None, :], SHAPE)
    left_place = tl.reshape(left_place, x.shape)
    right_place = tl.reshape(right_place, x.shape)
    if rnumel is None:
        left_valid = tl.full(x.shape, True, tl.int1)
        right_valid = tl.full(x.shape, True, tl.int1)
    else:
        left_valid = left_place < rnumel
        right_valid = right_place < rnumel
    bits = x.to(INTEGER, bitcast=True)
    left_nan = left != left
    right_nan = right != right
    if descending:
        swap = left < right
        if is_floating(left):
            if not stable:
                swap = swap | right_nan
            else:
                swap = swap | (right_nan & (~left_nan))
    else:
        swap = left > right
        if is_floating(left):
            if not stable:
                swap = swap | left_nan
            else:
                swap = swap | (left_nan & (~right_nan))
    if stable:
        same = left == right
        if is_floating(left):
            same = same | (left_nan & right_nan)
        swap = swap | (same & (left_place > right_place))
    swap = (right_valid > left_valid) | ((right_valid == left_valid) & swap)
    swap = (swap ^ flip).to(tl.int1)
    moved = bits ^ tl.where(swap, left_bits ^ right_bits, tl.zeros_like(bits))
    moved_places = idxs ^ tl.where(swap, left_place ^ right_place, tl.zeros_like(idxs))
    return moved.to(x.dtype, bitcast=True), moved_places


@triton.jit
def _bitonic_merge_with_index(
    x, idxs, rnumel, stage: tl.constexpr, alternating: tl.constexpr, n_dims: tl.constexpr, stable: tl.constexpr, descending: tl.constexpr
):
    OUTER: tl.constexpr = x.numel >> n_dims
    tl.static_assert(stage <= n_dims)
    if alternating:
        SHAPE: tl.constexpr = [OUTER * 2 ** (n_dims - 1 - stage), 2, 2**stage]
        flip = tl.reshape(tl.broadcast_to(tl.arange(0, 2)[None, :, None], SHAPE), x.shape)
    else:
        flip = False
    for i in tl.static_range(stage):
        x, idxs = _compare_and_swap_with_index(x, idxs, rnumel, flip, i + (n_dims - stage), n_dims, stable, descending)
    return x, idxs


@triton.jit
def sort_with_index(x, idxs, rnumel, dim: tl.constexpr = None, stable: tl.constexpr = False, descending: tl.constexpr = False):
    x, idxs = tl.broadcast(x, idxs)
    DIM: tl.constexpr = len(x.shape) - 1 if dim is None else dim
    tl.static_assert(DIM == len(x.shape) - 1, "only minor dimension is currently supported")
    STAGES: tl.constexpr = tl.standard._log2(x.shape[DIM])
    for i in tl.static_range(1, STAGES + 1):
        x, idxs = _bitonic_merge_with_index(
            x, idxs, rnumel, i, alternating=i < STAGES, n_dims=STAGES, stable=stable, descending=descending
        )
    return x, idxs


@triton.jit
def select_one(x, mask, dim, keep_dims=False):
    UNSIGNED: tl.constexpr = tl.core.get_int_dtype(x.dtype.primitive_bitwidth, signed=False)
    bits = x.to(UNSIGNED, bitcast=True)
    chosen = tl.sum(bits * mask, dim, keep_dims=keep_dims)
    return chosen.to(UNSIGNED).to(x.dtype, bitcast=True)


@triton.jit
def x_grid_barrier(sem):
    tl.debug_barrier()
    one_signed = 1
    one = one_signed.to(tl.uint32)
    expected = tl.num_programs(0).to(tl.uint32)
    if tl.program_id(0) == 0:
        step = 0x80000000 - (expected - one)
    else:
        step = one
    arrived = tl.atomic_add(sem, step, sem="release")
    flipped = False
    while not flipped:
        now = tl.atomic_add(sem, 0, sem="acquire")
        flipped = ((arrived ^ now) & 0x80000000) != 0
    tl.debug_barrier()
'''
