"""``drop-dead-configs``, ``add-pruning``, ``drop-suppression``, ``query-device-limit``."""

import types

import pytest

from smem_lint.fixes.query_device_limit import queried, querying
from smem_lint.fixes.text import CannotEdit, Text

from .conftest import gemm

LAUNCH = "matmul[(1,)](a, b, c, 4096, 4096, 128, 128, M=128, N=128)"
FITS, DEAD, DEAD_TOO = (f'triton.Config({{"BK": {bk}}}, num_stages={stages}, num_warps=8)' for bk, stages in ((64, 3), (128, 3), (128, 4)))


def tuned(configs, rest=""):
    return f'@triton.autotune(configs={configs}, key=["K"]{rest})\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"[{FITS}, {DEAD}]", f"[{FITS}]"),
        (f"[{DEAD}, {FITS}]", f"[{FITS}]"),
        (f"[{FITS}, {DEAD}, {DEAD_TOO}]", f"[{FITS}]"),
        (f"[{DEAD}, {FITS}, {DEAD_TOO},]", f"[{FITS},]"),
        (f"[\n    {FITS},  # small\n    {DEAD},  # large\n    # larger\n    {DEAD_TOO}\n]", f"[\n    {FITS},  # small\n    # larger\n]"),
        (f"[\n    {FITS}, {DEAD},\n    {DEAD_TOO},\n]", f"[\n    {FITS},\n]"),
        (f"({FITS}, {DEAD})", f"({FITS},)"),
        (f"({FITS}, {DEAD}, {DEAD_TOO},)", f"({FITS},)"),
        (f"({DEAD}, {FITS})", f"({FITS},)"),
        (f"({DEAD}, {FITS}, {DEAD_TOO})", f"({FITS},)"),
        (f"(\n    {DEAD},\n    {FITS}\n)", f"(\n    {FITS},\n)"),
        (f"(\n    {FITS},\n    {DEAD}\n)", f"(\n    {FITS},\n)"),
    ],
)
def test_dead_configs_go(fixed, before, after):
    text = fixed(gemm(LAUNCH, tuned(before)))
    assert text.replace(" \n", "\n") == gemm(LAUNCH, tuned(after))


def test_a_list_under_a_name_is_cut_where_it_stands(fixed):
    source = gemm(LAUNCH, tuned("CONFIGS"), f"\nCONFIGS = [\n    {FITS},\n    {DEAD},\n]\n")
    assert fixed(source) == gemm(LAUNCH, tuned("CONFIGS"), f"\nCONFIGS = [\n    {FITS},\n]\n")


@pytest.mark.parametrize(
    ("configs", "above"),
    [
        (f"[{FITS}, *[{DEAD}]]", ""),
        ("CONFIGS", f"\nCONFIGS = [{FITS}, {DEAD}]\nOTHERS = CONFIGS\n"),
        ('[triton.Config({"BK": bk}, num_stages=3, num_warps=8) for bk in (64, 128)]', ""),
    ],
    ids=["spread", "shared", "worked out"],
)
def test_lists_that_are_not_written_out_or_are_shared_stay(fixed, configs, above):
    source = gemm(LAUNCH, tuned(configs), above)
    assert fixed(source) == source


def test_what_one_of_the_targets_can_launch_stays(fixed):
    source = gemm(LAUNCH, tuned(f"[{FITS}, {DEAD}]"))
    assert fixed(source, "--target", "sm_120,sm_90") == source


def test_what_fits_with_another_type_stays(fixed):
    source = gemm(LAUNCH, tuned(f"[{FITS}, {DEAD}]")).replace(
        "    a, b = a.to(torch.bfloat16), b.to(torch.bfloat16)\n",
        "    assert a.dtype in (torch.bfloat16, torch.float8_e4m3fn)\n    b = b.to(a.dtype)\n",
    )
    assert fixed(source) == source


