"""``lower-num-stages``. The bytes are the model's, which is held against the compiler elsewhere; three stages of BK=128 take 131,072."""

import pytest

from smem_lint.fixes.lower_num_stages import Launch, Lowering, Step
from smem_lint.fixes.text import CannotEdit, Text

from .conftest import gemm

CALL = "matmul[(1,)](a, b, c, 4096, 4096, 128, 128, M=128, N=128, BK={bk}{rest})"
QUERY = "torch.cuda.get_device_properties({}.device).shared_memory_per_block_optin < {}"


def call(rest="", bk=128):
    return CALL.format(rest=rest, bk=bk)


def launch_of(text):
    return text[text.index("    c = torch.empty") :].split("\n", 1)[1]


def test_a_literal_becomes_a_variable_that_the_device_decides(fixed):
    assert launch_of(fixed(gemm(call(", num_stages=3")))) == (
        "    num_stages = 3\n"
        "    # 131,072 bytes of shared memory a block; 65,536 with num_stages=2\n"
        "    if (\n"
        "        torch.version.hip is None\n"
        f"        and {QUERY.format('a', '131_072')}\n"
        "    ):\n"
        "        num_stages = 2\n"
        f"    {call(', num_stages=num_stages')}\n"
    )


def test_the_default_of_three_stages_is_lowered_too(fixed):
    text = fixed(gemm(call()))
    assert "    num_stages = 3 if torch.version.hip is None else 2\n" in text and call(", num_stages=num_stages") in text


def test_the_largest_that_fits_is_taken(fixed):
    assert "        num_stages = 4\n" in fixed(gemm(call(", num_stages=8", bk=64)))


def test_a_variable_of_the_function_is_lowered_in_place_where_it_is_above(fixed):
    text = fixed(gemm(f"num_stages = 3\n{call(', num_stages=num_stages')}"))
    assert "        num_stages > 2\n        and torch.version.hip is None\n        and torch.cuda" in text
    assert "fitting_stages" not in text


def test_a_variable_that_is_read_later_is_left_alone(fixed):
    text = fixed(gemm(f"num_stages = 3\n{call(', num_stages=num_stages')}\nprint(num_stages)"))
    assert "    fitting_stages = num_stages\n" in text and call(", num_stages=fitting_stages") in text


def test_only_the_type_that_overflows_is_lowered(fixed):
    source = gemm(call(", num_stages=4", bk=64)).replace(
        "    a, b = a.to(torch.bfloat16), b.to(torch.bfloat16)\n",
        "    assert a.dtype in (torch.bfloat16, torch.float32)\n    b = b.to(a.dtype)\n",
    )
    text = fixed(source)
    assert "a.dtype == torch.float32" in text


@pytest.mark.parametrize("stages", ["3", "STAGES"])
def test_amd_is_not_asked(fixed, stages):
    """PyTorch gives the properties of AMD's devices without the opt-in limit."""
    text = fixed(gemm(call(f", num_stages={stages}"), above="\nSTAGES = 3\n"))
    assert "torch.version.hip is None\n        and torch.cuda.get_device_properties(" in text


def test_arguments_of_a_line_each_stay_so(fixed):
    launch = "matmul[(1,)](\n    a, b, c, 4096, 4096, 128, 128,\n    M=128,\n    N=128,\n    BK=128,\n)"
    assert launch_of(fixed(gemm(launch))).endswith("        BK=128,\n        num_stages=num_stages,\n    )\n")


@pytest.mark.parametrize("stages", [2, 1])
def test_amd_keeps_its_default(stages):
    """Triton takes two stages for AMD's GPUs where the launch does not say, and three for NVIDIA's: one is fewer than both."""
    text = Text(b"kernel[grid](x, BLOCK=128)\n")
    plan = Lowering((Step(stages, 65_536, 131_072),), ("x",))
    launch = Launch(text, 1, 1, ("x", "BLOCK"))
    if stages == 1:
        with pytest.raises(CannotEdit, match="AMD"):
            launch.lowered(plan, None)
    else:
        assert text.edited(launch.lowered(plan, None)) == b"kernel[grid](x, BLOCK=128, num_stages=2)\n"


