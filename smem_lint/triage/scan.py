"""One pass over a log: the first failure, its stage, its context, and what echoed it."""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from collections.abc import Sequence

from smem_lint.triage import kinds, signs
from smem_lint.triage.facts import Facts
from smem_lint.triage.prefixes import MILD, Entry, entry
from smem_lint.triage.reading import CHUNK, Counted, Line, Source, logical
from smem_lint.triage.report import Diagnosis, Failure, Frame
from smem_lint.triage.stages import Progress, called_stage, is_server, stage_of
from smem_lint.triage.tracebacks import TRACEBACK, Trace, describe, is_chain, is_exception
from smem_lint.triage.verdict import Verdict

_PROCESSES = 256
_MESSAGE = 4000
_STRAYS = 20  # lines of other writers within a traceback
_MORE = 40  # lines that may go on with an exception's message
_ECHOES = 8
_SEEN_AFTER = 5_000  # lines after the first failure that are read for what repeats it
_FATAL = re.compile("|".join((
    r"LLVM ERROR", r"CUDA [Ee]rror", r"CUDA out of memory", r"Cuda [Ff]ailure", r"Cuda Runtime", r"terminate called", r"\s*what\(\):",
    r"Fatal Python error", r"Segmentation fault", r"Bus error", r"!+ Segfault", r"ptxas (?:fatal|error|\S+, line)", r"Triton Error",
    r"future: <Task .{0,400}exception=", r".{0,120}Out of memory: Killed", r"Error in function '",
    r"NVRM: Xid", r".{0,80}panicked at", r".{0,80}invoked oom-killer", r"\S{1,200}\.cu:\d+: CUDA error",
    r".{0,200}terminated with exception: ", r".{0,40}Watchdog caught collective", r"\[Errno \d+\] error while attempting to bind",
    r"Memory access fault by GPU", r"Error .{1,100} at line \d+ in file \S+\.cu", r"ggml_cuda\w*: .{1,40} failed$",
    r"!+ Exception during processing !+", r".{0,200}Assertion .{0,300}failed",
    r".{0,200}NCCL WARN .{0,80}(?:shared memory|/dev/shm|posix_fallocate|Cuda failure)", r".{0,80}out of resource: ", r"RuntimeError:",
    r"Exception: ", r"Floating point exception", r"Illegal instruction", r"=+ Invalid __", r"nvcc fatal", r".{0,160}cudaMalloc failed",
    r"Unexpected bus error encountered", r"Failed: Cuda error", r"[\w./-]{1,80}: error: ", r".{0,60}: command not found",
    r".{0,400}\[TensorRT-LLM\]\[ERROR\]",
    r"docker: Error response",
)))  # fmt: skip
_TROUBLE = re.compile(r"(?i)fail|error|exception|could ?n.t|could not|unable|cannot|can't|invalid|not found")
_HOST_MEMORY = re.compile(r"multiprocessing[/\\](?:shared_memory|synchronize)\.py|shared_offload_region\.py")
_CLIENT = {"_preprocess_chat", "_preprocess_completion", "_preprocess_cmpl", "preprocess_chat", "_validate_input", "_parse_tool_calls"}
_NATIVE = re.compile(r"\.(?:cc|cpp|cu|cuh|rs):\d")
_LOOKUP = re.compile(r"(?:\w+\.)*(?:KeyError|AttributeError|ImportError|ModuleNotFoundError|StopIteration|IndexError|Empty)\b")
_NAMES = r"(?=[\w.]+(?:Error|Exception|OutOfResources))"
_LEADING = re.compile(rf"^(?:Exception|Error|ERROR|error|Failed|.{{0,60}}(?:exception|error|failed(?: with)?)): ?{_NAMES}")


