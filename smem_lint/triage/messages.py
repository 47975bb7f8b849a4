"""Which class a message belongs to, by the wording of the programs that print it; and which messages only repeat another failure.

The wordings are those of CUDA's runtime and driver, PyTorch and TorchInductor, Triton and LLVM, CUTLASS, FlashInfer, vLLM, SGLang,
NCCL and the kernel of the operating system. The first pattern that matches decides, so the order matters: Inductor calls a block's
overflow an ``OutOfMemoryError``, and a head size in a message about memory is no dispatch failure.
"""

from __future__ import annotations

import re

_SHARED = r"""
out\ of\ resources?:\ shared\ memory | OutOfResources.{0,80}shared.memory
| out\ of\ resource:?\s[\w.\ -]{0,200}?Required:?\s*\d+ | Required:?\s*\d+\s*,?\s*Hardware\s?limit\w*:\s*\d+
| uses\ too\ much\ shared\ (?:data|memory) | too\ much\ shared\ memory
| (?:dynamic|requested|required)\ (?:shared\ memory|smem)\b.{0,60}(?:exceed|larger|too\ large)
| shared\ memory\ (?:size\ )?(?:required|requested|limit|per\ block)\b.{0,60}(?:exceed|insufficient|not\ enough)
| (?:not\ enough|insufficient|out\ of)\ (?:dynamic\ )?shared\ memory\ (?:per\ block|on\ (?:this|the)\ (?:gpu|device)|to\ launch)
| Failed\ to\ set\ (?:the\ allowed\ )?dynamic\ (?:shared\ memory|smem)
"""
_HOST_SHARED = r"""
/dev/shm | Bus\ error | \bSIGBUS\b | unable\ to\ (?:open|mmap|allocate|resize|write).{0,40}(?:shared\ memory|</torch_|</psm_)
| out\ of\ shared\ memory | insufficient\ shared\ memory\ \(shm\) | shm_open | ncclShmOpen
| shared\ memory\ (?:segment|object)\b.{0,120}(?:No\ space|No\ such\ file|failed|not\ enough|Permission|File\ exists)
| Error\ while\ (?:creating|attaching\ to)\ shared\ memory | Call\ to\ posix_fallocate\ failed
| (?:No\ such\ file\ or\ directory|File\ exists|No\ space\ left\ on\ device).{0,12}'/?(?:psm_|sem\.|mp-|torch_|nccl-)
| failed\ to\ (?:create|allocate|map)\ shared\ memory\ (?:buffer|region|object)?
"""
_DEVICE_MEMORY = r"""
out\ of\ memory | OutOfMemoryError | OUT_OF_MEMORY | cudaErrorMemoryAllocation | CUBLAS_STATUS_ALLOC_FAILED
| CUDNN_STATUS_ALLOC_FAILED | CUSPARSE_STATUS_(?:ALLOC_FAILED|INSUFFICIENT_RESOURCES)
| No\ available\ memory\ for\ the\ cache\ blocks | KV\ cache\ is\ needed,\ which\ is\ larger\ than\ the\ available
| larger\ than\ the\ (?:maximum\ number\ of\ tokens\ that\ can\ be\ stored\ in|available)\ KV\ cache
| Free\ memory\ on\ device\b.{0,80}less\ than\ desired | less\ than\ desired\ GPU\ memory\ utilization
| Error\ in\ memory\ profiling | init_snapshot\.free_memory | Not\ enough\ (?:GPU\ |device\ |free\ )?memory | memory\ capacity\ is\ unbalanced
| not\ enough\ (?:GPU|device|memory\ (?:for|to\ (?:allocate|load|initialize))) | insufficient\ (?:GPU|device|KV\ cache)\ memory
| KV\ cache\ (?:pool|memory)\b.{0,60}(?:insufficient|not\ enough|too\ small|exceed) | (?:failed|unable)\ to\ allocate\b.{0,60}(?:KV\ cache|GPU|device\ memory|on\ CUDA|CUDA)
| No\ available\ (?:GPU\ )?memory | max_total_num_tokens\b.{0,40}(?:<=?\ ?0|negative|too\ small) | num_gpu_blocks\b.{0,30}(?:must\ be|is\ 0|<=?\ 0)
| does\ not\ have\ enough\ (?:GPU\ )?memory
"""
_ILLEGAL = r"""
illegal\ memory\ access | cudaErrorIllegalAddress | CUDA_ERROR_ILLEGAL_ADDRESS | misaligned\ address | cudaErrorMisalignedAddress
| CUDA_ERROR_MISALIGNED_ADDRESS | unspecified\ launch\ failure | cudaErrorLaunchFailure | CUDA_ERROR_LAUNCH_FAILED
| (?:an\ )?illegal\ instruction\ was\ encountered | cudaErrorIllegalInstruction | CUDA_ERROR_ILLEGAL_INSTRUCTION
| invalid\ (?:program\ counter|address\ space) | hardware\ stack\ error | Invalid\ __(?:global|shared|local)__\ (?:read|write|atomic)
| Warp\ (?:Illegal|Misaligned|Out-of-range)\ (?:Address|Instruction)
"""
_CAPTURE = r"""
stream\ is\ capturing | cudaErrorStreamCapture | CUDA_ERROR_STREAM_CAPTURE | during\ (?:CUDA\ |cuda\ )?(?:graph|stream)\ captur
| previous\ error\ during\ capture | capturing\ stream\ has\ unjoined\ work | uncaptured\ work\ in\ another\ stream
| depend\ on\ a\ capturing\ blocking\ stream | captures?_underway | legacy\ stream\ depend\ on\ a\ capturing
| (?:invalidated|unmatched|unjoined|isolated|implicit)\b.{0,20}\bcapture\ sequence | merge\ of\ two\ independent\ capture\ sequences
| Cannot\ (?:copy\ between\ CPU\ and\ CUDA\ tensors|call\ CUDAGeneratorImpl|prepare\ for\ replay).{0,60}captur
| capture\ (?:was|has\ been)\ invalidated | not\ (?:allowed|permitted|supported)\ (?:while|during|when)\b.{0,20}captur
"""
_DISPATCH = r"""
no\ kernel\ image\ is\ available | cudaErrorNoKernelImageForDevice | CUDA_ERROR_NO_BINARY_FOR_GPU | device\ kernel\ image\ is\ invalid
| cudaErrorInvalidKernelImage | CUDA_ERROR_INVALID_(?:IMAGE|PTX) | cudaErrorInvalidDeviceFunction | invalid\ device\ function
| unsupported\ (?:PTX|toolchain|gpu\ arch|architecture|compute\ capability|sm\b) | provided\ PTX\ was\ compiled | UNSUPPORTED_PTX_VERSION
| is\ not\ defined\ for\ option\ '(?:gpu-name|gpu-architecture|-arch)' | Unsupported\ (?:gpu|cuda)\ architecture | invalid\ value\ for\ --gpu-
| ptxas\ (?:fatal|error) | LLVM\ ERROR:\ (?:Cannot\ select|Unsupported) | Unsupported\ rounding\ mode
| not\ supported\ (?:in|on|by|for)\ (?:this|the\ current|your|current)\ (?:architecture|arch|gpu|device|hardware|platform)
| (?:not\ supported|unsupported)\b.{0,60}\b(?:compute\ capability|sm_?\d{2,3}|(?:head|page|block)[_ ](?:size|dim\w*)|this\ GPU|architectures?)
| (?:only|requires?|needs?|supported)\b.{0,60}\b(?:compute\ capabilit|(?:Ampere|Hopper|Blackwell|Turing|Ada)\b|SM_?\d{2,3}\b|sm_?\d{2,3}\b|GPU\ with)
| minimum\ capability | compute\ capability\ (?:less|lower|of\ at\ least|>=|at\ least|[\d.]+\ is\ not)
| No\ (?:valid|suitable|compatible|supported|available)\ (?:\w+\ ){0,3}(?:kernel|tactic|attention\ backend|backend|cutlass|algo|implementation|engine|config)\w*
| no\ (?:valid|suitable|supported)\ (?:\w+\ ){0,3}(?:kernel|tactic|algorithm|implementation)
| (?:could\ not|cannot|can't|unable\ to|failed\ to)\ (?:find|select|dispatch|choose|get)\ (?:\w+\ ){0,4}(?:kernel|tactic|algorithm|attention\ backend|implementation)
| No\ compiled\ \w+ | cutlass\w*\b.{0,200}Error\ (?:Internal|Invalid|Not\ Supported|Misaligned) | Error\ (?:Internal|Not\ Supported)\b.{0,80}cutlass
| Failed\ to\ (?:initialize|run|implement)\ (?:the\ )?(?:cutlass|CUTLASS|TMA|grouped|fp8|fp4|nvfp4|mxfp)\w* | (?:can_implement|cutlass::Status)
| \[?(?:CUTLASS|cutlass|TensorRT-LLM)\]?.{0,60}(?:kErrorInternal|kErrorNotSupported|Error\ Internal|not\ supported|unsupported)
| Unsupported\ (?:max_mma_kv|head|qk|vo|mma|dtype|data\ type|data_type|num_mma|tile|conversion|layout|page|cta|architecture|arch|SM|kernel|combination)\w*
| Error\ in\ function\ '\w*(?:Dispatch|Kernel|Prefill|Decode|Gemm|Run)\w*'
| (?:head[_ ]?(?:size|dim)\w*|kv_cache_dtype|data\ ?type|dtype)\b.{0,60}\b(?:is\ |are\ )?(?:not\ supported|unsupported)\b.{0,40}(?:backend|kernel|attention|Attention|gpu|GPU|by\b|for\b)
| (?:head\ size|Head\ size|head\ dim\w*|headdim)\b.{0,40}not\ supported | FlashAttention\ (?:forward\ )?only\ supports | selected\ backend\b.{0,100}is\ not\ valid
| not\ (?:implemented|available|supported)\ for\ (?:sm|SM|compute|arch|head) | not\ compiled\ (?:for|with)\ (?:this|the|sm|SM|support) | fp8e\w+\ not\ supported
| (?:is|was)\ not\ (?:built|compiled)\ for\ (?:this|your|sm|SM) | CUBLAS_STATUS_(?:NOT_SUPPORTED|ARCH_MISMATCH) | CUDNN_STATUS_(?:NOT_SUPPORTED|ARCH_MISMATCH)
| Could\ not\ run\ '[\w:]+'\ with\ arguments\ from\ the\ '(?:Quantized)?CUDA' | Missing\ kernel\ for | unknown\ (?:kernel|tactic)
| CUDA\ error:\ (?:operation|feature)\ not\ supported
"""


