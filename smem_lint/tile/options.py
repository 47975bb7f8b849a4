"""The options of a compilation that the front end reads (``CUDAOptions`` of Triton 3.8's NVIDIA backend)."""

from __future__ import annotations

from dataclasses import dataclass

from smem_lint.specialization import Specialization


@dataclass(frozen=True, slots=True)
class Options:
    """Launch options and what the target allows. ``capability`` is the compute capability times ten (120 for sm_120)."""

    num_warps: int = 4
    num_stages: int = 3
    num_ctas: int = 1
    capability: int = 120
    default_dot_input_precision: str = "tf32"
    allowed_dot_input_precisions: tuple[str, ...] = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")

    @classmethod
    def of(cls, specialization: Specialization) -> Options:
        return cls(specialization.num_warps, specialization.num_stages, specialization.num_ctas, specialization.capability)

    @property
    def supported_fp8_dtypes(self) -> tuple[str, ...]:
        return ("fp8e4b15", "fp8e5") + (("fp8e4nv",) if self.capability >= 89 else ())

    @property
    def deprecated_fp8_dot_operand_dtypes(self) -> tuple[str, ...]:
        return ("fp8e4b15",) if self.capability >= 90 else ()

    @property
    def max_num_imprecise_acc_default(self) -> int:
        return 2**30 if self.capability == 90 else 0
