"""A report and an explanation in which everything that linted code can name tries to break out of the page."""

from smem_lint.devices import device
from smem_lint.engines import Buffer, Estimate, Loop
from smem_lint.explain import Sweep, explain
from smem_lint.findings import Finding, Fit, Problem, Report
from smem_lint.specialization import Specialization

ATTACK = "\"'><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"></style></script>&lt;"
TURNED = "safe\u202egnp.exe\u200f\x1b[31m\udcff"
FILE = f"dir/{ATTACK}{TURNED}.py"
KERNEL = f"kernel{ATTACK}{TURNED}"
LINES = [f"line {number} = '{ATTACK}'" for number in range(1, 30)]
BUFFERS = (
    Buffer(0, 65536, "staged", "ttg.local_alloc", f"2 x 128x128 {ATTACK}", "a", 10, 3, 40, 12),
    Buffer(65536, 49152, f"operand{ATTACK}", "ttg.local_alloc", "128x192 bf16", "b", 12, 12, 20),
    Buffer(0, 1024, "scratch", "tt.reduce", "reduction", "c", 14, 50, 51),
)
ESTIMATE = Estimate(114688, 114688, 114688, True, "model", BUFFERS, (ATTACK,), loops=(Loop(5, 38, 9),))
SPECIALIZATION = Specialization(FILE, KERNEL, {f"x{ATTACK}": "*bf16", "BLOCK": "constexpr"}, {"BLOCK": ATTACK}, num_stages=2)


def report():
    stages = {number: Estimate(57344 * number, 0, None, True, "model") for number in (1, 2, 3)}
    one = Finding(
        FILE, 12, 5, "SMEM001", f"overflow{ATTACK}", "error", f"too much {ATTACK}", "assumed", KERNEL, FILE, "sm_120", 114688, 114688,
        114688, 101376, (ATTACK,), {"constexprs": {ATTACK: ATTACK}, "types": {ATTACK: f"*{ATTACK}"}}, BUFFERS,
        (Fit({ATTACK: ATTACK}, 57344),), (), "", "", "model", estimate=ESTIMATE, specialization=SPECIALIZATION, stages=stages,
    )  # fmt: skip
    calm = Finding(
        "calm.py", 3, 1, "SMEM008", "near-limit", "warning", "near", kernel="calm", kernel_file="calm.py", target="sm_90", bytes=230000,
        lower=230000, upper=230000, limit=232448,
    )  # fmt: skip
    note = Finding(
        "b.py", 7, 1, "SMEM010", "unresolved", "info", "not known", kernel="bare", kernel_file="b.py", target="sm_120", limit=101376
    )
    return Report(
        [one, calm, note], [Problem(FILE, 3, ATTACK)], {"configs": 3, "kernels": 3, "files": 2}, ("sm_120", "sm_90"), {FILE: LINES},
    )  # fmt: skip


class Engine:
    name = "fake"

    def estimate(self, specializations):
        return (ESTIMATE if one.num_stages == 2 else Estimate(57344 * one.num_stages, 0, None, True, "fake") for one in specializations)


def explanation():
    return explain(Engine(), SPECIALIZATION, device("sm_120"), [Sweep((f"x{ATTACK}",), ("*bf16", "*fp32"))], (ATTACK,))
