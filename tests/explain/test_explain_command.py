"""``smem-lint explain`` on the MLA fixture.

The numbers are Triton 3.8.0's for sm_120: 59,392 and 63,488 bytes with a bf16 cache at one and two stages, 83,968 and 102,400 with an
fp8 cache (``fixtures/truth/fixtures.jsonl``; ``smem-lint verify fixtures/truth/fixtures.jsonl --root fixtures/kernels --engine compiler``).
"""

import itertools
import json
from pathlib import Path

import pytest

from smem_lint.cli import main

KERNELS = Path(__file__).parents[2] / "fixtures" / "kernels"
MLA = f"{KERNELS / 'mla_decode.py'}::_mla_decode_split"


@pytest.fixture
def run(capsys, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def run(*arguments):
        try:
            code = main(["explain", *arguments])
        except SystemExit as ended:
            code = ended.code
        captured = capsys.readouterr()
        assert "Traceback" not in captured.out + captured.err
        return code, captured.out, captured.err

    return run


def test_the_peak_of_an_fp8_cache(run):
    code, out, _ = run(MLA, "kv_cache=*fp8e4nv")
    lines = out.splitlines()
    assert code == 1
    assert "One block asks for 102,400 B; sm_120 has 101,376 B: 1,024 too many." in lines
    assert "The peak, within the loop at line 39:" in lines
    staged = next(index for index, line in enumerate(lines) if "staged 1 × 512×32 fp8e4nv" in line)
    assert "16,384 B  at  81,920" in lines[staged] and "alive through the loop at line 39" in lines[staged]
    assert lines[staged + 1].strip() == "line 44: k = tl.load(…), read at line 47"
    copies = [line for line in lines if "32,768 B  at" in line and "operand 512×32 bf16 (from fp8e4nv)" in line]
    assert len(copies) == 2 and all("alive within the loop at line 39" in line for line in copies)
    assert "  32,768 + 32,768 + 16,384 + 16,384 + 2,048 + 2,048 = 102,400 B" in lines


def test_the_cliff_of_num_stages_and_what_fits(run):
    _, out, _ = run(MLA, "kv_cache=*fp8e4nv")
    lines = [line.split() for line in out[out.index("By num_stages") :].splitlines()]
    assert lines[1][:4] == ["1", "83,968", "B", "fits,"]
    assert lines[2][1] == "101,376" and "limit of sm_120" in " ".join(lines[2])
    assert lines[3][:4] == ["2", "102,400", "B", "overflows"] and lines[3][-2:] == ["this", "one"]
    told = out[out.index("What would fit") :].splitlines()
    assert told[1] == "  num_stages=1: 83,968 B, 17,408 to spare"


@pytest.mark.parametrize("place", ["82", "82:5", "82:5:"])
def test_a_launch_by_its_line(run, place):
    """What a finding begins with; of the launch's configs the one that takes the most."""
    file = KERNELS / "mla_decode.py"
    code, out, _ = run(f"{file}:{place}")
    assert code == 1 and "One block asks for 102,400 B; sm_120 has 101,376 B: 1,024 too many." in out
    assert "kv_cache: *fp8e4nv" in out and "LATENT=512" in out and out == run(MLA, "kv_cache=*fp8e4nv")[1]
    code, out, _ = run(f"{file}:{place}", "num_stages=1")
    assert code == 0 and "One block asks for 83,968 B" in out


def test_an_autotune_list_by_its_line(run):
    code, out, _ = run(f"{KERNELS / 'fp8_gemm.py'}:15")
    assert code == 1 and "One block asks for 122,880 B; sm_120 has 101,376 B: 21,504 too many." in out


def test_a_list_whose_kernel_another_file_launches(run, tmp_path):
    """A finding on such a list names the line of the list."""
    source = (KERNELS / "fp8_gemm.py").read_text("utf8")
    split = source.index("\ndef fp8_gemm(")
    (tmp_path / "gemm.py").write_text(source[:split], "utf8")
    (tmp_path / "launch.py").write_text("import torch\nimport triton\nfrom gemm import fp8_gemm_kernel\n\n" + source[split:], "utf8")
    code, out, _ = run(f"{tmp_path / 'gemm.py'}:15")
    assert code == 1 and "One block asks for 122,880 B; sm_120 has 101,376 B: 21,504 too many." in out


def test_a_line_without_a_launch(run):
    file = KERNELS / "mla_decode.py"
    code, out, told = run(f"{file}:44")
    assert (code, out, told) == (2, "", f"smem-lint: error: {file}:44: no launch that could be followed stands there\n")


def test_dtypes_against_num_stages(run):
    code, out, _ = run(MLA, "kv_cache=*bf16,*fp8e4nv", "num_stages=1,2")
    assert code == 0
    table = out[out.index("By kv_cache and num_stages") :].splitlines()
    assert table[1].split() == ["num_stages", "1", "2"]
    assert table[2].split() == ["*bf16", "59,392", "63,488"]
    assert table[3].split() == ["*fp8e4nv", "83,968", "|", "102,400!"]


def test_several_targets(run):
    code, out, _ = run(MLA, "kv_cache=*fp8e4nv", "num_stages=2,1", "--target", "sm_120,sm_90")
    table = [line.split() for line in out[out.index("By target and num_stages") :].splitlines()]
    assert code == 1
    assert table[2] == ["sm_120", "101,376", "102,400!", "83,968"]
    assert table[3] == ["sm_90", "232,448", "102,400", "83,968"]


def test_pointers_of_one_cache_change_together(run):
    _, out, _ = run(MLA, "queries,kv_cache=*bf16,*fp16", "num_stages=1,2")
    assert "By queries, kv_cache and num_stages" in out
    _, out, _ = run(MLA, "queries=*bf16,*fp16", "kv_cache=*bf16,*fp16", "num_stages=1,2")
    assert "By queries, kv_cache and num_stages" in out
    _, out, _ = run(MLA, "BLOCK_N=32,16", "num_stages=2,1", "kv_cache=*fp8e4nv")
    assert [line.split() for line in out.splitlines() if line.startswith("  16  ")][-1][0] == "16"
    assert "  BLOCK_N=16: 60,416 B, 40,960 to spare" in out.splitlines()


def test_a_kernel_that_nothing_launches_is_told_so(run, tmp_path):
    (tmp_path / "alone.py").write_text(
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef alone(x, y, n, BLOCK: tl.constexpr):\n"
        "    at = tl.arange(0, BLOCK)\n    tl.store(y + at, tl.sum(tl.load(x + at), 0))\n"
    )
    code, out, _ = run(f"{tmp_path / 'alone.py'}::alone", "BLOCK=1024")
    assert code == 0 and "no launch was found: x: *bf16, y: *bf16, n: i32, aligned to 16" in out
    code, out, err = run(f"{tmp_path / 'alone.py'}::alone")
    assert (code, out) == (2, "") and "give BLOCK=VALUE" in err


def test_json(run):
    code, out, _ = run(MLA, "kv_cache=*fp8e4nv,*bf16", "num_stages=2,1", "--output-format", "json", "--target", "sm_120,sm_90")
    found = json.loads(out)
    assert code == 1
    assert (found["version"], found["kernel"], found["bytes"], found["limit"], found["headroom"]) == (
        1, "_mla_decode_split", 102400, 101376, -1024,
    )  # fmt: skip
    assert sum(one["size"] for one in found["peak"]["buffers"]) == found["peak"]["total"] == 102400
    assert {one["alive"] for one in found["peak"]["buffers"]} == {"through the loop at line 39", "within the loop at line 39"}
    assert found["crosses"] == [
        {
            "names": ["kv_cache"], "num_stages": [2, 1],
            "rows": [
                {"value": "*fp8e4nv", "bytes": [102400, 83968], "fits": [False, True]},
                {"value": "*bf16", "bytes": [63488, 59392], "fits": [True, True]},
            ],
        }
    ]  # fmt: skip
    assert found["fitting"][0]["change"] == {"num_stages": 1} and found["fitting"][0]["bytes"] == 83968
    assert [(one["target"], one["bytes"], one["fits"]) for one in found["others"]] == [("sm_90", 102400, True)]


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["nowhere.py::kernel"], "nowhere.py: no such file or folder"),
        (["mla_decode.py"], "expected FILE::KERNEL"),
        (["::kernel"], "expected FILE::KERNEL"),
        ([f"{KERNELS}::kernel"], "is a folder"),
        ([f"{KERNELS / 'mla_decode.py'}::nothing"], "no kernel is called 'nothing'; it has _mla_decode_split"),
        ([MLA, "LATENTS=512"], "has no argument or option called 'LATENTS'"),
        ([MLA, "num_stages"], "num_stages: expected NAME=VALUE"),
        ([MLA, "num_stages="], "a value is missing"),
        ([MLA, "num_stages=two"], "num_stages=two: expected a whole number"),
        ([MLA, "num_stages=-1"], "num_stages=-1: expected a whole number"),
        ([MLA, "num_stages=100000"], "num_stages=100000: 64 at most"),
        ([MLA, "num_warps=3"], "num_warps=3: expected a power of two"),
        ([MLA, "num_warps=True"], "num_warps=True: expected a whole number"),
        ([MLA, "num_stages=1", "num_stages=2"], "num_stages is given twice"),
        ([MLA, "kv_cache=fp8e4nv"], "kv_cache is a pointer (*bf16); give its type; did you mean *fp8e4nv?"),
        ([MLA, "kv_cache=*banana"], "'*banana' is no type, as *bf16 or *fp8e4nv are"),
        ([MLA, "kv_cache=*float8_e4m3fn"], "did you mean *fp8e4nv?"),
        ([MLA, "LATENT=wide"], "LATENT=wide: _mla_decode_split is launched with LATENT=512; expected a number"),
        ([MLA, "num_stages,num_warps=1,2"], "num_stages,num_warps=1,2: num_stages is set on its own"),
        ([MLA, "--triton", "1.0"], "Triton 1.0 is not known; 3.5 is the oldest that is"),
        ([MLA, "kv_cache=3"], "kv_cache=3: kv_cache is a pointer (*bf16)"),
        ([MLA, "--target", "sm_1"], "unknown target 'sm_1'"),
        ([MLA, "--plot", "x.pdf"], "--plot x.pdf: expected a name that ends in .svg or .png"),
        ([MLA, "--graph", "x.gif"], "--graph x.gif: expected a name that ends in .svg, .png or .dot"),
        ([MLA, "--html", "nowhere/x.html"], "nowhere/x.html: no such folder"),
        ([MLA, "--root", "nowhere"], "nowhere: no such file or folder"),
    ],
)  # fmt: skip
def test_wrong_input_is_told_in_one_line(run, arguments, said):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("smem-lint: error: ") and said in err and err.count("\n") == 1