def _one(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.VERBOSE)


_CLASSES = (
    ("shared_memory", _one(_SHARED)),
    ("stream_capture", _one(_CAPTURE)),
    ("illegal_access", _one(_ILLEGAL)),
    ("host_shared_memory", _one(_HOST_SHARED)),
    ("device_memory", _one(_DEVICE_MEMORY)),
    ("kernel_dispatch", _one(_DISPATCH)),
)  # fmt: skip
_CAPTURE_ECHO = re.compile(r"previous error during capture|STREAM_CAPTURE_INVALIDATED|StreamCaptureInvalidated")
_CPU = re.compile(r"DefaultCPUAllocator|can't allocate memory|Cannot allocate memory|std::bad_alloc|host memory|pinned memory|oom-kill|CPU out of memory")
_INPUT = re.compile(r"maximum context length|prompt is too long|decoder prompt|longer than the maximum model length|HTTPException|JSONDecodeError|BadRequest")


def kind_of(message: str) -> str:
    """The class of an error's text; ``other`` where no wording is known."""
    text = message[:6000]
    for name, pattern in _CLASSES:
        if pattern.search(text):
            if name == "device_memory" and _CPU.search(text):
                return "other"
            return name
    return "other"


def is_capture_echo(message: str) -> bool:
    """Whether a capture error only says that something had gone wrong before, within the same capture."""
    return bool(_CAPTURE_ECHO.search(message))


