"""From the finding to a fix that the compiler confirms: the MLA decode kernel that began it, here and in vLLM 0.33.0."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from smem_lint.fixes.query_device_limit import queried
from smem_lint.specialization import Specialization

from .conftest import gemm

FIXTURE = Path(__file__).parents[2] / "fixtures" / "kernels" / "mla_decode.py"
FIXED_BYTES = 83_968


def from_finding_to_fix(run, path, cache, latent):
    """check, --diff, --fix, check; the configs afterwards, of the fixed kernel."""
    code, out, _ = run(path.name, "--output-format", "json")
    (finding,) = [one for one in json.loads(out)["results"] if one["rule"] == "SMEM001"]
    assert (code, finding["bytes"], finding["fix"]) == (1, 102_400, "lower-num-stages")
    before = path.read_bytes()
    code, diff, told = run(path.name, "--diff")
    assert code == 1 and path.read_bytes() == before and "would fix SMEM001" in told
    added = [line[1:] for line in diff.splitlines() if line.startswith("+") and not line.startswith("+++")]
    assert not [line for line in diff.splitlines() if line.startswith("-") and not line.startswith("---")]
    assert [line.strip() for line in added] == [
        "# 102,400 bytes of shared memory a block; 83,968 with num_stages=1",
        "if (",
        "num_stages > 1",
        "and torch.version.hip is None",
        f"and {cache}.dtype == torch.float8_e4m3fn",
        f"and {latent} >= 512",
        f"and torch.cuda.get_device_properties({cache}.device).shared_memory_per_block_optin < 102_400",
        "):",
        "num_stages = 1",
    ]
    code, out, _ = run(path.name, "--fix", "--output-format", "json")
    after = json.loads(out)["results"]
    assert code == 0 and not [one for one in after if one["rule"] in ("SMEM001", "SMEM002", "SMEM010")]
    assert len(path.read_text().splitlines()) == len(before.decode().splitlines()) + len(added)
    assert run(path.name, "--diff")[:2] == (0, "")


def test_the_closing_line_counts_what_fixes_take_away(run, tmp_path):
    """One launch with two findings that go together, one list for the unsafe fix, and one launch that no fix helps."""
    names = ("mla_decode", "fp8_gemm", "paged_attention")
    for name in names:
        shutil.copy(FIXTURE.with_name(f"{name}.py"), tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.py")}
    told = run(".", "--output-format", "concise")[1].splitlines()[-1]
    assert "Found 5 problems " in told and " 2 can be fixed (--diff shows how, --fix does it), 1 more with --unsafe-fixes." in told
    assert before == {path.name: path.read_bytes() for path in tmp_path.glob("*.py")}
    left = run(".", "--fix", "--output-format", "concise")[1].splitlines()[-1]
    assert "Found 5 problems (2 fixed, 3 remaining) " in left and "can be fixed" not in left
    left = run(".", "--fix", "--unsafe-fixes", "--output-format", "concise")[1].splitlines()[-1]
    assert "Found 3 problems (1 fixed, 2 remaining) " in left


def stages_by_type(path, kernel, cache, latent, capability=120):
    """The options that each type and latent size is launched with on a device."""
    from smem_lint.host import Config, resolve
    from smem_lint.source.modules import Repository

    found: dict[tuple[str, int], set[int]] = {}
    configs = []
    for one in resolve(Repository([path.parent]), [path.name], capability=capability):
        if isinstance(one, Config) and one.kernel == kernel and not one.unresolved:
            configs.append(one)
            found.setdefault((one.types[cache], one.constexprs[latent]), set()).add(one.options["num_stages"])
    return found, configs


def test_mla_decode(run, tmp_path):
    path = Path(shutil.copy(FIXTURE, tmp_path))
    from_finding_to_fix(run, path, "kv_cache", "latent")
    found, _ = stages_by_type(path, "_mla_decode_split", "kv_cache", "LATENT")
    assert found == {("*fp8e4nv", 512): {1}, ("*bf16", 512): {2}, ("*bf16", 256): {2}, ("*fp8e4nv", 256): {2}}


def test_the_compiler_confirms_the_fix(run, tmp_path):
    pytest.importorskip("triton", reason="the compiler's bytes need Triton")
    from smem_lint.verify.compiler import CompilerEngine

    path = Path(shutil.copy(FIXTURE, tmp_path))
    run(path.name, "--fix")
    _, configs = stages_by_type(path, "_mla_decode_split", "kv_cache", "LATENT")
    one = next(config for config in configs if config.types["kv_cache"] == "*fp8e4nv" and config.constexprs["LATENT"] == 512)
    specialization = one.specialization(120)
    assert isinstance(specialization, Specialization) and specialization.num_stages == 1
    (answer,) = CompilerEngine([tmp_path], jobs=1).estimate([specialization])
    assert answer.bytes == FIXED_BYTES


def test_devices_with_more_memory_keep_their_stages(run, tmp_path):
    """The compiler's bytes for sm_90: 102,400 at two stages, of 232,448."""
    path = Path(shutil.copy(FIXTURE, tmp_path))
    run(path.name, "--fix")
    found, configs = stages_by_type(path, "_mla_decode_split", "kv_cache", "LATENT", 90)
    assert found == {("*fp8e4nv", 512): {2}, ("*bf16", 512): {2}, ("*bf16", 256): {2}, ("*fp8e4nv", 256): {2}}
    assert run(path.name, "--target", "sm_120,sm_90", "--diff")[:2] == (0, "")
    pytest.importorskip("triton", reason="the compiler's bytes need Triton")
    from smem_lint.model import ModelEngine
    from smem_lint.verify.compiler import CompilerEngine

    one = next(config for config in configs if config.types["kv_cache"] == "*fp8e4nv" and config.constexprs["LATENT"] == 512)
    specialization = one.specialization(90)
    assert isinstance(specialization, Specialization)
    (answer,), (estimate,) = (engine.estimate([specialization]) for engine in (CompilerEngine([tmp_path], jobs=1), ModelEngine([tmp_path])))
    assert answer.bytes == estimate.bytes == 102_400 and estimate.exact


