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
"""


@pytest.mark.parametrize(("kind", "message"), [tuple(line.split("|", 1)) for line in MESSAGES.splitlines()])
def test_kind(kind, message):
    assert kind_of(message) == kind
