"""What lines say about a server: that it runs, ends, is being stopped, repeats a failure, or has caught one."""

from __future__ import annotations

import re

_CAPTURE_ECHO = re.compile("|".join((
    r"previous error during capture", r"STREAM_CAPTURE_INVALIDATED", r"StreamCaptureInvalidated",
)))  # fmt: skip
_ECHO = re.compile("|".join((
    r"EngineDeadError", r"AsyncEngineDead", r"EngineGenerationError",
    r"Engine ?core (?:proc\w* )?(?:initialization failed|failed to start|died)",
    r"EngineCore (?:failed to start|encountered (?:a fatal error|an issue|a fatal))", r"engine (?:is )?(?:dead|died)\b",
    r"[Ee]ngine process failed to start", r"Background loop (?:has errored|is stopped|stopped)", r"Task finished unexpectedly",
    r"See (?:the )?(?:root cause|stack trace)", r"WorkerProc (?:initialization failed|hit an exception|failed to start)",
    r"[Ww]orker proc\w* .{0,60}died", r"Worker \S+ died", r"Failed core proc", r"previous error during capture",
    r"^(?:\S+: line \d+: )?\s*\d*\s*Killed\b", r"^Killed$", r"Received sigquit", r"scheduler (?:\w+ )?died", r"Rank \d+ scheduler",
    r"(?:sub)?process(?:es)? (?:has |have )?(?:failed|died)", r"subprocess failed", r"Initialization failed\. (?:warmup|[Pp]lease)",
    r"Call to \w+ method failed", r"^Aborted", r"^Process \w+(?:-\d+)?(?:_\w+)?:$",
    r"Exception ignored in", r"Broken ?[Pp]ipe", r"Connection reset", r"ConnectionResetError", r"BrokenPipeError", r"CancelledError",
    r"RuntimeError: Cancelled", r"^EOFError", r"ChildFailedError", r"Sending process \d+ closing signal", r"Backend worker is gone",
    r"^Error: (?:Webserver|Shard|Backend\()\w*", r"Webserver Crashed", r"Shard \d+ failed to start", r"Shard complete standard error",
    r"unhandled errors in a TaskGroup", r"\bOOMKilled\b",
    r"Scheduler hit an exception", r"DetokenizerManager hit", r"TokenizerManager hit", r"Parent process exited",
)))  # fmt: skip
_DOOM = re.compile("|".join((
    r"EngineDeadError", r"AsyncEngineDead", r"Engine ?core (?:proc\w* )?(?:initialization failed|failed to start|died)",
    r"EngineCore (?:failed|encountered)", r"Engine process failed to start",
    r"WorkerProc (?:initialization failed|hit an exception|failed to start)", r"Received sigquit", r"Scheduler hit an exception",
    r"Rank \d+ scheduler", r"Background loop has errored", r"^Process \w+(?:-\d+)?(?:_\w+)?:$", r"^Aborted", r"ChildFailedError",
    r"^(?:\S+: line \d+: )?\s*\d*\s*Killed\b", r"Initialization failed\. ", r"died unexpectedly",
    r"^Error: (?:Webserver|Shard|Backend\()", r"Webserver Crashed", r"Shard \d+ failed to start", r"\bOOMKilled\b",
)))  # fmt: skip
_SHUTDOWN = re.compile("|".join((
    r"\[shutdown\] .{0,40}(?:triggered|start )", r"trigger received signal",
    r"[Rr]eceived (?:signal )?(?:SIG(?:TERM|INT)|signal (?:2|15))", r"(?:SIGTERM|SIGINT) received", r"^\^C", r"KeyboardInterrupt",
    r"[Gg]racefully (?:stopping|shutting|exit)", r"CANCELLED (?:AT|DUE)", r"Stopping (?:container|server)\b", r"Shutdown requested",
    r"Shutting down (?:server|the server|on request|FastAPI HTTP server)", r"^Stopping \S.{0,60}\.\.\.$",
)))  # fmt: skip
_START = re.compile("|".join((
    r"API server version", r"server_args=ServerArgs", r"vLLM server version", r"█ +version \d",
)))  # fmt: skip
_HEALTH = re.compile("|".join((
    r'" 200 OK', r"Application startup complete", r"Avg prompt throughput", r"init engine \(profile", r"fired up and ready",
    r"Uvicorn running on", r"Decode batch", r"Prefill batch", r'" 200$',
    r"router/src/server\.rs:\d+: Success", r"\| 200 \|", r"Processed prompts: 100%",
)))  # fmt: skip
_UP = re.compile(r"Application startup complete|init engine \(profile|fired up and ready")
_PROGRESS = re.compile("|".join((
    r"Graph capturing finished", r"Capture cuda graph end", r"GPU KV cache size:", r"Available KV cache memory: [\d.]+",
    r"Model loading took", r"Load weight end", r"Loading weights took",
)))  # fmt: skip
_DISCARDED = re.compile(r"Ignoring this choice|for benchmark choice|[Ss]kipping this (?:tactic|config|choice)")
_NOISE = re.compile("|".join((
    r"Ignoring this choice", r"for benchmark choice", r"[Ee]rror during autotuning", r"autotuning? .{0,40}(?:skip|ignor)",
    r"[Ss]kipp(?:ing|ed) (?:this )?(?:tactic|config|choice)", r"Exception ignored in", r"[Ff]alling back", r"[Ff]allback",
    r"[Tt]actic .{0,80}(?:fail|skip)", r"[Ff]ailed when profiling",
)))  # fmt: skip
_WORDS = (
    "version", "server_args", "shutdown", "signal", "SIG", "^C", "KeyboardInterrupt", "racefully", "CANCELLED", "Stopp", "Shut", '" 200',
    "startup", "throughput", "init engine", "fired up", "Uvicorn", "batch", "Processed", "finished", "graph", "KV cache", "eight",
    "oad", "Supported_tasks", "aptur", "blocks", "concurrency", "rofil", "directory", "Initializing", "non-default", "Init ",
    "encountered a fatal", "listening", "Warming", "server is", "[TM]", "TRT-LLM", "launcher: Args", "server.rs", "Method ", "lifecycle",
    "max batch total", "Shard", "shard", "| 200 |", "slot ", "memory usage", "llama server",
)  # fmt: skip
_BAD_WORDS = (
    "rror", "xception", "failed", "Failed", "failure", "died", "dead", "Dead", "Killed", "Abort", "terminate", "what()", "fault", "fatal",
    "panicked", "Assert", "NCCL", "Xid", "resource", "Illegal", "Invalid", "CUDA", "Cuda", "ipe", "Connection", "ancelled", "sigquit",
    "Process", "ERROR", "See ", "Interrupt", "Exit", "OutOf", "Sending", "Background", "Task", "Watchdog", "Parent", "hit an", "Rank",
    "gone", "choice", "Scheduler", "config", "oom-kill",
)  # fmt: skip


