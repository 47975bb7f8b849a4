"""Lists that a condition may shorten which only the machine can answer: what may be in them is launched, with that said."""

from __future__ import annotations

from pathlib import Path

from smem_lint.host import Config, resolve
from smem_lint.source.modules import Repository

KERNEL = """
import torch, triton
import triton.language as tl
from compiled import alignment

SIZES = [triton.Config({{"BLOCK": size}}, num_warps=size // 16) for size in (32, 64, 128, 256)]
SIZES = list(filter(lambda config: config.kwargs["BLOCK"] <= 128, SIZES))
KEPT = {kept}

@triton.autotune(configs=KEPT, key=[])
@triton.jit
def kernel(K, BLOCK: tl.constexpr):
    tl.store(K + tl.arange(0, BLOCK), 1)

def go(k):
    kernel[(1,)](k)
"""


def launched(tmp_path: Path, kept: str) -> list[Config]:
    (tmp_path / "m.py").write_text(KERNEL.format(kept=kept))
    return [one for one in resolve(Repository([tmp_path]), ["m.py"]) if isinstance(one, Config) and one.launch]


def test_a_filter_that_is_not_known_leaves_what_may_be_in_the_list(tmp_path: Path) -> None:
    for kept in (
        "list(filter(lambda config: config.kwargs['BLOCK'] <= alignment(), SIZES))",
        "[config for config in SIZES if config.kwargs['BLOCK'] <= alignment()]",
        "[config for config in filter(lambda config: config.num_warps <= alignment(), SIZES)]",
    ):
        configs = launched(tmp_path, kept)
        assert [(one.constexprs["BLOCK"], one.options["num_warps"]) for one in configs] == [(32, 2), (64, 4), (128, 8)], kept
        assert all("keeps it" in one.when[-1] and "alignment" in one.when[-1] and not one.unresolved for one in configs)


def test_such_a_list_is_not_known_to_anything_else(tmp_path: Path) -> None:
    """Its length and its places depend on what was dropped; so does a list that it is part of."""
    unsure = "[config for config in SIZES if config.num_warps <= alignment()]"
    for kept in (f"{unsure}[:1]", f"SIZES + {unsure}", f"sorted({unsure}, key=lambda config: config.num_warps)"):
        (config,) = launched(tmp_path, kept)
        assert "configs" in {missing.name for missing in config.unresolved}, kept
