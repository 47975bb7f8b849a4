"""Tuned files: what their names say, and what the launch code makes of their entries."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from smem_lint.host import Config, Problem, resolve
from smem_lint.source.modules import Repository
from smem_lint.source.tuned import facts_of_name, is_tuned_name

OPS = """
import torch, triton
import triton.language as tl

@triton.jit
def moe_kernel(a_ptr, b_ptr, scale_ptr, BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_K: tl.constexpr, use_fp8_w8a8: tl.constexpr):
    a = tl.load(a_ptr + tl.arange(0, BLOCK_SIZE_M))
    tl.store(b_ptr + tl.arange(0, BLOCK_SIZE_M), a)
    if use_fp8_w8a8:
        tl.load(scale_ptr)

def invoke(A, B, A_scale, config, use_fp8_w8a8, block_shape):
    if use_fp8_w8a8:
        assert A_scale is not None
    else:
        assert A_scale is None
    config = config.copy()
    block_k = config.pop("BLOCK_SIZE_K")
    if block_shape is not None:
        block_k = min(block_k, min(block_shape[0], block_shape[1]))
    moe_kernel[(1,)](A, B, A_scale, use_fp8_w8a8=use_fp8_w8a8, BLOCK_SIZE_K=block_k, **config)
"""
NAME = "E=8,N=1024,device_name=NVIDIA_H100_80GB_HBM3,dtype=fp8_w8a8,block_shape=[128, 64].json"


def test_names() -> None:
    assert facts_of_name(NAME.removesuffix(".json")) == {
        "E": 8, "N": 1024, "device_name": "NVIDIA_H100_80GB_HBM3", "dtype": "fp8_w8a8", "block_shape": [128, 64],
    }  # fmt: skip
    assert is_tuned_name(NAME) and not is_tuned_name("package.json")


def write(tmp_path: Path, name: str, table: object) -> str:
    (tmp_path / "pkg" / "configs").mkdir(parents=True, exist_ok=True)
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "ops.py").write_text(OPS)
    (tmp_path / "pkg" / "configs" / name).write_text(table if isinstance(table, str) else json.dumps(table, indent=1))
    return f"pkg/configs/{name}"


def test_entries_go_through_the_launch(tmp_path: Path) -> None:
    entry = {"BLOCK_SIZE_M": 32, "BLOCK_SIZE_K": 256, "num_warps": 8, "num_stages": 5}
    file = write(tmp_path, NAME, {"triton_version": "3.5", "1": entry, "64": {**entry, "BLOCK_SIZE_K": 32}})
    found = [item for item in resolve(Repository([tmp_path]), [file]) if isinstance(item, Config)]
    assert [(c.constexprs["BLOCK_SIZE_M"], c.constexprs["BLOCK_SIZE_K"], c.when[0]) for c in found] == [
        (32, 64, "tuned for 1"),
        (32, 32, "tuned for 64"),
    ]
    first = found[0]
    assert (first.file, first.line, first.origin, first.index, first.of) == (file, 3, "tuned-json", 0, 2)
    assert first.device_name == "NVIDIA H100 80GB HBM3" and first.tuned == entry
    assert first.types == {"a_ptr": "*fp8e4nv", "b_ptr": "*fp8e4nv", "scale_ptr": "*fp32"}
    made = first.specialization(90)
    assert made is not None and (made.num_warps, made.num_stages, made.capability) == (8, 5, 90)


def test_an_entry_that_nothing_takes_says_so(tmp_path: Path) -> None:
    file = write(tmp_path, NAME, {"1": {"OTHER": 1}})
    (config,) = [item for item in resolve(Repository([tmp_path]), [file]) if isinstance(item, Config)]
    assert config.unresolved[0].name == "kernel" and config.specialization(120) is None


@pytest.mark.parametrize(("text", "words"), [("{", "not valid JSON"), ("[]", "not a table"), ("[" * 100_000, "not valid JSON")])
def test_broken_files_are_problems(tmp_path: Path, text: str, words: str) -> None:
    (problem,) = resolve(Repository([tmp_path]), [write(tmp_path, NAME, text)])
    assert isinstance(problem, Problem) and words in problem.message


def test_a_folder_that_the_settings_map_to_a_kernel(tmp_path: Path) -> None:
    """A file there need not be named for a device, nor lie beside the launch."""
    write(tmp_path, NAME, {})
    (tmp_path / "tables" / "mine").mkdir(parents=True)
    (tmp_path / "tables" / "mine" / "big.json").write_text(json.dumps({"1": {"BLOCK_SIZE_M": 16, "BLOCK_SIZE_K": 32, "num_stages": 2}}))
    for tuned, kernels in (({"tables/*": "pkg/ops.py::moe_kernel"}, ["moe_kernel"]), ({"other": "pkg/ops.py::moe_kernel"}, [])):
        found = resolve(Repository([tmp_path]), ["tables/mine/big.json"], tuned=tuned)
        assert [item.kernel for item in found if isinstance(item, Config)] == kernels


IMPORTED = """
from pkg.ops import invoke

