"""The progress line and the cache on disk."""

import io
import json

from smem_lint.cache import Cache, default_folder
from smem_lint.cli.progress import Progress, ticking


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_nobody_watches(monkeypatch):
    monkeypatch.setattr("sys.stderr", silent := io.StringIO())
    assert list(ticking([1, 2, 3], Progress("reading"))) == [1, 2, 3]
    assert silent.getvalue() == ""


def test_a_bar_that_goes_when_it_is_done(monkeypatch):
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    progress = Progress("reading")
    progress.shown = -1.0
    progress(1, 4)
    progress(2, 4)
    assert terminal.getvalue().startswith("\rreading [######..................] 1/4 ") and "2/4" not in terminal.getvalue()
    progress(4, 4)
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_the_cache_keeps_answers_and_out_of_the_way(tmp_path):
    cache = Cache(tmp_path / "c", "compiler")
    assert cache.get("abcd") is None and not (tmp_path / "c").exists()
    cache.put("abcd", {"shared": 3})
    assert cache.get("abcd") == {"shared": 3} and Cache(tmp_path / "c", "other").get("abcd") is None
    assert (tmp_path / "c" / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")
    assert (tmp_path / "c" / ".gitignore").read_text() == "*\n"


def test_a_broken_cache_is_no_cache(tmp_path):
    cache = Cache(tmp_path / "c", "compiler")
    cache.put("abcd", {"shared": 3})
    (file,) = (tmp_path / "c" / "compiler").rglob("*.json")
    for text in ("", "{", "[1]", "\x00"):
        file.write_text(text)
        assert cache.get("abcd") is None
    file.write_bytes(b"\xff")
    assert cache.get("abcd") is None
    (tmp_path / "file").write_text("")
    Cache(tmp_path / "file", "compiler").put("abcd", {})
    assert json.dumps(Cache(tmp_path / "file", "compiler").get("abcd")) == "null"


def test_where_the_cache_lies(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.delenv("SMEM_LINT_CACHE_DIR", raising=False)
    assert default_folder(tmp_path / "a" / "b") == tmp_path / ".smem_lint_cache"
    monkeypatch.setenv("SMEM_LINT_CACHE_DIR", "/somewhere")
    assert default_folder(tmp_path).as_posix() == "/somewhere"
