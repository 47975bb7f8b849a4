"""A function that hands on what its callers give: its own paths are not worth following, theirs are."""

from __future__ import annotations

from pathlib import Path

import pytest

from smem_lint.host import Config, resolve
from smem_lint.host.launches import follow, launch_sites
from smem_lint.host.profile import load
from smem_lint.host.program import Program
from smem_lint.source.modules import Repository

LAUNCH = """
import triton
import triton.language as tl

@triton.jit
def kernel(x, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, F: tl.constexpr, G: tl.constexpr, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), A + B + C + F + G)

def launch(x, config, a: bool, b: bool, c: bool, f: bool, g: bool):
    kernel[(1,)](x, a, b, c, f, g, **config)
"""
CALLER = """
def call(x, wide: bool):
    launch(x, {"BLOCK": 64, "num_warps": 8 if wide else 4}, True, True, False, wide, not wide)
"""


def _program(folder: Path, text: str) -> Program:
    (folder / "m.py").write_text(text)
    return Program(Repository([folder]), 120, None)


@pytest.mark.parametrize(("gives_up", "paths"), [(True, 8), (False, 32)])
def test_paths_that_leave_all_to_callers_are_given_up(tmp_path: Path, gives_up: bool, paths: int) -> None:
    program = _program(tmp_path, LAUNCH)
    module = program.repository.module("m.py")
    assert module is not None
    (site,) = launch_sites(module)
    found = follow(program, site, load("generic"), give_up=(lambda config: True) if gives_up else None)
    assert (found.given_up, found.paths) == (gives_up, paths)


def test_callers_know_and_where_there_are_none_every_path_is_listed(tmp_path: Path) -> None:
    _program(tmp_path, LAUNCH)
    alone = [one for one in resolve(Repository([tmp_path]), ["m.py"]) if isinstance(one, Config)]
    assert len(alone) == 32 and all(one.unresolved for one in alone)
    _program(tmp_path, LAUNCH + CALLER)
    called = [one for one in resolve(Repository([tmp_path]), ["m.py"]) if isinstance(one, Config)]
    flags = {(one.options["num_warps"], *(one.constexprs[name] for name in "ABCFG")) for one in called}
    assert flags == {(8, True, True, False, True, False), (4, True, True, False, False, True)} and not any(one.unresolved for one in called)


def test_a_published_group_size_is_tried_beside_the_usual_one(tmp_path: Path) -> None:
    """Microscaling formats scale 32 values together, block-wise fp8 128: what a launch makes of them differs."""
    text = LAUNCH + 'def run(x, group_size):\n    launch(x, {"BLOCK": 64 if group_size < 128 else 256}, True, True, True, True, True)\n'
    _program(tmp_path, text)
    called = [one for one in resolve(Repository([tmp_path]), ["m.py"]) if isinstance(one, Config)]
    assert {one.constexprs["BLOCK"] for one in called} == {64, 256}
    assert any("groups of 32" in text for one in called for text in one.when)
