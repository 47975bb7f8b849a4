"""A server's log read as a stream: which failure came first, of which class, at which stage, and what to do about it."""

from __future__ import annotations

from smem_lint.triage.report import Diagnosis, Failure, Frame
from smem_lint.triage.scan import scan

__all__ = ["Diagnosis", "Failure", "Frame", "scan"]