def test_a_value_that_triton_refuses_is_answered(run):
    code, out, _ = run(MLA, "BLOCK_N=33")
    assert code == 1 and "No answer: Triton refuses the kernel: mla_decode.py:40: arange's range must be a power of 2, got 33" in out


def test_without_values_the_launch_that_takes_the_most_is_explained(run):
    """The compiler's bytes of the MLA fixture: 63,488 with a bf16 cache, 102,400 with fp8."""
    code, out, _ = run(MLA)
    assert code == 1 and "kv_cache: *fp8e4nv" in out and "One block asks for 102,400 B" in out
    code, out, _ = run(MLA, "kv_cache=*bf16")
    assert code == 0 and "One block asks for 63,488 B" in out


def test_an_operand_that_is_worked_out_is_no_load(run):
    """Of the backward pass: ``pT`` and ``dsT`` are made from dots and vectors that are loaded, and are named by their own lines."""
    _, out, _ = run(f"{KERNELS / 'flash_attention_backward.py'}:99")
    lines = out.splitlines()
    told = [after.strip() for line, after in itertools.pairwise(lines) if "operand 64×64 bf16 (from fp32)" in line]
    assert told == [
        "line 47: pT = tl.where(offs_m[None, :] >= offs_n[:, None], pT, 0.0), read at line 49",
        "line 52: dsT = (pT * (dpT - di[None, :])).to(qT.dtype), read at line 53",
    ]


def test_targets_whose_configs_have_more_stages_have_their_own_columns(tmp_path, capsys):
    """The config of gemm.py that takes the most has 5 stages on sm_120, 3 or 4 on sm_90: one is asked about 6, the other about 5."""
    gemm, page = f"{KERNELS / 'gemm.py'}::matmul_kernel", tmp_path / "page.html"
    for targets in ("sm_120,sm_90", "sm_90,sm_120"):
        assert main(["explain", gemm, "--target", targets, "--html", str(page)]) in (0, 1)
        out = capsys.readouterr().out
        head, *rows = out[out.index("  target   ") :].splitlines()[:3]
        assert head.split() == ["target", "limit", "1", "2", "3", "4", "5", "6"]
        assert sorted(len(row.replace("|", "").split()) for row in rows) == [7, 8]
        table = page.read_text("utf8").partition("targets by num_stages")[2].partition("</table>")[0]
        assert [row.count("<td") for row in table.split("<tr>")[2:]] == [7, 7]
