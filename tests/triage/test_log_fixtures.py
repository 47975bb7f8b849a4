"""Every log of ``fixtures/logs`` is classed as its index says: class, stage, first failing line, and the numbers of an overflow."""

import io
import json
from pathlib import Path

import pytest

from smem_lint.triage import scan

LOGS = Path(__file__).parents[2] / "fixtures" / "logs"
INDEX = [json.loads(line) for line in (LOGS / "index.jsonl").read_text().splitlines()]


def test_the_index_covers_every_log_and_every_class():
    assert {one["file"] for one in INDEX} == {path.name for path in LOGS.glob("*.log")}
    assert len(INDEX) >= 30
    assert {one["class"] for one in INDEX} == {
        "shared_memory", "device_memory", "kernel_dispatch", "stream_capture", "illegal_access", "host_shared_memory", "other", "none",
    }  # fmt: skip


@pytest.mark.parametrize("expected", INDEX, ids=lambda one: one["file"])
def test_log(expected):
    with (LOGS / expected["file"]).open("rb") as stream:
        diagnosis = scan(stream)
    failure = diagnosis.failure
    told = (diagnosis.kind, failure.stage if failure else "-", failure.line if failure else None)
    assert told == (expected["class"], expected["stage"], expected["first_error_line"])
    for name in ("kernel", "required", "limit"):
        if name in expected:
            assert getattr(failure, name) == expected[name]


@pytest.mark.parametrize("name", ["shared-memory-vllm-profile", "shared-memory-docker-json", "shared-memory-kubernetes"])
def test_the_launch_is_the_frame_outside_triton(name):
    with (LOGS / f"{name}.log").open("rb") as stream:
        launch = scan(stream).failure.launch
    assert launch.file.endswith("vllm/v1/attention/ops/triton_decode_attention.py")
    assert (launch.line, launch.function) == (533, "_decode_grouped_att_m_fwd")


def test_what_only_repeats_the_failure_is_told():
    with (LOGS / "shared-memory-vllm-profile.log").open("rb") as stream:
        diagnosis = scan(stream)
    assert [text for _, text in diagnosis.echoes] == [
        "EngineCore failed to start.",
        "Process EngineCore:",
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
    ]
    assert diagnosis.failure.before[-1][1].strip().startswith("^")
    assert diagnosis.facts["vllm"] == "0.33.0"


HEALTHY = ["healthy-autotuning-ignored", "healthy-tactics", "healthy-warning-traceback", "healthy-bad-requests", "healthy-fallback-errors"]


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_log_that_ends_early_is_no_failure(name):
    """Cut after any whole record: what was caught is not taken for a failure because the log stops there."""
    lines = (LOGS / f"{name}.log").read_bytes().splitlines(keepends=True)
    for end in range(1, len(lines) + 1):
        if b"Runtime error" not in lines[end - 1] and b"No valid triton" not in lines[end - 1]:
            assert scan(io.BytesIO(b"".join(lines[:end]))).kind == "none", end


WRAPPERS = {
    "kubernetes": b"2026-11-20T10:22:01.123456789Z stderr F ",
    "docker compose": b"vllm-1  | ",
    "docker timestamps": b"2026-11-20T10:22:01.123456789Z ",
    "journald": b"Nov 20 10:22:01 gpu-3 vllm[4711]: ",
    "colour": b"\x1b[0;36m",
    "kubectl logs --prefix": b"[pod/vllm-7c9d8b5c6f-x2v4q/vllm] ",
    "pm2": b"0|vllm  | ",
    "a quotation": b"> ",
    "an indentation": b"    ",
}


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("expected", INDEX, ids=lambda one: one["file"])
def test_containers_and_supervisors_change_nothing(wrapper, expected):
    lines = (LOGS / expected["file"]).read_bytes().split(b"\n")
    diagnosis = scan(io.BytesIO(b"\r\n".join(WRAPPERS[wrapper] + line for line in lines)))
    failure = diagnosis.failure
    told = (diagnosis.kind, failure.stage if failure else "-", failure.line if failure else None)
    assert told == (expected["class"], expected["stage"], expected["first_error_line"])
