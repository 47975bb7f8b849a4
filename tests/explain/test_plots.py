"""``--plot``: which lines there are and what they are called, whose limit judges them, and that no label covers another."""

import itertools
import math
import re
import warnings
from pathlib import Path

import pytest

from smem_lint.cli import main
from smem_lint.report.chart import Sheet, chart
from smem_lint.report.curves import curves_of

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "fixtures" / "kernels"
MLA = f"{KERNELS / 'mla_decode.py'}::_mla_decode_split"
MOE = f"{KERNELS / 'fused_moe.py'}::fused_moe_kernel"
SOFTMAX = f"{KERNELS / 'softmax.py'}::online_softmax_kernel"
BACKWARD = f"{KERNELS / 'flash_attention_backward.py'}::_bwd_dkdv"
SWEPT_MOE = (MOE, "a_ptr,b_ptr=*fp8e4nv,*bf16", "BLOCK_SIZE_N=256,128,64", "BLOCK_SIZE_K=128,64", "--target", "sm_120,sm_90")
MANY_STAGES = (MLA, f"num_stages={','.join(map(str, range(1, 65)))}", "--target", "sm_120,sm_90,sm_80")
FOUR_TYPES = (MLA, "queries=*bf16,*fp16,*fp32,*fp8e4nv", "BLOCK_N=32,64", "--target", "sm_120,sm_90,sm_80")
CASES = {
    "base": (MLA,), "targets": (MLA, "--target", "sm_120,sm_90"), "many lines": SWEPT_MOE, "many stages": MANY_STAGES,
    "four types": FOUR_TYPES, "rising": (MOE,), "far limit": (SOFTMAX, "BLOCK=1024", "--target", "sm_75,sm_90"),
    "backward": (BACKWARD, "--target", "sm_120,sm_90,sm_80"),
}  # fmt: skip


_FOUND = {}


@pytest.fixture
def explained(monkeypatch, tmp_path, capsys):
    """``explained(arguments)``: the explanations that a plot is drawn from, worked out once for all tests."""

    def ask(arguments):
        if arguments not in _FOUND:
            with monkeypatch.context() as patched:
                patched.setattr("smem_lint.report.plot.plot", lambda found, file: _FOUND.update({arguments: found}))
                assert main(["explain", *arguments, "--plot", str(tmp_path / "x.svg")]) in (0, 1)
            assert capsys.readouterr().err == ""
        return _FOUND[arguments]

    return ask


