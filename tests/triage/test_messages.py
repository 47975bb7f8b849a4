"""Messages as CUDA, PyTorch, Triton, CUTLASS, FlashInfer, vLLM, SGLang and NCCL word them, and the class of each."""

import pytest

from smem_lint.triage.kinds import kind_of

MESSAGES = {
    "kernel_dispatch": [
        "RuntimeError: CUDA error: no kernel image is available for execution on the device",
        "ValueError: The quantization method fp4 is not supported for the current GPU. Minimum capability: 100. Current capability: 75.",
        "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla T4 GPU has compute",
        "RuntimeError: FlashAttention only supports Ampere GPUs or newer.",
        "NotImplementedError: No compiled cutlass_scaled_mm for a compute capability less than CUDA device capability: 121",
        "RuntimeError: [TensorRT-LLM][ERROR] Assertion failed: Failed to initialize cutlass TMA WS grouped gemm. Error: Error",
        "ValueError: Head size 80 is not supported by FlashMLA. Supported head sizes are: [576]",
        "RuntimeError: Triton Error [CUDA]: device kernel image is invalid",
        "AssertionError: FlashMLA is only supported on Hopper devices",
        "RuntimeError: FlashInfer requires GPUs with sm75 or higher",
        "NotImplementedError: No NvFp4 MoE backend supports the deployment configuration.",
        "ValueError: No FP8 MoE backend supports the deployment configuration.",
        "RuntimeError: Unsupported head_dim for FlashInfer: 96",
        "RuntimeError: Expected is_sm90 || is_sm100 to be true, but got false.",
        "RuntimeError: marlin_gemm only supports sm >= 80",
        "RuntimeError: Failed to run cutlass FP4 gemm. Error: Error Internal",
        "RuntimeError: Only support sm100f",
        "RuntimeError: Check failed: (status == cudaSuccess) is false: BatchPrefillWithPagedKVCache failed with error invalid argument",
        "tvm.error.InternalError: Error in function 'TllmGenFmhaRunner' at /x/fmhaRunner.cuh:37: Unsupported architecture",
        "RuntimeError: Assertion error (/workspace/csrc/apis/gemm.hpp:120): Unsupported architecture",
        "RuntimeError: Assertion error (csrc/apis/attention.hpp:219): Unsupported architecture",
        "RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.",
        "AssertionError: type fp8e4nv not supported in this architecture. The supported fp8 dtypes are ('fp8e4b15', 'fp8e5')",
    ],
    "device_memory": [
        "RuntimeError: CUDA driver error: out of memory",
        "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`",
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 23.69 GiB total capacity;",
        "RuntimeError: NCCL Error 1: unhandled cuda error: Cuda failure 2 'out of memory'",
        "AssertionError: Error in memory profiling. Initial free memory 1, current free memory 2",
        "RuntimeError: Triton Error [CUDA]: out of memory",
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try lowering `max_num_seqs`",
        "ValueError: Mamba cache: max_num_seqs (256) exceeds available Mamba cache blocks (70). Each decode sequence requires one",
    ],
    "other": [
        "RuntimeError: CUDA error: device-side assert triggered",
        "RuntimeError: CUDA driver error: operation not permitted",
        "RuntimeError: CUDA error: invalid device ordinal",
        "RuntimeError: Failed to infer device type",
        "AttributeError: '_OpNamespace' '_moe_C' object has no attribute 'topk_softmax'",
        "ValueError: Model architectures ['X'] are not supported for now. Supported architectures: dict_keys(['A'])",
        "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
        "ImportError: /x/vllm/_C.abi3.so: undefined symbol: _ZN3c104cuda9SetDeviceEa",
        "ValueError: The checkpoint you are trying to load has model type `gemma4` but Transformers does not recognize this architecture.",
        "KeyError: 'layers.0.mlp.gate_up_proj.weight'",
        "RuntimeError: The NVIDIA driver on your system is too old (found version 12040).",
        "torch.distributed.DistBackendError: NCCL error in: ../x.cpp:1970, unhandled system error",
        "AssertionError: 28 is not divisible by 8",
        "TimeoutError: RPC call to execute_model timed out.",
        "RuntimeError: Error(s) in loading state_dict: size mismatch",
        "OSError: [Errno 28] No space left on device",
        "OSError: Error no file named model.safetensors found in directory /dev/shm/model",
        "ValueError: Unsupported model architecture Foo",
        "NotImplementedError: Speculative decoding is not supported with pipeline parallelism",
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for VllmConfig",
        "RuntimeError: CUDA error: uncorrectable ECC error encountered",
        "RuntimeError: Found no NVIDIA driver on your system.",
    ],
    "stream_capture": [
        "RuntimeError: CUDA error: operation not permitted when stream is capturing",
        "RuntimeError: CUDA error: dependency created on uncaptured work in another stream",
        "RuntimeError: Cannot copy between CPU and CUDA tensors during CUDA graph capture unless the CPU tensor is pinned.",
    ],
    "illegal_access": [
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        "RuntimeError: CUDA error: unspecified launch failure",
        "RuntimeError: Triton Error [CUDA]: an illegal memory access was encountered",
        "Failed: Cuda error /workspace/csrc/custom_all_reduce.cuh:453 'an illegal memory access was encountered'",
    ],
    "host_shared_memory": [
        "RuntimeError: DataLoader worker (pid 12) is killed by signal: Bus error. It is possible that dataloader's workers are",
        "RuntimeError: unable to open shared memory object </torch_123_456> in read-write mode: Too many open files (24)",
        "OSError: [Errno 28] No space left on device: '/dev/shm/vllm_ring'",
    ],
    "shared_memory": [
        "torch._inductor.exc.InductorError: LoweringException: OutOfResources: out of resource: shared memory, Required: 131072,",
    ],
}


@pytest.mark.parametrize(("kind", "message"), [(kind, one) for kind, messages in MESSAGES.items() for one in messages])
def test_class_of_a_message(kind, message):
    assert kind_of(message) == kind