def is_input(message: str) -> bool:
    """Whether an error is a client's: a request that the server turned away."""
    return bool(_INPUT.search(message))


_ECHO = re.compile(
    r"EngineDeadError|AsyncEngineDead|EngineGenerationError|Engine ?core (?:proc\w* )?(?:initialization failed|failed to start|died)"
    r"|EngineCore (?:failed to start|encountered (?:a fatal error|an issue|a fatal))|engine (?:is )?(?:dead|died)\b|[Ee]ngine process failed to start"
    r"|Background loop (?:has errored|is stopped|stopped)|Task finished unexpectedly|See (?:the )?(?:root cause|stack trace)"
    r"|WorkerProc (?:initialization failed|hit an exception|failed to start)|[Ww]orker proc\w* .{0,60}died|Worker \S+ died"
    r"|Failed core proc|previous error during capture|^(?:\S+: line \d+: )?\s*\d*\s*Killed\b|^Killed$|Received sigquit|scheduler (?:\w+ )?died"
    r"|Rank \d+ scheduler|(?:sub)?process(?:es)? (?:has |have )?(?:failed|died)|subprocess failed|Initialization failed\. (?:warmup|[Pp]lease)"
    r"|Call to \w+ method failed|Watchdog caught collective|^Aborted|^Process \w+(?:-\d+)?(?:_\w+)?:$|Exception ignored in|Broken ?[Pp]ipe|Connection reset"
    r"|ConnectionResetError|BrokenPipeError|CancelledError|RuntimeError: Cancelled|^EOFError|ChildFailedError|Sending process \d+ closing signal"
    r"|Backend worker is gone|Scheduler hit an exception|DetokenizerManager hit|TokenizerManager hit|Parent process exited"
)  # fmt: skip


