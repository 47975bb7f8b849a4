"""Encodings against the compiler's own.

``fixtures/truth/blocked_encodings.jsonl``: every blocked encoding that Triton 3.8.0 gave a tensor of a few hundred published
kernels in ``convert-triton-to-tritongpu`` (the default) and a load or store in ``tritongpu-coalesce`` (order and size per thread
chosen by the pass, the rest following from them); read from the IR after these passes (``MLIR_ENABLE_DUMP=1``).
``fixtures/truth/allocation.jsonl.gz``: final IR of kernels (see tests/allocation).
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

from smem_lint.layout import distributed as d
from smem_lint.layout.conversion import shared_vector
from smem_lint.layout.encodings import Blocked, DotOperand, Linear, Mma, NvmmaShared, Slice, SwizzledShared
from smem_lint.layout.inference import infer_operand, infer_result, join_result, reshape_result, split_result, trans_result
from smem_lint.layout.reshape import reshape_groups
from smem_lint.layout.to_linear import linear_layout
from smem_lint.tile.types import Tensor
from smem_lint.verify.ir_text import parse_module

TRUTH = Path(__file__).parents[2] / "fixtures" / "truth"
BLOCKED = [json.loads(line) for line in (TRUTH / "blocked_encodings.jsonl").read_text().splitlines()]
MMA = Mma(2, 0, (2, 2), (16, 8))


def test_blocked_encodings_are_the_compilers():
    wrong = []
    for row in BLOCKED:
        fields = [tuple(row[name]) for name in ("size_per_thread", "threads_per_warp", "warps_per_cta", "order")]
        shape = tuple(row["shape"])
        found = (
            d.default_blocked(shape, row["num_warps"])
            if row["stage"] == "convert_to_ttgpuir"
            else d.blocked_for(shape, fields[0], fields[3], row["num_warps"])
        )
        if found is not Blocked(*fields):
            wrong.append((row, found))
    assert not wrong
    assert len(BLOCKED) > 500


def test_inference_agrees_with_the_verified_types_of_compiled_kernels():
    """The compiler's verifier accepts a result encoding only if it is equivalent to the inferred one."""
    seen: Counter[str] = Counter()
    wrong = []
    for line in gzip.decompress((TRUTH / "allocation.jsonl.gz").read_bytes()).splitlines():
        for op in parse_module(json.loads(line)["ir"]).walk():
            if op.name not in ("tt.reshape", "tt.trans", "tt.join", "tt.split", "tt.expand_dims", "tt.reduce", "ttg.fp4_to_fp"):
                continue
            operand, result = op.operands[0].type, op.results[0].type
            if not isinstance(result, Tensor):
                continue
            seen[op.name] += 1
            for inferred, actual in (
                (infer_result(op, operand.encoding), result),
                (infer_operand(op, result.encoding), operand),
            ):
                if inferred is None or not d.same_layout(inferred, actual.encoding, actual.shape):
                    wrong.append((op, operand, result, inferred))
    assert not wrong
    assert all(seen[name] for name in ("tt.reshape", "tt.trans", "tt.join", "tt.split", "tt.expand_dims", "tt.reduce"))


def test_a_tile_is_repeated_over_a_larger_tensor_and_folded_over_a_smaller_one():
    blocked = Blocked((1, 2), (8, 4), (2, 1), (1, 0))
    large, small = linear_layout(blocked, (16, 16)), linear_layout(blocked, (8, 8))
    assert large.coordinate_bases("register") == ((0, 1), (0, 8))
    assert large.coordinate_bases("warp") == ((8, 0),)
    assert small.coordinate_bases("register") == ((0, 1),)
    assert small.coordinate_bases("warp") == ((0, 0),)


def test_registers_of_a_linear_encoding_are_dropped_where_others_are_folded():
    """``ensureLayoutNotLargerThan(broadcastRegisters=false)`` in ``LinearEncodingTrait::toLinearLayout``."""
    spelled = d.to_linear_encoding(Blocked((1, 4), (4, 8), (2, 1), (1, 0)), (8, 32))
    assert isinstance(spelled, Linear)
    assert linear_layout(spelled, (8, 2)).coordinate_bases("register") == ((0, 1),)


