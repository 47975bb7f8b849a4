"""``smem-lint server``, driven over its standard streams as an editor does.

Bytes: ``smem-lint check fixtures/kernels --engine compiler`` and the first test of tests/fixes/test_end_to_end.py, Triton 3.8.0.
"""

import importlib.util
import shutil
from pathlib import Path

import pytest

from smem_lint.cli import main

pytest.importorskip("pygls", reason="the server is the extra `lsp`")
_HERE = Path(__file__).parent


def _module(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


client = _module("editor_client", _HERE / "client.py")
gemm = _module("fixes_conftest", _HERE.parent / "fixes" / "conftest.py").gemm
KERNELS = _HERE.parents[1] / "fixtures" / "kernels"
TOO_MANY = "matmul[(1,)](a, b, c, 4096, 4096, 4096, 4096, M=128, N=128, BK=128, num_warps=4, num_stages=3)"
ENOUGH = TOO_MANY.replace("num_stages=3", "num_stages=2")


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.smem-lint]\n")
    return tmp_path


@pytest.fixture
def start(project):
    running = []

    def start(*arguments, **options):
        running.append(client.Client(project, *arguments, **options))
        return running[-1]

    yield start
    for one in running:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


def told(diagnostics):
    return [(one["code"], one["severity"], one["range"]["start"]["line"] + 1) for one in diagnostics]


def test_from_the_diagnostic_to_the_fix(project, start, capsys):
    shutil.copy(KERNELS / "mla_decode.py", project)
    editor = start()
    found = editor.opened("mla_decode.py")
    assert told(found) == [("SMEM001", 1, 82), ("SMEM002", 2, 82)]
    message = found[0]["message"]
    assert "102,400 bytes" in message and "101,376 a block: 1,024 too many" in message and "Fits: num_stages=1 (83,968 bytes)" in message
    assert found[0]["source"] == "smem-lint" and found[0]["codeDescription"]["href"].endswith("docs/rules/SMEM001.md")

    text = editor.hover("mla_decode.py", 81)
    assert "`_mla_decode_split` on sm_120, which has 101,376 bytes" in text
    assert "| 102,400 | **1,024 too many** |" in text and "| 63,488 | 37,888 to spare |" in text
    assert editor.hover("mla_decode.py", 0) is None

    fix, *silences = editor.actions("mla_decode.py", found[0])
    assert fix["title"] == "Fix SMEM001: 102,400 bytes of shared memory a block; 83,968 with num_stages=1"
    assert fix["kind"] == "quickfix" and fix["isPreferred"] and fix["diagnostics"][0]["code"] == "SMEM001"
    assert [one["title"] for one in silences] == ["Ignore SMEM001 on this line", "Ignore SMEM002 on this line"]
    before = (KERNELS / "mla_decode.py").read_text()
    edits = fix["edit"]["documentChanges"][0]
    assert edits["textDocument"] == {"uri": editor.uri("mla_decode.py"), "version": 1}
    after = client.applied(before, edits["edits"])
    assert editor.changed("mla_decode.py", after) == []
    assert (project / "mla_decode.py").read_text() == before, "the server writes nothing"
    assert editor.close() == 0 and not editor.errors

    assert main(["check", "--fix", "--engine", "model", "--no-cache", str(project / "mla_decode.py")]) == 0
    capsys.readouterr()
    assert (project / "mla_decode.py").read_text() == after, "the editor's fix is that of the command line"


def test_a_text_that_is_not_saved_is_what_counts(project, start):
    (project / "kernels.py").write_text(gemm(ENOUGH))
    editor = start()
    assert editor.opened("kernels.py") == []
    found = editor.changed("kernels.py", gemm(TOO_MANY))
    assert told(found) == [("SMEM001", 1, found[0]["range"]["start"]["line"] + 1)] and "131,072 bytes" in found[0]["message"]
    kernel_changed = gemm(TOO_MANY).replace("        acc = tl.dot(tl.load(pa), tl.load(pb), acc)\n", "        acc += tl.sum(tl.load(pa))\n")
    assert editor.changed("kernels.py", kernel_changed) == [], "the kernel, too, is taken from the text"
    broken = editor.changed("kernels.py", gemm("matmul[(1,)](a, b").rstrip() + "\n")
    assert [one["severity"] for one in broken] == [3] and "'(' was never closed" in broken[0]["message"]


def test_a_suppression_silences_what_it_names(project, start):
    (project / "kernels.py").write_text(gemm(TOO_MANY))
    editor = start()
    (found,) = editor.opened("kernels.py")
    silence = editor.actions("kernels.py", found)[-1]
    assert silence["title"] == "Ignore SMEM001 on this line"
    text = client.applied(gemm(TOO_MANY), silence["edit"]["documentChanges"][0]["edits"])
    assert f"{TOO_MANY}  # smem-lint: ignore[SMEM001]\n" in text
    assert editor.changed("kernels.py", text) == []


