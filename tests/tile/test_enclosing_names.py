"""Kernels inside functions: what an enclosing function imports and defines is in sight, as in Triton 3.8.0."""

from __future__ import annotations

from pathlib import Path

from smem_lint.source.modules import Repository
from smem_lint.specialization import Specialization
from smem_lint.tile.frontend import build

SOURCE = '''
def make():
    import triton
    import triton.language as tl
    from triton.language.extra import libdevice

    @triton.jit
    def shifted(x):
        return libdevice.tanh(x) + 1

    @triton.jit
    def kernel(x_ptr, SIZE: tl.constexpr):
        at = tl.arange(0, SIZE)
        tl.store(x_ptr + at, shifted(tl.load(x_ptr + at)))

    return kernel
'''


def test_imports_of_the_enclosing_function(tmp_path: Path) -> None:
    (tmp_path / "made.py").write_text(SOURCE)
    module = build(Repository([tmp_path]), Specialization("made.py", "kernel", {"x_ptr": "*fp32", "SIZE": "constexpr"}, {"SIZE": 64}))
    names = [op.name for op in module.kernel.body if op.name not in ("arith.constant", "tt.make_range", "tt.splat", "tt.addptr")]
    assert names == ["tt.load", "tt.extern_elementwise", "arith.addf", "tt.store", "tt.return"]
