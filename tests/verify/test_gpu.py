"""``verify --engine gpu`` where there is no GPU, and where one is lost in the middle. A small program plays the device's process."""

import json

import pytest
from verify_bench import record

ABOUT = {
    "triton": "3.8.0", "capability": 120, "limit": 101376, "multiprocessors": 188, "device": "NVIDIA Test", "driver": "1", "cuda": "13.0",
    "torch": None,
}  # fmt: skip
DEVICE = """
import json, os, sys, time
request = json.loads(sys.stdin.readline())
lost, log = {lost!r}, {log!r}
if "about" in request:
    if os.path.exists(lost):
        print(json.dumps({{"error": "RuntimeError: CUDA error: unknown error"}}))
    else:
        print(json.dumps({about}))
    sys.exit()
size = request["record"]["constexprs"]["N"]
with open(log, "a") as file:
    file.write(f"{{size}}\\n")
{body}
print(json.dumps({{"shared": 0, "refused": None, "registers": 16, "spills": 0, "blocks_per_sm": 8}}))
"""
FINE = "4 launch, 0 refused, 4 estimated to the byte, 4 of them said to be exact"


@pytest.fixture
def device(bench):
    bench.records([record(size=size) for size in (16, 32, 64, 128)])
    bench.lost = bench.folder / "lost"

    def verify(body="pass", *arguments):
        python = bench.python(DEVICE.format(lost=str(bench.lost), log=str(bench.log), about=ABOUT, body=body))
        return bench.verify("--engine", "gpu", "--python", python, *arguments)

    bench.on_gpu = verify
    return bench


def test_a_device_that_is_there(device):
    code, out, err = device.on_gpu("pass", "--report", "report.json")
    assert (code, err) == (0, "") and FINE in out and "0 not verified" in out
    report = json.loads((device.folder / "report.json").read_text())
    assert {name: report[name] for name in ABOUT} == ABOUT and report["table_limit"] == 101376
    assert report["results"][0]["gpu"]["registers"] == 16 and report["results"][0]["gpu"]["blocks_per_sm"] == 8


def test_no_device(device):
    device.lost.touch()
    code, out, err = device.on_gpu()
    assert (code, out) == (2, "") and err == "smem-lint: error: no GPU answers: RuntimeError: CUDA error: unknown error\n"


def test_no_device_by_triton_itself(bench):
    pytest.importorskip("triton", reason="Triton's own driver is asked")
    torch = pytest.importorskip("torch", reason="Triton asks torch for its device")
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    bench.records([record()])
    code, _, err = bench.verify("--engine", "gpu")
    assert code == 2 and err.startswith("smem-lint: error: no GPU answers: ") and err.count("\n") == 1


def test_a_process_that_dies_costs_one_answer(device):
    code, out, err = device.on_gpu("if size == 32: os.abort()")
    assert code == 2 and "3 launch" in out and "1 not verified" in out and "0 disagreements" in out
    assert "no longer answers" not in err and sorted(device.asked()) == [16, 32, 64, 128]


def test_a_device_lost_in_the_middle_and_the_run_resumed(device):
    """After the fault nothing more is asked of the device; what it had answered is not asked again."""
    fault = f"if size == 64: open({str(device.lost)!r}, 'w'); os.abort()"
    code, out, err = device.on_gpu(fault, "--resume", "answers.jsonl", "--report", "report.json")
    assert code == 2 and device.asked() == [16, 32, 64]
    assert "2 launch" in out and "2 not verified" in out and "0 disagreements" in out
    assert err.startswith("smem-lint: the device no longer answers (RuntimeError: CUDA error: unknown error): 2 specializations")
    results = json.loads((device.folder / "report.json").read_text())["results"]
    assert [one["gpu"]["shared"] for one in results] == [0, 0, None, None]
    assert results[3]["gpu"]["error"].startswith("not asked: the device no longer answers")
    device.lost.unlink()
    device.log.unlink()
    code, out, _ = device.on_gpu("pass", "--resume", "answers.jsonl")
    assert code == 0 and FINE in out and device.asked() == [64, 128]


def test_a_refusal_that_is_not_the_tables_is_a_disagreement(device):
    answer = {"shared": 0, "refused": {"what": "shared memory", "required": 512, "limit": 256, "message": ""}, "blocks_per_sm": None}
    code, out, _ = device.on_gpu(f"if size == 64: print(json.dumps({answer})); sys.exit()")
    assert code == 1 and "refused with 512 of 256, compiled with 0 of 101376" in out and "1 disagreements" in out


def test_a_report_that_finds_no_room(device):
    """The figures are told before the report is written."""
    code, out, err = device.on_gpu("pass", "--report", "/no/such/folder/report.json")
    assert code == 2 and FINE in out and "No such file or directory" in err