@pytest.mark.parametrize("engine", ["model", "compiler"])
def test_a_target_that_refuses_the_type_does_not_keep_others_from_the_fix(run, tmp_path, engine):
    """Triton has no fp8e4nv before sm_89: such a launch fails there before any memory is asked for."""
    if engine == "compiler":
        pytest.importorskip("triton", reason="asks the installed Triton")
    path = Path(shutil.copy(FIXTURE, tmp_path))
    code, diff, told = run(path.name, "--diff", "--target", "sm_120,sm_80", "--engine", engine)
    assert code == 1 and "would fix SMEM001: 102,400 bytes" in told and "+        num_stages = 1" in diff


def test_a_file_that_cannot_be_read_is_told_beside_a_diff(run, tmp_path):
    (tmp_path / "broken.py").write_text("import triton\n\ndef f(:\n")
    code, out, told = run("broken.py", "--diff")
    assert (code, out) == (2, "") and told.startswith("broken.py:3:1: problem ")
    shutil.copy(FIXTURE, tmp_path)
    code, out, told = run(".", "--diff")
    assert code == 1 and "+        num_stages = 1" in out and "broken.py:3:1: problem " in told


def test_a_diff_can_be_applied_where_lines_end_otherwise(run, tmp_path):
    """A form feed ends no line of a diff."""
    path = Path(shutil.copy(FIXTURE, tmp_path))
    source = path.read_bytes().replace(b"@triton.jit", b"\x0c\n@triton.jit", 1)
    for data in (source, source.replace(b"\n", b"\r\n")):
        path.write_bytes(data)
        diff = run(path.name, "--diff")[1]
        run(path.name, "--fix")
        fixed = path.read_bytes()
        path.write_bytes(data)
        subprocess.run(["git", "apply", "-p0", "--whitespace=nowarn"], input=diff.encode(), check=True, cwd=tmp_path)
        assert path.read_bytes() == fixed != data


LITERAL = "(block_m + block_n) * block_k * size * (stages - 1) > {}"
PICK = """

def stages_that_fit(block_m, block_n, block_k, size):
    stages = 5
    while stages > 1 and {}:
        stages -= 1
    return stages
"""
STAGED = """\
num_stages = stages_that_fit(128, 128, 64, a.element_size())
matmul[(1,)](a, b, c, 4096, 4096, 128, 128, M=128, N=128, BK=64, num_stages=num_stages)"""