@pytest.mark.parametrize("value", ["STAGES['large']", "2 + 1"])
def test_any_plain_value_is_kept_where_it_fits(fixed, value):
    text = fixed(gemm(call(f", num_stages={value}"), above="\nSTAGES = {'large': 3}\n"))
    assert f"    num_stages = {value}\n" in text and "        num_stages > 2\n" in text


def test_a_value_that_a_call_gives_is_left_alone(fixed):
    source = gemm(call(", num_stages=max(3, 2)"))
    assert fixed(source) == source


def test_guards_fit_the_indentation_and_tabs_stay(fixed):
    source = gemm(f"if a.shape[0] > 16:\n    {call(', num_stages=3')}").replace("    ", "\t")
    text = fixed(source)
    assert "\t\tif (\n\t\t\ttorch.version.hip is None\n\t\t\tand torch.cuda" in text and "\t\t\tnum_stages = 2\n" in text


@pytest.mark.parametrize(
    "launch",
    [
        f"options = {{'num_stages': 3}}\n{call(', **options')}",
        f"run = lambda: {call(', num_stages=3')}\nrun()",
        f"if a.shape[0] > 16: {call(', num_stages=3')}",
        f"x = 1; {call(', num_stages=3')}",
    ],
    ids=["handed on", "lambda", "suite", "several"],
)
def test_what_is_no_plain_launch_is_left_alone(fixed, launch):
    source = gemm(launch)
    assert fixed(source) == source


def test_nothing_fits_nothing_is_done(run, tmp_path):
    source = gemm("matmul[(1,)](a, b, c, 4096, 4096, 128, 128, M=256, N=256, BK=256, num_stages=3)")
    (tmp_path / "kernels.py").write_text(source)
    run("kernels.py", "--fix")
    assert (tmp_path / "kernels.py").read_text() == source


def test_line_ends_byte_order_mark_and_encoding_stay(run, tmp_path):
    path = tmp_path / "kernels.py"
    for encoding, head, mark in (("utf-8", "", b"\xef\xbb\xbf"), ("latin-1", "# -*- coding: latin-1 -*-\n# Größe\n", b"")):
        source = (head + gemm("# Größe\n" + call(", num_stages=3"))).replace("\n", "\r\n")
        path.write_bytes(mark + source.encode(encoding))
        run(path.name, "--fix")
        after = path.read_bytes()
        assert after.startswith(mark) and b"num_stages = 2\r\n" in after
        assert after.count(b"\n") == after.count(b"\r\n") == source.count("\n") + 7
        removed = set(source.encode(encoding).split(b"\r\n")) - set(after[len(mark) :].split(b"\r\n"))
        assert removed == {f"    {call(', num_stages=3')}".encode()}


def test_files_outside_the_checked_paths_stay(run, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.py").write_text("import kernels\nimport triton\n")
    source = gemm(call(", num_stages=3"))
    (tmp_path / "kernels.py").write_text(source)
    run("in", "--fix")
    assert (tmp_path / "kernels.py").read_text() == source


def test_every_target_is_served(fixed):
    """On sm_90 five stages of a wgmma are staged as five, on sm_120 as four."""
    assert launch_of(fixed(gemm(call(", num_stages=5")), "--target", "sm_120,sm_90")) == (
        "    num_stages = 5\n"
        "    # 327,680 bytes of shared memory a block; 196,608 with num_stages=3, 65,536 with num_stages=2\n"
        "    if (\n"
        "        torch.version.hip is None\n"
        f"        and {QUERY.format('a', '327_680')}\n"
        "    ):\n"
        "        num_stages = 3\n"
        f"        if {QUERY.format('a', '131_072')}:\n"
        "            num_stages = 2\n"
        f"    {call(', num_stages=num_stages')}\n"
    )


def test_a_suppressed_overflow_is_not_fixed(fixed):
    source = gemm(call(", num_stages=3") + "  # smem-lint: ignore[SMEM001] known")
    assert fixed(source) == source


def test_where_no_number_of_stages_fits_it_is_said(run, tmp_path):
    (tmp_path / "kernels.py").write_text(gemm("matmul[(1,)](a, b, c, 4096, 4096, 128, 128, M=256, N=256, BK=256, num_stages=3)"))
    code, out, told = run("kernels.py", "--diff")
    assert (code, out) == (0, "") and "SMEM001 is not fixed by lower-num-stages: no smaller num_stages fits" in told
    assert "can be fixed" not in run("kernels.py")[1]