@pytest.fixture
def drawn(monkeypatch, tmp_path, capsys, explained):
    """``drawn(arguments)``: the figure."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra report)")

    def ask(arguments):
        from smem_lint.report.plot import plot

        kept = {}
        found = explained(arguments)
        monkeypatch.setattr("smem_lint.report.plot.save", lambda figure, file: kept.update(figure=figure))
        plot(found, tmp_path / "x.svg")
        assert capsys.readouterr().err == ""
        return kept["figure"]

    return ask


def values(found):
    return {one.label: {point.stages: point.bytes for point in one.points} for one in curves_of(found)}


def marks(found):
    return {one.label: {point.stages: point.over for point in one.points} for one in curves_of(found)}


def test_one_line_for_each_combination_of_types_that_is_launched(explained):
    assert values(explained((MLA, "num_stages=1,2"))) == {
        "kv_cache = *bf16": {1: 59392, 2: 63488}, "kv_cache = *fp8e4nv": {1: 83968, 2: 102400},
    }  # fmt: skip
    moe = {label: points[4] for label, points in values(explained((MOE,))).items()}
    assert moe == {"a_ptr, b_ptr = *fp8e4nv": 147456, "a_ptr, b_ptr = *bf16": 294912, "a_ptr = *bf16, b_ptr = *i8": 196608}


def test_a_launch_that_is_named_by_its_line_has_the_same_lines(explained):
    place = f"{KERNELS / 'mla_decode.py'}:82"
    assert values(explained((place, "num_stages=2,1"))) == {
        "kv_cache = *fp8e4nv": {1: 83968, 2: 102400}, "kv_cache = *bf16": {1: 59392, 2: 63488},
    }  # fmt: skip


def test_types_that_a_person_gave_stay(explained):
    ((label, points),) = values(explained((MLA, "kv_cache=*bf16"))).items()
    assert label == "queries, kv_cache = *bf16, partial, cache_scale = *fp32" and points[2] == 63488


def test_a_lone_line_is_called_by_its_types(explained):
    assert list(values(explained((SOFTMAX, "BLOCK=1024")))) == ["output_ptr, input_ptr = *bf16"]


def test_labels_say_all_that_varies(explained):
    found = values(explained((MLA, "kv_cache=*bf16,*fp8e4nv", "BLOCK_N=32,64", "num_stages=1,2")))
    assert found == {
        "kv_cache = *bf16, BLOCK_N = 32": {1: 59392, 2: 63488}, "kv_cache = *fp8e4nv, BLOCK_N = 32": {1: 83968, 2: 102400},
        "kv_cache = *bf16, BLOCK_N = 64": {1: 92160, 2: 100352},
    }  # fmt: skip
    swept = values(explained((MLA, "BLOCK_N=16,32", "num_stages=2,1")))
    assert swept["BLOCK_N = 16, kv_cache = *fp8e4nv"][2] == 60416 and swept["BLOCK_N = 16, kv_cache = *bf16"][2] < 63488


def test_each_line_is_judged_by_its_own_target(explained):
    found = explained(SWEPT_MOE)
    limits = {one.device.target: one.device.optin for one in found}
    assert limits == {"sm_120": 101_376, "sm_90": 232_448}
    for label, points in values(found).items():
        own = re.findall(r"sm_\d+", label)
        for stages, taken in points.items():
            over = [taken > limits[target] for target in own]
            assert marks(found)[label][stages] == ("all" if all(over) else "some" if any(over) else ""), (label, stages)
    fits = "a_ptr, b_ptr = *fp8e4nv, BLOCK_SIZE_N = 256, BLOCK_SIZE_K = 128 (sm_90)"
    assert values(found)[fits][4] == 196608 and marks(found)[fits] == {1: "", 2: "", 3: "", 4: "", 5: "all"}


def test_a_line_of_two_targets_is_marked_where_it_is_over_the_limit_of_one(explained):
    found = marks(explained((MLA, "num_stages=1,2", "--target", "sm_120,sm_90")))
    assert found["kv_cache = *fp8e4nv"] == {1: "", 2: "some"} and found["kv_cache = *bf16"] == {1: "", 2: ""}
    assert marks(explained((MLA, "kv_cache=*fp8e4nv", "num_stages=1,2"))).popitem()[1] == {1: "", 2: "all"}


@pytest.mark.parametrize("case", CASES)
def test_no_two_lines_look_alike(explained, case):
    looks = [(one.color, one.style) for one in curves_of(explained(CASES[case]))]
    assert looks and len(set(looks)) == len(looks)


@pytest.mark.parametrize("width", [360, 720])
@pytest.mark.parametrize("case", CASES)
def test_no_label_covers_a_label_a_line_or_a_mark(explained, case, width):
    found = explained(CASES[case])
    limits = [(one.device.target, one.device.optin) for one in found]
    made = chart(curves_of(found), limits, Sheet(width, 320, 60, 80, 22, 40, 10.5))
    left, _, right, bottom = made.sheet.frame
    for one in made.labels:
        assert left < one.box[0] and one.box[2] < right and one.box[3] < bottom and one.box[1] > 0
        for spots, marked, curve in zip(made.spots, made.marked, made.curves, strict=True):
            for point, (x, y) in zip(curve.points, spots, strict=True):
                assert point.stages not in marked or not inside((x, y), one.box)
            for start, end in itertools.pairwise(spots):
                steps = [(start[0] + (end[0] - start[0]) * part / 50, start[1] + (end[1] - start[1]) * part / 50) for part in range(51)]
                assert not any(inside(step, one.box) for step in steps)
        assert not any(one.box[1] < limit.y < one.box[3] for limit in made.limits)
    for one, other in itertools.combinations(made.labels, 2):
        assert one.box[2] <= other.box[0] or other.box[2] <= one.box[0] or one.box[3] <= other.box[1] or other.box[3] <= one.box[1]
    for one, other in itertools.combinations(made.limits, 2):
        assert abs(one.label_y - other.label_y) >= 2.5 * made.sheet.text - 1e-9
    ticks = [x for x, _ in made.x_ticks]
    assert all(after - before > 1.3 * made.sheet.text for before, after in itertools.pairwise(ticks))


def inside(point, box):
    return box[0] < point[0] < box[2] and box[1] < point[1] < box[3]


def test_every_point_of_few_lines_has_its_bytes(explained):
    found = explained((MLA,))
    made = chart(curves_of(found), [("sm_120", 101_376)], Sheet(620, 400, 66, 88, 42, 78, 8))
    assert sorted(int(one.text.replace(",", "")) for one in made.labels) == sorted(
        point.bytes for one in made.curves for point in one.points
    )
    for label in made.labels:
        spots = [
            spot
            for one, own in zip(made.curves, made.spots, strict=True)
            for point, spot in zip(one.points, own, strict=True)
            if f"{point.bytes:,}" == label.text
        ]
        assert min(math.dist((label.x, label.y), spot) for spot in spots) < 30


def test_many_stages_are_thinned_out(explained):
    made = chart(curves_of(explained(MANY_STAGES)), [("sm_120", 101_376)], Sheet(620, 400, 66, 88, 42, 78, 8))
    assert [text for _, text in made.x_ticks] == ["1", *(str(number) for number in range(5, 64, 5)), "64"]
    fp8, bf16 = (dict(zip((point.stages for point in one.points), one.points, strict=True)) for one in made.curves)
    assert fp8[1].bytes == 83968 and fp8[2].bytes == 102400 and 2 in made.marked[0] and 3 not in made.marked[0]
    assert len(made.marked[1]) < 20 and bf16[1].bytes == 59392


def test_the_figure_has_the_lines_the_limits_and_the_marks(drawn):
    figure = drawn((MLA, "kv_cache=*bf16,*fp8e4nv", "num_stages=1,2", "--target", "sm_120,sm_90"))
    (axes,) = figure.axes
    across = sorted(line.get_ydata()[0] for line in axes.lines if line.get_label().startswith("_"))
    assert across == [101_376, 232_448] and axes.get_ylim()[1] > 232_448
    lines = {line.get_label(): list(line.get_ydata()) for line in axes.lines if not line.get_label().startswith("_")}
    assert lines == {"kv_cache = *bf16": [59392, 63488], "kv_cache = *fp8e4nv": [83968, 102400]}
    told = [text.get_text() for text in axes.texts]
    assert {"sm_120", "101,376 B", "sm_90", "232,448 B", "102,400", "83,968", "63,488", "59,392"} <= set(told)
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["kv_cache = *bf16", "kv_cache = *fp8e4nv", "over the limit of sm_120 alone", "this config"]


@pytest.mark.parametrize("case", CASES)
def test_nothing_in_a_figure_covers_anything_else(drawn, case):
    """By the extents that the font really has."""
    figure = drawn(CASES[case])
    renderer = figure.canvas.get_renderer()
    figure.draw(renderer)
    (axes,) = figure.axes
    texts = [*axes.texts, axes.title, axes.xaxis.label, axes.yaxis.label, *axes.get_xticklabels(), *axes.get_yticklabels()]
    texts += figure.legends[0].get_texts()
    boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in texts if text.get_text()]
    assert len(boxes) > 10
    width, height = figure.bbox.width, figure.bbox.height
    for told, box in boxes:
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height, told
    for (told, one), (other_told, other) in itertools.combinations(boxes, 2):
        assert one.x1 <= other.x0 or other.x1 <= one.x0 or one.y1 <= other.y0 or other.y1 <= one.y0, (told, other_told)
    frame = axes.get_window_extent(renderer)
    values_of = [box for told, box in boxes if re.fullmatch(r"[\d,]{5,}|16", told)]
    assert values_of and all(box.y0 > frame.y0 and box.x0 > frame.x0 for box in values_of), "no number is struck by an axis"


def test_a_limit_far_above_all_that_is_asked_for_is_told_and_not_drawn(drawn):
    (axes,) = drawn((SOFTMAX, "BLOCK=1024", "--target", "sm_75,sm_90")).axes
    told = [text.get_text() for text in axes.texts]
    assert "above this picture: sm_90: 232,448 B" in told and 65_536 < axes.get_ylim()[1] < 232_448


def test_a_name_that_the_font_does_not_have_is_spelled(tmp_path, drawn):
    file = tmp_path / "名.py"
    file.write_text((KERNELS / "softmax.py").read_text("utf8").replace("online_softmax_kernel", "kernel_名"), "utf8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = drawn((f"{file}::kernel_名", "BLOCK=1024"))
        figure.draw(figure.canvas.get_renderer())
    assert "kernel_\\u540d, sm_120" in [text.get_text() for text in figure.axes[0].texts]
