"""Launches to configs: every path, every path's conditions, and what is missing where something is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from smem_lint.host import Config, Problem, resolve
from smem_lint.source.modules import Repository

HEAD = """
import torch
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, out_ptr, n, stride, BLOCK: tl.constexpr, FLAG: tl.constexpr = False):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs * stride, mask=offs < n)
    tl.store(out_ptr + offs, x)
"""


def configs(tmp_path: Path, text: str, files: dict[str, str] | None = None, **options: Any) -> list[Config]:
    for name, content in {"m.py": text, **(files or {})}.items():
        (tmp_path / name).write_text(content)
    found = list(resolve(Repository([tmp_path]), ["m.py"], **{"profile": "generic", **options}))
    assert not [item for item in found if isinstance(item, Problem)]
    return [item for item in found if isinstance(item, Config)]


def test_a_plain_launch(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
def run(x):
    out = torch.empty((4, 64), dtype=torch.float16)
    kernel[(1,)](x, out, 64, out.stride(0), BLOCK=128, num_warps=8)
"""
    )
    (config,) = configs(tmp_path, text)
    assert (config.kernel, config.origin, config.launch) == ("kernel", "launch", "m.py:14")
    assert config.constexprs == {"BLOCK": 128, "FLAG": False} and config.options == {"num_warps": 8}
    assert config.types == {"x_ptr": "*bf16", "out_ptr": "*fp16", "n": "i32", "stride": "i32"}
    assert config.attrs["n"] == config.attrs["stride"] == {"tt.divisibility": 16}
    made = config.specialization(120)
    assert made is not None and made.signature == {
        "x_ptr": "*bf16", "out_ptr": "*fp16", "n": "i32", "stride": "i32", "BLOCK": "constexpr", "FLAG": "constexpr",
    }  # fmt: skip
    assert (made.num_warps, made.num_stages) == (8, 3)


def test_a_ladder_gives_each_rung_its_condition(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
def run(x, out):
    m = x.shape[0]
    if m <= 16:
        block, warps = 16, 1
    elif m <= 64:
        block, warps = 64, 4
    else:
        block, warps = 128, 8
    kernel[(1,)](x, out, m, 1, BLOCK=block, num_warps=warps)
"""
    )
    found = {(c.constexprs["BLOCK"], c.options["num_warps"]): c.when for c in configs(tmp_path, text)}
    assert set(found) == {(16, 1), (64, 4), (128, 8)}
    assert found[16, 1] == ("x.shape[0] <= 16",)
    assert found[64, 4] == ("x.shape[0] > 16", "x.shape[0] <= 64")
    assert found[128, 8] == ("x.shape[0] > 16", "x.shape[0] > 64")


def test_branches_that_the_target_does_not_take_are_not_followed(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
def is_hip():
    return torch.version.hip is not None
def run(x, out):
    stages = 1 if is_hip() else 2
    options = {}
    if torch.cuda.get_device_capability()[0] >= 9:
        options = {"num_warps": 16}
    if x.numel() == 0:
        return out
    if x.dtype not in (torch.float16,):
        raise ValueError
    kernel[(1,)](x, out, 8, 1, 32, num_stages=stages, **options)
"""
    )
    (config,) = configs(tmp_path, text)
    assert config.options == {"num_stages": 2, "num_warps": 16} and config.constexprs["stride"] == 1
    assert [c.options for c in configs(tmp_path, text, capability=80)] == [{"num_stages": 2}]
    assert config.types["x_ptr"] == "*fp16"


def test_autotune_and_launch_meet(tmp_path: Path) -> None:
    text = (
        HEAD.replace(
            "@triton.jit",
            "@triton.autotune([triton.Config({'BLOCK': b}, num_warps=w) for b in (32, 64) for w in (2, 4)], key=[])\n@triton.jit",
        )
        + """
def run(x, out):
    kernel[lambda meta: (triton.cdiv(64, meta["BLOCK"]),)](x, out, 64, 16, FLAG=True)
"""
    )
    found = configs(tmp_path, text)
    launched = [c for c in found if c.launch]
    assert [(c.index, c.of, c.constexprs["BLOCK"], c.options["num_warps"]) for c in launched] == [
        (0, 4, 32, 2),
        (1, 4, 32, 4),
        (2, 4, 64, 2),
        (3, 4, 64, 4),
    ]
    assert all(c.origin == "autotune" and c.constexprs["FLAG"] is True and c.specialization(120) for c in launched)


