"""``smem-lint env``: what is missing is said and breaks nothing; nothing secret is shown; torch and Triton stay unimported."""

import json
import subprocess
import sys

from smem_lint import environment
from smem_lint.cli import main


def test_json_has_every_field_and_an_ordinary_exit(capsys):
    assert main(["env", "--output-format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told) >= {"gpus", "driver", "cuda_driver", "cuda_torch", "packages", "python", "os", "variables", "notes"}
    assert told["python"].startswith(".".join(map(str, sys.version_info[:3])))
    assert {"torch", "triton", "vllm", "sglang", "flashinfer-python"} <= set(told["packages"])


def test_text_names_what_is_missing(monkeypatch, capsys):
    monkeypatch.setattr(environment, "_run", lambda command: None)
    monkeypatch.setattr(environment.importlib.metadata, "version", _no_package)
    assert main(["env"]) == 0
    told = capsys.readouterr().out
    assert "GPU: none found (no GPU: libcuda could not be loaded or did not answer)" in told
    assert "vllm: not installed" in told


def _no_package(name):
    raise environment.importlib.metadata.PackageNotFoundError(name)


def test_a_gpu_as_the_driver_tells_it(monkeypatch):
    answer = {"cuda": 13000, "error": 0, "gpus": [
        {"name": "NVIDIA GB10", "capability": [12, 1], "optin": 101376, "per_sm": 102400, "multiprocessors": 48, "memory": 128 << 30},
    ]}  # fmt: skip
    monkeypatch.setattr(environment, "_run", lambda command: "warning\n" + json.dumps(answer) + "\n")
    found = environment.environment({})
    assert (found.cuda_driver, found.gpus[0].capability, found.gpus[0].optin) == ("13.0", "12.1", 101376)


def test_a_driver_that_answers_nonsense(monkeypatch):
    for answer in ("", "{", "[]", "Segmentation fault", "\0"):
        monkeypatch.setattr(environment, "_run", lambda command, answer=answer: answer)
        assert environment.environment({}).gpus == []


def test_only_listed_variables_shortened_and_without_secrets():
    given = {
        "HF_TOKEN": "hf_abcdefghijk", "VLLM_API_KEY": "sk-abcdefghijk", "AWS_SECRET_ACCESS_KEY": "x", "CUDA_VISIBLE_DEVICES": "0,1",
        "TRITON_CACHE_DIR": "/home/jane/cache", "HOME": "/home/jane", "TRITON_PTXAS_PATH": "https://jane:pw@host/ptxas",
        "TORCH_CUDA_ARCH_LIST": "9.0 " * 100, "VLLM_ATTENTION_BACKEND": "FLASHINFER\x1b[2J", "TRITON_DEBUG": "hf_abcdefghijk",
    }  # fmt: skip
    shown = environment.shown(given)
    assert shown["CUDA_VISIBLE_DEVICES"] == "0,1"
    assert shown["TRITON_CACHE_DIR"] == "~/cache"
    assert len(shown["TORCH_CUDA_ARCH_LIST"]) == 80
    assert shown["VLLM_ATTENTION_BACKEND"] == "FLASHINFER?[2J"
    assert shown["TRITON_DEBUG"] == "***"
    assert not any(secret in json.dumps(shown) for secret in ("abcdefghijk", "pw@", "jane", "HF_TOKEN", "API_KEY", "AWS"))


def test_neither_torch_nor_triton_is_imported():
    code = "import sys; from smem_lint.cli import main; main(['env']); sys.exit(bool({'torch', 'triton'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0
