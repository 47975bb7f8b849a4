"""What is left out is said, and names that mean a size in one place mean none in another."""

from __future__ import annotations

from pathlib import Path

from smem_lint.host import Config, resolve
from smem_lint.source.modules import Repository

KERNEL = """
import torch, triton
import triton.language as tl

@triton.jit
def inner(base, n):
    return tl.load(base + n)

@triton.jit
def kernel(K, V, n, BLOCK: tl.constexpr):
    tl.store(V + tl.arange(0, BLOCK), inner(K + n * 64, tl.arange(0, BLOCK)))
"""


def found(tmp_path: Path, *files: tuple[str, str]) -> list[Config]:
    for name, text in files:
        (tmp_path / name).write_text(text)
    return [one for one in resolve(Repository([tmp_path]), [name for name, _ in files]) if isinstance(one, Config)]


def test_a_site_that_is_cut_says_so(tmp_path: Path) -> None:
    flags = [f"f{number}" for number in range(9)]
    body = "".join(f"    if {flag}(x): BLOCK *= 2\n" for flag in flags)
    host = f"def go(x, y, {', '.join(flags)}):\n    BLOCK = 2\n{body}    kernel[(1,)](x, y, 3, BLOCK)\n"
    configs = found(tmp_path, ("m.py", KERNEL + host))
    assert len(configs) > 2 and all("more than 48 paths" in one.cut for one in configs)
    assert "more than 48 paths" in configs[0].to_json()["cut"]


def test_a_site_that_is_not_cut_says_nothing(tmp_path: Path) -> None:
    host = "def go(x, y, flag):\n    kernel[(1,)](x, y, 3, 32 if flag else 64)\n"
    configs = found(tmp_path, ("m.py", KERNEL + host))
    assert {one.constexprs["BLOCK"] for one in configs} == {32, 64}
    assert not any(one.cut for one in configs) and "cut" not in configs[0].to_json()


def test_addresses_that_another_function_loads_from_are_pointers(tmp_path: Path) -> None:
    host = "def go(k: torch.Tensor, v):\n    kernel[(1,)](k, v, 3, 32)\n"
    (config,) = found(tmp_path, ("m.py", KERNEL + host.replace("k: torch.Tensor", "k")))
    assert config.types == {"K": "*bf16", "V": "*bf16", "n": "i32"}


def test_a_launch_in_a_file_that_does_not_name_triton(tmp_path: Path) -> None:
    host = "from m import kernel\ndef go(k, v, grid):\n    kernel[grid](k, v, 3, BLOCK=32)\n"
    other = "def go(shape, table):\n    shape_kernel[0](table, 3)\n"
    configs = found(tmp_path, ("m.py", KERNEL), ("n.py", host), ("o.py", other))
    assert [(one.file, one.kernel, one.constexprs["BLOCK"]) for one in configs] == [("n.py", "kernel", 32)]


SIZES = """
def go(x, y):
    {names} = x.shape
    kernel[(1,)](x, y, 3, BLOCK=triton.next_power_of_2({name}))
"""


def test_a_name_means_a_size_where_its_company_is(tmp_path: Path) -> None:
    for names, name, first in (
        ("B, T, H, K, V", "V", "state of 128"), ("BT, V", "V", "a vocabulary of 128256"), ("BT, H", "H", "hidden size 4096"),
        ("B, T, H", "H", "32 heads"),
    ):  # fmt: skip
        configs = found(tmp_path, ("m.py", KERNEL + SIZES.format(names=names, name=name)))
        assert configs[0].when[0].startswith(first), (names, configs[0].when)


def test_the_range_of_a_type_is_a_constant(tmp_path: Path) -> None:
    """The numbers are those of ``torch.finfo`` and ``torch.iinfo``."""
    host = "info = torch.finfo(torch.float8_e4m3fn)\ndef go(x, y):\n    kernel[(1,)](x, y, 3, (info.min, torch.iinfo(torch.int8).min))\n"
    (config,) = found(tmp_path, ("m.py", KERNEL + host))
    assert config.constexprs["BLOCK"] == [-448.0, -128]
