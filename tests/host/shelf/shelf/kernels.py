"""Kernels whose lists of configs come from data files, by decorator and by call."""

from functools import partial

import triton
import triton.language as tl

from . import lists as tables

WIDE = [triton.Config({"TILES": 64, "DEPTH": 16}, num_warps=4, num_stages=2)]


def keep(config, always=None):
    return (config.kwargs["TILES"], config.num_warps) in ((32, 8),) or (always and config in always)


@triton.autotune(configs=tables.lists.get("copy"), key=["n"])
@triton.jit
def copied(source, target, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + at, tl.load(source + at, mask=at < n), mask=at < n)


@triton.autotune(configs=list(filter(partial(keep, always=WIDE), tables.lists.get("product"))), key=["n"])
@triton.jit
def products(source, target, n, TILES: tl.constexpr, DEPTH: tl.constexpr):
    at = tl.arange(0, TILES)[:, None] * n + tl.arange(0, DEPTH)[None, :]
    tile = tl.load(source + at)
    tl.store(target + tl.arange(0, TILES)[:, None] * TILES + tl.arange(0, TILES)[None, :], tl.dot(tile, tl.trans(tile)))


@triton.jit
def scaled(source, target, n, ROUND: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + at, tl.load(source + at, mask=at < n) * ROUND, mask=at < n)


rounded = triton.heuristics({"ROUND": lambda args: args["n"] % 2})(scaled)
tuned = triton.autotune(configs=tables.from_json("scale"), key=["n"])(rounded)


def run(source, target):
    tuned[(1,)](source, target, 4097)
