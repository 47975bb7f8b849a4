"""The version of Triton that a project asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from smem_lint.pinned import pinned_triton, project_triton


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("pyproject.toml", '[project]\ndependencies = ["triton==3.6.0; platform_system == \'Linux\'"]\n', "3.6"),
        ("pyproject.toml", '[project.optional-dependencies]\ngpu = ["numpy", "torch==2.11.0"]\n', "3.6"),
        ("pyproject.toml", '[dependency-groups]\ndev = ["triton ~= 3.7.1", {include-group = "x"}]\n', "3.7"),
        ("pyproject.toml", '[project]\ndependencies = ["triton>=3.2", "torchvision==0.25"]\n', ""),
        ("pyproject.toml", "not toml", ""),
        ("requirements.txt", "# torch==2.11\ntorch == 2.14.0  # newest\n", "3.8"),
        ("requirements-cuda.txt", "torch==2.11\ntriton==3.9.0\n", "3.9"),
        ("setup.py", "setup(install_requires=['torch==2.9.1'])\n", "3.5"),
        ("setup.py", "setup(install_requires=['torch==1.13'])\n", ""),
    ],
)
def test_pinned(file: str, text: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text(text)
    assert pinned_triton(tmp_path) == expected


def test_project(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("triton==3.7.1\n")
    package = tmp_path / "kernels" / "fused"
    package.mkdir(parents=True)
    (package / "gemm.py").write_text("")
    assert project_triton(package / "gemm.py") == "3.7"
    (tmp_path / "kernels" / ".git").mkdir()
    assert project_triton(package) == ""
