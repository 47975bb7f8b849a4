"""Hand-written guards: pruning functions, literal limits, capability tests."""

from __future__ import annotations

from pathlib import Path

from smem_lint.host import Config, resolve
from smem_lint.host.guards import hard_coded
from smem_lint.source.modules import Repository

PRUNED = """
import triton
import triton.language as tl

def prune(configs, named_args, **kwargs):
    limit = triton.runtime.driver.active.utils.get_device_properties(0)["max_shared_mem"]
    kept = [c for c in configs if c.kwargs["BLOCK"] * named_args["width"] * 2 * c.num_stages <= limit]
    return kept or configs[:1]

@triton.autotune(
    [triton.Config({"BLOCK": b}, num_stages=s) for b in (32, 128) for s in (2, 4)],
    key=["width"],
    prune_configs_by={"early_config_prune": prune},
)
@triton.jit
def kernel(x_ptr, n, width: tl.constexpr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 0)

def run(x, head_dim):
    kernel[(1,)](x, x.shape[0], head_dim)
"""


def test_early_pruning_is_evaluated_for_each_launch(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(PRUNED)
    for capability, dropped in ((120, {(128, 4)}), (90, set())):
        found = [
            c for c in resolve(Repository([tmp_path]), ["m.py"], capability=capability, assume={"head_dim": 128}) if isinstance(c, Config)
        ]
        assert {(c.constexprs["BLOCK"], c.options["num_stages"]) for c in found if c.pruned} == dropped
        assert len([c for c in found if c.launch]) == 4


LIMITS = """
import torch, triton

def fits(bytes_needed, other):
    return bytes_needed <= 227 * 1024 and other <= 65536

def pick(m):
    if torch.cuda.get_device_capability() >= (9, 0):
        BLOCK_N, num_stages = 256, 4
    else:
        BLOCK_N, num_stages = 128, 2
    if torch.cuda.get_device_capability()[0] >= 10:
        log = "seen"
    stages = 5 if capability_major() >= 8 else 2
    return BLOCK_N, num_stages, stages

def budget(cap):
    if cap.major >= 9:
        return 232_448
    if cap.major >= 10:
        return 4
    return 101_376

is_hopper = torch.cuda.get_device_capability()[0] >= 9
shared_memory_ok = props.shared_memory_per_block >= 49152

@triton.jit
def kernel(x):
    if x <= 101376:
        pass
"""


def test_literal_limits_and_capability_tests(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(LIMITS)
    module = Repository([tmp_path]).module("m.py")
    assert module is not None
    found = sorted((fact.line, fact.kind, fact.value) for fact in hard_coded(module))
    assert found == [(5, "limit", 232_448), (8, "capability", 90), (18, "capability", 90), (24, "capability", 90), (25, "limit", 49_152)]
    message = next(fact.message for fact in hard_coded(module) if fact.line == 8)
    assert "sm_120" in message and "get_device_capability" in message


HANDLED = """
import torch, triton

def chain(cc):
    if cc.major == 12:
        BLOCK = 64
    elif cc.major >= 9:
        BLOCK = 128
    return BLOCK

def early(capability):
    if capability[0] in (12,):
        return {"BLOCK_M": 32}
    if capability[0] >= 9:
        return {"BLOCK_M": 128}

def asked(capability):
    if capability >= (12, 0):
        num_stages = 2
    is_sm90_plus = capability >= (9, 0)
    return num_stages
"""


def test_a_capability_that_12_has_been_asked_for_before_is_no_finding(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(HANDLED)
    module = Repository([tmp_path]).module("m.py")
    assert module is not None and list(hard_coded(module)) == []
