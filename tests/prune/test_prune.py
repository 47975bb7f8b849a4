"""``smem_lint.prune`` under Triton's own Autotuner, against what Triton compiles for each config."""

import subprocess
import sys

import pytest

import smem_lint

triton = pytest.importorskip("triton", reason="pruning serves Triton's autotuner")
torch = pytest.importorskip("torch", reason="the arguments of a launch are tensors")

from . import kernels  # noqa: E402
from .kernels import PRUNE, config  # noqa: E402

CONFIGS = [config(bk, stages, warps) for bk in (32, 64, 128) for stages in (1, 2, 3, 4) for warps in (4, 8)]


def arguments(dtype=None, bias=None):
    dtype = dtype or torch.bfloat16
    a, b, c = torch.empty(128, 4096, dtype=dtype), torch.empty(4096, 128, dtype=dtype), torch.empty(128, 128, dtype=torch.bfloat16)
    return (a, b, c, 4096, 4096, 128, bias)


def tuned(function, configs=CONFIGS, **options):
    return triton.autotune(configs, key=["K"], prune_configs_by=PRUNE, **options)(function)


def kept_by(tuner, args, **kwargs):
    """What Triton's Autotuner has left after pruning, as its ``run`` calls it."""
    tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
    return tuner.prune_configs({"grid": (1,), "warmup": False, **kwargs})


def compiled(function, args, one, **kwargs):
    """Bytes that Triton allocates for a config."""
    return function.warmup(*args, grid=(1,), **kwargs, **one.all_kwargs()).metadata.shared


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float8_e5m2])
@pytest.mark.parametrize("name", ["matmul", "plain_sizes"])
def test_it_keeps_what_triton_compiles_to_no_more_than_the_limit(device, name, dtype):
    function, sample = getattr(kernels, name), CONFIGS[::3]
    args = arguments(dtype)
    kept = kept_by(tuned(function, sample), args, M=128, N=128)
    fits = [one for one in sample if compiled(function, args, one, M=128, N=128) <= 101_376]
    assert kept == fits
    assert name == "plain_sizes" or dtype == torch.float8_e5m2 or len(kept) < len(sample)


def test_a_run_of_the_autotuner_ends_with_a_config_that_fits(device):
    tuner = tuned(kernels.matmul, [config(128, 4), config(64, 2), config(128, 3)])
    tuner.run(*arguments(), M=128, N=128, grid=(1,), warmup=True)
    assert tuner.best_config == config(64, 2)


@pytest.mark.parametrize(("capability", "optin", "most"), [(120, 101_376, 3), (90, 232_448, 7), (89, 101_376, 3), (86, 101_376, 3)])
def test_the_device_is_asked(device, capability, optin, most):
    device(capability, optin)
    kept = kept_by(tuned(kernels.matmul, [config(64, stages) for stages in range(1, 10)]), arguments(), M=128, N=128)
    assert [one.num_stages for one in kept][-1] == (4 if capability < 90 or capability == 120 else most)


def test_a_device_with_more_memory_keeps_more(device):
    tuner = tuned(kernels.matmul, [config(128, 3)])
    with pytest.raises(smem_lint.pruning.NothingFits):
        kept_by(tuner, arguments(), M=128, N=128)
    device(optin=232_448)
    assert len(kept_by(tuner, arguments(), M=128, N=128)) == 1


def test_nothing_fits(device):
    """128 x 128 tiles of bf16: three stages keep two rings of 65,536 bytes, two stages of 256 one of 131,072."""
    with pytest.raises(smem_lint.pruning.NothingFits) as raised:
        kept_by(tuned(kernels.matmul, [config(128, 4), config(128, 3), config(256, 3)]), arguments(), M=128, N=128)
    told = str(raised.value)
    assert "none of the 3 configs of matmul fits" in told and "BK: 128" in told and "num_stages: 3" in told
    assert "needs 131,072 bytes, 29,696 too many" in told and "sm_120, 101,376" in told


