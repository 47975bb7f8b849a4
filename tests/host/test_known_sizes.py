"""Sizes that a launch leaves open are those that its callers give, where the repository has callers that know them."""

from __future__ import annotations

from pathlib import Path

from smem_lint.host import Config, resolve
from smem_lint.host.values import Symbol
from smem_lint.source.modules import Repository

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a, out, BT: tl.constexpr, FLAG: tl.constexpr):
    tile = tl.arange(0, BT)
    if FLAG:
        tl.store(out + tile, tl.load(a + tile))


def solved(a, lengths=None) -> torch.Tensor:
    out = torch.zeros_like(a, dtype=torch.float16)
    if lengths is not None:
        out = out.contiguous()
    return out


def launch(a, out, flag: bool):
    kernel[(1,)](a, out, BT=a.shape[-1], FLAG=flag)
"""
CALLER = """
import torch
from kernels import launch, solved


def call(x, lengths=None):
    a = solved(torch.empty(x.shape[0], 64, device=x.device), lengths)
    launch(a, x, True)
"""


def _configs(folder: Path, file: str) -> list[Config]:
    return [one for one in resolve(Repository([folder]), [file]) if isinstance(one, Config) and not one.unresolved]


def test_a_callers_size_takes_the_place_of_any(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(KERNEL)
    open_sizes = _configs(tmp_path, "kernels.py")
    assert {one.constexprs["BT"] for one in open_sizes} == {4096, 1024, 128, 16384, 16}
    assert all(one.tried for one in open_sizes)
    (tmp_path / "caller.py").write_text(CALLER)
    known = _configs(tmp_path, "kernels.py")
    assert {one.constexprs["BT"] for one in known} == {64}
    assert {one.constexprs["FLAG"] for one in known} == {True, False}


def test_a_tensor_that_a_call_gives_has_the_calls_type(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(KERNEL)
    (tmp_path / "caller.py").write_text(CALLER)
    assert "*fp16" in {one.types["a"] for one in _configs(tmp_path, "kernels.py")}


def test_what_tests_call_with_is_not_all_there_is(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(KERNEL)
    (tmp_path / "test_kernels.py").write_text(CALLER)
    assert len({one.constexprs["BT"] for one in _configs(tmp_path, "kernels.py")}) == 5


REST = """
import torch
from kernels import kernel


def asked(a: torch.Tensor, out, **rest):
    kernel[(1,)](a, out, BT=rest["size"], FLAG=True)


def with_default(a: torch.Tensor, out, **rest):
    kernel[(1,)](a, out, BT=rest.get("size", 32), FLAG=True)


def handed_on(a: torch.Tensor, out, **rest):
    kernel[(1,)](a, out, BT=16, FLAG=True, **rest)
"""


def test_what_is_asked_of_other_keywords_is_the_callers_to_give(tmp_path: Path) -> None:
    """A function's ``**rest`` is not empty because nobody is seen to call it."""
    (tmp_path / "kernels.py").write_text(KERNEL)
    (tmp_path / "rest.py").write_text(REST)
    found = [one for one in resolve(Repository([tmp_path]), ["rest.py"]) if isinstance(one, Config)]
    asked, default, handed = found
    assert [(gap.name, gap.reason) for gap in asked.unresolved] == [("BT", "size is given by the caller")]
    assert default.constexprs["BT"] == 32 and default.when == ("size is 32",)
    assert handed.constexprs["BT"] == 16 and not handed.unresolved and not handed.when
    (tmp_path / "caller.py").write_text(
        "from rest import asked\n\n\ndef call(x, w):\n    more = dict(size=256)\n    asked(x.half(), w, **more)\n"
    )
    known = [one for one in resolve(Repository([tmp_path]), ["rest.py"]) if isinstance(one, Config) and one.line == 7]
    assert {one.constexprs["BT"] for one in known} == {256}


def test_what_is_not_known_has_one_name_in_every_process() -> None:
    """Baselines and the order of findings rest on it, and strings have another hash in each process."""
    assert Symbol("x" * 300).text.endswith("x…#1b432d13")