def test_kernels_are_followed_into_helpers(tmp_path: Path) -> None:
    helper = "def launch(fn, grid, *args, **options):\n    fn[grid](*args, **options)\n"
    text = (
        HEAD
        + """
from helper import launch
def run(x, out):
    launch(kernel, (1,), x, out, 64, 1, BLOCK=256)
"""
    )
    (tmp_path / "m.py").write_text(text)
    (tmp_path / "helper.py").write_text("import triton\n" + helper)
    found = [c for c in resolve(Repository([tmp_path]), ["helper.py"], profile="generic") if isinstance(c, Config)]
    assert [(c.kernel, c.kernel_file, c.launch, c.constexprs["BLOCK"]) for c in found] == [("kernel", "m.py", "helper.py:3", 256)]


def test_what_callers_pass_is_found(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
def run(x, out, config):
    kernel[(1,)](x, out, 64, 16, **config)
def pick(m):
    if m < 32:
        return {"BLOCK": 16, "num_warps": 2}
    return {"BLOCK": 64, "num_warps": 4}
def entry(x, out):
    run(x, out, pick(x.shape[0]))
"""
    )
    found = {(c.constexprs["BLOCK"], c.options["num_warps"]): c.when for c in configs(tmp_path, text) if not c.unresolved}
    assert found == {(16, 2): ("x.shape[0] < 32",), (64, 4): ("x.shape[0] >= 32",)}


def test_a_caught_failure_is_guarded_and_the_fallback_is_listed(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
from triton.runtime.errors import OutOfResources
def run(x, out):
    try:
        kernel[(1,)](x, out, 64, 16, BLOCK=512)
    except OutOfResources:
        kernel[(1,)](x, out, 64, 16, BLOCK=64)
"""
    )
    found = {c.constexprs["BLOCK"]: (c.guarded, c.when) for c in configs(tmp_path, text)}
    assert found == {512: (True, ()), 64: (False, ("the launch at line 15 failed",))}


def test_none_and_one_become_constexprs(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
def run(x):
    kernel[(1,)](x, None, 1, 2**40, BLOCK=16)
"""
    )
    (config,) = configs(tmp_path, text)
    assert config.constexprs == {"out_ptr": None, "n": 1, "BLOCK": 16, "FLAG": False} and config.types["stride"] == "i64"


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("    import somewhere\n    kernel[(1,)](x, x, 1, 1, BLOCK=somewhere.block())", "BLOCK"),
        ("    import somewhere\n    kernel[(1,)](x, x, 1, 1, 16, num_warps=somewhere.w())", "num_warps"),
        ("    import somewhere\n    kernel[(1,)](x, x, 1, 1, **somewhere.config())", "**"),
        ("    kernel[(1,)](x, x, 1, 1)", "BLOCK"),
        ("    import somewhere\n    somewhere.kernel_of(x)[(1,)](x, x, num_warps=4)", "somewhere.kernel_of(x)"),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, body: str, name: str) -> None:
    found = configs(tmp_path, HEAD + "def run(x):\n" + body + "\n")
    assert found and all(name in [missing.name for missing in c.unresolved] and c.specialization(120) is None for c in found)


MLA = """
import torch, triton
import triton.language as tl

@triton.jit
def attend(
    Q, K_Buffer, V_Buffer, Out, stride_q,
    BLOCK_DMODEL: tl.constexpr, BLOCK_DPE: tl.constexpr, BLOCK_N: tl.constexpr, IS_MLA: tl.constexpr,
):
    q = tl.load(Q + tl.arange(0, BLOCK_DMODEL) * stride_q)
    k = tl.load(K_Buffer + tl.arange(0, BLOCK_DMODEL))
    if k.dtype.is_fp8():
        k = k.to(q.dtype)
    tl.store(Out + tl.arange(0, BLOCK_DMODEL), q + k + tl.load(V_Buffer))

def forward(q, k_buffer, v_buffer, out, is_mla=False):
    Lk = k_buffer.shape[-1]
    Lv = v_buffer.shape[-1]
    if is_mla:
        block, pe = triton.next_power_of_2(Lv), triton.next_power_of_2(Lk - Lv)
    else:
        block, pe = triton.next_power_of_2(Lk), 0
    attend[(1,)](q, k_buffer, v_buffer, out, q.stride(0), block, pe, BLOCK_N=32, IS_MLA=is_mla, num_stages=2)
"""


def test_head_dimensions_and_cache_types_are_scenarios(tmp_path: Path) -> None:
    found = configs(tmp_path, MLA, profile="vllm")
    latent = [c for c in found if c.constexprs["IS_MLA"] and c.constexprs["BLOCK_DMODEL"] == 512]
    assert {(c.constexprs["BLOCK_DPE"], c.types["Q"], c.types["K_Buffer"], c.types["V_Buffer"]) for c in latent} == {
        (64, "*bf16", "*bf16", "*bf16"),
        (64, "*bf16", "*fp8e4nv", "*fp8e4nv"),
    }
    fp8 = next(c for c in latent if c.types["K_Buffer"] == "*fp8e4nv")
    assert "K_Buffer is fp8e4nv (fp8 KV cache)" in fp8.when and any("MLA 512+64" in condition for condition in fp8.when)
    assert "BLOCK_DMODEL" in fp8.assumed and "BLOCK_N" not in fp8.assumed
    plain = {c.constexprs["BLOCK_DMODEL"] for c in found if not c.constexprs["IS_MLA"]}
    assert {64, 128, 256} <= plain


def test_assumptions_are_obeyed(tmp_path: Path) -> None:
    found = configs(tmp_path, MLA, assume={"Lk": 128, "Lv": 128, "is_mla": False})
    assert {c.constexprs["BLOCK_DMODEL"] for c in found} == {128}


def test_broken_files_are_problems(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("import triton\ndef f(:\n")
    found = list(resolve(Repository([tmp_path]), ["bad.py", "absent.py"]))
    assert [(type(item), item.file) for item in found] == [(Problem, "bad.py"), (Problem, "absent.py")]


def test_nothing_is_executed(tmp_path: Path) -> None:
    text = (
        HEAD
        + f"""
open({str(tmp_path / "trap")!r}, "w").close()
def run(x):
    __import__("os").system("touch {tmp_path / "trap"}")
    kernel[(1,)](x, x, 64, 16, BLOCK=16)
"""
    )
    assert len(configs(tmp_path, text)) == 1 and not (tmp_path / "trap").exists()


def test_backward_knows_what_forward_left_in_its_context(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
def settings(n):
    block = triton.next_power_of_2(n)
    return block, 8 if block >= 2048 else 4
class Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, hidden_size):
        ctx.block, ctx.warps = settings(hidden_size)
        ctx.save_for_backward(x.float())
        return x
    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        launch_backward(dy, x, ctx.block, ctx.warps)
def launch_backward(dy, x, BLOCK, num_warps):
    kernel[(1,)](dy, x, 64, 16, BLOCK=BLOCK, num_warps=num_warps)
"""
    )
    found = [c for c in configs(tmp_path, text) if not c.unresolved]
    assert {(c.constexprs["BLOCK"], c.options["num_warps"], c.types["out_ptr"]) for c in found} == {
        (4096, 8, "*fp32"),
        (8192, 8, "*fp32"),
        (1024, 4, "*fp32"),
    }