def is_echo(message: str) -> bool:
    """Whether a message says that another process, or an earlier call, has failed."""
    return bool(_ECHO.search(message[:2000]))


_DOOM = re.compile(
    r"EngineDeadError|AsyncEngineDead|Engine ?core (?:proc\w* )?(?:initialization failed|failed to start|died)|EngineCore (?:failed|encountered)"
    r"|Engine process failed to start|WorkerProc (?:initialization failed|hit an exception|failed to start)|Received sigquit"
    r"|Scheduler hit an exception|Rank \d+ scheduler|Background loop has errored|^Process \w+(?:-\d+)?(?:_\w+)?:$|^Aborted|ChildFailedError"
    r"|^(?:\S+: line \d+: )?\s*\d*\s*Killed\b|Initialization failed\. |died unexpectedly"
)  # fmt: skip


def is_doom(message: str) -> bool:
    """Whether an echo says that a process of the server has ended, so that what failed before it was fatal."""
    return bool(_DOOM.search(message[:2000]))


_SHUTDOWN = re.compile(
    r"\[shutdown\] .{0,40}(?:triggered|start )|trigger received signal|[Rr]eceived (?:signal )?(?:SIG(?:TERM|INT)|signal (?:2|15))|(?:SIGTERM|SIGINT) received"
    r"|^\^C|KeyboardInterrupt|[Gg]racefully (?:stopping|shutting|exit)|CANCELLED (?:AT|DUE)|Stopping (?:container|server)\b"
    r"|Shutdown requested|Shutting down (?:server|the server|on request)|systemd\[1\]: Stopp"
)  # fmt: skip
_START = re.compile(
    r"API server version|server_args=ServerArgs|vLLM server version"
)  # fmt: skip
_HEALTH = re.compile(
    r'" 200 OK|Application startup complete|Avg prompt throughput|init engine \(profile|fired up and ready|Uvicorn running on'
    r"|Graph capturing finished|Capture cuda graph end|Decode batch|Prefill batch|GPU KV cache size:|Available KV cache memory: [\d.]+"
    r'|Model loading took|Load weight end|" 200$|Processed prompts: 100%'
)  # fmt: skip


def is_shutdown(text: str) -> bool:
    return bool(_SHUTDOWN.search(text[:400]))


def is_start(text: str) -> bool:
    return bool(_START.search(text[:400]))


def is_health(text: str) -> bool:
    """Whether a line shows the server at work, after which an unnamed error can't have been the end of it."""
    return bool(_HEALTH.search(text[:400]))


_NOISE = re.compile(
    r"Ignoring this choice|for benchmark choice|[Ee]rror during autotuning|autotuning? .{0,40}(?:skip|ignor)|[Ss]kipp(?:ing|ed) (?:this )?(?:tactic|config|choice)"
    r"|Exception ignored in|[Ff]alling back|[Ff]allback|[Tt]actic .{0,80}(?:fail|skip)|[Ff]ailed when profiling"
)  # fmt: skip


def is_noise(text: str) -> bool:
    """Whether a line says that the error it quotes was caught: autotuning, fallbacks, finalizers."""
    return bool(_NOISE.search(text[:4000]))
