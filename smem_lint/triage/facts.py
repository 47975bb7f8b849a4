"""What a log tells about its machine and programs, for the device table and for the list of what a report still lacks."""

from __future__ import annotations

import re

_LINES = 4_000
_WANTED = {
    "gpu": (
        r"\b(?:NVIDIA |Tesla |Quadro )?(GB10|RTX PRO \d{4}\w*|(?:GeForce )?RTX \d{4}(?: ?Ti| SUPER| Ada)?|A100|A10G?|A30|A40|L40S?|L4|T4"
        r"|V100|H100|H200|H20|GH200|GB200|GB300|B200|B300|DGX Spark|Jetson \w+)\b"
    ),
    "capability": r"(?:compute capability|CUDA capability|capability)[ :=]{1,3}\(?(\d{1,2}[.,] ?\d)\b|\b(sm_?\d{2,3}[af]?)\b",
    "driver": r"[Dd]river [Vv]ersion:? ?(\d{3}\.\d+(?:\.\d+)?)",
    "cuda": r"CUDA(?: runtime)?(?: [Vv]ersion)?:? ?(1[1-9]\.\d+)\b|\+cu(1\d\d)\b",
    "torch": r"\b(?:torch|pytorch|PyTorch)(?: version)?[ :=]{1,3}v?(\d\.\d+\.\d+[\w.+]*)",
    "triton": r"\btriton(?: version)?[ :=]{1,3}v?(\d\.\d+\.\d+[\w.+]*)",
    "vllm": r"(?:vLLM API server version|LLM engine \(|vllm(?: version)?[ :=]{1,3})\s?v?(\d+\.\d+[\w.+-]*)",
    "sglang": r"\bsglang(?: version)?[ :=]{1,3}v?(\d\.\d+\.\d+[\w.+]*)",
    "flashinfer": r"\bflashinfer(?:[-_]python)?(?: version)?[ :=]{1,3}v?(\d\.\d+\.\d+[\w.+]*)",
    "model": r"\bmodel(?:_tag|_path)?['\"]?[=:] ?'?\"?([\w./-]{3,120})",
    "arguments": r"(non-default args: .{1,300}|server_args=ServerArgs\(.{1,300})",
}


class Facts:
    """Keeps the first value of each; looks at the first part of a log only, where servers say what they are."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}
        self._wanted = {name: re.compile(pattern) for name, pattern in _WANTED.items()}
        self._left = _LINES

    def see(self, text: str) -> None:
        if self._left <= 0 or not self._wanted:
            return
        self._left -= 1
        for name, pattern in list(self._wanted.items()):
            matched = pattern.search(text[:1500])
            if matched:
                self.found[name] = next(one for one in matched.groups() if one)[:300]
                del self._wanted[name]
