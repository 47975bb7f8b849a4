"""``smem-lint compare``: an engine that answers at once (BLOCK * stages * 1,024 bytes), and the MLA decode fixture by the model."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from smem_lint.cli import main
from smem_lint.comparison import match_kernels
from smem_lint.engines import Estimate

FIXTURE = Path(__file__).parents[2] / "fixtures" / "kernels" / "mla_decode.py"
KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def {name}(x{more}, BLOCK: tl.constexpr):
    {doc}
    rows = tl.arange(0, BLOCK)
    value = tl.load(x + rows)
    value = value * 2.0
    tl.store(x + rows, value + {value})
"""
LAUNCH = """\
import triton
from {module} import {name}


def run(x):
    {name}[(1,)](x, {more}BLOCK={block}, num_stages={stages})
"""


class FakeEngine:
    name = "fake"

    def estimate(self, specializations):
        return (Estimate(n := one.constexprs["BLOCK"] * one.num_stages * 1024, n, n, True, "fake") for one in specializations)


def tree(folder, *, module="kernels", name="kernel", block=32, stages=2, more="", doc='"""A kernel."""', value="1.0", extra=""):
    path = folder / f"{module.replace('.', '/')}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(KERNEL.format(name=name, more=", y" if more else "", doc=doc, value=value))
    (folder / "launch.py").write_text(LAUNCH.format(module=module, name=name, block=block, stages=stages, more=more) + extra)


@pytest.fixture
def compare(tmp_path, monkeypatch, capsys):
    """Compare two small trees: (exit code, the JSON), or with a format the text."""
    monkeypatch.setattr("smem_lint.cli.compare.engine_of", lambda *_, **__: FakeEngine())
    monkeypatch.chdir(tmp_path)

    def run(old, new, form="json"):
        for name, given in (("old", old), ("new", new)):
            shutil.rmtree(tmp_path / name, ignore_errors=True)
            (tmp_path / name).mkdir()
            tree(tmp_path / name, **given)
        code = main(["compare", "old", "new", "--output-format", form])
        out = capsys.readouterr().out
        return code, json.loads(out) if form == "json" else out

    return run


def rows(found):
    return [(one["before"], one["after"], one["changed"], one["new_overflow"]) for kernel in found["kernels"] for one in kernel["configs"]]


def test_what_is_equal_is_equal(compare):
    code, found = compare({}, {"doc": '"""Another docstring."""'})
    assert code == 0 and rows(found) == [(65_536, 65_536, [], False)]
    assert found["summary"] == {**dict.fromkeys(found["summary"], 0), "unchanged": 1, "kernels": 1}


def test_a_new_overflow_ends_with_1(compare):
    code, found = compare({"stages": 3}, {"stages": 4})
    assert code == 1 and rows(found) == [(98_304, 131_072, ["num_stages 3 → 4"], True)]
    assert found["summary"]["new_overflows"] == 1 and found["targets"] == ["sm_120"]
    assert compare({"stages": 4}, {"stages": 3})[0] == 0, "one that goes is none that comes"
    assert compare({"stages": 4}, {"stages": 5})[0] == 0, "what overflowed before is not new"


def test_what_overflowed_before_is_still_told(compare):
    assert "65,536 over" not in compare({"stages": 3}, {"stages": 2}, "text")[1]
    assert "sm_120, still 62,464 over" in compare({"stages": 4}, {"stages": 5}, "text")[1]


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A git repository with two commits: three stages, then four; the second one also has a link out of the repository."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    monkeypatch.setattr("smem_lint.cli.compare.engine_of", lambda *_, **__: FakeEngine())

    def git(*arguments):
        named = ["-c", "user.name=x", "-c", "user.email=x@y", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *named, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    for stages in (3, 4):
        (tmp_path / "src").mkdir(exist_ok=True)
        tree(tmp_path / "src", stages=stages)
        if stages == 4:
            (tmp_path / "src" / "out.py").symlink_to("/etc/passwd")
        git("add", "-A")
        git("commit", "-qm", str(stages))
    git("tag", "four")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("old", "new"), [("HEAD~1", "four"), ("main~1", "."), ("HEAD~1:src", "src"), ("HEAD~1", "src/launch.py")])
