"""Scratch of random operations on random layouts, held against the installed compiler.

The layouts are those of kernels and others: blocked in any order, slices of anything, accumulators and operands of mma.sync (also
fp64) and wgmma, operands of blocked dots, and the linear encodings that transpositions and reshapes of all these make.

The compiler runs in a child process: it reads the module's text and runs ``allocate-shared-memory-nv`` alone. 6,000 cases of an
earlier form of this test agreed without exception (Triton 3.8.0); ``SMEM_LINT_RANDOM_MODULES=N`` asks for N cases.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from math import prod

import pytest

from smem_lint.allocation import allocate
from smem_lint.layout.distributed import to_linear_encoding
from smem_lint.layout.encodings import Blocked, Distributed, DotOperand, Linear, Mma, Slice
from smem_lint.layout.inference import reshape_result, trans_result
from smem_lint.layout.linear import Dims, log2
from smem_lint.verify.ir_text import parse_module

COUNT = int(os.environ.get("SMEM_LINT_RANDOM_MODULES", "80"))
CHILD = """
import json, os, sys, tempfile
from triton._C.libtriton import ir, nvidia
path = os.path.join(tempfile.mkdtemp(), "module.mlir")
totals = []
for capability, text in json.load(sys.stdin):
    with open(path, "w") as file:
        file.write(text)
    context = ir.context()
    ir.load_dialects(context)
    nvidia.load_dialects(context)
    module = ir.parse_mlir_module(path, context)
    module.context = context
    passes = ir.pass_manager(context)
    nvidia.passes.ttgpuir.add_allocate_shared_memory_nv(passes, capability, 84)
    passes.run(module, "allocate")
    totals.append(module.get_int_attr("ttg.shared"))
print(json.dumps(totals))
"""
ELEMENTS = ["f32", "f16", "bf16", "i8", "i32", "f64", "f8E4M3FN", "i64", "i1"]


def spelled(encoding: Distributed) -> str:
    """The encoding in Triton's own notation."""

    def flat(values: Dims) -> str:
        return str(list(values))

    if isinstance(encoding, Blocked):
        size, lanes, warps = map(flat, encoding.sizes)
        fields = f"sizePerThread = {size}, threadsPerWarp = {lanes}, warpsPerCTA = {warps}, order = {flat(encoding.order)}"
        return f"#ttg.blocked<{{{fields}}}>"
    if isinstance(encoding, Slice):
        return f"#ttg.slice<{{dim = {encoding.dim}, parent = {spelled(encoding.parent)}}}>"
    if isinstance(encoding, Mma):
        version = f"versionMajor = {encoding.version_major}, versionMinor = {encoding.version_minor}"
        shapes = f"warpsPerCTA = {flat(encoding.warps_per_cta)}, instrShape = {flat(encoding.instr_shape)}"
        return f"#ttg.nvidia_mma<{{{version}, {shapes}}}>"
    if isinstance(encoding, DotOperand):
        width = f", kWidth = {encoding.k_width}" if encoding.k_width else ""
        return f"#ttg.dot_op<{{opIdx = {encoding.op_idx}, parent = {spelled(encoding.parent)}{width}}}>"
    assert isinstance(encoding, Linear)
    register, lane, warp = ([list(basis) for basis in bases] for bases in (encoding.register, encoding.lane, encoding.warp))
    return f"#ttg.linear<{{register = {register}, lane = {lane}, warp = {warp}, block = []}}>"


def tensor(shape: Dims, element: str, encoding: Distributed) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}, {spelled(encoding)}>"


