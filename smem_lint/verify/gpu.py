"""The ``gpu`` engine: this machine's own device compiles, loads and is asked whether it could launch.

Each specialization runs in a process of its own. The device's capability and limit are asked of the driver, never assumed.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from smem_lint.config import Settings
from smem_lint.engines import Estimate, unanswered
from smem_lint.source.modules import Repository
from smem_lint.specialization import Specialization
from smem_lint.verify.answers import Answers
from smem_lint.verify.cut import CannotCut, Cut, cut
from smem_lint.verify.cut_files import written

NAME = "gpu"
_CHILD = Path(__file__).with_name("gpu_child.py")


_FACTS = ("shared", "refused", "registers", "spills", "blocks_per_sm", "error")


class GpuUnavailable(RuntimeError):
    """No device answers; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class GpuAnswer:
    """What the device said of one specialization.

    ``shared`` are the bytes of the compiled kernel; ``refused`` the driver's refusal (``required`` and ``limit`` in bytes), or None
    where it launches; ``registers`` and ``spills`` count per thread; ``blocks_per_sm`` is the driver's occupancy.
    ``transient``: the answer says something of the run (a process that died, a device that was lost), not of the kernel.
    """

    shared: int | None
    refused: dict[str, Any] | None = None
    registers: int | None = None
    spills: int | None = None
    blocks_per_sm: int | None = None
    error: str | None = None
    transient: bool = False

    @property
    def launches(self) -> bool:
        return self.shared is not None and self.refused is None and self.error is None and self.blocks_per_sm != 0

    @property
    def estimate(self) -> Estimate:
        if self.shared is None:
            return unanswered(NAME, self.error or "no answer", failed=self.transient)
        return Estimate(self.shared, self.shared, self.shared, True, NAME, error=self.error)

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _FACTS} | {"launches": self.launches}


@dataclass(eq=False)
class GpuEngine:
    """Asks the device of this machine, ``jobs`` specializations at a time. Raises GpuUnavailable from ``about``.

    A device that no longer answers is asked nothing more: ``lost`` then says what became of it. ``resume`` keeps the answers.
    """

    roots: Sequence[Path]
    python: str = sys.executable
    jobs: int = 4
    seconds: float = 300.0
    progress: Callable[[int, int], None] | None = None
    resume: Path | None = None
    name: str = NAME
    lost: str | None = None
    _about: dict[str, Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.repository = Repository([Path(root) for root in self.roots])
        self._folder = tempfile.TemporaryDirectory(prefix="smem-lint-gpu-")
        self._lock = threading.Lock()
        self.kept = Answers(self.resume) if self.resume is not None else None

    @property
    def about(self) -> dict[str, Any]:
        """Device, capability, limit (bytes), driver, CUDA, torch and Triton versions."""
        if self._about is None:
            answer = self._ask({"about": 1})
            if "capability" not in answer:
                raise GpuUnavailable(f"no GPU answers: {answer.get('error', 'no answer')}")
            self._about = answer
        return self._about

    @property
    def version(self) -> str:
        return str(self.about["triton"])

    def estimate(self, specializations: Iterable[Specialization]) -> Iterator[Estimate]:
        """The device's own number for each, in order."""
        return (answer.estimate for answer in self.answers(specializations))

    def answers(self, specializations: Iterable[Specialization]) -> list[GpuAnswer]:
        """All that the device says of each, in order."""
        wanted = list(specializations)
        done = 0

        def one(specialization: Specialization) -> GpuAnswer:
            nonlocal done
            answer = self._answer(specialization)
            with self._lock:
                done += 1
                if self.progress is not None:
                    self.progress(done, len(wanted))
            return answer

        with ThreadPoolExecutor(max(1, self.jobs)) as pool:
            return list(pool.map(one, wanted))

    def run_fixture(self, path: Path) -> dict[str, Any]:
        """Launch a fixture file's own cases and compare with its reference; ``passed``, and each case's error."""
        return self._ask({"run": str(path.resolve())})

    def _answer(self, one: Specialization) -> GpuAnswer:
        if one.capability != self.about["capability"]:
            return GpuAnswer(None, error=f"this device is sm_{self.about['capability']}, not sm_{one.capability}")
        try:
            piece: Cut = cut(self.repository, one.file, one.kernel, one.capability)
        except CannotCut as error:
            return GpuAnswer(None, error=str(error))
        key = self._key(piece, one)
        known = self.kept.get(key) if self.kept is not None else None
        if known is None:
            if self.lost is not None:
                return GpuAnswer(None, error=f"not asked: {self.lost}", transient=True)
            known = self.ask(one, piece)
            if known.get("transient") or "CUDA" in str(known.get("error")):
                self._still_there()
            elif self.kept is not None:
                self.kept.put(key, known)
        transient = bool(known.get("transient")) or (self.lost is not None and known.get("shared") is None)
        return GpuAnswer(**{name: known.get(name) for name in _FACTS}, transient=transient)

    def ask(self, one: Specialization, piece: Cut) -> dict[str, Any]:
        """What this machine's device says of one cut kernel, as ``gpu_child`` tells it."""
        try:
            folder = written(piece, Path(self._folder.name))
        except OSError as error:
            return {"error": str(error), "transient": True}
        return self._ask({"folder": str(folder), "main": piece.main, "kernel": piece.kernel, "record": one.to_record()})

    def _key(self, piece: Cut, one: Specialization) -> str:
        about = [self.about[name] for name in ("device", "capability", "driver", "triton")]
        told = (about, sorted(piece.modules.items()), json.dumps(one.to_record(), sort_keys=True, default=str))
        return hashlib.sha256(repr(told).encode()).hexdigest()

    def _still_there(self) -> None:
        """After a process that died: whether the device still answers one that asks nothing of it."""
        answer = self._ask({"about": 1})
        if "capability" not in answer:
            with self._lock:
                self.lost = self.lost or f"the device no longer answers ({answer.get('error', 'no answer')})"

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            done = subprocess.run(
                [self.python, str(_CHILD)], input=json.dumps(request) + "\n", capture_output=True, text=True, timeout=self.seconds,
                check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return {"error": f"no answer within {self.seconds:g} s", "transient": True}
        except OSError as error:
            return {"error": f"cannot start {self.python}: {error.strerror or error}", "transient": True}
        try:
            answer = json.loads(done.stdout.splitlines()[-1])
        except (IndexError, ValueError):
            words = done.stderr.strip().splitlines()
            said = words[-1][:200] if words else "no message"
            return {"error": f"the process ended with {done.returncode}: {said}", "transient": True}
        return answer if isinstance(answer, dict) else {"error": "no answer", "transient": True}


def gpu_engine(settings: Settings, roots: Sequence[Path]) -> GpuEngine:
    """The engine of this machine's device, for commands that ask for one by name."""
    return GpuEngine(roots, jobs=settings.jobs or 4)