class _Scan:
    def __init__(self) -> None:
        self.verdict, self.progress, self.facts = Verdict(), Progress(), Facts()
        self.traces: OrderedDict[str, Trace] = OrderedDict()
        self.before: deque[tuple[int, str]] = deque(maxlen=5)
        self.last: dict[str, tuple[str, str]] = {}
        self.echoes: list[tuple[int, str]] = []
        self.echo_count = 0

    def line(self, one: Line) -> None:
        if not one.text or one.text.isspace():
            return
        told = entry(one)
        text = told.text
        accepted = self.verdict.accepted
        if accepted and len(accepted.after) < 4 and one.number > accepted.line:
            accepted.after.append((one.number, text[:400]))
        if not text:
            return
        trace = self._trace(told.process)
        if not (self._traceback(trace, told) or self._message(trace, told)):
            self._plain(trace, told)
        self.before.append((one.number, text[:400]))
        self.last[told.process] = (told.level, text[:300])

    def told_all(self, number: int) -> bool:
        """Whether what follows line ``number`` can only repeat what is known."""
        return self.verdict.accepted is not None and number > self.verdict.accepted.line + _SEEN_AFTER

    def _trace(self, process: str) -> Trace:
        trace = self.traces.get(process)
        if trace is None:
            trace = self.traces[process] = Trace()
            if len(self.traces) > _PROCESSES:
                gone, _ = self.traces.popitem(last=False)
                self.last.pop(gone, None)
        return trace

    def _traceback(self, trace: Trace, told: Entry) -> bool:
        """A line of a traceback, its last one included."""
        text, where = told.text, told.text.find(TRACEBACK)
        if where >= 0:
            if where > 3:
                self._echo(told, text[:where])
            self.verdict.headed(told.process, self.last.get(told.process, ("", ""))[1])
            noise = self._noise(told) or (where > 3 and signs.is_noise(text[:where]))
            trace.begin(told.level, noise, self._warned(told), where if text[:where].isspace() else 0)
            return True
        if not trace.inside:
            if is_chain(text):
                trace.chained, trace.open = trace.chain is not None or trace.noise, None
                return True
            return False
        if trace.indent and text[: trace.indent].isspace():
            text = text[trace.indent :]
            told = told._replace(text=text)
        if self._stray(trace, told):
            self._plain(trace, told)
            return True
        if trace.frame(text):
            trace.levelled = trace.levelled or bool(told.level)
            return True
        trace.inside = False
        if not is_exception(text, inside=True):
            return False
        self._raised(trace, told)
        return True

    def _stray(self, trace: Trace, told: Entry) -> bool:
        """Whether a line between those of a traceback comes from another writer of the same process."""
        if told.level in MILD and told.level != trace.level:
            return True
        trace.strays += trace.levelled and not told.level
        return trace.levelled and not told.level and trace.strays <= _STRAYS

    def _noise(self, told: Entry) -> bool:
        """Whether the line before says that the error was caught."""
        return signs.is_noise(self.last.get(told.process, ("", ""))[1])

    def _warned(self, told: Entry) -> bool:
        """Whether the line before is a warning that speaks of trouble, of which this would be the explanation."""
        level, text = self.last.get(told.process, ("", ""))
        return not told.level and level in ("WARNING", "WARN", "DEBUG") and bool(_TROUBLE.search(text))

    def _raised(self, trace: Trace, told: Entry) -> None:
        level = told.level or trace.level
        text = told.text[:_MESSAGE]
        if text.startswith(("KeyboardInterrupt", "SystemExit: 0", "asyncio.exceptions.CancelledError", "GeneratorExit")):
            if text.startswith("KeyboardInterrupt"):
                self.verdict.interrupted(told.process)
            trace.open = None
            return
        if level in MILD or trace.noise or signs.is_discarded(text):
            trace.open = None
            return
        if signs.is_echo(text):
            trace.open = None
            if trace.chain is None and signs.is_capture_echo(text):
                self.verdict.doubt(self._failure(trace, told, "stream_capture"))
            self._echo(told, text, trace)
            return
        kind = kinds.kind_of(text)
        if kind == "other" and (kinds.is_input(text) or trace.functions & _CLIENT or told.source.startswith("serving")):
            return  # a request's own trouble
        chain = trace.chain
        if chain is None:
            chain = trace.chain = self._failure(trace, told, kind)
            self.verdict.offer(chain, trace.soft)
        elif chain.kind == "other" and kind != "other":
            self._upgrade(trace, chain, told, kind)
        else:
            _place(chain, trace)
        trace.open, trace.more = chain, _MORE
        trace.quotes(text)

    def _message(self, trace: Trace, told: Entry) -> bool:
        """A further line of an exception's message, or an error that no traceback led to."""
        if told.text.startswith("E   "):  # pytest
            told = told._replace(text=told.text[4:].lstrip())
        text = told.text
        if "choice" in text and signs.is_discarded(text):
            self.verdict.retract(told.process, told.number - 4)
            trace.open = None
            return True
        if trace.open is not None:
            trace.more -= 1
            if trace.more < 0 or told.level not in ("", trace.level) or told.level in MILD or is_exception(text, inside=False):
                trace.open = None
            elif not signs.is_echo(text):
                kind = kinds.kind_of(text) if trace.open.kind == "other" else "other"
                if kind != "other" and not signs.is_discarded(text):
                    trace.open.kind, trace.open.message = kind, f"{trace.open.message}\n{text[:_MESSAGE]}"
                    describe(trace.open)
                    self._reconsider(trace, trace.open)
                return True
        if trace.loosely(text):
            return True
        if told.level in MILD or not signs.may_be_bad(text):
            return False
        text = _LEADING.sub("", text)
        if is_exception(text, inside=False) and not signs.is_noise(told.text):
            self._free(trace, told._replace(text=text))
            return True
        if _FATAL.match(text) and not (signs.is_noise(text) or self._noise(told) or signs.is_echo(text) or signs.is_shutdown(text)):
            self._fatal(trace, told)
            return True
        return False

    def _free(self, trace: Trace, told: Entry) -> None:
        """An exception's line on its own: as if a traceback had been cut off."""
        if not trace.chained:
            trace.chain, trace.noise, trace.soft = None, self._noise(told), self._warned(told)
        trace.level, trace.chained = told.level, False
        trace.take_loose()
        self._raised(trace, told)

    def _fatal(self, trace: Trace, told: Entry) -> None:
        trace.take_loose()
        failure = self._failure(trace, told, kinds.kind_of(told.text))
        trace.chain, trace.open, trace.more, trace.soft = failure, failure, _MORE, self._warned(told)
        trace.level = told.level
        self.verdict.offer(failure, trace.soft)

    def _plain(self, trace: Trace, told: Entry) -> None:
        text = told.text
        head = text[:400]
        if signs.may_tell(head):
            self._sign(told, head)
        self.facts.see(text)
        if told.level in MILD or not signs.may_be_bad(text):
            return
        if signs.is_echo(text):
            self._echo(told, text)
        elif told.level and not (text[0].isspace() or signs.is_noise(text) or self._noise(told)):
            self.verdict.doubt(self._failure(None, told, kinds.kind_of(text)), bool(_NATIVE.search(told.source)))

    def _sign(self, told: Entry, text: str) -> None:
        if signs.is_start(text):
            self.verdict.started()
        elif signs.is_shutdown(text):
            self.verdict.stopped()
        elif signs.is_end(text):
            self.verdict.ends()
        elif signs.is_health(text):
            self.verdict.healthy(signs.is_up(text))
        elif signs.is_progress(text):
            self.verdict.came_further(told.process)
        self.progress.see(text)

    def _echo(self, told: Entry, text: str, trace: Trace | None = None) -> None:
        if not signs.is_echo(text):
            return
        doom = signs.is_doom(text)
        self.verdict.echoed(self._failure(trace, told, kinds.kind_of(text)), doom)
        if not self.verdict.stopping:
            self.echo_count += 1
            if len(self.echoes) < _ECHOES:
                self.echoes.append((told.number, text.strip()[:300]))

    def _failure(self, trace: Trace | None, told: Entry, kind: str) -> Failure:
        frames = tuple(trace.frames) if trace else ()
        if kind == "other" and _in_host_memory(frames):
            kind = "host_shared_memory"
        called = frozenset(trace.functions) if trace else frozenset()
        stage = stage_of(frames, called, self.progress.stage, told.text[:_MESSAGE], told.process)
        made = Failure(kind, told.number, told.text[:_MESSAGE], told.process, stage, frames, before=tuple(self.before))
        describe(made)
        return made

    def _upgrade(self, trace: Trace, chain: Failure, told: Entry, kind: str) -> None:
        """A later exception of the chain names the class that its first one did not.

        The first one stays the first failing line, unless it is of a kind that programs raise and catch on their way.
        """
        new, first = self._failure(trace, told, kind), not _LOOKUP.match(chain.message)
        if first:
            new.message = f"{chain.message}\n{new.message}"
        for name in ("kind", "message", "stage", "frames", "kernel", "launch", "required", "limit"):
            setattr(chain, name, getattr(new, name))
        if not first:
            chain.line, chain.before = new.line, new.before
        self._reconsider(trace, chain)

    def _reconsider(self, trace: Trace, failure: Failure) -> None:
        if not trace.soft:
            self.verdict.reconsider(failure)


def _place(chain: Failure, trace: Trace) -> None:
    """Take the stage from a later stack of the same chain, where the first one was too short to tell it."""
    if not called_stage(frozenset(frame.function.rpartition(".")[2] for frame in chain.frames)):
        guessed = "load" if chain.stage == "other" and is_server(trace.frames) else chain.stage
        chain.stage = called_stage(frozenset(trace.functions)) or guessed


def _in_host_memory(frames: Sequence[Frame]) -> bool:
    """Whether an error was raised where Python makes or opens host shared memory and its semaphores."""
    return any(_HOST_MEMORY.search(frame.file) for frame in frames[-3:])


def scan(stream: Source) -> Diagnosis:
    """Read a log to its end, in bounded memory; raises OSError where it can't be read."""
    counted, state = Counted(stream), _Scan()
    for one in logical(counted):
        state.line(one)
        if state.told_all(one.number):
            break
    for trace in state.traces.values():
        if trace.inside and trace.chain:  # cut off within a stack
            _place(trace.chain, trace)
    while counted.read(CHUNK):
        pass
    return Diagnosis(state.verdict.end(), counted.lines, counted.bytes, state.echoes, state.echo_count, state.facts.found)