def get_config(folder):
    return json.load(open(folder + "/triton/" + "device_name=x"))  # triton
"""


def test_a_launch_that_the_module_beside_the_folder_imports(tmp_path: Path) -> None:
    write(tmp_path, NAME, {})
    folder = tmp_path / "front" / "configs"
    folder.mkdir(parents=True)
    (tmp_path / "front" / "moe.py").write_text(IMPORTED)
    name = "E=8,N=1024,device_name=NVIDIA_L40S.json"
    (folder / name).write_text(json.dumps({"1": {"BLOCK_SIZE_M": 16, "BLOCK_SIZE_K": 32, "num_warps": 4}}))
    (config,) = [item for item in resolve(Repository([tmp_path]), [f"front/configs/{name}"]) if isinstance(item, Config)]
    assert config.kernel == "moe_kernel" and config.types["a_ptr"] == "*bf16" and config.constexprs["scale_ptr"] is None


SELF_QUANTISING = """
import triton
import triton.language as tl

@triton.jit
def gemm(a_ptr, s_ptr, N, K, stride_a, stride_k, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.load(a_ptr + offs[:, None] * stride_a + offs[None, :] * stride_k)

def quantise(x):
    assert x.dtype == torch.bfloat16
    return outside(x)

def invoke(A, B, config):
    A, A_scale = quantise(A)
    N, K = B.shape
    gemm[(1,)](A, A_scale, N, K, A.stride(0), A.stride(1), **config)

def unpack(x, headdim):
    BLOCK, num_warps = best_config(headdim)
    gemm[(1,)](x, None, 4096, 4096, 4096, 1, BLOCK, num_warps=num_warps)

def best_config(headdim):
    return 64, 4
"""


@pytest.mark.parametrize(
    ("drop", "expected"), [("def unpack", ("*fp8e4nv", 128, 8)), ("def invoke", ("*bf16", 128, 8))], ids=["quantises", "unpacks"]
)
def test_functions_that_quantise_or_unpack_an_entry(tmp_path: Path, drop: str, expected: tuple[str, int, int]) -> None:
    """The function is handed 16 bits where it asserts so; a name that it unpacks an entry to is worth what the entry says."""
    folder = tmp_path / "pkg" / "configs"
    folder.mkdir(parents=True)
    head, _, rest = ("import torch" + SELF_QUANTISING).partition(drop)
    (tmp_path / "pkg" / "ops.py").write_text(head + "".join(rest.partition("\n\ndef ")[1:]))
    name = "N=512,K=1024,device_name=NVIDIA_L40S,dtype=fp8_w8a8.json"
    (folder / name).write_text(json.dumps({"1": {"BLOCK": 128, "num_warps": 8}}))
    (config, *_) = [item for item in resolve(Repository([tmp_path]), [f"pkg/configs/{name}"]) if isinstance(item, Config)]
    assert (config.types["a_ptr"], config.constexprs["BLOCK"], config.options["num_warps"]) == expected
    assert config.constexprs["stride_k"] == 1