def results(out):
    return [(one["rule"], one["line"], one["bytes"], one["fix"]) for one in json.loads(out)["results"] if one["rule"] != "SMEM008"]


def test_a_literal_limit_is_asked_of_the_device(run, tmp_path):
    """On sm_120 five stages of 128 x 128 x 64 in bf16 ask for 131,072 bytes and four for 98,304; sm_90 stages five as five: 163,840."""
    path, source = tmp_path / "kernels.py", gemm(STAGED, above=PICK.format(LITERAL.format("227 * 1024")))
    path.write_text(source)
    compared = source[: source.index("> 227")].count("\n") + 1
    launch = source[: source.index("matmul[")].count("\n") + 1
    code, out, _ = run(path.name, "--output-format", "json")
    assert code == 1
    assert results(out) == [("SMEM006", compared, None, "query-device-limit"), ("SMEM001", launch, 131_072, "lower-num-stages")]
    fixed = gemm(STAGED, above=PICK.format(LITERAL.format(queried("227 * 1024"))))
    code, diff, told = run(path.name, "--diff")
    assert code == 1 and path.read_text() == source
    changed = [line for line in diff.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    limits = ("227 * 1024", queried("227 * 1024"))
    assert changed == [f"{sign}    while stages > 1 and {LITERAL.format(limit)}:" for sign, limit in zip("-+", limits, strict=True)]
    assert told.splitlines() == [
        f"kernels.py:{compared}: would fix SMEM006: asks the device for its limit",
        f"kernels.py:{launch}: SMEM001 would go with an earlier fix of the file",
    ]
    code, out, _ = run(path.name, "--fix", "--output-format", "json")
    assert (code, results(out), path.read_text()) == (0, [], fixed)
    compile(fixed, "kernels.py", "exec")
    assert run(path.name, "--diff")[:2] == (0, "")
    assert {target: stages_at(path, target) for target in (120, 90, 80)} == {120: (4, 98_304), 90: (5, 163_840), 80: (5, 131_072)}


def stages_at(path, capability):
    """The launch's stages, and its bytes."""
    from smem_lint.host import resolve
    from smem_lint.model import ModelEngine
    from smem_lint.source.modules import Repository

    (config,) = resolve(Repository([path.parent]), [path.name], capability=capability)
    specialization = config.specialization(capability)
    (estimate,) = ModelEngine([path.parent]).estimate([specialization])
    assert estimate.exact
    return specialization.num_stages, estimate.bytes


def test_a_capability_that_stands_for_memory_is_told_and_left(run, tmp_path):
    """What a device of a later capability should get instead only its author knows."""
    sizes = "        BLOCK, stages = 128, 4\n    else:\n        BLOCK, stages = 64, 3\n    return BLOCK, stages\n"
    above = "\n\ndef tiles():\n    if torch.cuda.get_device_capability() >= (9, 0):\n" + sizes
    launch = "bk, stages = tiles()\nmatmul[(1,)](a, b, c, 4096, 4096, 128, 128, M=128, N=128, BK=bk, num_stages=stages)"
    path, source = tmp_path / "kernels.py", gemm(launch, above=above)
    path.write_text(source)
    code, out, _ = run(path.name, "--select", "SMEM006", "--fix", "--output-format", "json")
    (finding,) = json.loads(out)["results"]
    assert (code, finding["rule"], finding["fix"]) == (1, "SMEM006", None) and "sm_121" in finding["message"]
    assert path.read_text() == source


def test_triton_decode_attention_of_vllm(run, tmp_path, library_root):
    source = library_root("vllm", "0.33.0") / "vllm" / "v1" / "attention" / "ops" / "triton_decode_attention.py"
    path = Path(shutil.copy(source, tmp_path))
    from_finding_to_fix(run, path, "k_buffer", "BLOCK_DMODEL")
    found, _ = stages_by_type(path, "_fwd_grouped_kernel_stage1", "K_Buffer", "BLOCK_DMODEL")
    assert found[("*fp8e4nv", 512)] == {1}
    assert all(stages == {2} for key, stages in found.items() if key not in (("*fp8e4nv", 512), ("*bf16", 1024), ("*fp8e4nv", 1024)))
