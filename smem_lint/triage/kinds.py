"""Which class an error's text belongs to, by the wording of the programs that print it.

The wordings are those of CUDA's runtime and driver, PyTorch and TorchInductor, Triton and LLVM, CUTLASS, FlashInfer, vLLM, SGLang,
NCCL and the host's kernel. The first class that matches decides, so the order matters: Inductor calls a block's overflow an
``OutOfMemoryError``, and a head size in a message about memory is no dispatch failure.
"""

from __future__ import annotations

import re

_SHARED = (
    r"out of resources?: shared memory", r"OutOfResources.{0,80}shared.memory", r"out of resource:?\s[\w. -]{0,200}?Required:?\s*\d+",
    r"Required:?\s*\d+\s*,?\s*Hardware\s?limit\w*:\s*\d+", r"uses too much shared (?:data|memory)", r"too much shared memory",
    r"(?:dynamic|requested|required) (?:shared memory|smem)\b.{0,60}(?:exceed|larger|too large)",
    r"shared memory (?:size )?(?:required|requested|limit|per block)\b.{0,60}(?:exceed|insufficient|not enough)",
    r"(?:not enough|insufficient|out of) (?:dynamic )?shared memory (?:per block|on (?:this|the) (?:gpu|device)|to launch)",
    r"Failed to set (?:the allowed )?dynamic (?:shared memory|smem)",
    r"Failed to set.{0,40}MaxDynamicSharedMemorySize", r"invalid argument.{0,100}MaxDynamicSharedMemorySize",
    r"\blocal memory \(\d+\) exceeds limit",
    r"\d+ bytes of (?:dynamic )?(?:shared memory|smem)\b.{0,60}(?:only|limit|at most|available)",
    r"shared memory size \d+ (?:exceeds|is larger)", r"MaxDynamicSharedMemorySize.{0,300}(?:invalid argument|invalid value|fail)",
    r"MAX_DYNAMIC_SHARED_SIZE_BYTES.{0,300}(?:invalid|fail)",
)  # fmt: skip
_CAPTURE = (
    r"stream is capturing", r"cudaErrorStreamCapture", r"CUDA_ERROR_STREAM_CAPTURE", r"during (?:CUDA |cuda )?(?:graph|stream) captur",
    r"previous error during capture", r"capturing stream has unjoined work", r"uncaptured work in another stream",
    r"depend on a capturing blocking stream", r"captures?_underway", r"legacy stream depend on a capturing",
    r"(?:invalidated|unmatched|unjoined|isolated|implicit)\b.{0,20}\bcapture sequence", r"merge of two independent capture sequences",
    r"Cannot (?:copy between CPU and CUDA tensors|call CUDAGeneratorImpl|prepare for replay).{0,60}captur",
    r"capture (?:was|has been) invalidated",
    r"in a capturing stream", r"outside graph capture encountered", r"graphs must be captured on", r"\bcapturing a CUDA graph\b",
    r"not (?:allowed|permitted|supported) (?:while|during|when)\b.{0,20}captur",
)  # fmt: skip
_ILLEGAL = (
    r"illegal memory access", r"cudaErrorIllegalAddress", r"CUDA_ERROR_ILLEGAL_ADDRESS", r"misaligned address",
    r"cudaErrorMisalignedAddress", r"CUDA_ERROR_MISALIGNED_ADDRESS", r"unspecified launch failure", r"cudaErrorLaunchFailure",
    r"CUDA_ERROR_LAUNCH_FAILED", r"(?:an )?illegal instruction was encountered", r"cudaErrorIllegalInstruction",
    r"CUDA_ERROR_ILLEGAL_INSTRUCTION", r"invalid (?:program counter|address space)", r"hardware stack error",
    r"(?:cudaErrorHardwareStackError|hipErrorIllegalAddress)", r"cudaErrorInvalid(?:Pc|AddressSpace)",
    r"WARP_(?:ILLEGAL|MISALIGNED|OUT_OF_RANGE)_ADDRESS",
    r"Memory access fault by GPU",
    r"Invalid __(?:global|shared|local)__ (?:read|write|atomic)", r"Warp (?:Illegal|Misaligned|Out-of-range) (?:Address|Instruction)",
    r"Xid \([^)]{0,40}\): (?:13|31)\b", r"out[- ]of[- ]bounds memory access",
)  # fmt: skip
_HOST_SHARED = (
    r"(?:No space|[Nn]ot enough|[Ff]ailed|full|too small|insufficient|[Uu]nable|Permission denied|exhausted)\b.{0,150}/dev/shm",
    r"/dev/shm\b.{0,150}(?:No space|[Nn]ot enough|[Ff]ailed|full|too small|insufficient|Permission denied|exhausted)",
    r"(?:No such file or directory|File exists): '/dev/shm/[^/']+'", r"SemLock.{0,80}No space", r"torch_shm_manager",
    r"/dev/shm/(?:nccl-|psm_|sem\.|torch_)", r"Bus error", r"\bSIGBUS\b",
    r"unable to (?:open|mmap|allocate|resize|write).{0,40}(?:shared memory|</torch_|</psm_)",
    r"out of shared memory", r"insufficient shared memory \(shm\)", r"shm_open", r"ncclShmOpen",
    r"shared memory (?:segment|object)\b.{0,120}(?:No space|No such file|failed|not enough|Permission|File exists)",
    r"Error while (?:creating|attaching to) shared memory", r"Call to posix_fallocate failed",
    r"(?:No such file or directory|File exists|No space left on device).{0,12}'/?(?:psm_|sem\.|mp-|torch_|nccl-)",
    r"(?:Permission denied|File exists|No such file or directory): '/(?:psm_|vllm_|sem\.|mp-|torch_|nccl-)[^/']*'",
    r"failed to (?:create|allocate|map) shared memory (?:buffer|region|object)?", r"Shared memory manager (?:connection )?.{0,40}timed out",
)  # fmt: skip
_DEVICE_MEMORY = (
    r"out of memory", r"OutOfMemoryError", r"OUT_OF_MEMORY", r"cudaErrorMemoryAllocation", r"CUBLAS_STATUS_ALLOC_FAILED",
    r"CUDNN_STATUS_ALLOC_FAILED", r"CUSPARSE_STATUS_(?:ALLOC_FAILED|INSUFFICIENT_RESOURCES)", r"No available memory for the cache blocks",
    r"KV cache is needed, which is larger than the available",
    r"larger than the (?:maximum number of tokens that can be stored in|available) KV cache",
    r"Free memory on device\b.{0,80}less than desired", r"less than desired GPU memory utilization", r"Error in memory profiling",
    r"init_snapshot\.free_memory", r"Not enough (?:GPU |device |free )?memory", r"memory capacity is unbalanced",
    r"not enough (?:GPU|device|memory (?:for|to (?:allocate|load|initialize)))", r"insufficient (?:GPU|device|KV cache) memory",
    r"KV cache (?:pool|memory)\b.{0,60}(?:insufficient|not enough|too small|exceed)",
    r"(?:failed|unable) to allocate\b.{0,60}(?:KV cache|GPU|device memory|on CUDA|CUDA)", r"No available (?:GPU )?memory",
    r"max_total_num_tokens\b.{0,40}(?:<=? ?0|negative|too small)", r"num_gpu_blocks\b.{0,30}(?:must be|is 0|<=? 0)",
    r"does not have enough (?:GPU )?memory", r"exceeds available (?:Mamba|KV) cache blocks",
    r"INTERNAL ASSERT FAILED at .{0,100}CUDACachingAllocator", r"insufficient GPU memory", r"would exceed allowed memory",
    r"RESOURCE_EXHAUSTED: Failed to allocate", r"hipErrorOutOfMemory", r"ResourceExhaustedError",
    r"failed to allocate (?:\w+ ){1,4}buffers?\b", r"(?:cannot|could not|can't) allocate (?:the )?KV cache",
)  # fmt: skip
_DISPATCH = (
    r"no kernel image is available", r"cudaErrorNoKernelImageForDevice", r"CUDA_ERROR_NO_BINARY_FOR_GPU",
    r"device kernel image is invalid", r"cudaErrorInvalidKernelImage", r"CUDA_ERROR_INVALID_(?:IMAGE|PTX)",
    r"cudaErrorInvalidDeviceFunction", r"invalid device function",
    r"unsupported (?:PTX|toolchain|gpu arch|compute capability|sm\b)", r"provided PTX was compiled",
    r"UNSUPPORTED_PTX_VERSION", r"is not defined for option '(?:gpu-name|gpu-architecture|-arch)'",
    r"Unsupported (?:gpu|cuda) architecture", r"invalid value for --gpu-", r"ptxas (?:fatal|error)",
    r"LLVM ERROR: (?:Cannot select|Unsupported)", r"Unsupported rounding mode",
    r"not supported (?:in|on|by|for) (?:this|the current|your|current) (?:arch|gpu|device|hardware|platform)\b",
    r"not supported (?:in|on|by) (?:this|the current|your|current) architecture", r"not supported on CUDA arch\b",
    r"not supported on SM ?\d", r"requires? .{0,40}\b(?:A100|A800|H100|H800|H200|B200)\b", r"expects arch to be one of",
    r"(?:not supported|unsupported)\b.{0,60}\b(?:compute capability|sm_?\d{2,3}|(?:head|page|block)[_ ](?:size|dim\w*)|this GPU)",
    r"(?:not supported|unsupported)\b.{0,40}\b(?:GPU|CUDA|device|compute) architecture",
    r"(?:only|requires?|needs?|supported)\b.{0,60}\b(?:(?:compute|device) capabilit|(?:Ampere|Hopper|Blackwell|Turing|Ada)\b)",
    r"(?:only|requires?|needs?|supported)\b.{0,60}\b(?:[Ss][Mm]_?\d{2,3}[af]?\b|GPU with)",
    r"\b(?:does not|do not|doesn't|cannot) support\b.{0,60}\b(?:compute capability|sm_?\d{2,3}|this (?:GPU|device|arch\w*))",
    r"Min(?:imum)? capability", r"compute capability (?:less|lower|of at least|>=|at least|[\d.]+ is not)",
    r"No (?:valid|suitable|compatible|supported|available) (?:\w+ ){0,3}(?:kernel|tactic|attention backend|backend|cutlass|algo)\w*",
    r"No (?:valid|suitable|compatible|supported|available) (?:triton config|implementation|execution plan)", r"unable to find an engine",
    r"Invalid configuration ?: ?(?:NUM_|num_)", r"[Ff]ailed to dispatch", r"does not support \.target",
    r"No \w+ (?:MoE |attention |linear )?backends? supports?", r"Expected is_sm\d+", r"[Oo]nly supports? (?:sm|SM|compute) ?(?:>=? ?)?\d",
    r"Assertion error \(.{0,200}[Uu]nsupported arch", r"No operator found for `",
    r"PassManager::run failed", r"failed to legalize operation", r"PTXASError",
    r"(?:DeepGEMM|deep_gemm|deep-gemm).{0,200}[Uu]nsupported arch",
    r"no (?:valid|suitable|supported) (?:\w+ ){0,3}(?:kernel|tactic|algorithm|implementation|instruction)", r"\bno kernel for",
    r"(?:could not|cannot|can't|unable to|failed to) (?:find|select|dispatch|choose|get) (?:\w+ ){0,4}(?:kernel|tactic|algorithm)",
    r"(?:could not|cannot|can't|unable to|failed to) (?:find|select|dispatch|choose|get) (?:\w+ ){0,4}(?:attention backend|implementation)",
    r"No compiled \w+", r"cutlass\w*\b.{0,200}Error (?:Internal|Invalid|Not Supported|Misaligned)",
    r"Error (?:Internal|Not Supported)\b.{0,80}cutlass",
    r"Failed to (?:initialize|run|implement) (?:the )?(?:cutlass|CUTLASS|TMA|grouped|fp8|fp4|nvfp4|mxfp)\w*",
    r"(?:can_implement|cutlass::Status)",
    r"(?:CUTLASS|cutlass|TensorRT-LLM)\]?.{0,60}(?:kErrorInternal|kErrorNotSupported|Error Internal|not supported|unsupported)",
    r"Unsupported (?:max_mma_kv|head_?|qk|vo_|mma|dtype|data type|data_type|num_mma|tile|conversion|layout|page|cta|sm_?\d)",
    r"Unsupported (?:kernel|combination)",
    r"[Uu]nsupported arch\w*(?=.{0,40}(?:sm_?\d|SM_?\d|compute|gpu|GPU|\d\d))",
    r"Error in function '\w*(?:Dispatch|Kernel|Prefill|Decode|Gemm|Run)\w*'",
    r"(?:head[_ ]?(?:size|dim)\w*|kv_cache_dtype|d(?:ata ?)?type)\b.{0,60}\b(?:not |un)supported\b.{0,40}(?:backend|kernel|ttention|by\b)",
    r"(?:head[_ ]?(?:size|dim)\w*|kv_cache_dtype|d(?:ata ?)?type)\b.{0,60}\b(?:not |un)supported for (?:\w+ ){0,3}(?:GPU|gpu|backend)",
    r"(?:head size|Head size|head dim\w*|headdim)\b.{0,40}not supported", r"FlashAttention (?:forward )?only supports",
    r"[Ss]elected backend\b.{0,100}is not valid",
    r"not (?:implemented|available|supported) for (?:sm|SM|compute|arch|head[_ ]?(?:size|dim))",
    r"not compiled (?:for|with) (?:this|the|sm|SM|support|CUDA arch)", r"fp8e\w+ not supported",
    r"(?:is|was|were) not (?:built|compiled) for (?:this|your|sm|SM)", r"CUBLAS_STATUS_(?:NOT_SUPPORTED|ARCH_MISMATCH)",
    r"CUDNN_STATUS_(?:NOT_SUPPORTED|ARCH_MISMATCH)", r"Could not run '[\w:]+' with arguments from the '(?:Quantized)?CUDA'",
    r"Missing (?:[\w.-]+ ){0,2}kernel\b", r"[Nn]o execution plans support", r"Unknown SF transformation", r"\bInvalid thread config",
    r"[Nn]o (?:\w+ )?kernel (?:was )?found for", r"does not support weight_bits\b", r"unknown (?:kernel|tactic)",
    r"CUDA error: (?:operation|feature) not supported",
    r"\b\w*(?:Prefill|Decode|Attention|Gemm|MLA|FMHA)\w* failed with error (?:invalid (?:argument|config|value)|not supported)",
)  # fmt: skip
_CLASSES = tuple(
    (name, re.compile("|".join(patterns), re.IGNORECASE))
    for name, patterns in (
        ("shared_memory", _SHARED),
        ("stream_capture", _CAPTURE),
        ("illegal_access", _ILLEGAL),
        ("host_shared_memory", _HOST_SHARED),
        ("device_memory", _DEVICE_MEMORY),
        ("kernel_dispatch", _DISPATCH),
    )
)
_CPU = re.compile("|".join((
    r"DefaultCPUAllocator", r"can't allocate memory", r"Cannot allocate memory", r"std::bad_alloc", r"host memory", r"pinned memory",
    r"oom[-_]kill", r"slurmstepd", r"srun: error", r"CPU out of memory", r"Out of memory: Killed", r"oom_reaper",
    r"ray\.exceptions\.OutOfMemoryError", r"node running low on memory",
    r"java\.lang\.OutOfMemoryError",
)))  # fmt: skip
_INPUT = re.compile("|".join((
    r"maximum context length", r"prompt is too long", r"decoder prompt", r"longer than the maximum model length", r"HTTPException",
    r"JSONDecodeError", r"BadRequest",
)))  # fmt: skip


def kind_of(message: str) -> str:
    """The class of an error's text; ``other`` where no wording is known."""
    text = message[:6000]
    for name, pattern in _CLASSES:
        if pattern.search(text):
            if name == "device_memory" and _CPU.search(text) and "CUDA" not in text:
                return "other"
            return name
    return "other"


def is_input(message: str) -> bool:
    """Whether an error is a client's: a request that the server turned away."""
    return bool(_INPUT.search(message))
