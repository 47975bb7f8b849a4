"""Messages beside those of the log fixtures: what is near a class's wording and none of it, and wordings of single programs."""

import pytest

from smem_lint.triage.kinds import kind_of

MESSAGES = """\
other|TypeError: unsupported operand type(s) for +: 'NoneType' and 'int'
other|KeyError: 'layers.0.mlp.experts.w2_weight'
other|ValueError: There is no module or parameter named 'mtp' in Qwen3NextForCausalLM
other|RuntimeError: CUDA error: operation not permitted
other|RuntimeError: Sizes of tensors must match except in dimension 1. Expected size 64 but got size 128 for tensor number 1 in the list.
other|ImportError: cannot import name 'AutoModelForVision2Seq' from 'transformers'
other|ValueError: Unsupported vocab size 32001
other|torch._dynamo.exc.Unsupported: Attempted to call function marked as skipped
other|OSError: We couldn't connect to 'https://huggingface.co' to load the files
other|ModuleNotFoundError: No module named 'flashinfer'
other|AssertionError: please set tensor_parallel_size (8) to less than max local gpu count (2)
other|ValueError: Total number of attention heads (28) must be divisible by tensor parallel size (3).
other|ValueError: The number of required GPUs exceeds the total number of available GPUs in the placement group.
other|RuntimeError: expected scalar type Half but found BFloat16
other|RuntimeError: mat1 and mat2 shapes cannot be multiplied (8192x2048 and 4096x512)
other|ValueError: Model architectures ['FooForCausalLM'] are not supported for now. Supported architectures:
other|ValueError: Tokenizer class Qwen9Tokenizer does not exist or is not currently imported.
other|RuntimeError: NCCL error: remote process exited or there was a network error
other|AttributeError: 'NoneType' object has no attribute 'get_kv_cache_spec'
other|ValueError: Cannot find the config file for awq
other|RuntimeError: Failed to infer device type
other|RuntimeError: No CUDA GPUs are available
other|RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling NumCudaDevices() that
other|RuntimeError: The shape of the KV cache view is invalid for input of size 1048576
kernel_dispatch|RuntimeError: This kernel only supports sm100f
kernel_dispatch|RuntimeError: TMA Desc Addr: 0x7fff, Error: Failed to initialize the TMA descriptor 1
kernel_dispatch|ValueError: FlashInfer backend currently does not support attention sinks on compute capability 12.0
kernel_dispatch|RuntimeError: Unsupported head dimension: 96
kernel_dispatch|AssertionError: FlashMLA is not supported on this device: FlashMLA Dense is only supported on Hopper devices.
kernel_dispatch|RuntimeError: Check failed: (false) is false: Unsupported head_dim_vo 576
kernel_dispatch|torch.AcceleratorError: CUDA error: no kernel image is available for execution on the device
kernel_dispatch|RuntimeError: CUTLASS MoE NVFP4 kernels are not supported on sm_75
kernel_dispatch|NotImplementedError: FlashMLA is only supported on Hopper and Blackwell devices.
kernel_dispatch|ValueError: type fp8e4nv not supported in this architecture. The supported fp8 dtypes are ('fp8e4b15', 'fp8e5')
kernel_dispatch|triton.runtime.errors.PTXASError: PTXAS error: Internal Triton PTX codegen error
kernel_dispatch|RuntimeError: Internal Triton PTX codegen error: ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'
device_memory|RuntimeError: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62
device_memory|ValueError: To serve one request, 5.62 GiB KV cache is needed, which is larger than the available KV cache memory
device_memory|RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.
device_memory|cupy_backends.cuda.api.runtime.CUDARuntimeError: cudaErrorMemoryAllocation: out of memory
shared_memory|torch._inductor.exc.InductorError: RuntimeError: Failed to run autotuning code block: out of resource: shared memory,
shared_memory|RuntimeError: CUDA error: too many resources requested for launch: dynamic shared memory exceeds the limit
stream_capture|RuntimeError: Cannot copy between CPU and CUDA tensors during CUDA graph capture unless the CPU tensor is pinned.
illegal_access|RuntimeError: Triton Error [CUDA]: an illegal memory access was encountered
illegal_access|CUDA error: an illegal instruction was encountered
host_shared_memory|RuntimeError: unable to mmap 4096 bytes from file </torch_1_2_7>: Cannot allocate memory (12)
host_shared_memory|RuntimeError: unable to allocate shared memory(shm) for file </torch_41_1_2>: No space left on device (28)
host_shared_memory|OSError: [Errno 28] No space left on device: '/dev/shm/sem.mp-abc'
host_shared_memory|FileExistsError: [Errno 17] File exists: '/psm_123abc'
kernel_dispatch|ValueError: fp8e4nv data type is not supported on CUDA arch < 89
kernel_dispatch|RuntimeError: cuDNN Frontend error: [cudnn_frontend] Error: No execution plans support the graph.
kernel_dispatch|RuntimeError: Assertion error (/workspace/csrc/apis/layout.hpp:56): Unknown SF transformation
kernel_dispatch|RuntimeError: Error in function 'TllmGenFmhaRunner' : Missing TRTLLM-GEN kernel (decode): qkvLayout=2, maskType=0
kernel_dispatch|RuntimeError: Missing TRTLLM-GEN kernel (context): qkvLayout=2, maskType=1, headDim=96
kernel_dispatch|ptxas /tmp/tmpabc.ptx, line 312; error   : Feature '.bf16' requires .target sm_80 or higher
kernel_dispatch|RuntimeError: cutlass_moe_mm: CUDA SM version 120 is unsupported
kernel_dispatch|RuntimeError: FlashAttention backward for head dim > 192 requires A100/A800 or H100/H800
kernel_dispatch|ValueError: Cannot use FP8 KV cache with FlashAttention on this GPU: FA3 is not supported on compute capability 8.6
kernel_dispatch|NotImplementedError: Could not run 'sgl_kernel::fp8_scaled_mm' with arguments from the 'CUDA' backend.
kernel_dispatch|RuntimeError: No kernel found for the given configuration: dtype=bf16 head_dim=512
kernel_dispatch|ValueError: `scaled_fp4_quant` is not supported on SM 8.9 devices
kernel_dispatch|RuntimeError: TRTLLM-GEN MoE kernels do not support SM120
kernel_dispatch|AssertionError: Only SM90 and SM100 are supported by this kernel
kernel_dispatch|ImportError: DeepGEMM requires an NVIDIA GPU with compute capability 9.0 or 10.0
kernel_dispatch|RuntimeError: The quantized kernel was not compiled for sm_121
kernel_dispatch|RuntimeError: HIP error: invalid device function
kernel_dispatch|Unsupported gpu architecture 'compute_121a'
kernel_dispatch|error: function failed to be compiled: 'wgmma' instruction not supported on .target sm_120
kernel_dispatch|ptxas error   : Instruction 'tcgen05.mma' not supported on .target 'sm_120'
device_memory|XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate request for 2.00GiB (2147483648B) on device ordinal 0
device_memory|torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.50 GiB.
device_memory|hipErrorOutOfMemory
device_memory|ggml_backend_cuda_buffer_type_alloc_buffer: allocating 4096.00 MiB on device 0: cudaMalloc failed: out of memory
device_memory|RuntimeError: Not enough GPU memory to load the model
device_memory|RuntimeError: Cannot allocate KV cache: requested 12.00 GiB but only 3.40 GiB are free
device_memory|CUDA_ERROR_OUT_OF_MEMORY
device_memory|numba.cuda.cudadrv.driver.CudaAPIError: [2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY
stream_capture|RuntimeError: CUDA error: operation not permitted on an event last recorded in a capturing stream
stream_capture|RuntimeError: Offset increment outside graph capture encountered unexpectedly.
stream_capture|RuntimeError: CUDA error: operation would make the legacy stream depend on a capturing blocking stream
stream_capture|RuntimeError: CUDA error: operation not permitted when stream is capturing
stream_capture|cudaErrorStreamCaptureUnsupported: operation not permitted when stream is capturing
illegal_access|CUDA Exception: Warp Illegal Address
illegal_access|CUDBG_EXCEPTION_WARP_ILLEGAL_ADDRESS
illegal_access|RuntimeError: HIP error: an illegal memory access was encountered
illegal_access|torch.AcceleratorError: CUDA error: an illegal memory access was encountered
illegal_access|cudaErrorHardwareStackError
illegal_access|CUDA_EXCEPTION_14, Warp Illegal Address.
host_shared_memory|RuntimeError: unable to write to file </torch_412_3>: No space left on device (28)
host_shared_memory|OSError: [Errno 28] No space left on device: '/dev/shm/vllm_offload_1.mmap'
host_shared_memory|NCCL WARN Call to posix_fallocate failed : No space left on device
host_shared_memory|RuntimeError: unable to mmap 67108992 bytes from file </torch_1_2>: Cannot allocate memory (12)
host_shared_memory|PermissionError: [Errno 13] Permission denied: '/psm_1a2b3c'
host_shared_memory|FileExistsError: [Errno 17] File exists: '/vllm_ipc_ring'
shared_memory|RuntimeError: Failed to set cudaFuncAttributeMaxDynamicSharedMemorySize to 166912
shared_memory|INTERNAL: Shared memory requested exceeds device resources.
shared_memory|error: <unknown>:0:0: local memory (66560) exceeds limit (65536) in function 'attn_fwd'
shared_memory|OutOfResources: out of resource: shared memory, Required: 98304, , Hardware limit: 65536
shared_memory|RuntimeError: Kernel requires 131072 bytes of shared memory but device only supports 101376
shared_memory|RuntimeError: cuFuncSetAttribute failed: shared memory size 147456 exceeds the maximum of 101376 per block
other|OSError: [Errno 24] Too many open files
other|RuntimeError: received 0 items of ancdata
other|ValueError: Unsupported `quant_method` foo
other|RuntimeError: CUDA error: invalid configuration argument
other|NCCL WARN Cuda failure 217 'peer access is not supported between these two devices'
other|MemoryError
other|AssertionError: Sleep mode can only be used for one instance per process.
other|ValueError: Model requires trust_remote_code; it is not supported without it
other|ImportError: FlashInfer is not installed
other|ValueError: Pipeline parallelism is not supported for this model
other|NotImplementedError: LoRA is not supported for this architecture yet
other|ValueError: GGUF model with architecture qwen4 is not supported yet.
other|RuntimeError: CUDA error: CUBLAS_STATUS_INVALID_VALUE when calling `cublasGemmEx( handle, opa, opb, m, n, k)`
other|KeyError: 'compute_capability'
other|ValueError: Guided decoding backend xgrammar does not support the regex
other|RuntimeError: Cannot find a working triton installation.
other|AssertionError: head_dim must be divisible by 8
"""


@pytest.mark.parametrize(("kind", "message"), [tuple(line.split("|", 1)) for line in MESSAGES.splitlines()])
def test_kind(kind, message):
    assert kind_of(message) == kind