def test_none_ones_and_keywords(device):
    """An argument that is None or 1 is a constant to the compiler; what is given by name counts as what is given by place."""
    bias = torch.empty(128, dtype=torch.float32)
    sample = [config(64, 4), config(128, 3)]
    a, b, c, k, sa, sb, _ = arguments()
    for args, rest in (
        ((a, b, c, k, sa, sb, None), {}), ((a, b, c, k, sa, sb), {"bias": bias}), ((a, b, c, k, 1, sb), {"bias": None}),
        ((a, b, c), {"K": 1, "sa": 4096, "sb": 128, "bias": None}),
    ):  # fmt: skip
        fits = [one for one in sample if compiled(kernels.matmul, args, one, M=128, N=128, **rest) <= 101_376]
        assert kept_by(tuned(kernels.matmul, sample), args, M=128, N=128, **rest) == fits


def test_heuristics_between_the_tuner_and_the_kernel(device):
    small = triton.heuristics({"M": lambda args: 64 if args["BK"] == 128 else 128})(kernels.matmul)
    kept = kept_by(tuned(small, [config(128, 3), config(64, 3), config(64, 8)]), arguments(), N=128)
    assert kept == [config(128, 3), config(64, 3)]  # 64 x 128 and 128 x 128 tiles: 98,304 and 65,536 bytes


def test_tuples_are_kept(device):
    tuner = tuned(kernels.with_tuple, [config(32, 1), config(64, 1)])
    assert kept_by(tuner, ((1, 2), torch.empty(64))) == tuner.configs


def test_arguments_that_triton_would_refuse_are_kept(device):
    tuner = tuned(kernels.matmul, [config(128, 4), config(128, 5)])
    assert kept_by(tuner, (object(), *arguments()[1:]), M=128, N=128) == tuner.configs
    assert kept_by(tuner, arguments()[:3], M=128) == tuner.configs


def test_another_vendors_device_keeps_all(device):
    made = device()
    made.get_current_target = lambda: triton.backends.compiler.GPUTarget("hip", "gfx942", 64)
    tuner = tuned(kernels.matmul, [config(128, 4)])
    assert kept_by(tuner, arguments(), M=128, N=128) == tuner.configs


def test_called_by_hand_it_keeps_all(device):
    assert smem_lint.prune([1, 2], {}) == [1, 2]


def test_a_function_of_the_users_around_it(device):
    tuner = triton.autotune(
        [config(128, 4), config(64, 3), config(64, 2)], key=["K"],
        prune_configs_by={"early_config_prune": lambda configs, named, **rest: smem_lint.prune(configs, named, **rest)[:1]},
    )(kernels.matmul)  # fmt: skip
    assert kept_by(tuner, arguments(), M=128, N=128) == [config(64, 3)]


def test_the_compiler_is_asked_where_the_model_leaves_it_open(device, monkeypatch):
    from smem_lint.engines import Estimate
    from smem_lint.model import ModelEngine
    from smem_lint.verify.compiler import CompilerEngine

    asked = []

    def widely(self, wanted, programs=None):
        return (Estimate(90_000, 0, 200_000, False, "model") for _ in wanted)

    def answer(self, wanted):
        asked.extend(wanted)
        return (Estimate(n := one.num_stages * 40_000, n, n, True, "compiler") for one in wanted)

    monkeypatch.setattr(ModelEngine, "estimate", widely)
    monkeypatch.setattr(CompilerEngine, "estimate", answer)
    kept = kept_by(tuned(kernels.matmul, [config(256, 3), config(256, 2)]), arguments(), M=128, N=128)
    assert kept == [config(256, 2)] and len(asked) == 2
    kept_by(tuned(kernels.matmul, [config(256, 3), config(256, 2)]), arguments(), M=128, N=128)
    assert len(asked) == 2, "what was answered once is not asked again"


