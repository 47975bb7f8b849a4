"""``verify --dask``: a cluster of several worker processes on this machine, one of them killed in the middle."""

import os
import signal
import threading
import time

import pytest
from verify_bench import record

distributed = pytest.importorskip("distributed", reason="the fleet is a dask.distributed cluster (extra `fleet`)")

from smem_lint.specialization import Specialization  # noqa: E402
from smem_lint.verify.fleet import FleetEngine, FleetUnavailable  # noqa: E402

SIZES = [16 << power for power in range(8)]
DEVICE = """
import json, sys
request = json.loads(sys.stdin.readline())
if "about" in request:
    print(json.dumps({"capability": 0, "triton": "3.8.0"}))
else:
    print(json.dumps({"shared": int(request["record"]["target"].split(":")[1]), "blocks_per_sm": 1}))
"""


@pytest.fixture
def cluster(tmp_path):
    """Starts a cluster whose workers, processes that are restarted when they die, have these resources."""
    started = []

    def start(*resources):
        options = {"nthreads": 1, "local_directory": str(tmp_path / "workers"), "dashboard_address": None}
        workers = {number: {"cls": distributed.Nanny, "options": {**options, "resources": found}} for number, found in enumerate(resources)}
        scheduler = {"cls": distributed.Scheduler, "options": {"dashboard": False, "dashboard_address": ":0", "host": "127.0.0.1"}}
        running = distributed.SpecCluster(workers, scheduler, asynchronous=False)
        started.append(running)
        return running.scheduler_address

    yield start
    for one in started:
        one.close(timeout=30)


def specializations(*targets):
    return [Specialization.from_record(record(size=size, target=target)) for target in targets for size in SIZES]


def test_the_command(bench, cluster):
    bench.records([record(size=size) for size in SIZES])
    code, out, err = bench.verify("--python", bench.compiler(), "--dask", cluster({}, {}), "--resume", "answers.jsonl")
    assert (code, err) == (0, "") and "8 specializations of 1 kernels against compiler 3.8.0: 8 exact" in out
    assert sorted(bench.asked()) == SIZES
    bench.log.unlink()
    assert bench.verify("--python", bench.compiler(), "--dask", cluster({}), "--resume", "answers.jsonl")[0] == 0
    assert bench.asked() == []


def test_a_worker_killed_in_the_middle(bench, cluster):
    """Each question writes who is asked; the first to ask the fourth one is killed while it waits for the answer."""
    body = f"open({str(bench.folder)!r} + f'/busy-{{os.getppid()}}', 'w'); time.sleep(0.4)"
    address = cluster({}, {}, {})
    done = []
    engine = FleetEngine(address, [bench.folder], python=bench.compiler(body), progress=lambda *told: done.append(told))
    killed = []

    def kill():
        end = time.monotonic() + 60
        while time.monotonic() < end and not killed:
            if len(bench.asked()) >= 4:
                killed.append(int(next(bench.folder.glob("busy-*")).name.partition("-")[2]))
                os.kill(killed[0], signal.SIGKILL)
            time.sleep(0.02)

    killer = threading.Thread(target=kill)
    killer.start()
    wanted = specializations(120, 90)
    answers = list(engine.estimate(wanted))
    killer.join()
    assert killed and len(list(bench.folder.glob("busy-*"))) >= 3
    assert [one.bytes for one in answers] == [0] * len(wanted) and all(one.exact for one in answers)
    assert done == [(number, len(wanted)) for number in range(1, len(wanted) + 1)]
    assert len(wanted) <= len(bench.asked()) <= len(wanted) + 2


def test_each_record_goes_to_a_worker_of_its_device(bench, cluster):
    address = cluster({"sm_120": 1}, {"sm_90": 1})
    engine = FleetEngine(address, [bench.folder], "gpu", python=bench.python(DEVICE))
    answers = list(engine.estimate(specializations(90, 120)))
    assert [one.bytes for one in answers] == [90] * 8 + [120] * 8 and engine.version == "3.8.0"


def test_a_device_that_no_worker_has(bench, cluster):
    engine = FleetEngine(cluster({"sm_120": 1}), [bench.folder], "gpu", python=bench.python(DEVICE), grace=1.0)
    answers = list(engine.estimate(specializations(90, 120)))
    assert [one.bytes for one in answers] == [None] * 8 + [120] * 8
    assert all(one.failed and one.error == "the fleet has had no worker with the resource sm_90 for 1 s" for one in answers[:8])


def test_a_compiler_that_crashes_costs_one_answer(bench, cluster):
    engine = FleetEngine(cluster({"triton": 1}, {}), [bench.folder], python=bench.compiler("if size == 64: os.abort()"))
    answers = list(engine.estimate(specializations(120)))
    assert [one.bytes for one in answers] == [None if size == 64 else 0 for size in SIZES]
    assert answers[2].failed and answers[2].error.startswith("the compiler crashed (signal 6)")


def test_no_scheduler(bench):
    bench.records([record()])
    code, _, err = bench.verify("--dask", "tcp://127.0.0.1:9")
    assert code == 2 and err.startswith("smem-lint: error: no dask scheduler at tcp://127.0.0.1:9") and err.count("\n") == 1


def test_no_dask(bench, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(FleetUnavailable, match="pip install smem-lint\\[fleet\\]"):
        list(FleetEngine("tcp://127.0.0.1:9", [bench.folder]).estimate(specializations(120)))
