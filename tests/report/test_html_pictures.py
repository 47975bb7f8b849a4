"""The timeline and the plot within a page: what they show of the MLA fixture and of others, at which places."""

import itertools
import re
from pathlib import Path

import pytest

from smem_lint.cli import main
from smem_lint.devices import device
from smem_lint.engines import Buffer, Estimate, Loop
from smem_lint.explain import explain, peak
from smem_lint.report.html import render_explanation
from smem_lint.report.html_timeline import hatching, timeline
from smem_lint.specialization import Specialization

KERNELS = Path(__file__).parents[2] / "fixtures" / "kernels"


def page_of(folder, capsys, *arguments):
    file = folder / "page.html"
    assert main(["explain", *arguments, "--html", str(file)]) in (0, 1)
    capsys.readouterr()
    return file.read_text("utf8")


@pytest.fixture
def mla(tmp_path, capsys):
    return page_of(tmp_path, capsys, f"{KERNELS / 'mla_decode.py'}::_mla_decode_split", "--target", "sm_120,sm_90")


def wide(page, kind="timeline"):
    """The wide one of the first two pictures of a kind."""
    return re.search(rf'<div class="wide">(<svg [^>]*class="{kind}".*?</svg>)</div>', str(page), re.DOTALL)[1]


def rectangles(picture):
    """Number of the row: left, top, right, bottom of each bar."""
    found = {}
    for row, *numbers in re.findall(
        r'<title>\[(\d+)\][^<]*</title><rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"/>', picture
    ):
        x, y, width, height = map(float, numbers)
        found[int(row)] = x, y, x + width, y + height
    return found


def test_bars_stand_at_their_bytes(mla):
    bars = rectangles(wide(mla))
    edge = 22 + 32  # what is over the limit is drawn 32 pixels high, up to 22

    def y(offset):
        return 282 - offset / 101_376 * (282 - edge) if offset <= 101_376 else edge - (offset - 101_376) / 1024 * 32

    at = {1: (0, 32768), 2: (32768, 65536), 3: (65536, 81920), 4: (81920, 98304), 5: (98304, 100352), 6: (100352, 102400)}
    for row, (offset, end) in at.items():
        assert bars[row][1] == pytest.approx(y(end), abs=0.2) and bars[row][3] == pytest.approx(y(offset), abs=0.2)
    for one, other in itertools.combinations(bars.values(), 2):
        assert one[2] <= other[0] + 4 or other[2] <= one[0] + 4 or one[3] <= other[1] + 0.2 or other[3] <= one[1] + 0.2


def test_what_is_over_the_limit_is_seen_and_said(mla):
    picture = wide(mla)
    ((top, height),) = re.findall(r'<rect class="excess" x="[\d.]+" y="([\d.]+)" width="[\d.]+" height="([\d.]+)"/>', picture)
    assert (float(top), float(height)) == (22.0, 32.0)
    assert ">1,024 B over<" in picture and ">(drawn larger)<" in picture and ">limit of sm_120<" in picture and ">101,376 B<" in picture


def test_an_excess_that_is_large_is_drawn_to_scale(tmp_path, capsys):
    page = page_of(tmp_path, capsys, f"{KERNELS / 'fused_moe.py'}::fused_moe_kernel")
    picture = wide(page)
    heights = [float(one) for one in re.findall(r'<rect class="excess"[^>]* height="([\d.]+)"/>', picture)]
    assert heights == [pytest.approx(46_080 / 147_456 * 260, abs=0.1)]
    assert ">46,080 B over<" in picture and "drawn larger" not in picture


def test_the_peak_lasts_as_long_as_all_its_buffers_live(tmp_path, capsys):
    picture = wide(page_of(tmp_path, capsys, f"{KERNELS / 'fused_moe.py'}::fused_moe_kernel"))
    left, width = map(float, re.search(r'<rect class="peak-strip" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', picture).groups())
    begin, long = map(float, re.search(r'<rect class="strip" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', picture).groups())
    assert left < begin and begin + long < left + width, "the loop lies within the peak"
    assert ">loop, line 49<" in picture


def test_bars_and_rows_have_the_same_numbers(mla):
    titles = re.findall(r"<title>(\[\d+\][^<]*)</title>", wide(mla))
    assert "[4] staged 1 × 512×32 fp8e4nv, 16,384 B at 81,920, alive through the loop at line 39, line 44" in titles
    assert "[8] scratch layout conversion of 16×512 fp32, 32,768 B at 0, alive after the loop at line 39, line 61" in titles
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(<td class=\"row-number\".*?)</tr>", mla)]
    assert [row[0] for row in rows] == [f"[{number}]" for number in range(1, 12)]
    assert rows[3][1:3] == ["16,384", "81,920"] and rows[3][3].endswith("staged 1 × 512×32 fp8e4nv")
    assert rows[7][4] == "after the loop at line 39, in the bytes of [1]" and rows[8][4].endswith("in the bytes of [2]")
    assert not re.search(r"\dx\d", mla), "tiles are told with ×"