def test_a_slice_loses_registers_and_keeps_lanes():
    layout = linear_layout(Slice(1, MMA), (32,))
    assert layout.coordinate_bases("register") == ((8,),)
    assert layout.coordinate_bases("lane") == ((0,), (0,), (1,), (2,), (4,))
    assert layout.coordinate_bases("warp") == ((0,), (16,))


def test_operands_of_mma_have_k_inside_and_warps_along_k_hold_the_same():
    a, b = (linear_layout(DotOperand(index, MMA, 2), (64, 64)) for index in (0, 1))
    assert a.coordinate_bases("register")[:3] == ((0, 1), (8, 0), (0, 8))
    assert a.coordinate_bases("warp") == ((0, 0), (16, 0))
    assert b.coordinate_bases("register")[:2] == ((1, 0), (8, 0))
    assert b.coordinate_bases("warp") == ((0, 8), (0, 0))


def test_counts_of_an_accumulator():
    shape = (64, 64)
    assert d.elems_per_thread(MMA, shape) == (4, 8)
    assert d.total_elems_per_thread(MMA, shape) == 32
    assert d.size_per_thread(MMA, shape) == (2, 2)
    assert d.contig_per_thread(MMA, shape) == (1, 2)
    assert d.threads_per_warp(MMA, shape) == (8, 4)
    assert d.warps_per_cta(MMA, shape) == (2, 2)
    assert d.order_of(MMA, shape) == (1, 0)


def test_order_of_a_single_column_is_not_what_the_encoding_says():
    """No register moves along either dimension: the default order is last dimension first."""
    assert d.order_of(Blocked((1, 1), (32, 1), (4, 1), (0, 1)), (128, 1)) == (1, 0)
    assert d.thread_order(Blocked((1, 1), (32, 1), (4, 1), (0, 1)), (128, 1)) == (0, 1)


def test_swizzled_rows():
    layout = linear_layout(SwizzledShared(8, 1, 8, (1, 0)), (64, 64))
    assert layout.coordinate_bases("offset")[6:9] == ((1, 8), (2, 16), (4, 32))
    assert layout is linear_layout(NvmmaShared(128, False, 16), (64, 64))
    assert layout.transpose((1, 0)) is linear_layout(NvmmaShared(128, True, 16), (64, 64))


def test_vectors_between_registers_and_shared_memory():
    rows, columns = Blocked((1, 8), (4, 8), (4, 1), (1, 0)), Blocked((8, 1), (8, 4), (1, 4), (0, 1))
    assert shared_vector(rows, SwizzledShared(8, 1, 8, (1, 0)), (64, 64)) == 8
    assert shared_vector(rows, SwizzledShared(4, 1, 8, (1, 0)), (64, 64)) == 4
    assert shared_vector(rows, SwizzledShared(1, 1, 1, (1, 0)), (64, 64)) == 8
    assert shared_vector(columns, SwizzledShared(8, 1, 8, (1, 0)), (64, 64)) == 1


def test_join_and_split_undo_each_other():
    for encoding in (Blocked((1, 2), (8, 4), (2, 1), (1, 0)), MMA, Slice(2, Blocked((1, 1, 2), (4, 8, 1), (4, 1, 1), (2, 1, 0)))):
        joined = join_result(encoding, (64, 64))
        assert d.same_layout(split_result(joined, (64, 64, 2)), encoding, (64, 64))


def test_split_needs_a_pair_in_each_thread():
    assert split_result(Blocked((1, 1), (16, 2), (4, 1), (1, 0)), (64, 2)) is None


def test_trans_keeps_blocked_encodings_blocked():
    assert trans_result(Blocked((1, 8), (4, 8), (4, 1), (1, 0)), (64, 64), (1, 0)) is Blocked((8, 1), (8, 4), (1, 4), (0, 1))


def test_reshape_stays_blocked_only_where_dimensions_merge_in_order():
    assert reshape_result(Blocked((1, 4), (8, 4), (4, 1), (1, 0)), (32, 16), (512,)) is Blocked((4,), (32,), (4,), (0,))
    assert isinstance(reshape_result(Blocked((4, 1), (4, 8), (1, 4), (0, 1)), (32, 16), (512,)), Linear)
    assert reshape_groups((2, 4, 8), (8, 8)) == [([0, 1], [0]), ([2], [1])]