def test_two_revisions(repository, capsys, old, new):
    assert main(["compare", old, new, "--output-format", "json"]) == 1
    assert rows(json.loads(capsys.readouterr().out)) == [(98_304, 131_072, ["num_stages 3 → 4"], True)]
    assert main(["compare", new, old]) == 0
    assert not subprocess.run(["git", "status", "--porcelain"], cwd=repository, capture_output=True).stdout


def test_revisions_have_their_names(repository, capsys):
    main(["compare", "HEAD~1", "four", "--output-format", "markdown"])
    assert capsys.readouterr().out.startswith("### Shared memory: HEAD\\~1 → four\n")


@pytest.mark.parametrize("name", ["HEAD~5", "nothing", "--upload-pack=x", "HEAD:gone", "HEAD~1:../x"])
def test_what_is_neither_path_nor_revision_is_refused(repository, capsys, name):
    assert main(["compare", "four", "--", name] if name.startswith("-") else ["compare", "four", name]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"smem-lint: error: {name}: ") and told.count("\n") == 1


def test_a_block_that_changed_is_the_same_config(compare):
    code, found = compare({"block": 16}, {"block": 64})
    assert code == 1 and rows(found) == [(32_768, 131_072, ["BLOCK 16 → 64"], True)]


def test_configs_appear_and_disappear(compare):
    more = "\n\ndef again(x):\n    kernel[(1,)](x, BLOCK=64, num_stages=2)\n"
    code, found = compare({}, {"extra": more})
    assert code == 1 and rows(found) == [(65_536, 65_536, [], False), (None, 131_072, [], True)]
    code, found = compare({"extra": more}, {})
    assert code == 0 and rows(found) == [(65_536, 65_536, [], False), (131_072, None, [], False)]


def test_a_parameter_more_does_not_make_another_config(compare):
    code, found = compare({}, {"more": "x, "})
    assert code == 0 and rows(found) == [(65_536, 65_536, [], False)]


@pytest.mark.parametrize(
    ("new", "to"),
    [
        ({"name": "renamed"}, {"file": "kernels.py", "kernel": "renamed"}),
        ({"module": "moved"}, {"file": "moved.py", "kernel": "kernel"}),
        ({"module": "moved", "name": "renamed"}, {"file": "moved.py", "kernel": "renamed"}),
        ({"module": "moved", "value": "2.0"}, {"file": "moved.py", "kernel": "kernel"}),
        ({"name": "renamed", "value": "2.0"}, {"file": "kernels.py", "kernel": "renamed"}),
    ],
)
def test_kernels_that_moved_or_were_renamed_are_found(compare, new, to):
    code, found = compare({}, new)
    (kernel,) = found["kernels"]
    assert (kernel["old"], kernel["new"]) == ({"file": "kernels.py", "kernel": "kernel"}, to)
    assert code == 0 and found["summary"]["unchanged"] == found["summary"]["kernels_moved"] == 1


def test_another_kernel_is_another_kernel(compare):
    code, found = compare({}, {"module": "moved", "name": "renamed", "value": "2.0"})
    assert code == 0 and (found["summary"]["kernels_new"], found["summary"]["kernels_gone"]) == (1, 1)


def test_twins_are_not_taken_for_one_another():
    """Two kernels of equal text and another file's copy: which became which is not known."""
    assert match_kernels({("a.py", "k"): "t", ("b.py", "l"): "t"}, {("c.py", "m"): "t"}) == {}
    assert match_kernels({("a.py", "k"): "t", ("b.py", "l"): "t"}, {("c.py", "k"): "t", ("b.py", "l"): "u"}) == {
        ("b.py", "l"): ("b.py", "l"), ("a.py", "k"): ("c.py", "k"),
    }  # fmt: skip