def test_shapes_and_strides_that_are_spread(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
def run(x, out):
    assert out.shape == (4, 8)
    kernel[(1,)](x, out, *out.stride(), BLOCK=16)
    kernel[(1,)](x, out, *x.sizes(), 64)
"""
    )
    first, second = configs(tmp_path, text)
    assert first.constexprs == {"stride": 1, "BLOCK": 16, "FLAG": False} and "n" in first.types
    assert second.constexprs == {"BLOCK": 64, "FLAG": False} and not second.unresolved


def test_a_flag_is_handed_on_as_it_was_tested(tmp_path: Path) -> None:
    """A parameter that decided a branch has that value in the launch behind it, whatever its default."""
    text = (
        HEAD
        + """
def sizes(fast):
    if fast:
        return {"BLOCK": 256}
    return {"BLOCK": 128}

def run(x, out, fast=False):
    kernel[(1,)](x, out, 64, 1, FLAG=fast, **sizes(fast))
"""
    )
    found = {(config.constexprs["BLOCK"], config.constexprs["FLAG"]) for config in configs(tmp_path, text)}
    assert found == {(256, True), (128, False)}


def test_a_flag_that_names_a_scheme_gives_the_operands_their_types(tmp_path: Path) -> None:
    """``use_fp8_w8a8``: eight bits for weights and for activations, where the host code leaves the types open."""
    text = """
import triton
import triton.language as tl

@triton.jit
def kernel(a_ptr, b_ptr, out_ptr, use_fp8_w8a8: tl.constexpr, use_int8_w8a16: tl.constexpr):
    tl.store(out_ptr, tl.load(a_ptr).to(tl.float32) + tl.load(b_ptr).to(tl.float32))

def run(A, B, out, use_fp8_w8a8=False, use_int8_w8a16=False):
    kernel[(1,)](A, B, out, use_fp8_w8a8, use_int8_w8a16)
"""
    found = {tuple(one.constexprs.values()): one for one in configs(tmp_path, text)}
    types = {flags: tuple(one.types.values()) for flags, one in found.items()}
    assert types[False, False] == ("*bf16", "*bf16", "*bf16")
    assert types[True, False] == ("*fp8e4nv", "*fp8e4nv", "*bf16")
    assert types[False, True] == ("*bf16", "*i8", "*bf16")
    assert "a_ptr is fp8e4nv (use_fp8_w8a8)" in found[True, False].when
