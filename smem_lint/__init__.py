"""smem-lint: exact shared-memory bytes of Triton kernels, from their source."""

__version__ = "0.1.0"