def test_an_entry_of_a_list_and_the_list_itself(project, start):
    decorator = '''@triton.autotune(
    configs=[
        triton.Config({"BK": 128}, num_warps=4, num_stages=3),
        triton.Config({"BK": 128}, num_warps=4, num_stages=2),
    ],
    key=["K"],
)
'''
    launch = "matmul[(1,)](a, b, c, 4096, 4096, 4096, 4096, M=128, N=128)"
    text = gemm(launch, decorator)
    (project / "kernels.py").write_text(text)
    lines = text.splitlines()
    first = next(index for index, line in enumerate(lines) if "num_stages=3" in line)
    editor = start()
    (found,) = editor.opened("kernels.py")
    assert found["code"] == "SMEM004" and found["range"]["start"]["line"] == first - 2
    over, fits = editor.hover("kernels.py", first), editor.hover("kernels.py", first + 1)
    assert "1 config: 1 overflows." in over and "| 131,072 | **29,696 too many** | `BK=128, num_warps=4, num_stages=3` |" in over
    assert "1 config: 1 fits." in fits and "| 65,536 | 35,840 to spare | `BK=128, num_warps=4, num_stages=2` |" in fits
    for line in (first - 2, lines.index(f"    {launch}")):
        whole = editor.hover("kernels.py", line)
        assert "2 configs: 1 fits, 1 overflows." in whole and "131,072" in whole and "65,536" in whole
    (everything,) = editor.actions("kernels.py", found, only=["source.fixAll"])
    assert everything["kind"] == "source.fixAll.smem-lint"
    fixed = client.applied(text, everything["edit"]["documentChanges"][0]["edits"])
    assert fixed == text.replace(f"{lines[first]}\n", "")


def test_a_fix_that_is_not_proved_is_offered_with_the_reason(project, start):
    one_stage = TOO_MANY.replace("BK=128", "BK=512").replace("num_stages=3", "num_stages=1")
    (project / "kernels.py").write_text(gemm(one_stage))
    editor = start()
    (found,) = editor.opened("kernels.py")
    fix = editor.actions("kernels.py", found)[0]
    assert fix["disabled"]["reason"] == "no smaller num_stages fits, or is known to: a smaller tile is needed" and not fix.get("edit")


@pytest.mark.parametrize(("encoding", "units"), [("utf-16", 16), ("utf-8", 21)])
def test_columns_are_counted_as_the_editor_asked(project, start, encoding, units):
    text = gemm(f"ä = '𝛼𝛼'; {TOO_MANY}")
    (project / "kernels.py").write_text(text, "utf8")
    editor = start(encodings=[encoding])
    assert editor.capabilities["positionEncoding"] == encoding
    (found,) = editor.opened("kernels.py")
    assert found["range"]["start"]["character"] == units


def test_saving_one_file_checks_the_others_again(project, start):
    (project / "sizes.py").write_text("STAGES = 2\n")
    text = gemm(TOO_MANY.replace("num_stages=3", "num_stages=STAGES"), above="from sizes import STAGES")
    (project / "kernels.py").write_text(text)
    editor = start()
    assert editor.opened("kernels.py") == [] == editor.opened("sizes.py")
    assert editor.changed("sizes.py", "STAGES = 3\n") == []
    (project / "sizes.py").write_text("STAGES = 3\n")
    editor.tell("textDocument/didSave", textDocument={"uri": editor.uri("sizes.py")})
    launch = next(number for number, line in enumerate(text.splitlines(), 1) if "num_stages=STAGES" in line)
    assert told(editor.diagnostics("kernels.py")) == [("SMEM001", 1, launch)]


def test_settings_that_cannot_be_used_are_told_in_the_text(project, start):
    (project / "kernels.py").write_text(gemm(TOO_MANY))
    editor = start()
    (project / "pyproject.toml").write_text('[tool.smem-lint]\ntarget = "sm_7"\n')
    (found,) = editor.opened("kernels.py")
    assert found["severity"] == 1 and "smem-lint cannot check this file" in found["message"] and "sm_7" in found["message"]


def test_a_target_of_the_command_line(project, start):
    (project / "kernels.py").write_text(gemm(TOO_MANY))
    assert start("--target", "H100").opened("kernels.py") == []


def test_notes_are_for_those_who_ask(project, start):
    near = TOO_MANY.replace("BK=128", "BK=64").replace("num_stages=3", "num_stages=4")  # 98,304 bytes
    (project / "kernels.py").write_text(gemm(near))
    assert start().opened("kernels.py") == []
    editor = start("--show-info")
    (note,) = [one for one in editor.opened("kernels.py") if one["code"] == "SMEM008"]
    assert note["severity"] == 3 and "3,072 of 101,376 bytes to spare" in note["message"]
    assert "Ignore SMEM008 on this line" in [one["title"] for one in editor.actions("kernels.py", note)]


def test_texts_that_are_no_files_are_left_alone(project, start):
    (project / "kernels.py").write_text(gemm(TOO_MANY))
    editor = start()
    document = {"uri": "untitled:Untitled-1", "languageId": "python", "version": 1, "text": gemm(TOO_MANY)}
    editor.tell("textDocument/didOpen", textDocument=document)
    assert told(editor.opened("kernels.py"))[0][0] == "SMEM001"
    assert editor.opened("new.py", gemm(TOO_MANY)) == []


def test_without_pygls_one_line_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["server"]) == 2
    assert capsys.readouterr().err == "smem-lint: error: the server needs pygls: pip install 'smem-lint[lsp]'\n"
