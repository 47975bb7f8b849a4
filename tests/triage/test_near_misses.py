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
kernel_dispatch|ValueError: No valid attention backend found for cuda with head_size: 80, dtype: torch.bfloat16, kv_cache_dtype: fp8
kernel_dispatch|RuntimeError: Unsupported hardware: TRT-LLM allreduce needs SM90 or SM100
kernel_dispatch|NotImplementedError: FlashMLA Sparse is only supported on SM90a and SM100f devices.
kernel_dispatch|ValueError: Cutlass MoE is not supported on this platform.
kernel_dispatch|RuntimeError: NVFP4 quantization was selected, dynamic quantization is not supported on compute capability 8.9
kernel_dispatch|AssertionError: FlashInfer MXFP4 MoE requires device capability 100, got 120
kernel_dispatch|RuntimeError: CUTLASS grouped GEMM failed with status Error Internal
kernel_dispatch|RuntimeError: mxfp4 kernels are not available for sm_120
kernel_dispatch|RuntimeError: Triton Error [CUDA]: no kernel image is available for execution on the device
kernel_dispatch|ptxas fatal   : Value 'sm_103a' is not defined for option 'gpu-name'
kernel_dispatch|RuntimeError: Unsupported head_dim: 576
kernel_dispatch|ImportError: FlashAttention-3 kernels were not built for this GPU
kernel_dispatch|RuntimeError: Torch not compiled with CUDA arch sm_61
kernel_dispatch|torch.cuda.DeferredCudaCallError: CUDA call failed lazily at initialization with error: device kernel image is invalid
kernel_dispatch|CUDA error 209 at /src/x.cu:12: no kernel image is available for execution on the device
kernel_dispatch|error: cannot find a suitable kernel for m=1 n=128 k=64
kernel_dispatch|RuntimeError: No suitable MMA instruction found for sm_75 fp8 operands
kernel_dispatch|AttributeError: module 'flash_attn_3' has no kernel for sm_120
kernel_dispatch|ValueError: head_dim 512 is not supported by FLASH_ATTN
kernel_dispatch|RuntimeError: FlashInfer: unsupported head dim 96 for TRTLLM attention
kernel_dispatch|RuntimeError: fmha_v2 kernel does not support head size 512 on sm120
kernel_dispatch|NotImplementedError: Unsupported SM version: 121
device_memory|cuMemCreate failed: CUDA_ERROR_OUT_OF_MEMORY
device_memory|RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. mem_fraction_static=0.7
device_memory|NCCL WARN Cuda failure 'out of memory'
device_memory|RuntimeError: [TensorRT-LLM][ERROR] CUDA runtime error in cudaMalloc(ptr, n): out of memory
device_memory|llama_kv_cache_init: failed to allocate buffer for kv cache
device_memory|llama_init_from_model: failed to initialize the context: failed to allocate compute pp buffers
device_memory|RuntimeError: token_to_kv_pool_allocator is exhausted: KV cache memory is not enough
device_memory|cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 2,147,483,648 bytes
device_memory|RuntimeError: Prefill out of memory. Try to lower your batch size.
device_memory|RuntimeError: Decode out of memory. Try to lower your batch size.
stream_capture|RuntimeError: CUDA error: capturing stream has unjoined work
stream_capture|RuntimeError: Cannot prepare for replay during capturing stage.
stream_capture|CUDA failure 900: operation not permitted when stream is capturing
stream_capture|Cuda Runtime (operation failed due to a previous error during capture)
illegal_access|RuntimeError: CUDA driver error: an illegal memory access was encountered
illegal_access|NVRM: Xid (PCI:0000:01:00): 13, pid=1, Graphics SM Warp Exception on (GPC 0, TPC 0, SM 0): Out Of Range Address
illegal_access|cudaErrorIllegalAddress: an illegal memory access was encountered
illegal_access|CUDA error 700 at x.cu:9: an illegal memory access was encountered
illegal_access|hipErrorIllegalAddress
host_shared_memory|ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).
host_shared_memory|OSError: [Errno 12] Cannot allocate memory: '/dev/shm/sem.mp-1a2b'
host_shared_memory|torch_shm_manager at "/x/torch/bin/torch_shm_manager": could not generate a random directory for manager socket
host_shared_memory|FileNotFoundError: [Errno 2] No such file or directory: '/psm_9d8c7b6a'
shared_memory|ptxas error   : Entry function 'main_kernel' uses too much shared data (0x1c000 bytes, 0x18c00 max)
shared_memory|ValueError: requested shared memory (135168) exceeds device limit (101376)
shared_memory|RuntimeError: CUDA error: invalid argument (cudaFuncSetAttribute cudaFuncAttributeMaxDynamicSharedMemorySize)
other|ValueError: A tensor-parallel size of 3 is not supported for heads that cannot be split evenly
other|ValueError: Splitting is not supported for head counts that tensor parallelism does not divide
host_shared_memory|RuntimeError: Shared memory manager connection has timed out
illegal_access|RuntimeError: Failed to execute the model status=1006 message=Execution Out-Of-Bounds Memory Access
other|java.lang.OutOfMemoryError: Java heap space
other|NVRM: Xid (PCI:0000:01:00): 79, pid=1, GPU has fallen off the bus.
other|RuntimeError: CUDA error: unknown error
other|RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)
other|RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED
other|RuntimeError: Socket Timeout
other|ValueError: Unrecognized configuration class
other|RuntimeError: Failed to load the tokenizer
other|ImportError: libcuda.so.1: cannot open shared object file: No such file or directory
other|RuntimeError: shape mismatch: value tensor of shape [2048] cannot be broadcast to indexing result of shape [1024]
other|huggingface_hub.errors.GatedRepoError: 401 Client Error. Access to model is restricted
other|TypeError: forward() got an unexpected keyword argument 'kv_cache'
other|RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!
other|AssertionError: Torch not compiled with CUDA enabled
other|RuntimeError: The size of tensor a (4096) must match the size of tensor b (5120) at non-singleton dimension 1
other|ValueError: Cannot use chat template: tokenizer does not support it
other|OSError: /models/x does not appear to have a file named config.json
other|RuntimeError: probability tensor contains either `inf`, `nan` or element < 0
other|ValueError: `rope_scaling` must be a dictionary with two fields
"""


@pytest.mark.parametrize(("kind", "message"), [tuple(line.split("|", 1)) for line in MESSAGES.splitlines()])
def test_kind(kind, message):
    assert kind_of(message) == kind