def test_a_bound_within_the_limit_is_enough(device, monkeypatch):
    """Tiles of 16 x 16: no allocation of such a program comes near the limit, so that the passes are not run."""
    from smem_lint import model, pruned

    def never(*given):
        raise AssertionError("the passes were run")

    monkeypatch.setattr(model, "_run", never)
    args, sample = arguments(), [config(16, 2), config(16, 5)]
    assert kept_by(tuned(kernels.matmul, sample), args, M=16, N=16) == sample
    assert all(not one.exact and one.upper <= 101_376 for one in pruned._KNOWN.values()) and len(pruned._KNOWN) == 2


def test_configs_that_differ_in_stages_share_their_front_half(device, monkeypatch):
    from smem_lint import model

    made = []
    build = model.build
    monkeypatch.setattr(model, "build", lambda *given: made.append(given) or build(*given))
    kept_by(tuned(kernels.matmul, [config(64, stages) for stages in (1, 2, 3, 4)]), arguments(), M=128, N=128)
    assert len(made) == 1


def test_what_was_answered_is_known_to_the_next_process(device, monkeypatch):
    from smem_lint import pruned, pruning

    sample = [config(64, 2), config(64, 3), config(128, 4), config(16, 1)]
    kept = kept_by(tuned(kernels.matmul, sample), arguments(), M=128, N=128)
    monkeypatch.setattr(pruned, "_KNOWN", {})
    monkeypatch.setattr(pruning, "_engine", None)  # nothing is asked
    assert kept_by(tuned(kernels.matmul, sample), arguments(), M=128, N=128) == kept == [sample[0], sample[1], sample[3]]


def test_another_limit_source_or_version_is_another_question(tmp_path):
    from smem_lint import pruned
    from smem_lint.engines import Estimate

    pruned.Answers("source", "3.8.0", 101_376).put("one", Estimate(90_000, 0, 100_000, False, "model"))
    assert pruned.Answers("source", "3.8.0", 101_376).get("one").upper == 100_000
    for told in (("changed", "3.8.0", 101_376), ("source", "3.7.1", 101_376), ("source", "3.8.0", 99_328)):
        assert pruned.Answers(*told).get("one") is None


@pytest.mark.parametrize("left", ["", "[]", "{}", '{"bytes": "1", "lower": 0, "upper": 1, "exact": true, "engine": "model"}', "\0"])
def test_what_is_no_answer_on_disk_is_asked_again(device, monkeypatch, tmp_path, left):
    from smem_lint import pruned

    sample = [config(64, 2), config(128, 4)]
    kept = kept_by(tuned(kernels.matmul, sample), arguments(), M=128, N=128)
    files = list((tmp_path / "cache").rglob("*.json"))
    assert len(files) == 2
    for file in files:
        file.write_text(left)
    monkeypatch.setattr(pruned, "_KNOWN", {})
    assert kept_by(tuned(kernels.matmul, sample), arguments(), M=128, N=128) == kept == sample[:1]


def test_an_answer_that_leaves_it_open_is_not_kept_on_disk(tmp_path, monkeypatch):
    from smem_lint import pruned
    from smem_lint.engines import Estimate

    pruned.Answers("source", "3.8.0", 101_376).put("one", Estimate(90_000, 0, 200_000, False, "model"))
    monkeypatch.setattr(pruned, "_KNOWN", {})
    assert pruned.Answers("source", "3.8.0", 101_376).get("one") is None


def test_a_folder_that_cannot_be_written_costs_nothing(device, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SMEM_LINT_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert kept_by(tuned(kernels.matmul, [config(64, 2), config(128, 4)]), arguments(), M=128, N=128) == [config(64, 2)]


def test_nothing_heavy_is_imported_before_it_is_called():
    heavy = {"triton", "torch", "libcst", "networkx", "matplotlib"}
    code = f"import smem_lint, sys; smem_lint.prune; print(sorted({heavy!r} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip() == "[]"