def test_a_list_learns_to_prune_itself_where_that_is_asked_for(fixed):
    source = gemm(LAUNCH, tuned('[triton.Config({"BK": bk}, num_stages=3, num_warps=8) for bk in (64, 128)]'))
    text = fixed(source, "--unsafe-fixes")
    assert ', key=["K"], prune_configs_by={"early_config_prune": smem_lint.prune})' in text
    assert text.splitlines()[:4] == ["import smem_lint", "import torch", "import triton", "import triton.language as tl"]


def test_what_is_said_of_a_list_is_what_was_done(run, tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(gemm(LAUNCH, tuned('[triton.Config({"BK": bk}, num_stages=3, num_warps=8) for bk in (64, 128)]')))
    assert "would fix SMEM004: the list prunes itself when the program runs" in run(path.name, "--diff", "--unsafe-fixes")[2]
    path.write_text(gemm(LAUNCH, tuned(f"[{FITS}, {DEAD}]")))
    assert "would fix SMEM004: the list keeps what can launch on sm_120" in run(path.name, "--diff", "--unsafe-fixes")[2]


def test_a_suppression_that_silences_nothing_goes(fixed):
    line = LAUNCH.replace("N=128", "N=128, BK=32, num_stages=2")
    source = gemm(f"# smem-lint: ignore[SMEM001] once\n# kept\n{line}  # kept  # smem-lint: ignore\n")
    assert fixed(gemm(f"{line}  # smem-lint: ignore[SMEM001] known")) == gemm(line)
    assert fixed(gemm(f"{line}  # type: ignore  # smem-lint: ignore[SMEM001] known")) == gemm(f"{line}  # type: ignore")
    assert "    # kept\n" in fixed(source) and "smem-lint" not in fixed(source).split("# kept\n")[0]


LIMIT = """\
import triton

{above}
def pick(m, n, k, props):
    need = (m + n) * k * 2
    {line}
"""


@pytest.mark.parametrize("line", ["if need > {}: k //= 2", "while (m + n) * k * 3 >= {}: k //= 2", "return {} >= need"])
@pytest.mark.parametrize("literal", ["232448", "227 * 1024"])
def test_a_limit_that_a_need_is_compared_with_is_asked_of_the_device(line, literal):
    source = LIMIT.format(line=line.format(literal), above="")
    at = source.splitlines()[5].index(literal) + 1
    text = Text(source.encode())
    expected = LIMIT.format(line=line.format(queried(literal)), above="").replace("import triton\n", "import torch\nimport triton\n")
    assert text.edited(querying(text, 6, at)).decode() == expected


@pytest.mark.parametrize(
    "line",
    [
        "if props.shared_memory_per_block_optin >= 232448: k *= 2", "if props == 232448: k *= 2", "if props > 232448: k *= 2",
        "limit = props.max_shared_mem - 0; return limit < 232448",
    ],
)  # fmt: skip
def test_a_limit_that_is_compared_with_the_device_stays(line):
    source = LIMIT.format(line=line, above="")
    text = Text(source.encode())
    with pytest.raises(CannotEdit):
        querying(text, 6, source.splitlines()[5].index("232448") + 1)


def test_nothing_is_asked_of_a_device_at_import():
    source = "import triton\nneed = 3 * 4\nBIG = need * 2 > 232448\n"
    text = Text(source.encode())
    with pytest.raises(CannotEdit, match="import"):
        querying(text, 3, source.splitlines()[2].index("232448") + 1)


def test_a_device_that_does_not_tell_its_limit_keeps_the_number():
    """PyTorch 2.9, torch/cuda/_utils.py: AMD's device properties have no ``shared_memory_per_block_optin``."""
    source = LIMIT.format(line="if need > 227 * 1024: k //= 2", above="import torch\nis_hip = torch.version.hip is not None")
    text = Text(source.encode())
    (edit,) = querying(text, source[: source.index("    if need")].count("\n") + 1, 15)
    told = eval(edit.text, {"torch": _Torch(types.SimpleNamespace(shared_memory_per_block_optin=101_376))})
    assert told == 101_376 and eval(edit.text, {"torch": _Torch(types.SimpleNamespace())}) == 227 * 1024


class _Torch:
    def __init__(self, properties):
        self.cuda = types.SimpleNamespace(get_device_properties=lambda device: properties, current_device=lambda: 0)
