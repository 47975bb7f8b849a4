"""A bench for ``smem-lint verify``."""

import pytest
from verify_bench import Bench


@pytest.fixture
def bench(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SMEM_LINT_DEBUG", raising=False)
    (tmp_path / "pyproject.toml").write_text("[tool.smem-lint]\n")
    return Bench(tmp_path, capsys)
