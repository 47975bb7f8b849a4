"""Which of a log's failures is the first one: what was fatal, what was caught, and what only repeats it."""

from __future__ import annotations

from smem_lint.triage.report import Failure

_NEAR = 100  # lines


class Verdict:
    """Takes failures and signs of life and death in the order of the log.

    A failure of a known class counts as soon as it is seen. One of no class counts once a process of the server has ended
    after it, or nothing more is seen of the server; work that goes on shows that it was caught. While the server is being
    stopped on request nothing counts.
    """

    def __init__(self) -> None:
        self.accepted: Failure | None = None
        self.pending: Failure | None = None
        self.soft: Failure | None = None
        self.caught: Failure | None = None
        self.confirmed = False
        self.weak: Failure | None = None
        self.heading: Failure | None = None
        self.native = self.settled = False
        self.echo: Failure | None = None
        self.doomed = False
        self.stopping = self.ending = False
        self.runs = 0

    def offer(self, failure: Failure, soft: bool = False) -> None:
        """``soft``: a warning came just before it, so that it may have been caught."""
        if self.accepted:
            self.confirmed = True
        if self.accepted or self.stopping:
            return
        if soft:
            self.soft = self.soft or failure
        elif failure.kind != "other" or self.doomed:
            self.accepted = failure
        elif self.pending is None:
            self.pending = failure

    def reconsider(self, failure: Failure) -> None:
        """A failure that was offered has turned out to be of a known class."""
        if self.accepted is None and not self.stopping and failure.kind != "other":
            self.accepted = failure

    def retract(self, process: str, since: int) -> None:
        """What a process said without a stack, from line ``since`` on, was about a choice that its autotuner gave up."""
        for name in ("accepted", "pending", "weak"):
            held: Failure | None = getattr(self, name)
            if held is not None and held.process == process and held.line >= since and not held.frames:
                setattr(self, name, None)

    def doubt(self, failure: Failure, native: bool = False) -> None:
        """An error line without an exception: only what the log has nothing better to say. ``native``: no Python wrote it."""
        self.confirmed = self.accepted is not None
        if not (self.stopping or self.ending) and (self.weak is None or (self.weak.kind == "other" and failure.kind != "other")):
            self.weak, self.native = failure, native

    def headed(self, process: str, text: str) -> None:
        """A traceback begins after this line: an error line that is the same says what the traceback will say."""
        if self.weak is not None and not self.native and self.weak.process == process and self.weak.message[: len(text)] == text:
            self.heading = self.weak

    def echoed(self, failure: Failure, doom: bool) -> None:
        if self.stopping or (self.ending and "initialization failed" not in failure.message):  # a next engine that does not start
            return
        if self.echo is None or self._headed(self.echo, failure):
            self.echo = failure
        self.confirmed = self.accepted is not None
        if doom:
            self.doomed = True
            self.accepted = self.accepted or self.pending or self.caught

    def healthy(self, up: bool = False) -> None:
        """``up``: the server has come up, so that what failed while it started had been caught."""
        if self.doomed:
            return
        if self.accepted and up and not self.settled and self.accepted.stage in ("load", "profile", "capture"):
            self.caught, self.accepted, self.confirmed = self.accepted, None, False
        elif self.accepted and not self.accepted.frames and not self.confirmed:
            # A line that nothing followed, neither a stack nor another error, and the server works: it had been caught.
            self.caught, self.accepted = self.accepted, None
        if not self.confirmed:
            self.pending = self.soft = self.weak = self.echo = None

    def came_further(self, process: str) -> None:
        """One process went on: what it had raised was caught; what others raised may yet be the end."""
        for name in () if self.doomed else ("pending", "soft", "weak"):
            held: Failure | None = getattr(self, name)
            if held is not None and held.process == process:
                setattr(self, name, None)

    def stopped(self) -> None:
        """Someone asked the server to stop; what was pending until now was caught."""
        if not self.doomed:
            self.stopping = True

    def ends(self) -> None:
        """An engine was told to end, at a script's end or on its failure, whose stack is printed last: its processes may vanish."""
        self.ending = not self.doomed

    def interrupted(self, process: str) -> None:
        """Someone stopped a process from the keyboard; its name, printed as a heading of the stack, was no sign of its end."""
        headed = self.echo is not None and self.echo.message.startswith("Process ") and self.echo.process == process
        if headed and not (self.accepted or self.pending):
            self.echo, self.doomed = None, False
        self.stopped()

    def started(self) -> None:
        """A server's first line: the second one in a log tells that the run before has ended."""
        if self.runs and self.pending and not self.stopping:
            self.accepted = self.accepted or self.pending
        self.settled = self.settled or bool(self.runs and self.accepted)
        self.runs += 1
        self.doomed = self.stopping = self.ending = False

    @staticmethod
    def _headed(heading: Failure, failure: Failure) -> bool:
        """Whether an echo was but the heading of another one's stack, on the line where that begins."""
        stack = "Traceback (most recent call last" in heading.message and heading.process == failure.process
        return stack and bool(failure.frames) and failure.line - heading.line < _NEAR

    def end(self) -> Failure | None:
        found = self.accepted or self.pending or self.soft
        if found:
            return self.weak if self.weak and self._said_before(found, self.weak) else found
        raised = self.echo if self.echo and self.echo.frames and self.doomed else None  # an exception, though no cause
        if self.weak and (self.doomed or self.weak.kind != "other"):
            return raised if raised and raised.line < self.weak.line and self.weak.kind == "other" else self.weak
        return self.echo if self.echo and (self.doomed or self.echo.kind != "other") else None

    def _said_before(self, found: Failure, weak: Failure) -> bool:
        """Whether an error line told the same failure shortly before, and not as the heading of its traceback."""
        same = found.kind == weak.kind != "other" and found.process == weak.process
        return same and weak is not self.heading and 0 < found.line - weak.line < _NEAR
