"""At which stage of a server's life a failure happened: by the functions on its stack, else by what was logged before it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from smem_lint.triage.report import Frame

_CAPTURING = {
    "capture_model", "_capture_cudagraphs", "_capture_cudagraph", "init_device_graphs", "init_cuda_graphs",
    "_run_cuda_graph_warmup", "_capture_generation_cuda_graphs",
}  # fmt: skip
_MEASURING = {"determine_available_memory", "determine_num_available_blocks", "profile_run", "profile_cudagraph_memory"}
_CAPTURE = {
    "capture_model", "_capture_cudagraphs", "_capture_cudagraph", "init_cuda_graphs", "init_device_graphs", "capture_one_batch_size",
    "_capture_graph", "capture_graph", "_warmup_and_capture", "capture_piecewise", "init_piecewise_cuda_graphs", "capture_one_stream",
    "profile_cuda_graphs", "compile_or_warm_up_model", "kernel_warmup",
}  # fmt: skip
_PROFILE = {
    "determine_available_memory", "determine_num_available_blocks", "profile_run", "_initialize_kv_caches", "initialize_kv_cache",
    "initialize_kv_caches", "get_kv_cache_configs", "get_kv_cache_config", "_check_enough_kv_cache_memory", "check_enough_kv_cache_memory",
    "profile_max_num_token", "init_memory_pool", "initialize_cache", "initialize_from_config", "_initialize_cache",
    "profile_cudagraph_memory",
    "raise_if_cache_size_invalid", "_profile_available_bytes", "_allocate_kv_cache", "_allocate_gpu_memory", "profile_num_available_blocks",
    "init_kv_cache", "warmup", "Warmup", "allocate_pools",
}  # fmt: skip
_LOAD = {
    "load_model", "init_device", "load_weights", "_load_model", "init_torch_distributed", "initialize_model", "create_engine_config",
    "init_worker_distributed_environment", "inspect_model_cls", "create_model_config", "process_weights_after_loading",
    "_run_in_subprocess", "init_app_state", "build_app", "setup_server",
    "resolve_model_cls", "get_attn_backend",
}  # fmt: skip
_REQUEST = {
    "run_busy_loop", "execute_model", "sample_tokens", "forward_batch_generation", "event_loop_normal", "event_loop_overlap", "run_batch",
    "_process_engine_step", "step_with_batch_queue", "generate", "create_completion", "create_chat_completion", "step",
    "_handle_client_request",
    "_invoke_utility_method", "step_async", "run_engine_loop", "encode", "embed", "forward_thread_func", "forward_thread_func_",
}  # fmt: skip
_BUSY = frozenset({"run_busy_loop", "execute_model", "run_batch"})
_SERVING = frozenset({
    "event_loop_normal", "event_loop_overlap", "run_engine_loop", "engine_step", "step_async", "_process_engine_step",
    "step_with_batch_queue", "create_completion", "create_chat_completion", "run_asgi", "Prefill", "Decode",
    "event_loop_normal_disagg_prefill", "event_loop_overlap_disagg_prefill", "event_loop_normal_disagg_decode",
    "event_loop_overlap_disagg_decode", "event_loop_pp",
    "get_model_worker_batch", "process_batch_result", "process_batch_result_decode", "process_batch_result_prefill",
})  # fmt: skip
_WORDS = (
    ("request", (
        "Application startup complete", r"init engine \(profile", "Avg prompt throughput", "fired up and ready", "Uvicorn running",
        "Supported_tasks", "Processed prompts", '" 200', "server is listening",
        "EngineCore encountered a fatal error", r"router/src/server\.rs:\d+: (?:Connected|Success)",
        r"Method (?:Prefill|Decode) encountered", r"^slot (?:launch_slot_|update_slots)",
    )),
    ("capture", (
        "Graph capturing finished", r"Capturing (?:CUDA|cuda|batches)", r"Capture (?:cuda|CUDA) graph begin", "Capturing the model",
        "Creating CUDA graph instances",
        "graph shapes",
    )),
    ("load", ("# GPU blocks:", "GPU KV cache size:", "Maximum concurrency for")),
    ("profile", (
        "Model loading took", "Loading model weights took", "Load weight end", "Memory profiling", "KV cache memory", "profile run",
        r"Using cache directory:.{0,200}torch_compile", "Warming up model", "Method Warmup encountered", "in memory usage profiling",
    )),
    ("load", (
        "API server version", r"Initializing a V\d", "non-default args", "Starting to load", "Load weight begin",
        r"Loading (?:model weights|safetensors)", "server_args=", "Init torch distributed",
        r"^(?:llama_model_load|load_tensors|main: loading model|srv +load_model)", r"^\[TM\]\[", r"\[TRT-LLM\]",
        "text_generation_launcher: Args", "Starting shard", r"\bloading: \w", "starting llama server", r"^\[TensorRT-LLM\]\[INFO\]",
    )),
)  # fmt: skip
_SAID = (
    ("profile", re.compile("|".join((
        "No available memory for the cache blocks", r"KV cache is needed, which is larger", "tokens that can be stored in KV cache",
        "Error in memory profiling", r"increase --mem-fraction-static", r"\bWarmup\(", "Unable to warmup model",
        "exceeds available (?:Mamba|KV) cache blocks", "could not be created: KV cache",
    )))),
    ("capture", re.compile("|".join(("[Cc]apture cuda graph failed", "when warming up sampler")))),
    ("load", re.compile(r"Free memory on device.{0,80}on startup|[Aa]ddress already in use|Model '.{1,80}' loading failed")),
)  # fmt: skip
_MARKS = tuple((stage, re.compile("|".join(words))) for stage, words in _WORDS)
_SERVER = re.compile(r"/(?:vllm|sglang|lmdeploy|tensorrt_llm|aphrodite|text_generation_server|tgi)/|/vllm-src/")


class Progress:
    """How far the server had come, from its own lines."""

    def __init__(self) -> None:
        self.stage = ""

    def see(self, text: str) -> None:
        for stage, pattern in _MARKS:
            if pattern.search(text[:300]):
                self.stage = stage
                return


def called_stage(functions: frozenset[str]) -> str:
    """The stage that functions on a stack belong to; empty where none tells."""
    if functions & _CAPTURING and not functions & _MEASURING:  # also where the cache's set-up has called for it
        return "capture"
    if functions & _PROFILE:
        return "profile"
    if functions & _CAPTURE:
        return "capture"
    if functions & _SERVING:
        return "request"
    return "load" if functions & _LOAD and not functions & _BUSY else ""


def is_server(frames: Iterable[Frame]) -> bool:
    """Whether a stack leads through a server's own code."""
    return any(_SERVER.search(frame.file) for frame in frames)


def stage_of(frames: Sequence[Frame], functions: frozenset[str], progress: str, message: str = "", process: str = "") -> str:
    """``load``, ``profile``, ``capture``, ``request``, or ``other`` where the log is not a server's.

    Frames come first, then what only one stage of a server says, then how far the server had come.
    """
    called = called_stage(functions)
    if called:
        return called
    told = next((stage for stage, pattern in _SAID if pattern.search(message)), "")
    if told:
        return told
    if functions & _REQUEST and (progress in ("request", "capture") or (not progress and functions & _BUSY)):
        return "request"
    if progress == "request" and "wait_for_engine_startup" in functions:  # of another engine
        return "load"
    if progress in ("request", "capture"):
        return progress
    served = is_server(frames)
    if progress == "profile" and not served:
        return "profile"
    if progress or served or process.startswith(("EngineCore", "APIServer")):
        return "load"
    return "other"