def test_the_kinds_of_bars_are_explained(mla):
    legend = re.search(r'<p class="legend">(.*?)</p>', mla)[1]
    told = re.findall(r'<span class="swatch (\w+)"></span>([^<]*)', legend)
    assert [name for name, _ in told] == ["staged", "operand", "scratch", "excess", "band", "dots"]
    assert told[0] == ("staged", "staged: filled by loads ahead of their use")
    labels = re.findall(r'<text class="inside on-(\w+)"[^>]*>([^<]*)<', wide(mla))
    assert ("staged", "[4] 16,384 B staged 1 × 512×32 fp8e4nv") in labels
    assert ("excess", "[6] 2,048 B staged 1 × 64×32 fp8e4nv") in labels


def test_the_plot_has_the_lines_and_the_limits_of_all_targets(mla):
    picture = wide(mla, "cliff")
    titles = re.findall(r"<title>([^<]*)</title>", picture)
    assert "kv_cache = *fp8e4nv, num_stages=2: 102,400 B, over the limit of some targets, this config" in titles
    assert "kv_cache = *fp8e4nv, num_stages=1: 83,968 B" in titles and "kv_cache = *bf16, num_stages=2: 63,488 B" in titles
    told = re.findall(r'<text class="limit-text[^>]*><title>[^<]*</title>([^<]*)<', picture)
    assert told == ["sm_120", "101,376 B", "sm_90", "232,448 B"] and "– –" not in mla
    assert "over the limit of sm_120 alone" in mla and 'title="sm_120 (RTX PRO 6000, RTX PRO 5000)"' in mla


class Engine:
    name = "fake"

    def estimate(self, specializations):
        return (Estimate(200_000, 200_000, 200_000, True, "fake") for _ in specializations)


def test_where_nothing_fits_the_page_says_so():
    found = explain(Engine(), Specialization("a.py", "k", {"x": "*bf16"}, {}, num_stages=2), device("sm_120"))
    page = render_explanation(found, (), "1.0")
    assert "<h2>What would fit</h2><p>None of these fits sm_120: sweep a block size, e.g. BLOCK_N=64,32,16.</p>" in page


def drawn(limit, size=200_000, loops=(), more=()):
    buffers = (Buffer(0, size, "staged", "local_alloc", "3 x 128x256 bf16", start=0, end=40), *more)
    estimate = Estimate(size, size, size, True, "model", buffers, loops=loops)
    numbers = {one: index for index, one in enumerate(buffers, 1)}
    return wide(timeline(estimate, peak(estimate), numbers, limit, "sm_120")[1])


@pytest.mark.parametrize("limit", [97_000, 100_000, 104_000, 150_000, 199_000, 210_000])
def test_neither_the_limit_nor_the_peak_strikes_a_label_through(limit):
    picture = drawn(limit)
    across = float(re.search(r'class="limit"[^>]* y1="([\d.]+)"', picture)[1])
    x, y, told = re.search(r'<text class="inside[^>]* x="([\d.]+)" y="([\d.]+)">([^<]*)<', picture).groups()
    assert told == "[1] 200,000 B staged 3 × 128×256 bf16"
    assert float(y) < across - 2 or float(y) - 9 > across
    for line in re.findall(r'class="peak" x1="([\d.]+)"', picture):
        assert not float(x) < float(line) < float(x) + 6.5 * len(told)


def test_a_limit_far_above_is_told_and_not_drawn():
    picture = drawn(101_376, size=16_384)
    assert 'class="limit"' not in picture and ">limit of sm_120: 101,376 B, above this picture<" in picture


def test_nested_loops_stand_below_each_other():
    picture = drawn(None, loops=(Loop(2, 38, 9), Loop(10, 30, 12)))
    strips = [tuple(map(float, one)) for one in re.findall(r'<rect class="strip" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"', picture)]
    (outer, high, wide_one), (inner, low, narrow) = strips
    assert outer < inner and inner + narrow < outer + wide_one and low - high == 9


def test_hatching_stays_within_its_box():
    lines = re.findall(r"M([\d.-]+),([\d.-]+)L([\d.-]+),([\d.-]+)", hatching((10, 20, 50, 40)))
    assert len(lines) == 10
    for x0, y0, x1, y1 in (map(float, one) for one in lines):
        assert 10 <= x0 < x1 <= 50 and 20 <= y1 < y0 <= 40 and x1 - x0 == pytest.approx(y0 - y1)
