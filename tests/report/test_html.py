"""Pages without a browser: one file, nothing from outside, everything from linted code escaped."""

import base64
import hashlib
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import hostile
import pytest

from smem_lint.cli import main
from smem_lint.findings import Report
from smem_lint.report.html import render_explanation, render_page
from smem_lint.report.html_tags import Safe, tag

PAGES = {
    "check": lambda: render_page(hostile.report(), "1.0"),
    "explain": lambda: render_explanation(hostile.explanation(), hostile.LINES, "1.0", [hostile.explanation()]),
}


class Reader(HTMLParser):
    """Elements and attributes of a page; every element that is opened is closed."""

    VOID = ("meta", "input", "br")

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.open, self.text = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, name, attributes):
        self.tags.append(name)
        self.attributes += [(name, *one) for one in attributes]
        if name not in self.VOID:
            self.open.append(name)

    def handle_startendtag(self, name, attributes):
        self.tags.append(name)
        self.attributes += [(name, *one) for one in attributes]

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, text):
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text.append(text)


@pytest.fixture(params=PAGES)
def page(request):
    return PAGES[request.param]()


def test_what_comes_from_linted_code_is_text(page):
    read = Reader(page)
    assert read.tags.count("script") == read.tags.count("style") == 1 and "img" not in read.tags
    assert not [one for one in read.attributes if one[1].startswith("on")]
    assert hostile.ATTACK in "".join(read.text)


def test_marks_that_turn_text_or_steer_a_terminal_are_spelled(page):
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200e\u200f\x1b]", page)
    assert "safe\\u202egnp.exe\\u200f\\x1b[31m\\udcff" in page
    page.encode("utf8")


def test_nothing_comes_from_outside(page):
    read = Reader(page)
    assert not [one for one in read.attributes if one[1] in ("src", "href", "xlink:href", "action", "srcset", "data")]
    body = page.replace("document.title", "")
    assert "http:" not in body and "https:" not in body and "@import" not in body and "url(" not in body


def test_only_our_script_may_run(page):
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = [value for name, key, value in Reader(page).attributes if (name, key) == ("meta", "content") and "default-src" in value]
    assert "default-src 'none'" in policy and f"script-src 'sha256-{digest}'" in policy


def test_the_same_report_makes_the_same_page():
    assert PAGES["check"]() == PAGES["check"]() and PAGES["explain"]() == PAGES["explain"]()


def test_a_timeline_shows_each_buffer_where_it_lies():
    page = PAGES["check"]()
    titles = re.findall(r"<title>([^<]*)</title>", page)
    assert any("65,536 B at 0, alive through the loop at line 9, line 10" in title for title in titles)
    assert any("49,152 B at 65,536, alive within the loop at line 9, line 12" in title for title in titles)
    assert any(title.endswith(", num_stages=2: 114,688 B, over the limit, this config") for title in titles)
    assert any(title.endswith(", num_stages=1: 57,344 B") for title in titles)


def test_an_empty_report():
    read = Reader(render_page(Report(targets=("sm_120",), statistics={"configs": 0, "kernels": 0}), "1.0"))
    assert "Nothing was found." in read.text


def test_a_file_with_such_a_name_is_linted(tmp_path, capsys):
    """From the command line on: the MLA fixture under a name that is made of markup and turns the direction of text."""
    name = "<script>alert(1)<img src=x onerror='a'>\"&\u202e.py"
    shutil.copy(Path(__file__).parents[2] / "fixtures" / "kernels" / "mla_decode.py", tmp_path / name)
    assert main(["check", str(tmp_path), "--engine", "model", "--html", str(tmp_path / "page.html")]) == 1
    page = (tmp_path / "page.html").read_text("utf8")
    read = Reader(page)
    assert "img" not in read.tags and read.tags.count("script") == 1 and "\u202e" not in page
    assert "<script>alert(1)<img src=x onerror='a'>\"&\\u202e.py:82" in read.text
    titles = re.findall(r"<title>([^<]*)</title>", page)
    assert any("16,384 B at 81,920, alive through the loop at line 39, line 44" in title for title in titles)
    told = "queries = *bf16, kv_cache = *fp8e4nv, partial, cache_scale = *fp32, num_stages"
    assert f"{told}=2: 102,400 B, over the limit, this config" in titles and f"{told}=1: 83,968 B" in titles
    assert main(["explain", f"{tmp_path / name}::_mla_decode_split", "--html", str(tmp_path / "other.html")]) == 1
    assert Reader((tmp_path / "other.html").read_text("utf8")).tags.count("script") == 1
    assert "\u202e" not in capsys.readouterr().out


def test_tags():
    assert tag("a", "<", Safe("<b>"), None, ["x", 3], class_="y&", data_of='"', hidden=True, id=None) == (
        '<a class="y&amp;" data-of="&quot;" hidden>&lt;<b>x3</a>'
    )
    assert tag("line", x1=0) == '<line x1="0"/>' and tag("input", type="text") == '<input type="text">'
