"""Hostile logs end in bounded time and memory: what they hold is never trusted."""

import io
import random
import time
import tracemalloc

import pytest

from smem_lint.triage import scan

TRACEBACK = b'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\nValueError: bad\n'
OVERFLOW = b"triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 131072, Hardware limit: 101376.\n"
LOGS = {
    "one letter": b"a" * 10_000_000,
    "zero bytes": b"\0" * 5_000_000,
    "invalid text": b"\xff\xfe\x80" * 1_000_000 + b"\n",
    "random": random.Random(1).randbytes(3_000_000),
    "carriage returns": b"\r" * 1_000_000,
    "open braces": b'{"a":' * 500_000 + b"\n" + b'{"a":' * 6_000 + b"1" + b"}" * 6_000 + b"\n",
    "prefixes": b"(EngineCore " * 300_000 + b"\n" + b"a | " * 300_000 + b"\n" + b"> " * 300_000,
    "escape codes": b"\x1b[" * 1_000_000 + b"\n" + b"\x1b]" * 1_000_000,
    "words of messages": b"RuntimeError: " + b"only supported not supported No valid " * 100_000,
}


@pytest.mark.parametrize("name", LOGS)
def test_ends_soon_in_little_memory(name):
    tracemalloc.start()
    started = time.monotonic()
    scan(io.BytesIO(LOGS[name]))
    assert time.monotonic() - started < 60
    assert tracemalloc.get_traced_memory()[1] < 64 << 20
    tracemalloc.stop()


def test_a_failure_at_the_end_of_a_line_of_megabytes_is_found():
    diagnosis = scan(io.BytesIO(b"x" * 3_000_000 + b"\\n" + OVERFLOW))
    assert (diagnosis.kind, diagnosis.failure.line, diagnosis.failure.required) == ("shared_memory", 1, 131072)


def test_a_million_tracebacks_after_the_first_failure():
    started = time.monotonic()
    diagnosis = scan(io.BytesIO(b"fine\n" + OVERFLOW + TRACEBACK * 1_000_000))
    assert time.monotonic() - started < 20
    assert (diagnosis.kind, diagnosis.failure.line, diagnosis.lines) == ("shared_memory", 2, 4_000_002)


def test_caught_tracebacks_before_the_failure_do_not_hide_it():
    caught = TRACEBACK + b'INFO:     10.0.0.1:5 - "POST /v1/completions HTTP/1.1" 200 OK\n'
    diagnosis = scan(io.BytesIO(caught * 20_000 + OVERFLOW))
    assert (diagnosis.kind, diagnosis.failure.line) == ("shared_memory", 100_001)
    assert scan(io.BytesIO(caught * 100)).kind == "none"


def test_a_failure_is_found_between_bytes_of_any_kind():
    diagnosis = scan(io.BytesIO(b"\xff\x00\xc3(" * 1000 + b"\r\n" + OVERFLOW.replace(b"\n", b"\r\n") + b"\x00\xff"))
    assert (diagnosis.kind, diagnosis.failure.line) == ("shared_memory", 2)


def test_thousands_of_processes_are_forgotten_in_turn():
    started = b"".join(b"(EngineCore pid=%d) Traceback (most recent call last):\n" % pid for pid in range(20_000))
    assert scan(io.BytesIO(started)).kind == "none"


def test_interleaved_processes_keep_their_own_tracebacks():
    a, b = b"(Worker_TP0 pid=1) ERROR 11-20 10:20:40 [w.py:7] ", b"(Worker_TP1 pid=2) ERROR 11-20 10:20:40 [w.py:7] "
    first = [a + line for line in TRACEBACK.replace(b"ValueError: bad", OVERFLOW.strip()).splitlines()]
    other = [b + line for line in TRACEBACK.splitlines()]
    mixed = b"\n".join(line for pair in zip(other, first, strict=True) for line in pair)
    diagnosis = scan(io.BytesIO(mixed))
    assert (diagnosis.kind, diagnosis.failure.line, diagnosis.failure.process) == ("shared_memory", 8, "Worker_TP0 pid=1")
