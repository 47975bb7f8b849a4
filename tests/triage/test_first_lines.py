"""Which line is the first failing one where several speak of one failure, and at which stage it was."""

import io

import pytest

from smem_lint.triage import scan

RAISED = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\n'
DURING = "\nDuring handling of the above exception, another exception occurred:\n\n"
OVERFLOW = "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 131072, Hardware limit: 101376.\n"


def told(text):
    failure = scan(io.BytesIO(text.encode())).failure
    return failure.kind, failure.line


def test_the_first_exception_of_a_chain_is_the_first_line_whichever_names_the_class():
    first = "subprocess.CalledProcessError: Command '['ptxas']' returned non-zero exit status 255.\n"
    assert told(RAISED + first + DURING + RAISED + "triton.runtime.errors.PTXASError: PTXAS error: bad\n") == ("kernel_dispatch", 4)


def test_what_programs_raise_and_catch_on_their_way_is_not_the_first_line():
    assert told(RAISED + "KeyError: 'kernel_17'\n" + DURING + RAISED + OVERFLOW) == ("shared_memory", 11)


def test_a_message_that_quotes_another_process_is_one_failure_with_what_it_quotes():
    quoting = "InductorError: SubprocException: An exception occurred in a subprocess:\n\nName=triton_red_3\n"
    assert told(RAISED + quoting + RAISED + OVERFLOW) == ("shared_memory", 4)
    ray = "ray.exceptions.RayTaskError(OutOfResources): ray::Runner.run() (pid=12, ip=10.0.0.4)\n"
    assert told(RAISED + ray + '  File "b.py", line 9, in h\n    k[grid](\n' + OVERFLOW) == ("shared_memory", 4)


def test_an_error_line_of_native_code_before_the_traceback_is_the_first_line():
    native = "E0424 10:00:44.320100   88112 client.cc:3088] Execution failed: RESOURCE_EXHAUSTED: Out of memory while trying to allocate\n"
    assert told(native + RAISED + "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate\n") == ("device_memory", 1)


def test_the_heading_of_a_traceback_is_not_the_first_line():
    heading = "ERROR 11-18 09:12:35 engine.py:366] The model's max seq len (9) is larger than the maximum number of tokens that can be "
    assert told(f"{heading}stored in KV cache (5).\n{RAISED}ValueError: No available memory for the cache blocks.\n") == (
        "device_memory",
        5,
    )


STAGES = {
    "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`": "profile",
    "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.": "profile",
    "Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 148.00 MiB.": "capture",
    "ValueError: Free memory on device (13.58/15.99 GiB) on startup is less than desired GPU memory utilization": "load",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 148.00 MiB.": "other",
}


@pytest.mark.parametrize("message", STAGES)
def test_stage_of_a_message_without_a_log_around_it(message):
    assert scan(io.BytesIO(message.encode() + b"\n")).failure.stage == STAGES[message]


def test_a_client_s_bad_input_is_no_failure():
    frames = '  File "/opt/vllm/entrypoints/openai/serving_chat.py", line 290, in create_chat_completion\n    x\n'
    inner = '  File "/opt/vllm/entrypoints/openai/serving_engine.py", line 50, in _preprocess_chat\n    y\n'
    text = f"Traceback (most recent call last):\n{frames}{inner}ValueError: At most 0 image(s) may be provided in one prompt.\n"
    assert scan(io.BytesIO(text.encode())).kind == "none"


def test_another_writer_s_line_within_a_traceback_does_not_end_it():
    level = "(EngineCore pid=3) ERROR 08-14 07:51:19 [core.py:1330] "
    lines = [
        level + "Traceback (most recent call last):",
        level + '  File "/opt/vllm/v1/worker/gpu_worker.py", line 488, in determine_available_memory',
        "(EngineCore pid=3) Process EngineCore:",
        level + '  File "/opt/vllm/_custom_ops.py", line 800, in gemm',
        level + "RuntimeError: cutlass_gemm_caller, x.cuh:62, Error Internal",
    ]
    failure = scan(io.BytesIO("\n".join(lines).encode())).failure
    assert (failure.line, failure.kind, failure.stage, len(failure.frames)) == (5, "kernel_dispatch", "profile", 2)


def test_frames_of_a_traceback_whose_head_was_cut_off_tell_the_stage():
    text = '  File "/opt/vllm/v1/worker/gpu_model_runner.py", line 9, in profile_run\n    f()\nRuntimeError: CUDA error: out of memory\n'
    failure = scan(io.BytesIO(text.encode())).failure
    assert (failure.line, failure.stage, failure.frames[-1].function) == (3, "profile", "profile_run")
