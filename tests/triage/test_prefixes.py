"""What loggers and collectors put before a line is taken off, with the process and the level that it told."""

import pytest

from smem_lint.triage.prefixes import entry
from smem_lint.triage.reading import Line

LINES = {
    "2026-08-21T10:00:00.101123Z  INFO text_generation_launcher: Args {": ("text_generation_launcher: Args {", "", "INFO"),
    "2026-08-21T10:00:31.402211Z ERROR text_generation_launcher: Shard 0 failed": ("text_generation_launcher: Shard 0 failed", "", "ERROR"),
    "[15:58:39 TP0] Decode batch.": ("Decode batch.", "", ""),
    "[2026-03-11 12:01:13] ERROR:    [Errno 98] error": ("[Errno 98] error", "", "ERROR"),
    "2026-01-01 10:00:00 [ERROR] foo": ("foo", "", "ERROR"),
    'time=2026-03-14T12:00:35.340Z level=ERROR source=sched.go:456 msg="error loading"': ('error loading"', "", "ERROR"),
    "0.13.230.101 E main: exiting": ("main: exiting", "", "ERROR"),
    "[84012.512210] NVRM: Xid (PCI:0000:c1:00): 31": ("NVRM: Xid (PCI:0000:c1:00): 31", "", ""),
    "[1,0]<stderr>: RuntimeError: bad": ("RuntimeError: bad", "1,0", ""),
    "12: Traceback (most recent call last):": ("Traceback (most recent call last):", "12", ""),
    "[A100 MIG 1g.10gb]   File": ("  File", "A100 MIG 1g.10gb", ""),
    "[A100 MIG 1g.10gb] ready": ("[A100 MIG 1g.10gb] ready", "", ""),
    "[12:00:01]   File": ("  File", "", ""),
    "    |   File": ("  File", "", ""),
    "> (EngineCore pid=3) ERROR 04-17 06:11:20 [core.py:708] bad": ("bad", "EngineCore pid=3", "ERROR"),
    "2026-11-04 10:08:01.17 node-0 >> (EngineCore pid=3) INFO 04-17 06:11:20 [core.py:7] fine": ("fine", "EngineCore pid=3", "INFO"),
    "[rank1]:[E311 12:15:18.417204310 ProcessGroupNCCL.cpp:632] [Rank 1] late": ("[Rank 1] late", "rank1", "ERROR"),
    "2026-03-11 09:14:12.120 [E:onnxruntime:Default, cuda_call.cc:123 CudaCall] CUDA failure": ("CUDA failure", "", "ERROR"),
    "2026-03-11T09:14:12.120Z /build/ggml-cuda.cu:75: CUDA error": ("/build/ggml-cuda.cu:75: CUDA error", "", ""),
}  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_prefix(line):
    told = entry(Line(1, line))
    assert (told.text, told.process, told.level) == LINES[line]