class Generator:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def module(self) -> str:
        pick = self.random
        self.warps, self.capability = pick.choice([1, 2, 4, 4, 8, 16]), pick.choice([80, 90, 120, 120])
        rank = pick.choice([1, 2, 2, 2, 3])
        shape = tuple(2 ** pick.randrange(0, (12, 8, 5)[rank - 1]) for _ in range(rank))
        body = pick.choice([self.convert, self.convert, self.reduce, self.scan, self.gather, self.atomic])(shape)
        target = f'"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = {self.warps} : i32, ttg.target = "cuda:{self.capability}"'
        return f'module attributes {{{target}, "ttg.threads-per-warp" = 32 : i32}} {{\ntt.func public @k{body}\ntt.return\n}}\n}}\n'

    def spread(self, size: int, rank: int) -> Dims:
        """A product of ``size`` spread over the dimensions."""
        factors = [1] * rank
        for _ in range(log2(size)):
            factors[self.random.randrange(rank)] *= 2
        return tuple(factors)

    def blocked(self, rank: int) -> Blocked:
        size = self.spread(2 ** self.random.randrange(4), rank)
        return Blocked(size, self.spread(32, rank), self.spread(self.warps, rank), tuple(self.random.sample(range(rank), rank)))

    def mma(self, rank: int) -> Mma:
        if rank == 3:
            return Mma(2, 0, (self.warps, 1, 1), (1, 16, 8))
        if self.capability == 90 and self.warps % 4 == 0 and self.random.random() < 0.5:
            return Mma(3, 0, (self.warps, 1), (16, self.random.choice([8, 16, 32, 64]), 16))
        return Mma(2, 0, self.spread(self.warps, 2), self.random.choice([(16, 8)] * 5 + [(8, 8)]))

    def encoding(self, shape: Dims, depth: int = 0) -> Distributed:
        rank, kind = len(shape), self.random.random()
        if depth > 1 or kind < 0.3:
            return self.blocked(rank)
        if kind < 0.45 and rank < 3:
            dim = self.random.randrange(rank + 1)
            return Slice(dim, self.encoding((*shape[:dim], 1, *shape[dim:]), depth + 1))
        if kind < 0.6 and rank > 1:
            return self.mma(rank)
        if kind < 0.85 and rank == 2:
            index = self.random.randrange(2)
            parent = self.mma(2)
            if self.random.random() < 0.25 or parent.version_major == 3:
                return DotOperand(index, self.blocked(2))
            return DotOperand(index, parent, self.random.choice([1, 2, 4, 8]))
        if rank == 2:
            return to_linear_encoding(trans_result(self.encoding(shape[::-1], depth + 1), shape[::-1], (1, 0)), shape)
        other = (prod(shape),) if rank > 1 else (max(1, shape[0] // 8), min(8, shape[0]))
        return to_linear_encoding(reshape_result(self.encoding(other, depth + 1), other, shape), shape)

    def convert(self, shape: Dims) -> str:
        element = self.random.choice([*ELEMENTS, "!tt.ptr<f32>"])
        source, target = (tensor(shape, element, self.encoding(shape)) for _ in range(2))
        return f"(%a: {source}) {{\n%0 = ttg.convert_layout %a : {source} -> {target}"

    def reduce(self, shape: Dims) -> str:
        encoding, axis = self.encoding(shape), self.random.randrange(len(shape))
        rest = shape[:axis] + shape[axis + 1 :]
        return self._combine(
            "reduce", shape, encoding, f"axis = {axis} : i32", lambda x: tensor(rest, x, Slice(axis, encoding)) if rest else x
        )

    def scan(self, shape: Dims) -> str:
        encoding, axis = self.blocked(len(shape)), self.random.randrange(len(shape))
        return self._combine("scan", shape, encoding, f"axis = {axis} : i32, reverse = false", lambda x: tensor(shape, x, encoding))

    def _combine(self, name, shape, encoding, attributes, result) -> str:  # type: ignore[no-untyped-def]
        elements = [self.random.choice(ELEMENTS) for _ in range(self.random.choice([1, 1, 2, 3]))]
        types = [tensor(shape, element, encoding) for element in elements]
        names = [f"%a{i}" for i in range(len(elements))]
        pairs = [f"%{side}{i}: {element}" for side in "xy" for i, element in enumerate(elements)]
        returned = f"{', '.join(f'%x{i}' for i in range(len(elements)))} : {', '.join(elements)}"
        results = ", ".join(map(result, elements))
        left, right = ("%0", results) if len(elements) == 1 else (f"%0:{len(elements)}", f"({results})")
        arguments = ", ".join(f"{name}: {type_}" for name, type_ in zip(names, types, strict=True))
        return (
            f'({arguments}) {{\n{left} = "tt.{name}"({", ".join(names)}) <{{{attributes}}}> ({{\n^bb0({", ".join(pairs)}):\n'
            f"tt.{name}.return {returned}\n}}) : ({', '.join(types)}) -> {right}"
        )

    def gather(self, shape: Dims) -> str:
        axis, element = self.random.randrange(len(shape)), self.random.choice(ELEMENTS)
        picked = (*shape[:axis], 2 ** self.random.randrange(6), *shape[axis + 1 :])
        source_encoding = self.encoding(shape)
        same = self.random.random() < 0.5 and not isinstance(source_encoding, Linear)
        index_encoding = source_encoding if same else self.encoding(picked)
        source, index = tensor(shape, element, source_encoding), tensor(picked, "i32", index_encoding)
        result = tensor(picked, element, index_encoding)
        return f"(%a: {source}, %i: {index}) {{\n%0 = tt.gather %a[%i] {{axis = {axis} : i32}} : ({source}, {index}) -> {result}"

    def atomic(self, shape: Dims) -> str:
        element = self.random.choice(["f32", "f16", "i32", "i64"])
        pointer, value, mask = f"!tt.ptr<{element}>", element, "i1"
        if self.random.random() < 0.7:
            encoding = self.encoding(shape)
            pointer, value, mask = (tensor(shape, kind, encoding) for kind in (pointer, value, mask))
        kind = "fadd" if element[0] == "f" else "add"
        used = f"\ntt.store %p, %0 : {pointer}" if self.random.random() < 0.7 else ""
        return (
            f"(%p: {pointer}, %v: {value}, %m: {mask}) {{\n"
            f"%0 = tt.atomic_rmw {kind}, acq_rel, gpu, %p, %v, %m : ({pointer}, {value}, {mask}) -> {value}{used}"
        )


def test_scratch_of_random_operations_is_the_compilers() -> None:
    pytest.importorskip("triton", reason="the compiler itself is asked")
    modules = [Generator(seed).module() for seed in range(COUNT)]
    parsed = [parse_module(text) for text in modules]
    asked = json.dumps([(module.capability, text) for module, text in zip(parsed, modules, strict=True)])
    answer = subprocess.run([sys.executable, "-c", CHILD], input=asked, capture_output=True, text=True, check=True)
    expected = json.loads(answer.stdout)
    wrong = [
        (total, allocation.total, text)
        for text, total, allocation in zip(modules, expected, map(allocate, parsed), strict=True)
        if total != allocation.total
    ]
    assert not wrong, wrong[0]
    assert sum(map(bool, expected)) > COUNT // 4