def test_unresolved_configs_are_counted(compare):
    _, found = compare({}, {"stages": "unknown_name"})
    assert found["kernels"][0]["unresolved"] == {"old": 0, "new": 1}


def test_a_caught_failure_is_no_overflow(compare, tmp_path, capsys):
    compare({}, {})
    guarded = (tmp_path / "new" / "launch.py").read_text().replace("num_stages=2", "num_stages=9")
    guarded = guarded.replace("    kernel[", "    try:\n        kernel[") + "    except triton.runtime.OutOfResources:\n        pass\n"
    (tmp_path / "new" / "launch.py").write_text(guarded)
    assert main(["compare", "old", "new"]) == 0


def test_text(compare):
    code, text = compare({"stages": 3}, {"stages": 4, "name": "renamed"}, "text")
    assert code == 1 and text.splitlines() == [
        "old → new",
        "1 new overflow, 0 unchanged: 1 kernel on sm_120",
        "  renamed: kernel → renamed (kernels.py)",
        "! renamed [num_stages 3 → 4]: 98,304 → 131,072 bytes (+32,768), 29,696 over the 101,376 of sm_120",
    ]


def test_markdown_is_a_table_whatever_the_source_holds(compare):
    code, text = compare({"stages": 3}, {"stages": 4}, "markdown")
    assert code == 1 and text.splitlines()[:7] == [
        "### Shared memory: old → new",
        "",
        "❌ 1 new overflow, 0 unchanged: 1 kernel on sm_120",
        "",
        "| | kernel | config | before | after | change | |",
        "|---|---|---|--:|--:|--:|---|",
        "| ❌ | `kernel` | **num\\_stages 3 → 4** | 98,304 | **131,072** | +32,768 | 29,696 over the 101,376 of sm_120 |",
    ]
    from smem_lint.report.comparison import _code, _escaped

    assert _code("a|b`c\nd") == "`` a\\|b`c d ``" and _escaped("<img>_*") == "\\<img\\>\\_\\*"


def test_two_revisions_of_a_file_and_what_tells_the_config(tmp_path, monkeypatch, capsys):
    """One stage more for all: only an fp8 cache of 512 elements overflows (102,400 bytes, as Triton 3.8.0 allocates)."""
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        shutil.copy(FIXTURE, tmp_path / name)
    path = tmp_path / "old" / FIXTURE.name
    path.write_text(path.read_text().replace("    num_stages = 2\n", "    num_stages = 1\n", 1))
    monkeypatch.chdir(tmp_path)
    arguments = ["compare", f"old/{FIXTURE.name}", f"new/{FIXTURE.name}", "--engine", "model"]
    assert main(arguments) == 1
    text = capsys.readouterr().out
    assert "moved" not in text and text.count("!") == 1
    assert "! _mla_decode_split [kv_cache=*fp8e4nv, LATENT=512, num_stages 1 → 2]: 83,968 → 102,400 bytes (+18,432), 1,024 over" in text


def test_bad_paths(capsys):
    assert main(["compare", "nowhere", "."]) == 2 and "nowhere: no such file" in capsys.readouterr().err


def test_what_both_trees_have_is_estimated_once(tmp_path, monkeypatch, capsys):
    asked = []

    class Counting(FakeEngine):
        def estimate(self, specializations):
            wanted = list(specializations)
            asked.extend((one.kernel, one.num_stages) for one in wanted)
            return super().estimate(wanted)

    monkeypatch.setattr("smem_lint.cli.compare.engine_of", lambda *_, **__: Counting())
    for name, value in (("old", "1.0"), ("new", "1.0"), ("other", "2.0")):
        (tmp_path / name).mkdir()
        tree(tmp_path / name, stages=2, value=value)
    assert main(["compare", str(tmp_path / "old"), str(tmp_path / "new")]) == 0
    assert asked == [("kernel", 2)]
    assert main(["compare", str(tmp_path / "old"), str(tmp_path / "other")]) == 0
    assert asked == [("kernel", 2)] * 3
    capsys.readouterr()
