"""Python tracebacks, followed line by line in one process's part of a log."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field

from smem_lint.triage.report import Failure, Frame

TRACEBACK = "Traceback (most recent call last)"
_FRAME = re.compile(r'\s*(?:\| )?\s*File "([^"]{1,500})", line (\d{1,9})(?:, in (.{1,200}))?')
_EXCEPTION = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:\(\w+\))?(?=:(?: |$)|$)")
_NAMED = re.compile(r"(?:[A-Za-z_]\w*\.)*\w*(?:Error|Exception|OutOfResources|Interrupt|Failure|Exit)(?=:(?: |$)|$|\(')")
_LOOSE = re.compile(r"(?:File )?([^\s:]?[^:\n]{0,300}\.py):(\d{1,9})(?:: in |, in )(.{1,200})$")  # pytest, IPython
_CONTEXT = re.compile(r"\s+\d{1,9} ")
_ARROW = re.compile(r"-{2,6}> \d{1,9} (.*)")
_CHAIN = re.compile(r"The above exception was the direct cause|During handling of the above exception")
_QUOTES = re.compile(r"RayTaskError\(\w+\): ray::|An exception occurred in a subprocess:$|failed in the TorchScript interpreter")
_LAUNCH = re.compile(r"(?<![\w.])((?:\w+\.)*\w+)\[(?:[^\]]|$)")
_TRITON = re.compile(r"[/\\]triton[/\\](?:runtime|compiler|backends|testing|_utils)")
_INDUCTOR = re.compile(r"[/\\]torch[/\\]_(?:inductor|dynamo|functorch|ops|library)")
_KERNEL = re.compile(r"out of resource: (\w+),? Required|Error in function '(\w+)'|kernel(?: name)?[:=] ?'?(\w{3,80})")
_NUMBERS = re.compile(r"Required:?\s*(\d{1,12})[\s,]*Hardware\s?limit\w*:\s*(\d{1,12})")
_PLACE = re.compile(r"' at (\S{1,300}?\.(?:cuh|cu|h|cpp|py)):(\d+)")


@dataclass(slots=True)
class Trace:
    """Where one process stands: in a traceback or not, its frames, the chain of exceptions it belongs to."""

    inside: bool = False
    level: str = ""
    noise: bool = False
    soft: bool = False
    chained: bool = False
    code: bool = False
    indent: int = 0
    levelled: bool = False
    strays: int = 0
    frames: deque[Frame] = field(default_factory=lambda: deque(maxlen=80))
    functions: set[str] = field(default_factory=set)
    loose: deque[Frame] = field(default_factory=lambda: deque(maxlen=80))
    arrow: bool = False
    chain: Failure | None = None
    open: Failure | None = None
    more: int = 0

    def begin(self, level: str, noise: bool, soft: bool, indent: int = 0) -> None:
        if not self.chained:
            self.chain, self.noise, self.soft = None, noise, soft
            self.functions = set()
        self.inside, self.chained, self.code, self.level, self.open, self.indent = True, False, False, level, None, indent
        self.levelled, self.strays = False, 0
        self.frames.clear()
        self.loose.clear()

    def quotes(self, text: str) -> None:
        """An exception whose message is a traceback of another process or interpreter: what that ends with belongs to the same chain."""
        if _QUOTES.search(text[:400]):
            self.chained = True
            if "RayTaskError" in text:  # its frames follow at once
                chain = self.chain
                self.begin(self.level, self.noise, self.soft)
                self.chain = chain

    def loosely(self, text: str) -> bool:
        """Take a frame, or its line of code, without the words around them: of pytest and IPython, or where a log was cut."""
        cut = _FRAME.match(text) if "File " in text[:12] else None
        if cut and cut[3]:
            self.loose.append(Frame(cut[1], int(cut[2]), cut[3].strip()))
            self.arrow = True
            return True
        matched = _LOOSE.match(text) if ".py:" in text else None
        if matched:
            self.loose.append(Frame(matched[1].strip(), int(matched[2]), matched[3].partition("(")[0]))
            self.arrow = True
            return True
        pointed = _ARROW.match(text) if text.startswith("--") else None
        code = pointed[1] if pointed else text if text.startswith("    ") and not _CONTEXT.match(text) else ""
        if not (self.arrow and self.loose and code):
            return False
        last = self.loose[-1]
        self.loose[-1] = Frame(last.file, last.line, last.function, code.strip()[:300])
        self.arrow = False
        return True

    def take_loose(self) -> None:
        """What stands before an exception that ends no traceback: the frames of another kind, if any."""
        self.frames.clear()
        self.frames.extend(self.loose)
        self.functions = {frame.function.rpartition(".")[2] for frame in self.loose}
        self.loose.clear()

    def frame(self, text: str) -> bool:
        """Take a line of a traceback's body; False where the line is not one."""
        matched = _FRAME.match(text)
        if matched:
            function = (matched[3] or "").strip()
            self.frames.append(Frame(matched[1], int(matched[2]), function))
            if len(self.functions) < 500:
                self.functions.add(function.rpartition(".")[2])
            self.code = True
            return True
        if text[:1] in (" ", "\t") or text.startswith(("--", "...", "[Previous line repeated", "^", "~")):
            if self.code and self.frames and text.strip():
                last = self.frames[-1]
                self.frames[-1] = Frame(last.file, last.line, last.function, text.strip()[:300])
            self.code = False
            return True
        return False


def is_chain(text: str) -> bool:
    return bool(_CHAIN.search(text))


def is_exception(text: str, inside: bool) -> bool:
    """Whether a line is an exception's: any dotted name ends a traceback, elsewhere it must be named as one."""
    return bool((_EXCEPTION if inside else _NAMED).match(text))


def describe(failure: Failure) -> None:
    """Kernel, launch and numbers, from the message and the stack."""
    numbers = _NUMBERS.search(failure.message)
    if numbers:
        failure.required, failure.limit = int(numbers[1]), int(numbers[2])
    named = _KERNEL.search(failure.message)
    if named:
        failure.kernel = next(one for one in named.groups() if one)
        place = _PLACE.search(failure.message)
        failure.launch = Frame(place[1], int(place[2]), failure.kernel) if place else None
    if failure.kind == "shared_memory":
        _launch(failure)


def _launch(failure: Failure) -> None:
    """The innermost frame outside Triton (and outside Inductor, where there is one) launched the kernel."""
    outside = [frame for frame in failure.frames if not _TRITON.search(frame.file)]
    own = [frame for frame in outside if not _INDUCTOR.search(frame.file)]
    for frame in reversed(outside):
        matched = _LAUNCH.search(frame.code)
        if matched and frame is (outside[-1] if outside else None):
            failure.kernel, failure.launch = failure.kernel or matched[1].rpartition(".")[2], frame
            return
    failure.launch = failure.launch or (own[-1] if own else None)
