"""Linear layouts of random encodings, registers and shared memory, held against the installed compiler.

Triton's Gluon builder answers ``to_linear_layout`` for any encoding; it is asked in a child process. Shapes that the compiler
refuses (a swizzle wider than the buffer) must be refused here too.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from typing import Any

import pytest

from smem_lint.layout.encodings import Blocked, Distributed, DotOperand, Encoding, Mma, NvmmaShared, Slice, SwizzledShared
from smem_lint.layout.linear import Dims
from smem_lint.layout.to_linear import linear_layout
from smem_lint.tile.unsupported import Unsupported

CHILD = """
import json, sys
from triton._C.libtriton import gluon_ir, ir
context = ir.context()
ir.load_dialects(context)
build = gluon_ir.GluonOpBuilder(context)
def made(kind, *fields):
    if kind == "Slice":
        return build.get_slice_layout(fields[0], made(*fields[1]))
    if kind == "DotOperand":
        return build.get_dot_operand_layout(fields[0], made(*fields[1]), fields[2])
    if kind == "Mma":
        return build.get_mma_layout(fields[0:2], fields[2], [], fields[3])
    maker = {"Blocked": build.get_blocked_layout, "SwizzledShared": build.get_swizzled_shared_layout}.get(kind)
    return maker(*fields, []) if maker else build.get_nvmma_shared_layout(*fields[:4], [], fields[4])
found = []
for spec, shape in json.load(sys.stdin):
    layout = build.to_linear_layout(made(*spec), shape)
    names = ("reg_bases", "lane_bases", "warp_bases") if hasattr(layout, "reg_bases") else ("offset_bases",)
    found.append([getattr(layout, name) for name in names])
print(json.dumps(found))
"""


def spec(encoding: Encoding, rank: int) -> list[Any]:
    if isinstance(encoding, Slice):
        return ["Slice", encoding.dim, spec(encoding.parent, rank + 1)]
    if isinstance(encoding, DotOperand):
        return ["DotOperand", encoding.op_idx, spec(encoding.parent, rank), encoding.k_width]
    if isinstance(encoding, NvmmaShared):
        return [
            "NvmmaShared", encoding.swizzling_byte_width, encoding.element_bit_width, encoding.transposed, encoding.fp4_padded, rank
        ]  # fmt: skip
    return [type(encoding).__name__, *(getattr(encoding, name) for name in type(encoding).__slots__)]


def spread(pick: random.Random, size: int, rank: int) -> Dims:
    factors = [1] * rank
    for _ in range(size.bit_length() - 1):
        factors[pick.randrange(rank)] *= 2
    return tuple(factors)


def encoding_for(pick: random.Random, rank: int, warps: int) -> Encoding:
    blocked = Blocked(spread(pick, 8, rank), spread(pick, 32, rank), spread(pick, warps, rank), tuple(pick.sample(range(rank), rank)))
    if rank == 1:
        parent = encoding_for(pick, 2, warps)
        return Slice(pick.randrange(2), parent) if isinstance(parent, Distributed) else blocked
    mma = Mma(2, 0, (warps, 1, 1) if rank == 3 else spread(pick, warps, 2), (1, 16, 8) if rank == 3 else pick.choice([(16, 8), (8, 8)]))
    wgmma = Mma(3, 0, (4, 1), (16, pick.choice([8, 64]), 16))
    swizzled = SwizzledShared(*(2 ** pick.randrange(4) for _ in range(3)), tuple(pick.sample(range(rank), rank)))
    bits = pick.choice([8, 16, 32])
    nvmma = NvmmaShared(pick.choice([0, 32, 64, 128]), pick.random() < 0.5, bits, bits == 8 and pick.random() < 0.3)
    operands = [DotOperand(index, parent, width) for index in (0, 1) for parent, width in ((blocked, 0), (mma, 2), (mma, 8))]
    return pick.choice([blocked, mma, swizzled, nvmma, *operands, *([wgmma, DotOperand(0, wgmma, 2)] if rank == 2 else [])])


def test_layouts_are_the_compilers() -> None:
    pytest.importorskip("triton", reason="the compiler itself is asked")
    pick = random.Random(0)
    cases = []
    for _ in range(600):
        rank = pick.choice([1, 2, 2, 2, 3])
        shape = tuple(2 ** pick.randrange(1, (12, 10, 6)[rank - 1]) for _ in range(rank))
        encoding = encoding_for(pick, rank, pick.choice([1, 2, 4, 8]))
        try:
            cases.append((encoding, shape, linear_layout(encoding, shape)))
        except Unsupported:
            assert isinstance(encoding, NvmmaShared)
    asked = json.dumps([(spec(encoding, len(shape)), shape) for encoding, shape, _ in cases])
    answer = subprocess.run([sys.executable, "-c", CHILD], input=asked, capture_output=True, text=True, check=True)
    for (encoding, shape, layout), bases in zip(cases, json.loads(answer.stdout), strict=True):
        assert [[list(basis) for basis in layout.coordinate_bases(name)] for name in layout.inputs] == bases, (encoding, shape)
    assert {type(encoding) for encoding, _, _ in cases} == {Blocked, DotOperand, Mma, NvmmaShared, Slice, SwizzledShared}
