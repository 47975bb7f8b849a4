"""Triton's driver for a GPU that is not there: it compiles and launches nothing."""

import importlib.util
from pathlib import Path

import pytest

RECORDER = Path(__file__).parents[2] / "smem_lint" / "verify" / "recorder"


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch, tmp_path):
    """No answer is left from another test or from the user's folder."""
    from smem_lint import pruned, pruning

    monkeypatch.setenv("SMEM_LINT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(pruned, "_KNOWN", {})
    monkeypatch.setattr(pruning, "_ENGINES", {})


@pytest.fixture
def device(monkeypatch):
    """``device(capability=120, optin=101376)``: make Triton's driver stand for such a device."""
    pytest.importorskip("triton", reason="pruning serves Triton's autotuner")
    pytest.importorskip("torch", reason="the arguments of a launch are tensors")
    from triton.runtime import driver

    from . import kernels

    spec = importlib.util.spec_from_file_location("stand_in", RECORDER / "smem_lint_stand_in.py")
    stand_in = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stand_in)

    def become(capability=120, optin=101_376, **more):
        made = stand_in.Driver({"capability": capability, "optin": optin, "per_sm": optin + 1024, "name": "a stand-in", **more})
        monkeypatch.setattr(driver, "_active", made)
        for kernel in (kernels.matmul, kernels.plain_sizes, kernels.with_tuple):
            kernel.device_caches.clear()  # they remember the device that was there before
        return made

    become()
    return become