def may_tell(text: str) -> bool:
    """A cheap look: whether a line can be a sign of a server's life, of its stage, or of its being stopped."""
    return any(word in text for word in _WORDS)


def may_be_bad(text: str) -> bool:
    """A cheap look: whether a line can be an error, an echo or an autotuner's note."""
    return any(word in text for word in _BAD_WORDS)


def is_capture_echo(message: str) -> bool:
    """Whether a capture error only says that something had gone wrong before, within the same capture."""
    return bool(_CAPTURE_ECHO.search(message))


def is_echo(message: str) -> bool:
    """Whether a message says that another process, or an earlier call, has failed."""
    return bool(_ECHO.search(message[:2000]))


def is_doom(message: str) -> bool:
    """Whether an echo says that a process of the server has ended, so that what failed before it was fatal."""
    return bool(_DOOM.search(message[:2000]))


def is_shutdown(text: str) -> bool:
    return bool(_SHUTDOWN.search(text[:400]))


def is_end(text: str) -> bool:
    """Whether an engine says that its own program ends it."""
    return text.startswith("Shutdown initiated")


def is_start(text: str) -> bool:
    return bool(_START.search(text[:400]))


def is_health(text: str) -> bool:
    """Whether a line shows the server at work, after which an unnamed error can't have been the end of it."""
    return bool(_HEALTH.search(text[:400]))


def is_up(text: str) -> bool:
    """Whether a line says that a server has started as a whole."""
    return bool(_UP.search(text[:400]))


def is_progress(text: str) -> bool:
    """Whether a line shows one process of a server to have come further."""
    return bool(_PROGRESS.search(text[:400]))


def is_discarded(text: str) -> bool:
    """Whether a message is an autotuner's about a choice that it gave up."""
    return bool(_DISCARDED.search(text[:4000]))


def is_noise(text: str) -> bool:
    """Whether a line says that the error it quotes was caught: autotuning, fallbacks, finalizers."""
    return bool(_NOISE.search(text[:4000]))
