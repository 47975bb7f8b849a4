"""From the finding to a fix that the compiler confirms: the MLA decode kernel that began it, here and in vLLM 0.33.0."""

import json
import shutil
from pathlib import Path

import pytest

from smem_lint.specialization import Specialization

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


def stages_by_type(path, kernel, cache, latent):
    """The options that each type and latent size is launched with."""
    from smem_lint.host import Config, resolve
    from smem_lint.source.modules import Repository

    found: dict[tuple[str, int], set[int]] = {}
    configs = []
    for one in resolve(Repository([path.parent]), [path.name]):
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


def test_triton_decode_attention_of_vllm(run, tmp_path, library_root):
    source = library_root("vllm", "0.33.0") / "vllm" / "v1" / "attention" / "ops" / "triton_decode_attention.py"
    path = Path(shutil.copy(source, tmp_path))
    from_finding_to_fix(run, path, "k_buffer", "BLOCK_DMODEL")
    found, _ = stages_by_type(path, "_fwd_grouped_kernel_stage1", "K_Buffer", "BLOCK_DMODEL")
    assert found[("*fp8e4nv", 512)] == {1}
    assert all(stages == {2} for key, stages in found.items() if key not in (("*fp8e4nv", 512), ("*bf16", 1024), ("*fp8e4nv", 1024)))
